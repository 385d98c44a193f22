/* Sinusoidal positions: a fixed table in place of the learned W_P. Vaswani et al. 2017,
 * arXiv:1706.03762, section 3.5.
 *
 *   P[p][2i] = sin(p w_i),  P[p][2i+1] = cos(p w_i),  w_i = 10000^(-2i/C)
 * Identity: <P[p], P[s]> = sum_i cos((p - s) w_i) for even C: it depends on p - s only.
 *
 * It goes into embedding_forward as `positions`; embedding_backward gets NULL. */
#ifndef JUEJU_MODEL_LAYERS_POSITION_H
#define JUEJU_MODEL_LAYERS_POSITION_H

#include <stdint.h>

#include "model/base/real.h"

/* table (T, C). Angles are computed in double. With odd C the last sine has no cosine. */
void position_sinusoidal(real *table, int64_t T, int64_t C);

#endif
