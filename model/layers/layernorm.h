/* y = xhat g + b,  xhat = (x - mean) r,  r = (var + eps)^-1/2, over the C channels of a
 * row. Ba, Kiros and Hinton 2016, arXiv:1607.06450.
 *   x, y (N, C)   g, b (C)   mean, r (N)
 *
 * Let u = dy g.
 *   dg_j += dy_j xhat_j,   db_j += dy_j                                     (a)
 *   dx_j += r (u_j - (sum_i u_i)/C - xhat_j (sum_i u_i xhat_i)/C)           (b)
 * Identities: sum_j dx_j = 0; with eps = 0 also sum_j dx_j xhat_j = 0
 * (of what is added). */
#ifndef JUEJU_MODEL_LAYERS_LAYERNORM_H
#define JUEJU_MODEL_LAYERS_LAYERNORM_H

#include <stdint.h>

#include "model/base/real.h"

typedef struct {
    real *gain; /* (C) */
    real *bias; /* (C), or NULL: none is added */
} LayerNormParams;

/* Saved: two numbers a row. xhat is recomputed from x, which the block keeps anyway. */
typedef struct {
    real *mean;    /* (N) */
    real *inverse; /* r (N) */
} LayerNormSaved;

void layernorm_forward(real *y, const LayerNormSaved *saved, const real *x,
                       const LayerNormParams *params, double eps, int64_t N, int64_t C);

/* Adds to dx (the residual stream's gradient passes by it) and to dparams, whose bias is
 * NULL where that of params is. dx is not dy. */
void layernorm_backward_add(real *dx, const LayerNormParams *dparams, const real *dy,
                            const LayerNormSaved *saved, const real *x,
                            const LayerNormParams *params, int64_t N, int64_t C);

#endif
