#include "model/layers/swiglu.h"

#include "model/math/blas.h"
#include "model/math/vec.h"

static inline real sigmoid(real g)
{
    return 1 / (1 + vec_exp_one(-g));
}

void swiglu_gate_forward(real *a, const real *g, const real *u, int64_t count)
{
    /* 3  a = g s u */
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        a[i] = g[i] * sigmoid(g[i]) * u[i];
}

void swiglu_gate_backward(real *da, real *du, const real *g, const real *u,
                          int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        real s = sigmoid(g[i]);
        real silu = g[i] * s;
        real d = da[i];
        du[i] = d * silu;                        /* (a) */
        da[i] = d * u[i] * (s + silu * (1 - s)); /* (b), into dg */
    }
}

void swiglu_forward(real *y, const SwigluSaved *saved, const real *x,
                    const SwigluParams *params, int64_t N, int64_t C, int64_t F)
{
    linear_forward(saved->gate, x, &params->gate, N, C, F);         /* 1 */
    linear_forward(saved->up, x, &params->up, N, C, F);             /* 2 */
    swiglu_gate_forward(saved->act, saved->gate, saved->up, N * F); /* 3 */
    linear_forward(y, saved->act, &params->down, N, F, C);          /* 4 */
}

void swiglu_backward(real *dx, const SwigluParams *dparams, const real *dy,
                     const SwigluSaved *saved, const real *x,
                     const SwigluParams *params, real *scratch, int64_t N, int64_t C,
                     int64_t F)
{
    real *dg = scratch;
    real *du = scratch + N * F;
    /* 4  y = a W_d + b_d; the first half of scratch takes da */
    linear_backward(dg, &dparams->down, dy, saved->act, &params->down, N, F, C);
    /* 3  a = silu(g) u; da becomes dg */
    swiglu_gate_backward(dg, du, saved->gate, saved->up, N * F);
    /* 2  u = x W_u + b_u; dx = du W_u^T */
    linear_backward(dx, &dparams->up, du, x, &params->up, N, C, F);
    /* 1  g = x W_g + b_g; (c) dx += dg W_g^T */
    linear_backward(NULL, &dparams->gate, dg, x, &params->gate, N, C, F);
    matmul(PLAIN, TRANSPOSED, N, C, F, 1, dg, F, params->gate.weight, F, 1, dx, C);
}
