#include "model/gpt/init.h"

#include <math.h>
#include <string.h>

#include "model/base/rng.h"

const char *const INIT_NAMES[] = {"xavier-per-head", "xavier-packed", "normal",
                                  "identical-heads", NULL};

static const double NORMAL_DEVIATION = 0.02;

/* gpt2's tensors have the numbers of their places: W_E 0, W_P 1, then 12 a block. What
 * else a model has gets names that are none of these. */
static uint64_t stream_name(const ParamInfo *info)
{
    if (info->role <= ROLE_POSITIONS)
        return (uint64_t)info->role;
    if (info->role <= ROLE_DOWN_BIAS)
        return (uint64_t)(12 * info->layer) + (uint64_t)info->role;
    return rng_hash((uint64_t)info->role, (uint64_t)info->layer);
}

static void fill_uniform(real *slice, int64_t stride, int64_t rows, int64_t width,
                         double bound, Rng rng)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < width; j++)
            slice[i * stride + j] = (real)(bound * (2 * rng_uniform(&rng) - 1));
    }
}

static double xavier_bound(int64_t fan_in, int64_t fan_out)
{
    return sqrt(6.0 / (double)(fan_in + fan_out));
}

void init_xavier_slice(real *slice, int64_t stride, int64_t rows, int64_t width,
                       uint64_t seed, uint64_t name)
{
    fill_uniform(slice, stride, rows, width, xavier_bound(rows, width),
                 rng_stream(seed, name));
}

static void fill_normal(real *values, int64_t count, double deviation, Rng rng)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = (real)(deviation * rng_normal(&rng));
}

/* The number that slice i of a part had before heads were cut. Parts of one slice (MLA's
 * latent and shared key) belong to no head. */
static uint64_t head_number(const ParamInfo *info, const ParamPart *part, int64_t i,
                            const GptConfig *config)
{
    if (info->role == ROLE_KV_DOWN)
        return 0;
    return (uint64_t)(part->keys ? gpt_layer_kv_head(config, info->layer, i)
                                 : gpt_layer_head(config, info->layer, i));
}

static void init_per_head(real *weight, const ParamInfo *info, const GptConfig *config,
                          bool identical, uint64_t seed)
{
    uint64_t name = stream_name(info);
    for (int p = 0; p < info->parts; p++) {
        const ParamPart *part = &info->part[p];
        for (int64_t i = 0; i < part->heads; i++) {
            uint64_t head = identical ? 0 : head_number(info, part, i, config);
            init_xavier_slice(weight + part->first + i * part->step, info->cols,
                              info->rows, part->width, seed,
                              rng_hash(rng_hash(name, (uint64_t)p), head));
        }
    }
}

/* W_O reads head h in rows h head_rows .. : repeat those of the first. */
static void repeat_first_head_rows(real *weight, const ParamInfo *info)
{
    size_t block = (size_t)(info->head_rows * info->cols);
    for (size_t h = 1; h < (size_t)(info->rows / info->head_rows); h++)
        memcpy(weight + h * block, weight, block * sizeof(real));
}

static void init_matrix(real *weight, const ParamInfo *info, const GptConfig *config,
                        InitKind kind, uint64_t seed)
{
    double scale = info->kind == PARAM_RESIDUAL && config->scaled_residual
                       ? 1 / sqrt(2.0 * (double)config->layers)
                       : 1;
    Rng rng = rng_stream(seed, stream_name(info));
    if (kind == INIT_NORMAL)
        fill_normal(weight, info->rows * info->cols, NORMAL_DEVIATION * scale, rng);
    else
        fill_uniform(weight, info->cols, info->rows, info->cols,
                     scale * xavier_bound(info->rows, info->cols), rng);
    if (kind == INIT_IDENTICAL_HEADS && info->head_rows > 0)
        repeat_first_head_rows(weight, info);
}

void gpt_init(Gpt *gpt, InitKind kind, uint64_t seed)
{
    for (int64_t i = 0; i < gpt->table.count; i++) {
        const ParamInfo *info = &gpt->table.items[i];
        real *values = gpt->values + info->offset;
        int64_t count = info->rows * info->cols;
        bool identical = kind == INIT_IDENTICAL_HEADS;
        switch (info->kind) {
        case PARAM_EMBEDDING:
            fill_normal(values, count, NORMAL_DEVIATION,
                        rng_stream(seed, stream_name(info)));
            break;
        case PARAM_HEADS:
            if (kind == INIT_XAVIER_PER_HEAD || identical)
                init_per_head(values, info, &gpt->config, identical, seed);
            else
                init_matrix(values, info, &gpt->config, kind, seed);
            break;
        case PARAM_MATRIX:
        case PARAM_RESIDUAL:
            init_matrix(values, info, &gpt->config, kind, seed);
            break;
        case PARAM_GAIN:
            for (int64_t j = 0; j < count; j++)
                values[j] = 1;
            break;
        case PARAM_BIAS:
            memset(values, 0, (size_t)count * sizeof(real));
            break;
        }
    }
}
