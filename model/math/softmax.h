/* p_i = exp(s_i - m) / sum_j exp(s_j - m),  m = max s: the shift changes nothing and keeps
 * exp from overflowing.
 *
 *   dp_i / ds_j = p_i (delta_ij - p_j)   =>   ds_j = p_j (dp_j - sum_i dp_i p_i)
 * Identities: sum p = 1; sum ds = 0. */
#ifndef JUEJU_MODEL_MATH_SOFTMAX_H
#define JUEJU_MODEL_MATH_SOFTMAX_H

#include <stdint.h>

#include "model/base/real.h"

/* In place over n > 0 scores; returns log sum exp, so that p_i = exp(s_i - result). */
real softmax_forward(real *row, int64_t n);

/* In place: dp becomes ds. */
void softmax_backward(real *dp, const real *p, int64_t n);

#endif
