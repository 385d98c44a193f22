/* GELU in its tanh form. Hendrycks and Gimpel 2016, arXiv:1606.08415; GPT-2's activation.
 *
 *   gelu(u) = u (1 + tanh(t)) / 2,  t = sqrt(2/pi) (u + 0.044715 u^3)
 * Since (1 + tanh t)/2 = s = 1/(1 + exp(-2t)):
 *   gelu(u)  = u s                                                           (a)
 *   gelu'(u) = s + u s (1 - s) 2t',  t' = sqrt(2/pi) (1 + 3 0.044715 u^2)    (b)
 * Identity: gelu(u) - gelu(-u) = u. */
#ifndef JUEJU_MODEL_LAYERS_GELU_H
#define JUEJU_MODEL_LAYERS_GELU_H

#include <stdint.h>

#include "model/base/real.h"

/* y may be u. */
void gelu_forward(real *y, const real *u, int64_t count);

/* The same, and u becomes gelu'(u): while s is at hand (b) costs no exp and no division, and
 * the backward pass then only multiplies. */
void gelu_forward_slope(real *y, real *u, int64_t count);

/* In place: dy becomes du. */
void gelu_backward(real *dy, const real *u, int64_t count);

#endif
