#include "model/math/softmax.h"

#include <math.h>

#include "model/math/vec.h"

real softmax_forward(real *row, int64_t n)
{
    real top = vec_max(row, n);
    real sum = vec_exp_sum(row, row, top, n);
    vec_scale(row, 1 / sum, n);
    return top + (real)log((double)sum);
}

void softmax_backward(real *dp, const real *p, int64_t n)
{
    real mean = vec_dot(dp, p, n);
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        dp[i] = p[i] * (dp[i] - mean);
}
