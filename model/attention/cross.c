#include "model/attention/cross.h"

#include <assert.h>
#include <string.h>

#include "model/attention/core.h"

int64_t cross_scratch(int64_t longest, int64_t longest_source, const HeadsShape *shape)
{
    return attention_scratch(longest, longest_source, shape->D, shape->D);
}

/* Segment s: its rows in q and z (N, H D) and in kv (M, 2 G D). */
static AttentionShape segment_shape(const TokenBatch *batch, const TokenBatch *source,
                                    int64_t s, const HeadsShape *shape)
{
    int64_t n = batch->starts[s + 1] - batch->starts[s];
    int64_t m = source->starts[s + 1] - source->starts[s];
    int64_t D = shape->D;
    assert(m > 0 || n == 0); /* a mean of no values is none */
    return (AttentionShape){
        .n = n,
        .m = m,
        .D = D,
        .E = D,
        .stride_q = shape->H * D,
        .stride_k = 2 * shape->G * D,
        .stride_v = 2 * shape->G * D,
        .stride_z = shape->H * D,
        .scale = shape->scale,
    };
}

void cross_forward(real *y, const CrossSaved *saved, const real *x, const real *s,
                   const CrossParams *params, real *scratch, const TokenBatch *batch,
                   const TokenBatch *source, const HeadsShape *shape)
{
    int64_t N = batch->tokens, M = source->tokens;
    int64_t C = shape->C, H = shape->H, G = shape->G, D = shape->D;
    assert(batch->segments == source->segments);
    linear_forward(saved->q, x, &params->q, N, C, H * D);       /* 1 */
    linear_forward(saved->kv, s, &params->kv, M, C, 2 * G * D); /* 2 */
    for (int64_t i = 0; i < batch->segments; i++) {             /* 3 */
        AttentionShape segment = segment_shape(batch, source, i, shape);
        int64_t start = batch->starts[i];
        const real *rows = saved->kv + source->starts[i] * 2 * G * D;
        for (int64_t h = 0; h < H; h++) {
            int64_t g = heads_group(shape, h), head = (start * H + h) * D;
            attention_forward(saved->mixed + head, saved->logsum + h * N + start,
                              saved->q + head, rows + g * D, rows + (G + g) * D,
                              scratch, &segment);
        }
    }
    linear_forward(y, saved->mixed, &params->out, N, H * D, C); /* 4 */
}

void cross_backward(real *dx, real *ds, const CrossParams *dparams, const real *dy,
                    const CrossSaved *saved, const real *x, const real *s,
                    const CrossParams *params, real *dq, real *dkv, real *dmixed,
                    real *scratch, const TokenBatch *batch, const TokenBatch *source,
                    const HeadsShape *shape)
{
    int64_t N = batch->tokens, M = source->tokens;
    int64_t C = shape->C, H = shape->H, G = shape->G, D = shape->D;
    /* 4  y = [z_1 ... z_H] W_O + b_O */
    linear_backward(dmixed, &dparams->out, dy, saved->mixed, &params->out, N, H * D, C);
    /* 3  z_h = softmax(scale Q_h K_g^T) V_g: sums over the query heads that read g */
    memset(dkv, 0, (size_t)(M * 2 * G * D) * sizeof(real));
    for (int64_t i = 0; i < batch->segments; i++) {
        AttentionShape segment = segment_shape(batch, source, i, shape);
        int64_t start = batch->starts[i], first = source->starts[i] * 2 * G * D;
        for (int64_t h = 0; h < H; h++) {
            int64_t g = heads_group(shape, h), head = (start * H + h) * D;
            int64_t k = first + g * D, v = first + (G + g) * D;
            attention_backward(dq + head, dkv + k, dkv + v, KEYS_ADD, dmixed + head,
                               saved->mixed + head, saved->logsum + h * N + start,
                               saved->q + head, saved->kv + k, saved->kv + v, scratch,
                               &segment);
        }
    }
    /* 2  [K V] = s W_KV + b_KV */
    linear_backward_add(ds, &dparams->kv, dkv, s, &params->kv, M, C, 2 * G * D);
    /* 1  Q = x W_Q + b_Q */
    linear_backward(dx, &dparams->q, dq, x, &params->q, N, C, H * D);
}
