#include "model/layers/norm.h"

#include "model/layers/rmsnorm.h"

void norm_forward(NormKind kind, real *y, const NormSaved *saved, const real *x,
                  const NormParams *params, double eps, int64_t N, int64_t C)
{
    switch (kind) {
    case NORM_LAYER:
        layernorm_forward(y, saved, x, params, eps, N, C);
        break;
    case NORM_RMS:
        rmsnorm_forward(y, C, &(RmsNormSaved){saved->inverse}, x, C,
                        &(RmsNormParams){params->gain}, eps, N, C);
        break;
    }
}

void norm_backward_add(NormKind kind, real *dx, const NormParams *dparams,
                       const real *dy, const NormSaved *saved, const real *x,
                       const NormParams *params, int64_t N, int64_t C)
{
    switch (kind) {
    case NORM_LAYER:
        layernorm_backward_add(dx, dparams, dy, saved, x, params, N, C);
        break;
    case NORM_RMS:
        rmsnorm_backward_add(dx, C, &(RmsNormParams){dparams->gain}, dy, C,
                             &(RmsNormSaved){saved->inverse}, x, C,
                             &(RmsNormParams){params->gain}, N, C);
        break;
    }
}
