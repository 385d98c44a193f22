/* x_n = s W_E[id_n] + W_P[position_n].   W_E (V, C)  W_P (T, C)  x (N, C)  s a number: 1, or
 * sqrt(C) so that a small W_E, which is the head as well, is heard beside sinusoids
 * (Vaswani et al. 2017, section 3.4).
 *
 *   dW_E[id_n] += s dx_n,   dW_P[position_n] += dx_n                         (a)
 * Identity: sum dW_E = s sum dW_P = s sum dx when both started at 0. */
#ifndef JUEJU_MODEL_LAYERS_EMBEDDING_H
#define JUEJU_MODEL_LAYERS_EMBEDDING_H

#include <stdint.h>

#include "model/base/real.h"

/* positions NULL: none is added (RoPE, or no positions at all); places is not read then. */
void embedding_forward(real *x, const real *tokens, real scale, const real *positions,
                       const int32_t *ids, const int32_t *places, int64_t N, int64_t C);

/* dpositions NULL: a table that isn't learned, or none; places is not read then. */
void embedding_backward(real *dtokens, real scale, real *dpositions, const real *dx,
                        const int32_t *ids, const int32_t *places, int64_t N,
                        int64_t C);

#endif
