#include "model/layers/layernorm.h"

#include <math.h>

#include "model/math/vec.h"

void layernorm_forward(real *y, const LayerNormSaved *saved, const real *x,
                       const LayerNormParams *params, double eps, int64_t N, int64_t C)
{
    for (int64_t n = 0; n < N; n++) {
        const real *in = x + n * C;
        real *out = y + n * C;
        real mean = vec_sum(in, C) / (real)C;
        real variance = 0;
#pragma omp simd reduction(+ : variance)
        for (int64_t j = 0; j < C; j++)
            variance += (in[j] - mean) * (in[j] - mean);
        variance /= (real)C;
        real inverse = (real)(1 / sqrt((double)variance + eps));
        const real *bias = params->bias;
#pragma omp simd
        for (int64_t j = 0; j < C; j++)
            out[j] = (in[j] - mean) * inverse * params->gain[j] +
                     (bias != NULL ? bias[j] : 0);
        saved->mean[n] = mean;
        saved->inverse[n] = inverse;
    }
}

void layernorm_backward_add(real *dx, const LayerNormParams *dparams, const real *dy,
                            const LayerNormSaved *saved, const real *x,
                            const LayerNormParams *params, int64_t N, int64_t C)
{
    const real *gain = params->gain;
    real *dgain = dparams->gain;
    for (int64_t n = 0; n < N; n++) {
        const real *in = x + n * C;
        const real *dout = dy + n * C;
        real *din = dx + n * C;
        real mean = saved->mean[n];
        real inverse = saved->inverse[n];
        real sum_u = 0;
        real sum_u_xhat = 0;
        /* (a) dg_j += dy_j xhat_j, db_j += dy_j, and the two sums that (b) needs */
#pragma omp simd reduction(+ : sum_u, sum_u_xhat)
        for (int64_t j = 0; j < C; j++) {
            real xhat = (in[j] - mean) * inverse;
            real u = dout[j] * gain[j];
            dgain[j] += dout[j] * xhat;
            sum_u += u;
            sum_u_xhat += u * xhat;
        }
        if (dparams->bias != NULL)
            vec_add(dparams->bias, dout, C);
        sum_u /= (real)C;
        sum_u_xhat /= (real)C;
        /* (b) dx_j += r (u_j - mean(u) - xhat_j mean(u xhat)) */
#pragma omp simd
        for (int64_t j = 0; j < C; j++) {
            real xhat = (in[j] - mean) * inverse;
            real u = dout[j] * gain[j];
            din[j] += inverse * (u - sum_u - xhat * sum_u_xhat);
        }
    }
}
