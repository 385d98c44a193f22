/* Sinusoidal positions: a fixed table in place of the learned W_P. Vaswani et al. 2017,
 * arXiv:1706.03762, section 3.5.
 *
 *   P[p][i] = sin(p w_i),  P[p][C/2 + i] = cos(p w_i),  w_i = 10000^(-2i/C)
 *
 * The sines in the first half of the channels, the cosines in the second, as Hugging Face's
 * Pegasus has them; the paper takes them by turns, which to a model that learns is the same.
 * Identity: <P[p], P[s]> = sum_i cos((p - s) w_i) for even C: it depends on p - s only.
 *
 * It goes into embedding_forward as `positions`; embedding_backward gets NULL. */
#ifndef JUEJU_MODEL_LAYERS_POSITION_H
#define JUEJU_MODEL_LAYERS_POSITION_H

#include <stdint.h>

#include "model/base/real.h"

/* table (T, C). Angles are computed in double. With odd C the first half has the middle channel. */
void position_sinusoidal(real *table, int64_t T, int64_t C);

#endif
