#include "model/layers/linear.h"

#include "model/math/blas.h"
#include "model/math/vec.h"

void linear_forward(real *y, const real *x, const LinearParams *params, int64_t N,
                    int64_t in, int64_t out)
{
    matmul_bias(PLAIN, N, out, in, x, in, params->weight, out, params->bias, y, out);
}

void linear_backward(real *dx, const LinearParams *dparams, const real *dy,
                     const real *x, const LinearParams *params, int64_t N, int64_t in,
                     int64_t out)
{
    /* (a) dx = dy W^T */
    if (dx != NULL)
        matmul(PLAIN, TRANSPOSED, N, in, out, 1, dy, out, params->weight, out, 0, dx,
               in);
    /* (b) dW += x^T dy */
    matmul(TRANSPOSED, PLAIN, in, out, N, 1, x, in, dy, out, 1, dparams->weight, out);
    /* (c) db += sum_n dy_n */
    if (dparams->bias != NULL) {
        for (int64_t n = 0; n < N; n++)
            vec_add(dparams->bias, dy + n * out, out);
    }
}
