/* How widely a head looks.
 *
 * Row i of a causal map p (n, n) has i+1 weights. Its entropy in shares of the widest
 * possible look is
 *   e_i = -(sum_j p_ij log p_ij) / log(i + 1),  i >= 1:   0 one-hot ... 1 uniform
 * and a head's entropy is the mean over rows. Rows that all turn one-hot are entropy
 * collapse (Zhai et al. 2023, arXiv:2303.06296). */
#ifndef JUEJU_MODEL_HEADS_ENTROPY_H
#define JUEJU_MODEL_HEADS_ENTROPY_H

#include <stdint.h>

#include "model/base/real.h"

/* Sum of e_i over rows 1 .. n-1; *rows gains n-1. Divide the sums of several maps. */
double entropy_sum(const real *weights, int64_t n, int64_t *rows);

#endif
