/* x_n = W_E[id_n] + W_P[position_n].   W_E (V, C)  W_P (T, C)  x (N, C).
 *
 *   dW_E[id_n] += dx_n,   dW_P[position_n] += dx_n                           (a)
 * Identity: sum dW_E = sum dW_P = sum dx when both started at 0. */
#ifndef JUEJU_MODEL_LAYERS_EMBEDDING_H
#define JUEJU_MODEL_LAYERS_EMBEDDING_H

#include <stdint.h>

#include "model/base/real.h"

/* positions NULL: none is added (RoPE, or no positions at all); places is not read then. */
void embedding_forward(real *x, const real *tokens, const real *positions,
                       const int32_t *ids, const int32_t *places, int64_t N, int64_t C);

/* dpositions NULL: a table that isn't learned, or none; places is not read then. */
void embedding_backward(real *dtokens, real *dpositions, const real *dx,
                        const int32_t *ids, const int32_t *places, int64_t N,
                        int64_t C);

#endif
