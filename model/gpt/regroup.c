#include "model/gpt/regroup.h"

#include <string.h>

static Status check(const GptConfig *config, Error *err)
{
    if (config->attention != ATTENTION_HEADS)
        return error_set(err, STATUS_USAGE,
                         "latent attention (MLA) has no key/value heads to group");
    for (int64_t l = 0; l < config->layers; l++) {
        if (config->removed[l] != 0)
            return error_set(
                err, STATUS_USAGE,
                "layer %lld has had heads cut: key/value heads can only be "
                "grouped while all are there",
                (long long)l);
    }
    return STATUS_OK;
}

/* The columns of one head. */
typedef struct {
    real *first;
    int64_t stride, rows, width;
} Slice;

static Slice slice_of(const Gpt *gpt, const ParamInfo *info, int part, int64_t head)
{
    const ParamPart *at = &info->part[part];
    return (Slice){.first = gpt->values + info->offset + at->first + head * at->step,
                   .stride = info->cols,
                   .rows = info->rows,
                   .width = at->width};
}

/* to += factor from */
static void add_slice(Slice to, Slice from, real factor)
{
    for (int64_t i = 0; i < from.rows; i++) {
        for (int64_t j = 0; j < from.width; j++)
            to.first[i * to.stride + j] += factor * from.first[i * from.stride + j];
    }
}

/* Tensors that hold heads' slices: each new head is the mean of the old ones that fall on
 * it, or a copy of the old one that it falls on. */
static void fill_heads(const Gpt *to, const ParamInfo *new, const Gpt *from,
                       const ParamInfo *old)
{
    for (int part = 0; part < new->parts; part++) {
        int64_t many = old->part[part].heads;
        int64_t few = new->part[part].heads;
        int64_t steps = many > few ? many : few;
        real share = many > few ? (real)few / (real)many : 1;
        for (int64_t i = 0; i < steps; i++)
            add_slice(slice_of(to, new, part, i * few / steps),
                      slice_of(from, old, part, i * many / steps), share);
    }
}

static void fill(const Gpt *to, const Gpt *from)
{
    for (int64_t i = 0; i < to->table.count; i++) {
        const ParamInfo *new = &to->table.items[i];
        const ParamInfo *old = &from->table.items[i];
        if (new->rows == old->rows &&new->cols == old->cols)
            memcpy(to->values + new->offset, from->values + old->offset,
                   (size_t)(new->rows *new->cols) * sizeof(real));
        else
            fill_heads(to, new, from, old);
    }
}

/* A model of the same config but for its key/value heads, with the weights of `from`. */
static Status convert(Gpt *to, const Gpt *from, int64_t kv_heads, Error *err)
{
    TRY(check(&from->config, err));
    GptConfig config = from->config;
    config.kv_heads = kv_heads;
    TRY(gpt_create(to, &config, err));
    fill(to, from);
    return STATUS_OK;
}

Status gpt_regroup(Gpt *to, const Gpt *from, int64_t kv_heads, Error *err)
{
    int64_t G = from->config.kv_heads;
    *to = (Gpt){0};
    if (from->config.attention == ATTENTION_HEADS &&
        (kv_heads < 1 || kv_heads > G || G % kv_heads != 0))
        return error_set(err, STATUS_USAGE,
                         "key/value heads: expected a divisor of the model's %lld, "
                         "found %lld",
                         (long long)G, (long long)kv_heads);
    return convert(to, from, kv_heads, err);
}

Status gpt_spread(Gpt *to, const Gpt *from, int64_t kv_heads, Error *err)
{
    int64_t G = from->config.kv_heads;
    *to = (Gpt){0};
    if (from->config.attention == ATTENTION_HEADS &&
        (kv_heads < G || kv_heads % G != 0))
        return error_set(err, STATUS_USAGE,
                         "key/value heads: expected a multiple of the model's %lld, "
                         "found %lld",
                         (long long)G, (long long)kv_heads);
    return convert(to, from, kv_heads, err);
}
