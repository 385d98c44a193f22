#include "model/layers/linear.h"

#include <string.h>

#include "model/math/blas.h"
#include "model/math/vec.h"

void linear_forward(real *y, const real *x, const LinearParams *params, int64_t N,
                    int64_t in, int64_t out)
{
    if (in == 0 && params->bias == NULL)
        memset(y, 0, (size_t)(N * out) * sizeof(real));
    else if (in == 0) {
        for (int64_t n = 0; n < N; n++)
            memcpy(y + n * out, params->bias, (size_t)out * sizeof(real));
    } else
        matmul_bias(PLAIN, N, out, in, x, in, params->weight, out, params->bias, y,
                    out);
}

/* (b) and (c) */
static void params_backward(const LinearParams *dparams, const real *dy, const real *x,
                            int64_t N, int64_t in, int64_t out)
{
    /* (b) dW += x^T dy */
    if (in > 0)
        matmul(TRANSPOSED, PLAIN, in, out, N, 1, x, in, dy, out, 1, dparams->weight,
               out);
    /* (c) db += sum_n dy_n */
    if (dparams->bias != NULL) {
        for (int64_t n = 0; n < N; n++)
            vec_add(dparams->bias, dy + n * out, out);
    }
}

void linear_backward(real *dx, const LinearParams *dparams, const real *dy,
                     const real *x, const LinearParams *params, int64_t N, int64_t in,
                     int64_t out)
{
    /* (a) dx = dy W^T */
    if (dx != NULL && out == 0)
        memset(dx, 0, (size_t)(N * in) * sizeof(real));
    else if (dx != NULL)
        matmul(PLAIN, TRANSPOSED, N, in, out, 1, dy, out, params->weight, out, 0, dx,
               in);
    params_backward(dparams, dy, x, N, in, out);
}

void linear_backward_add(real *dx, const LinearParams *dparams, const real *dy,
                         const real *x, const LinearParams *params, int64_t N,
                         int64_t in, int64_t out)
{
    /* (a) dx += dy W^T */
    if (out > 0)
        matmul(PLAIN, TRANSPOSED, N, in, out, 1, dy, out, params->weight, out, 1, dx,
               in);
    params_backward(dparams, dy, x, N, in, out);
}
