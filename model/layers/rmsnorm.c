#include "model/layers/rmsnorm.h"

#include <math.h>

#include "model/math/vec.h"

void rmsnorm_forward(real *y, int64_t y_stride, const RmsNormSaved *saved,
                     const real *x, int64_t x_stride, const RmsNormParams *params,
                     double eps, int64_t N, int64_t C)
{
    for (int64_t n = 0; n < N; n++) {
        const real *in = x + n * x_stride;
        real *out = y + n * y_stride;
        real mean_square = vec_dot(in, in, C) / (real)C;
        real inverse = (real)(1 / sqrt((double)mean_square + eps));
#pragma omp simd
        for (int64_t j = 0; j < C; j++)
            out[j] = in[j] * inverse * params->gain[j];
        saved->inverse[n] = inverse;
    }
}

void rmsnorm_backward_add(real *dx, int64_t dx_stride, const RmsNormParams *dparams,
                          const real *dy, int64_t dy_stride, const RmsNormSaved *saved,
                          const real *x, int64_t x_stride, const RmsNormParams *params,
                          int64_t N, int64_t C)
{
    for (int64_t n = 0; n < N; n++) {
        const real *in = x + n * x_stride;
        const real *dout = dy + n * dy_stride;
        real *din = dx + n * dx_stride;
        real inverse = saved->inverse[n];
        real sum_u_x = 0;
        const real *gain = params->gain;
        real *dgain = dparams->gain;
        /* (a) dg_j += dy_j x_j r, and the sum that (b) needs */
#pragma omp simd reduction(+ : sum_u_x)
        for (int64_t j = 0; j < C; j++) {
            real dout_x = dout[j] * in[j];
            dgain[j] += dout_x * inverse;
            sum_u_x += dout_x * gain[j];
        }
        /* (b) dx_j += r (u_j - x_j r^2 mean(u x)) */
        real pull = inverse * inverse * (sum_u_x / (real)C);
#pragma omp simd
        for (int64_t j = 0; j < C; j++)
            din[j] += inverse * (dout[j] * gain[j] - in[j] * pull);
    }
}
