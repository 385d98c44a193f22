/* Latent attention by its equations: see mla.h for the numbers of the steps. */
#include <string.h>

#include "model/attention/core.h"
#include "model/attention/mla.h"
#include "model/layers/rmsnorm.h"
#include "model/layers/rope.h"
#include "model/math/blas.h"

/* One segment's latents, and the matrices of one head. */
typedef struct {
    real *cq;            /* (n, Rq) */
    real *down;          /* [c k_rope] (n, R + O) */
    real *ckv;           /* (n, R) */
    real *inverse;       /* (n) */
    real *q, *k, *v, *z; /* (n, P + O), (n, P + O), (n, E), (n, E) */
    real *weights;       /* (n, n) */
} Plain;

int64_t mla_plain_scratch(int64_t longest, const MlaShape *shape)
{
    int64_t D = shape->P + shape->O;
    return longest *
           (shape->Rq + 2 * shape->R + shape->O + 1 + 2 * D + 2 * shape->E + longest);
}

static real *next(real **scratch, int64_t count)
{
    real *start = *scratch;
    *scratch += count;
    return start;
}

static Plain divide(real *scratch, int64_t n, const MlaShape *shape)
{
    int64_t D = shape->P + shape->O;
    return (Plain){
        .cq = next(&scratch, n * shape->Rq),
        .down = next(&scratch, n * (shape->R + shape->O)),
        .ckv = next(&scratch, n * shape->R),
        .inverse = next(&scratch, n),
        .q = next(&scratch, n * D),
        .k = next(&scratch, n * D),
        .v = next(&scratch, n * shape->E),
        .z = next(&scratch, n * shape->E),
        .weights = next(&scratch, n * n),
    };
}

static void turn(real *x, int64_t stride, const int32_t *positions, int64_t n,
                 const MlaShape *shape)
{
    if (shape->rope != NULL && shape->O > 0)
        rope_apply(x, stride, 1, shape->O, positions, shape->rope, ROPE_PAIRS,
                   ROPE_FORWARD, n, shape->O);
}

/* to (n, cols; rows ld apart) = from (n, in) times `cols` columns of W (in, out). */
static void project(real *to, int64_t ld, const real *from, const real *columns,
                    int64_t n, int64_t cols, int64_t in, int64_t out)
{
    matmul_plain(PLAIN, PLAIN, n, cols, in, 1, from, in, columns, out, 0, to, ld);
}

/* z of head h, from the query latent `cq` (n, in) and the rest of `plain`. */
static void single_head(const Plain *plain, const real *cq, int64_t in,
                        const MlaParams *params, const int32_t *positions, int64_t n,
                        int64_t h, const MlaShape *shape)
{
    int64_t H = shape->H, P = shape->P, O = shape->O, E = shape->E, R = shape->R;
    int64_t D = P + O;
    /* 2 */
    project(plain->q, D, cq, params->q_up.weight + h * D, n, D, in, H * D);
    turn(plain->q + P, D, positions, n, shape);
    /* 5 */
    const real *up = params->kv_up.weight + h * (P + E);
    project(plain->k, D, plain->ckv, up, n, P, R, H * (P + E));
    project(plain->v, E, plain->ckv, up + P, n, E, R, H * (P + E));
    for (int64_t i = 0; i < n; i++)
        memcpy(plain->k + i * D + P, plain->down + i * (R + O) + R,
               (size_t)O * sizeof(real));
    /* 6 */
    AttentionShape single = {.n = n,
                             .m = n,
                             .D = D,
                             .E = E,
                             .stride_q = D,
                             .stride_k = D,
                             .stride_v = E,
                             .stride_z = E,
                             .scale = shape->scale,
                             .causal = true,
                             .window = shape->window};
    attention_plain_forward(plain->z, plain->weights, plain->q, plain->k, plain->v,
                            &single);
}

static void segment_forward(real *y, const real *x, const MlaParams *params,
                            real *scratch, const int32_t *positions, int64_t n,
                            const MlaShape *shape)
{
    int64_t C = shape->C, H = shape->H, E = shape->E, R = shape->R, O = shape->O;
    int64_t Rq = shape->Rq;
    Plain plain = divide(scratch, n, shape);
    RmsNormSaved inverse = {plain.inverse};
    const real *cq = x;
    if (Rq > 0) { /* 1 */
        project(plain.cq, Rq, x, params->q_down.weight, n, Rq, C, Rq);
        rmsnorm_forward(plain.cq, Rq, &inverse, plain.cq, Rq,
                        &(RmsNormParams){params->q_norm}, shape->norm_eps, n, Rq);
        cq = plain.cq;
    }
    /* 3 */
    project(plain.down, R + O, x, params->kv_down.weight, n, R + O, C, R + O);
    turn(plain.down + R, R + O, positions, n, shape);
    /* 4 */
    rmsnorm_forward(plain.ckv, R, &inverse, plain.down, R + O,
                    &(RmsNormParams){params->kv_norm}, shape->norm_eps, n, R);
    memset(y, 0, (size_t)(n * C) * sizeof(real));
    for (int64_t h = 0; h < H; h++) {
        single_head(&plain, cq, Rq > 0 ? Rq : C, params, positions, n, h, shape);
        /* 7, the rows of W_O that are this head's */
        matmul_plain(PLAIN, PLAIN, n, C, E, 1, plain.z, E,
                     params->out.weight + h * E * C, C, 1, y, C);
    }
}

void mla_plain_forward(real *y, const real *x, const MlaParams *params, real *scratch,
                       const TokenBatch *batch, const MlaShape *shape)
{
    for (int64_t s = 0; s < batch->segments; s++) {
        int64_t start = batch->starts[s];
        const int32_t *positions =
            batch->positions != NULL ? batch->positions + start : NULL;
        segment_forward(y + start * shape->C, x + start * shape->C, params, scratch,
                        positions, batch->starts[s + 1] - start, shape);
    }
}
