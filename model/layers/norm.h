/* The norm of a model: LayerNorm (with or without a bias) or RMSNorm, behind one call.
 *
 * Both keep one shape of parameters and of what is saved; what a kind has no use for is
 * NULL and never looked at. Equations: layernorm.h, rmsnorm.h.
 * Identity: LayerNorm(x) - b = RMSNorm(x - mean(x)), with the same gain and eps. */
#ifndef JUEJU_MODEL_LAYERS_NORM_H
#define JUEJU_MODEL_LAYERS_NORM_H

#include "model/layers/layernorm.h"

typedef enum { NORM_LAYER, NORM_RMS } NormKind;

typedef LayerNormParams NormParams; /* bias: NULL for NORM_RMS */
typedef LayerNormSaved NormSaved;   /* mean: NULL for NORM_RMS */

/* x, y (N, C). */
void norm_forward(NormKind kind, real *y, const NormSaved *saved, const real *x,
                  const NormParams *params, double eps, int64_t N, int64_t C);

/* Adds to dx and to dparams. dx is not dy. */
void norm_backward_add(NormKind kind, real *dx, const NormParams *dparams,
                       const real *dy, const NormSaved *saved, const real *x,
                       const NormParams *params, int64_t N, int64_t C);

#endif
