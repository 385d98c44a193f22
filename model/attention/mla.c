#include "model/attention/mla.h"

#include <string.h>

#include "model/attention/core.h"
#include "model/layers/rmsnorm.h"
#include "model/layers/rope.h"
#include "model/math/tile.h"

/* Channels of a query or key head. */
static int64_t head_channels(const MlaShape *shape)
{
    return shape->P + shape->O;
}

/* The parts of MlaSaved for N tokens, in its order. */
enum { SAVED_PARTS = 11 };

static void saved_sizes(int64_t sizes[SAVED_PARTS], const MlaShape *shape, int64_t N)
{
    int64_t H = shape->H, Q = H * head_channels(shape);
    const int64_t each[SAVED_PARTS] = {
        shape->Rq,
        shape->Rq > 0,
        shape->Rq,
        Q,
        shape->R + shape->O,
        1,
        shape->R,
        H * (shape->P + shape->E),
        Q,
        H * shape->E,
        H,
    };
    for (int i = 0; i < SAVED_PARTS; i++)
        sizes[i] = tile_round(N * each[i]);
}

int64_t mla_saved_reals(const MlaShape *shape, int64_t N)
{
    int64_t sizes[SAVED_PARTS], sum = 0;
    saved_sizes(sizes, shape, N);
    for (int i = 0; i < SAVED_PARTS; i++)
        sum += sizes[i];
    return sum;
}

void mla_saved_divide(MlaSaved *saved, real *memory, const MlaShape *shape, int64_t N)
{
    real **const parts[SAVED_PARTS] = {
        &saved->q_latent,  &saved->q_inverse,  &saved->q_normed,  &saved->queries,
        &saved->kv_latent, &saved->kv_inverse, &saved->kv_normed, &saved->expanded,
        &saved->keys,      &saved->mixed,      &saved->logsum,
    };
    int64_t sizes[SAVED_PARTS];
    saved_sizes(sizes, shape, N);
    for (int i = 0; i < SAVED_PARTS; i++) {
        *parts[i] = memory;
        memory = memory != NULL ? memory + sizes[i] : NULL;
    }
}

/* Gradients of what MlaSaved holds, and the heads' scratch. */
typedef struct {
    real *mixed, *queries, *keys, *expanded;
    real *kv_normed, *kv_latent, *q_normed, *q_latent;
    real *attention;
} Gradients;

static real *carve(real **scratch, int64_t count)
{
    real *start = *scratch;
    *scratch += tile_round(count);
    return start;
}

static int64_t heads_room(int64_t longest, const MlaShape *shape)
{
    return attention_scratch(longest, longest, head_channels(shape), shape->E);
}

int64_t mla_scratch(int64_t N, int64_t longest, const MlaShape *shape)
{
    int64_t H = shape->H, Q = H * head_channels(shape);
    return tile_round(N * H * shape->E) + 2 * tile_round(N * Q) +
           tile_round(N * H * (shape->P + shape->E)) + tile_round(N * shape->R) +
           tile_round(N * (shape->R + shape->O)) + 2 * tile_round(N * shape->Rq) +
           heads_room(longest, shape);
}

static Gradients divide(real *scratch, const MlaShape *shape, int64_t N)
{
    int64_t H = shape->H, Q = H * head_channels(shape);
    return (Gradients){
        .mixed = carve(&scratch, N * H * shape->E),
        .queries = carve(&scratch, N * Q),
        .keys = carve(&scratch, N * Q),
        .expanded = carve(&scratch, N * H * (shape->P + shape->E)),
        .kv_normed = carve(&scratch, N * shape->R),
        .kv_latent = carve(&scratch, N * (shape->R + shape->O)),
        .q_normed = carve(&scratch, N * shape->Rq),
        .q_latent = carve(&scratch, N * shape->Rq),
        .attention = scratch,
    };
}

static AttentionShape segment_shape(const TokenBatch *batch, int64_t s,
                                    const MlaShape *shape)
{
    int64_t n = batch->starts[s + 1] - batch->starts[s];
    int64_t H = shape->H, D = head_channels(shape);
    return (AttentionShape){
        .n = n,
        .m = n,
        .D = D,
        .E = shape->E,
        .stride_q = H * D,
        .stride_k = H * D,
        .stride_v = H * (shape->P + shape->E),
        .stride_z = H * shape->E,
        .scale = shape->scale,
        .causal = true,
        .window = shape->window,
    };
}

/* The rope part of every query head. */
static void turn_queries(real *queries, RopeDirection direction,
                         const TokenBatch *batch, const MlaShape *shape)
{
    int64_t D = head_channels(shape);
    if (shape->rope != NULL && shape->O > 0)
        rope_apply(queries + shape->P, shape->H * D, shape->H, D, batch->positions,
                   shape->rope, ROPE_PAIRS, direction, batch->tokens, shape->O);
}

/* The k_rope that all heads share, behind the latent. */
static void turn_shared_key(real *kv_latent, RopeDirection direction,
                            const TokenBatch *batch, const MlaShape *shape)
{
    if (shape->rope != NULL && shape->O > 0)
        rope_apply(kv_latent + shape->R, shape->R + shape->O, 1, shape->O,
                   batch->positions, shape->rope, ROPE_PAIRS, direction, batch->tokens,
                   shape->O);
}

/* keys_h = [k_nope k_rope]_h: the heads' own parts, and the shared one beside each. */
static void join_keys(real *keys, const real *expanded, const real *kv_latent,
                      int64_t N, const MlaShape *shape)
{
    int64_t H = shape->H, P = shape->P, O = shape->O;
    for (int64_t i = 0; i < N; i++) {
        const real *shared = kv_latent + i * (shape->R + O) + shape->R;
        for (int64_t h = 0; h < H; h++) {
            real *key = keys + (i * H + h) * (P + O);
            memcpy(key, expanded + (i * H + h) * (P + shape->E),
                   (size_t)P * sizeof(real));
            memcpy(key + P, shared, (size_t)O * sizeof(real));
        }
    }
}

/* Backward: the heads' own parts go back where they came from, the shared part is the sum
 * over the heads. */
static void part_keys(real *dexpanded, real *dkv_latent, const real *dkeys, int64_t N,
                      const MlaShape *shape)
{
    int64_t H = shape->H, P = shape->P, O = shape->O;
    for (int64_t i = 0; i < N; i++) {
        real *dshared = dkv_latent + i * (shape->R + O) + shape->R;
        memset(dshared, 0, (size_t)O * sizeof(real));
        for (int64_t h = 0; h < H; h++) {
            const real *dkey = dkeys + (i * H + h) * (P + O);
            memcpy(dexpanded + (i * H + h) * (P + shape->E), dkey,
                   (size_t)P * sizeof(real));
            for (int64_t o = 0; o < O; o++)
                dshared[o] += dkey[P + o];
        }
    }
}

void mla_forward(real *y, const MlaSaved *saved, const real *x, const MlaParams *params,
                 real *scratch, const TokenBatch *batch, const MlaShape *shape)
{
    int64_t N = batch->tokens, C = shape->C, H = shape->H;
    int64_t R = shape->R, Rq = shape->Rq, O = shape->O, E = shape->E;
    int64_t D = head_channels(shape), across = shape->P + E;
    const real *cq = x;
    if (Rq > 0) { /* 1 */
        linear_forward(saved->q_latent, x, &params->q_down, N, C, Rq);
        rmsnorm_forward(saved->q_normed, Rq, &(RmsNormSaved){saved->q_inverse},
                        saved->q_latent, Rq, &(RmsNormParams){params->q_norm},
                        shape->norm_eps, N, Rq);
        cq = saved->q_normed;
    }
    /* 2 */
    linear_forward(saved->queries, cq, &params->q_up, N, Rq > 0 ? Rq : C, H * D);
    turn_queries(saved->queries, ROPE_FORWARD, batch, shape);
    /* 3 */
    linear_forward(saved->kv_latent, x, &params->kv_down, N, C, R + O);
    turn_shared_key(saved->kv_latent, ROPE_FORWARD, batch, shape);
    /* 4 */
    rmsnorm_forward(saved->kv_normed, R, &(RmsNormSaved){saved->kv_inverse},
                    saved->kv_latent, R + O, &(RmsNormParams){params->kv_norm},
                    shape->norm_eps, N, R);
    /* 5 */
    linear_forward(saved->expanded, saved->kv_normed, &params->kv_up, N, R, H * across);
    join_keys(saved->keys, saved->expanded, saved->kv_latent, N, shape);
    /* 6 */
    for (int64_t s = 0; s < batch->segments; s++) {
        AttentionShape segment = segment_shape(batch, s, shape);
        int64_t start = batch->starts[s];
        for (int64_t h = 0; h < H; h++) {
            int64_t head = start * H + h;
            attention_forward(saved->mixed + head * E, saved->logsum + h * N + start,
                              saved->queries + head * D, saved->keys + head * D,
                              saved->expanded + head * across + shape->P, scratch,
                              &segment);
        }
    }
    /* 7 */
    linear_forward(y, saved->mixed, &params->out, N, H * E, C);
}

void mla_backward(real *dx, const MlaParams *dparams, const real *dy,
                  const MlaSaved *saved, const real *x, const MlaParams *params,
                  real *scratch, const TokenBatch *batch, const MlaShape *shape)
{
    int64_t N = batch->tokens, C = shape->C, H = shape->H;
    int64_t R = shape->R, Rq = shape->Rq, O = shape->O, E = shape->E;
    int64_t D = head_channels(shape), across = shape->P + E;
    Gradients d = divide(scratch, shape, N);
    /* 7  y = [z_1 ... z_H] W_O */
    linear_backward(d.mixed, &dparams->out, dy, saved->mixed, &params->out, N, H * E,
                    C);
    /* 6  z_h = softmax(scale ([q_nope q_rope]_h . [k_nope k_rope]_h + mask)) v_h */
    for (int64_t s = 0; s < batch->segments; s++) {
        AttentionShape segment = segment_shape(batch, s, shape);
        int64_t start = batch->starts[s];
        for (int64_t h = 0; h < H; h++) {
            int64_t head = start * H + h;
            int64_t value = head * across + shape->P;
            attention_backward(d.queries + head * D, d.keys + head * D,
                               d.expanded + value, KEYS_WRITE, d.mixed + head * E,
                               saved->mixed + head * E, saved->logsum + h * N + start,
                               saved->queries + head * D, saved->keys + head * D,
                               saved->expanded + value, d.attention, &segment);
        }
    }
    /* 5  [k_nope v]_h = ckv W_UKV */
    part_keys(d.expanded, d.kv_latent, d.keys, N, shape);
    linear_backward(d.kv_normed, &dparams->kv_up, d.expanded, saved->kv_normed,
                    &params->kv_up, N, R, H * across);
    /* 4  ckv = RMSNorm(c) */
    for (int64_t i = 0; i < N; i++)
        memset(d.kv_latent + i * (R + O), 0, (size_t)R * sizeof(real));
    rmsnorm_backward_add(d.kv_latent, R + O, &(RmsNormParams){dparams->kv_norm},
                         d.kv_normed, R, &(RmsNormSaved){saved->kv_inverse},
                         saved->kv_latent, R + O, &(RmsNormParams){params->kv_norm}, N,
                         R);
    /* 3  [c k_rope] = x W_DKV, k_rope turned */
    turn_shared_key(d.kv_latent, ROPE_BACKWARD, batch, shape);
    linear_backward(dx, &dparams->kv_down, d.kv_latent, x, &params->kv_down, N, C,
                    R + O);
    /* 2  [q_nope q_rope]_h = cq W_UQ, q_rope turned */
    turn_queries(d.queries, ROPE_BACKWARD, batch, shape);
    if (Rq == 0) {
        linear_backward_add(dx, &dparams->q_up, d.queries, x, &params->q_up, N, C,
                            H * D);
        return;
    }
    linear_backward(d.q_normed, &dparams->q_up, d.queries, saved->q_normed,
                    &params->q_up, N, Rq, H * D);
    /* 1  cq = RMSNorm(x W_DQ) */
    memset(d.q_latent, 0, (size_t)(N * Rq) * sizeof(real));
    rmsnorm_backward_add(d.q_latent, Rq, &(RmsNormParams){dparams->q_norm}, d.q_normed,
                         Rq, &(RmsNormSaved){saved->q_inverse}, saved->q_latent, Rq,
                         &(RmsNormParams){params->q_norm}, N, Rq);
    linear_backward_add(dx, &dparams->q_down, d.q_latent, x, &params->q_down, N, C, Rq);
}
