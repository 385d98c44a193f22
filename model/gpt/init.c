#include "model/gpt/init.h"

#include <math.h>
#include <string.h>

#include "model/base/rng.h"

const char *const INIT_NAMES[] = {"xavier-per-head", "xavier-packed", "normal",
                                  "identical-heads", NULL};

static const double NORMAL_DEVIATION = 0.02;

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

/* Head h of projection q (0: W_Q, 1: W_K, 2: W_V) owns columns qC + hD .. qC + hD + D-1. */
static void init_qkv_per_head(real *weight, const ParamInfo *info, int64_t D,
                              bool identical, uint64_t seed, uint64_t name)
{
    int64_t C = info->rows;
    for (int64_t q = 0; q < 3; q++) {
        for (int64_t h = 0; h < C / D; h++) {
            uint64_t head = identical ? 0 : (uint64_t)h;
            init_xavier_slice(weight + q * C + h * D, info->cols, C, D, seed,
                              rng_hash(rng_hash(name, (uint64_t)q), head));
        }
    }
}

/* Head h reads rows hD .. hD + D-1 of W_O: repeat those of head 0. */
static void repeat_first_head_rows(real *weight, const ParamInfo *info, int64_t D)
{
    size_t block = (size_t)(D * info->cols);
    for (size_t h = 1; h < (size_t)(info->rows / D); h++)
        memcpy(weight + h * block, weight, block * sizeof(real));
}

static void init_matrix(real *weight, const ParamInfo *info, const GptConfig *config,
                        InitKind kind, uint64_t seed, uint64_t name)
{
    double scale =
        info->kind == PARAM_RESIDUAL ? 1 / sqrt(2.0 * (double)config->layers) : 1;
    Rng rng = rng_stream(seed, name);
    if (kind == INIT_NORMAL)
        fill_normal(weight, info->rows * info->cols, NORMAL_DEVIATION * scale, rng);
    else
        fill_uniform(weight, info->cols, info->rows, info->cols,
                     scale * xavier_bound(info->rows, info->cols), rng);
    bool is_output =
        info->kind == PARAM_RESIDUAL && strstr(info->name, ".attn.") != NULL;
    if (kind == INIT_IDENTICAL_HEADS && is_output)
        repeat_first_head_rows(weight, info, gpt_head_size(config));
}

void gpt_init(Gpt *gpt, InitKind kind, uint64_t seed)
{
    int64_t D = gpt_head_size(&gpt->config);
    for (int64_t i = 0; i < gpt->table.count; i++) {
        const ParamInfo *info = &gpt->table.items[i];
        real *values = gpt->values + info->offset;
        int64_t count = info->rows * info->cols;
        uint64_t name = (uint64_t)i;
        switch (info->kind) {
        case PARAM_EMBEDDING:
            fill_normal(values, count, NORMAL_DEVIATION, rng_stream(seed, name));
            break;
        case PARAM_QKV:
            if (kind == INIT_XAVIER_PER_HEAD || kind == INIT_IDENTICAL_HEADS) {
                init_qkv_per_head(values, info, D, kind == INIT_IDENTICAL_HEADS, seed,
                                  name);
                break;
            }
            init_matrix(values, info, &gpt->config, kind, seed, name);
            break;
        case PARAM_MATRIX:
        case PARAM_RESIDUAL:
            init_matrix(values, info, &gpt->config, kind, seed, name);
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
