#include "model/layers/mlp.h"

#include "model/layers/gelu.h"
#include "model/math/vec.h"

void mlp_forward(real *y, const MlpSaved *saved, const real *x, const MlpParams *params,
                 int64_t N, int64_t C, int64_t F)
{
    linear_forward(saved->pre, x, &params->up, N, C, F);   /* 1 */
    gelu_forward_slope(saved->act, saved->pre, N * F);     /* 2 */
    linear_forward(y, saved->act, &params->down, N, F, C); /* 3 */
}

void mlp_backward(real *dx, const MlpParams *dparams, const real *dy,
                  const MlpSaved *saved, const real *x, const MlpParams *params,
                  real *scratch, int64_t N, int64_t C, int64_t F)
{
    real *du = scratch;
    /* 3  y = a W_2 + b_2; scratch takes da */
    linear_backward(du, &dparams->down, dy, saved->act, &params->down, N, F, C);
    /* 2  a = GELU(u); da becomes du */
    vec_multiply(du, saved->pre, N * F);
    /* 1  u = x W_1 + b_1 */
    linear_backward(dx, &dparams->up, du, x, &params->up, N, C, F);
}
