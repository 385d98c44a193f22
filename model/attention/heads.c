#include "model/attention/heads.h"

#include "model/attention/core.h"

int64_t heads_scratch(int64_t longest, int64_t H, int64_t D)
{
    (void)H; /* one head at a time */
    return attention_scratch(longest, D);
}

/* One head of one segment: where its queries, keys and values start in the packed rows. */
static AttentionShape segment_shape(const TokenBatch *batch, int64_t s, int64_t C,
                                    int64_t D)
{
    return (AttentionShape){
        .n = batch->starts[s + 1] - batch->starts[s],
        .D = D,
        .stride = 3 * C,
        .stride_z = C,
    };
}

void heads_forward(real *y, const HeadsSaved *saved, const real *x,
                   const HeadsParams *params, real *scratch, const TokenBatch *batch,
                   int64_t H, int64_t D)
{
    int64_t N = batch->tokens;
    int64_t C = H * D;
    linear_forward(saved->qkv, x, &params->qkv, N, C, 3 * C); /* 1 */
    for (int64_t s = 0; s < batch->segments; s++) {           /* 2 */
        AttentionShape shape = segment_shape(batch, s, C, D);
        int64_t start = batch->starts[s];
        for (int64_t h = 0; h < H; h++) {
            const real *q = saved->qkv + start * 3 * C + h * D;
            attention_forward(saved->mixed + start * C + h * D,
                              saved->logsum + h * N + start, q, q + C, q + 2 * C,
                              scratch, &shape);
        }
    }
    linear_forward(y, saved->mixed, &params->out, N, C, C); /* 3 */
}

void heads_backward(real *dx, const HeadsParams *dparams, const real *dy,
                    const HeadsSaved *saved, const real *x, const HeadsParams *params,
                    real *dqkv, real *dmixed, real *scratch, const TokenBatch *batch,
                    int64_t H, int64_t D)
{
    int64_t N = batch->tokens;
    int64_t C = H * D;
    /* 3  y = z W_O + b_O */
    linear_backward(dmixed, &dparams->out, dy, saved->mixed, &params->out, N, C, C);
    /* 2  z_h = softmax(Q_h K_h^T / sqrt(D) + mask) V_h */
    for (int64_t s = 0; s < batch->segments; s++) {
        AttentionShape shape = segment_shape(batch, s, C, D);
        int64_t start = batch->starts[s];
        for (int64_t h = 0; h < H; h++) {
            const real *q = saved->qkv + start * 3 * C + h * D;
            real *dq = dqkv + start * 3 * C + h * D;
            attention_backward(dq, dq + C, dq + 2 * C, dmixed + start * C + h * D,
                               saved->mixed + start * C + h * D,
                               saved->logsum + h * N + start, q, q + C, q + 2 * C,
                               scratch, &shape);
        }
    }
    /* 1  [Q K V] = x W_QKV + b_QKV */
    linear_backward(dx, &dparams->qkv, dqkv, x, &params->qkv, N, C, 3 * C);
}
