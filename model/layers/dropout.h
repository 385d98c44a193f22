/* y = x m / (1 - p), m = 0 with probability p, else 1. Srivastava et al. 2014.
 *   dx = dy m / (1 - p): the same function, applied to the gradient.
 *
 * The mask is not saved. It is a pure function of key, row and column, so the backward pass
 * forms it again, and no split of a batch into shards or threads changes it. p is rounded
 * down to a multiple of 2^-16 (16 random bits an element), in the mask and in the scale. */
#ifndef JUEJU_MODEL_LAYERS_DROPOUT_H
#define JUEJU_MODEL_LAYERS_DROPOUT_H

#include <stdint.h>

#include "model/base/real.h"

/* In place over (N, C) values, the first of which is row first_row of the step.
 * p = 0 does nothing. */
void dropout_apply(real *x, double p, uint64_t key, uint64_t first_row, int64_t N,
                   int64_t C);

#endif
