/* Attention by its definition: see core.h for the equations. */
#include <math.h>
#include <string.h>

#include "model/attention/core.h"
#include "model/math/softmax.h"
#include "model/math/vec.h"

void attention_plain_forward(real *z, real *weights, const real *q, const real *k,
                             const real *v, const AttentionShape *shape)
{
    int64_t n = shape->n;
    int64_t D = shape->D;
    real scale = (real)(1 / sqrt((double)D));
    for (int64_t i = 0; i < n; i++) {
        real *p = weights + i * n;
        for (int64_t j = 0; j <= i; j++) /* (a) */
            p[j] = scale * vec_dot(q + i * shape->stride, k + j * shape->stride, D);
        softmax_forward(p, i + 1); /* (b) */
        memset(p + i + 1, 0, (size_t)(n - i - 1) * sizeof(real));
        real *out = z + i * shape->stride_z;
        memset(out, 0, (size_t)D * sizeof(real));
        for (int64_t j = 0; j <= i; j++) /* (c) */
            vec_axpy(out, p[j], v + j * shape->stride, D);
    }
}

void attention_plain_backward(real *dq, real *dk, real *dv, const real *dz,
                              const real *weights, const real *q, const real *k,
                              const real *v, const AttentionShape *shape)
{
    int64_t n = shape->n;
    int64_t D = shape->D;
    real scale = (real)(1 / sqrt((double)D));
    for (int64_t i = 0; i < n; i++) {
        memset(dq + i * shape->stride, 0, (size_t)D * sizeof(real));
        memset(dk + i * shape->stride, 0, (size_t)D * sizeof(real));
        memset(dv + i * shape->stride, 0, (size_t)D * sizeof(real));
    }
    for (int64_t i = 0; i < n; i++) {
        const real *p = weights + i * n;
        const real *dzi = dz + i * shape->stride_z;
        real mean = 0; /* sum_m p_im dp_im */
        for (int64_t j = 0; j <= i; j++)
            mean += p[j] * vec_dot(dzi, v + j * shape->stride, D);
        for (int64_t j = 0; j <= i; j++) {
            vec_axpy(dv + j * shape->stride, p[j], dzi, D);                   /* (d) */
            real ds = p[j] * (vec_dot(dzi, v + j * shape->stride, D) - mean); /* (e) */
            vec_axpy(dq + i * shape->stride, ds * scale, k + j * shape->stride,
                     D); /* (f) */
            vec_axpy(dk + j * shape->stride, ds * scale, q + i * shape->stride, D);
        }
    }
}
