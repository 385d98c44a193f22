/* y = x W + b;   x (N, in)  W (in, out)  b (out)  y (N, out).
 *
 *   dx  = dy W^T                                           (a)
 *   dW += x^T dy                                           (b)
 *   db += sum_n dy_n                                       (c)
 * Identity: sum dx x = sum dW W when b = 0 and dW started at 0 (both are <dy, y>).
 *
 * in = 0 is a sum of nothing (y = b) and out = 0 gives dx = 0, as in a layer whose heads were
 * all cut. */
#ifndef JUEJU_MODEL_LAYERS_LINEAR_H
#define JUEJU_MODEL_LAYERS_LINEAR_H

#include <stdint.h>

#include "model/base/real.h"

typedef struct {
    real *weight; /* (in, out) */
    real *bias;   /* (out), or NULL */
} LinearParams;

/* y must not overlap x. */
void linear_forward(real *y, const real *x, const LinearParams *params, int64_t N,
                    int64_t in, int64_t out);

/* Writes dx (which may be NULL), adds to dparams. */
void linear_backward(real *dx, const LinearParams *dparams, const real *dy,
                     const real *x, const LinearParams *params, int64_t N, int64_t in,
                     int64_t out);

/* The same, but adds to dx: for an x that also goes elsewhere. */
void linear_backward_add(real *dx, const LinearParams *dparams, const real *dy,
                         const real *x, const LinearParams *params, int64_t N,
                         int64_t in, int64_t out);

#endif
