#include "model/attention/heads.h"

#include <string.h>

#include "model/attention/core.h"
#include "model/layers/rope.h"

int64_t heads_group(const HeadsShape *shape, int64_t h)
{
    return shape->groups != NULL ? shape->groups[h] : h / (shape->H / shape->G);
}

int64_t heads_qkv_width(const HeadsShape *shape)
{
    return (shape->H + 2 * shape->G) * shape->D;
}

int64_t heads_scratch(int64_t longest, const HeadsShape *shape)
{
    /* one head at a time */
    return attention_scratch(longest, longest, shape->D, shape->D);
}

/* One head of one segment: where its rows lie in qkv (N, width) and z (N, H D). */
static AttentionShape segment_shape(const TokenBatch *batch, int64_t s,
                                    const HeadsShape *shape)
{
    int64_t n = batch->starts[s + 1] - batch->starts[s];
    int64_t width = heads_qkv_width(shape);
    return (AttentionShape){
        .n = n,
        .m = n,
        .D = shape->D,
        .E = shape->D,
        .stride_q = width,
        .stride_k = width,
        .stride_v = width,
        .stride_z = shape->H * shape->D,
        .scale = shape->scale,
        .causal = shape->causal,
        .window = shape->window,
    };
}

/* Columns of query head h, and of the key and the value head that it reads. */
typedef struct {
    int64_t q, k, v;
} Columns;

static Columns columns_of(const HeadsShape *shape, int64_t h)
{
    int64_t g = heads_group(shape, h);
    return (Columns){h * shape->D, (shape->H + g) * shape->D,
                     (shape->H + shape->G + g) * shape->D};
}

/* Q and K heads lie side by side in a row of qkv. */
static void turn(real *qkv, RopeDirection direction, const TokenBatch *batch,
                 const HeadsShape *shape)
{
    if (shape->rope != NULL)
        rope_apply(qkv, heads_qkv_width(shape), shape->H + shape->G, shape->D,
                   batch->positions, shape->rope, ROPE_HALVES, direction, batch->tokens,
                   shape->D);
}

void heads_forward(real *y, const HeadsSaved *saved, const real *x,
                   const HeadsParams *params, real *scratch, const TokenBatch *batch,
                   const HeadsShape *shape)
{
    int64_t N = batch->tokens, C = shape->C, H = shape->H, D = shape->D;
    int64_t width = heads_qkv_width(shape);
    linear_forward(saved->qkv, x, &params->qkv, N, C, width); /* 1 */
    turn(saved->qkv, ROPE_FORWARD, batch, shape);             /* 2 */
    for (int64_t s = 0; s < batch->segments; s++) {           /* 3 */
        AttentionShape segment = segment_shape(batch, s, shape);
        int64_t start = batch->starts[s];
        const real *rows = saved->qkv + start * width;
        for (int64_t h = 0; h < H; h++) {
            Columns at = columns_of(shape, h);
            attention_forward(saved->mixed + start * H * D + h * D,
                              saved->logsum + h * N + start, rows + at.q, rows + at.k,
                              rows + at.v, scratch, &segment);
        }
    }
    linear_forward(y, saved->mixed, &params->out, N, H * D, C); /* 4 */
}

void heads_backward(real *dx, const HeadsParams *dparams, const real *dy,
                    const HeadsSaved *saved, const real *x, const HeadsParams *params,
                    real *dqkv, real *dmixed, real *scratch, const TokenBatch *batch,
                    const HeadsShape *shape)
{
    int64_t N = batch->tokens, C = shape->C, H = shape->H, D = shape->D;
    int64_t width = heads_qkv_width(shape);
    /* 4  y = [z_1 ... z_H] W_O + b_O */
    linear_backward(dmixed, &dparams->out, dy, saved->mixed, &params->out, N, H * D, C);
    /* 3  z_h = softmax(scale Q_h K_g^T + mask) V_g: a key/value head's gradient is the sum
     * over the query heads that read it, 0 if none does */
    for (int64_t i = 0; i < N; i++)
        memset(dqkv + i * width + H * D, 0, (size_t)(2 * shape->G * D) * sizeof(real));
    for (int64_t s = 0; s < batch->segments; s++) {
        AttentionShape segment = segment_shape(batch, s, shape);
        int64_t start = batch->starts[s];
        const real *rows = saved->qkv + start * width;
        real *drows = dqkv + start * width;
        for (int64_t h = 0; h < H; h++) {
            Columns at = columns_of(shape, h);
            int64_t mixed = start * H * D + h * D;
            attention_backward(drows + at.q, drows + at.k, drows + at.v, KEYS_ADD,
                               dmixed + mixed, saved->mixed + mixed,
                               saved->logsum + h * N + start, rows + at.q, rows + at.k,
                               rows + at.v, scratch, &segment);
        }
    }
    /* 2  Q, K turned: their gradients are turned back */
    turn(dqkv, ROPE_BACKWARD, batch, shape);
    /* 1  [Q K V] = x W_QKV + b_QKV */
    linear_backward(dx, &dparams->qkv, dqkv, x, &params->qkv, N, C, width);
}
