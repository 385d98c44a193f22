/* y = GELU(x W_1 + b_1) W_2 + b_2.   x, y (N, C)   W_1 (C, F)   W_2 (F, C).
 *
 *   1  u = x W_1 + b_1
 *   2  a = GELU(u)
 *   3  y = a W_2 + b_2 */
#ifndef JUEJU_MODEL_LAYERS_MLP_H
#define JUEJU_MODEL_LAYERS_MLP_H

#include "model/layers/linear.h"

typedef struct {
    LinearParams up;   /* W_1, b_1 */
    LinearParams down; /* W_2, b_2 */
} MlpParams;

/* Saved: GELU's derivative, made in passing where u stood, and a for dW_2. */
typedef struct {
    real *pre; /* u, then gelu'(u) (N, F) */
    real *act; /* a (N, F) */
} MlpSaved;

void mlp_forward(real *y, const MlpSaved *saved, const real *x, const MlpParams *params,
                 int64_t N, int64_t C, int64_t F);

/* Writes dx, adds to dparams. scratch: (N, F). */
void mlp_backward(real *dx, const MlpParams *dparams, const real *dy,
                  const MlpSaved *saved, const real *x, const MlpParams *params,
                  real *scratch, int64_t N, int64_t C, int64_t F);

#endif
