/* y = (silu(x W_g + b_g) * (x W_u + b_u)) W_d + b_d, the product * element by element.
 * Shazeer 2020, arXiv:2002.05202; Llama's MLP, there without biases.
 *   x, y (N, C)   W_g, W_u (C, F)   W_d (F, C)
 *
 *   1  g = x W_g + b_g
 *   2  u = x W_u + b_u
 *   3  a = silu(g) u,  silu(g) = g s,  s = 1/(1 + exp(-g))
 *   4  y = a W_d + b_d
 * Of 3, with silu'(g) = s + g s (1 - s):
 *   du = da silu(g)                                                         (a)
 *   dg = da u silu'(g)                                                      (b)
 * and x is read twice: dx = dg W_g^T + du W_u^T                             (c)
 * Identities: silu(g) - silu(-g) = g; sum u du = sum a da (a is linear in u). */
#ifndef JUEJU_MODEL_LAYERS_SWIGLU_H
#define JUEJU_MODEL_LAYERS_SWIGLU_H

#include "model/layers/linear.h"

typedef struct {
    LinearParams gate; /* W_g, b_g or NULL */
    LinearParams up;   /* W_u, b_u or NULL */
    LinearParams down; /* W_d, b_d or NULL */
} SwigluParams;

/* Saved: g and u for (a) and (b), a for dW_d. s is recomputed: one exp costs less than
 * writing and reading a fourth array. */
typedef struct {
    real *gate; /* g (N, F) */
    real *up;   /* u (N, F) */
    real *act;  /* a (N, F) */
} SwigluSaved;

void swiglu_forward(real *y, const SwigluSaved *saved, const real *x,
                    const SwigluParams *params, int64_t N, int64_t C, int64_t F);

/* Writes dx, adds to dparams. scratch: (2, N, F). dx must not overlap x. */
void swiglu_backward(real *dx, const SwigluParams *dparams, const real *dy,
                     const SwigluSaved *saved, const real *x,
                     const SwigluParams *params, real *scratch, int64_t N, int64_t C,
                     int64_t F);

/* Step 3 alone, for `count` numbers. a may be g or u.
 *
 * A g far below 0 gives 0 and one far above gives g u. In float exp stays at e^88, so s is
 * 6e-39 at the least and silu(g) is as good as 0 down to -1e9 and beyond. NaN stays NaN;
 * an infinite g has no useful result (inf 0 is NaN): it is left to whoever checks the loss. */
void swiglu_gate_forward(real *a, const real *g, const real *u, int64_t count);

/* (a) and (b): da becomes dg, du is written. */
void swiglu_gate_backward(real *da, real *du, const real *g, const real *u,
                          int64_t count);

#endif
