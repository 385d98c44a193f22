/* y = x r g,  r = (mean(x^2) + eps)^-1/2, over the C channels of a row: LayerNorm without
 * the mean and the bias. Zhang and Sennrich 2019, arXiv:1910.07467; Llama's norm.
 *   x, y (N, C)   g (C)   r (N)
 *
 * Let u = dy g. Since dr/dx_j = -r^3 x_j / C,
 *   dg_j += dy_j x_j r                                                      (a)
 *   dx_j += r (u_j - x_j r^2 (sum_i u_i x_i)/C)                             (b)
 * Identity: with eps = 0, sum_j x_j dx_j = 0 (of what is added). */
#ifndef JUEJU_MODEL_LAYERS_RMSNORM_H
#define JUEJU_MODEL_LAYERS_RMSNORM_H

#include <stdint.h>

#include "model/base/real.h"

typedef struct {
    real *gain; /* (C) */
} RmsNormParams;

/* Saved: one number a row. x is its caller's, as with LayerNorm. */
typedef struct {
    real *inverse; /* r (N) */
} RmsNormSaved;

/* Rows of x and y begin x_stride and y_stride numbers apart, so that a row may be the first
 * C columns of a wider one; what lies behind them is not touched. y may be x. */
void rmsnorm_forward(real *y, int64_t y_stride, const RmsNormSaved *saved,
                     const real *x, int64_t x_stride, const RmsNormParams *params,
                     double eps, int64_t N, int64_t C);

/* Adds to dx and to dparams. dx has rows like x, dy like y, each with a stride of its own;
 * dx is not dy. */
void rmsnorm_backward_add(real *dx, int64_t dx_stride, const RmsNormParams *dparams,
                          const real *dy, int64_t dy_stride, const RmsNormSaved *saved,
                          const real *x, int64_t x_stride, const RmsNormParams *params,
                          int64_t N, int64_t C);

#endif
