/* Heads by their definition: see heads.h. */
#include <string.h>

#include "model/attention/core.h"
#include "model/attention/heads.h"
#include "model/layers/rope.h"

/* One query head's own matrices (n, D) and weights (n, n), and the gradients. */
typedef struct {
    real *q, *k, *v, *z, *weights;
    real *dq, *dk, *dv, *dz;
} Single;

/* For all tokens: [Q K V] and z of all heads, and their gradients. */
typedef struct {
    real *qkv, *mixed, *dqkv, *dmixed;
    Single head;
} Plain;

int64_t heads_plain_scratch(int64_t N, int64_t longest, const HeadsShape *shape)
{
    return 2 * N * (heads_qkv_width(shape) + shape->H * shape->D) +
           8 * longest * shape->D + longest * longest;
}

static real *next(real **scratch, int64_t count)
{
    real *start = *scratch;
    *scratch += count;
    return start;
}

static int64_t longest_segment(const TokenBatch *batch)
{
    int64_t longest = 0;
    for (int64_t s = 0; s < batch->segments; s++) {
        int64_t n = batch->starts[s + 1] - batch->starts[s];
        longest = n > longest ? n : longest;
    }
    return longest;
}

static Plain divide(real *scratch, const TokenBatch *batch, const HeadsShape *shape)
{
    int64_t N = batch->tokens, longest = longest_segment(batch);
    int64_t wide = N * heads_qkv_width(shape), mixed = N * shape->H * shape->D;
    Plain all = {next(&scratch, wide),
                 next(&scratch, mixed),
                 next(&scratch, wide),
                 next(&scratch, mixed),
                 {0}};
    real **const matrices[] = {&all.head.q,  &all.head.k,  &all.head.v,  &all.head.z,
                               &all.head.dq, &all.head.dk, &all.head.dv, &all.head.dz};
    for (int i = 0; i < 8; i++)
        *matrices[i] = next(&scratch, longest * shape->D);
    all.head.weights = next(&scratch, longest * longest);
    return all;
}

static AttentionShape single_shape(int64_t n, const HeadsShape *shape)
{
    int64_t D = shape->D;
    return (AttentionShape){.n = n,
                            .m = n,
                            .D = D,
                            .E = D,
                            .stride_q = D,
                            .stride_k = D,
                            .stride_v = D,
                            .stride_z = D,
                            .scale = shape->scale,
                            .causal = shape->causal,
                            .window = shape->window};
}

/* own (n, D) = D columns of rows that lie `width` apart. */
static void take_columns(real *own, const real *rows, int64_t width, int64_t n,
                         int64_t D)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(own + i * D, rows + i * width, (size_t)D * sizeof(real));
}

static void add_columns(real *rows, const real *own, int64_t width, int64_t n,
                        int64_t D)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t d = 0; d < D; d++)
            rows[i * width + d] += own[i * D + d];
    }
}

/* The head's own Q, K and V out of [Q K V], then z. */
static void single_forward(const Single *head, const real *qkv, int64_t n, int64_t h,
                           const HeadsShape *shape)
{
    int64_t width = heads_qkv_width(shape), D = shape->D;
    int64_t g = heads_group(shape, h);
    take_columns(head->q, qkv + h * D, width, n, D);
    take_columns(head->k, qkv + (shape->H + g) * D, width, n, D);
    take_columns(head->v, qkv + (shape->H + shape->G + g) * D, width, n, D);
    AttentionShape single = single_shape(n, shape);
    attention_plain_forward(head->z, head->weights, head->q, head->k, head->v, &single);
}

static void turn(real *qkv, RopeDirection direction, const TokenBatch *batch,
                 const HeadsShape *shape)
{
    if (shape->rope != NULL)
        rope_apply(qkv, heads_qkv_width(shape), shape->H + shape->G, shape->D,
                   batch->positions, shape->rope, ROPE_HALVES, direction, batch->tokens,
                   shape->D);
}

/* 1 to 3 */
static void mix(const Plain *all, const real *x, const HeadsParams *params,
                const TokenBatch *batch, const HeadsShape *shape)
{
    int64_t width = heads_qkv_width(shape), D = shape->D, across = shape->H * D;
    linear_forward(all->qkv, x, &params->qkv, batch->tokens, shape->C, width);
    turn(all->qkv, ROPE_FORWARD, batch, shape);
    memset(all->mixed, 0, (size_t)(batch->tokens * across) * sizeof(real));
    for (int64_t s = 0; s < batch->segments; s++) {
        int64_t start = batch->starts[s], n = batch->starts[s + 1] - start;
        for (int64_t h = 0; h < shape->H; h++) {
            single_forward(&all->head, all->qkv + start * width, n, h, shape);
            add_columns(all->mixed + start * across + h * D, all->head.z, across, n, D);
        }
    }
}

void heads_plain_forward(real *y, const real *x, const HeadsParams *params,
                         real *scratch, const TokenBatch *batch,
                         const HeadsShape *shape)
{
    Plain all = divide(scratch, batch, shape);
    mix(&all, x, params, batch, shape);
    linear_forward(y, all.mixed, &params->out, batch->tokens, shape->H * shape->D,
                   shape->C); /* 4 */
}

void heads_plain_backward(real *dx, const HeadsParams *dparams, const real *dy,
                          const real *x, const HeadsParams *params, real *scratch,
                          const TokenBatch *batch, const HeadsShape *shape)
{
    int64_t N = batch->tokens, width = heads_qkv_width(shape);
    int64_t D = shape->D, across = shape->H * D;
    Plain all = divide(scratch, batch, shape);
    mix(&all, x, params, batch, shape);
    /* 4 */
    linear_backward(all.dmixed, &dparams->out, dy, all.mixed, &params->out, N, across,
                    shape->C);
    /* 3 */
    memset(all.dqkv, 0, (size_t)(N * width) * sizeof(real));
    for (int64_t s = 0; s < batch->segments; s++) {
        int64_t start = batch->starts[s], n = batch->starts[s + 1] - start;
        real *drows = all.dqkv + start * width;
        for (int64_t h = 0; h < shape->H; h++) {
            const Single *head = &all.head;
            AttentionShape single = single_shape(n, shape);
            int64_t g = heads_group(shape, h);
            single_forward(head, all.qkv + start * width, n, h, shape);
            take_columns(head->dz, all.dmixed + start * across + h * D, across, n, D);
            attention_plain_backward(head->dq, head->dk, head->dv, KEYS_WRITE, head->dz,
                                     head->weights, head->q, head->k, head->v, &single);
            add_columns(drows + h * D, head->dq, width, n, D);
            add_columns(drows + (shape->H + g) * D, head->dk, width, n, D);
            add_columns(drows + (shape->H + shape->G + g) * D, head->dv, width, n, D);
        }
    }
    /* 2, 1 */
    turn(all.dqkv, ROPE_BACKWARD, batch, shape);
    linear_backward(dx, &dparams->qkv, all.dqkv, x, &params->qkv, N, shape->C, width);
}
