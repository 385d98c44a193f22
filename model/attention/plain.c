/* Attention by its definition: see core.h for the equations. */
#include <math.h>
#include <string.h>

#include "model/attention/core.h"
#include "model/math/softmax.h"
#include "model/math/vec.h"

/* Query i sees keys first_key .. last_key. */
static int64_t first_key(const AttentionShape *shape, int64_t i)
{
    bool limited = shape->causal && shape->window > 0 && shape->window <= i;
    return limited ? i - shape->window + 1 : 0;
}

static int64_t last_key(const AttentionShape *shape, int64_t i)
{
    return shape->causal ? i : shape->m - 1;
}

void attention_plain_forward(real *z, real *weights, const real *q, const real *k,
                             const real *v, const AttentionShape *shape)
{
    int64_t m = shape->m, D = shape->D, E = shape->E;
    memset(weights, 0, (size_t)(shape->n * m) * sizeof(real));
    for (int64_t i = 0; i < shape->n; i++) {
        int64_t first = first_key(shape, i), last = last_key(shape, i);
        real *p = weights + i * m;
        for (int64_t j = first; j <= last; j++) /* (a) */
            p[j] = shape->scale *
                   vec_dot(q + i * shape->stride_q, k + j * shape->stride_k, D);
        softmax_forward(p + first, last - first + 1); /* (b) */
        real *out = z + i * shape->stride_z;
        memset(out, 0, (size_t)E * sizeof(real));
        for (int64_t j = first; j <= last; j++) /* (c) */
            vec_axpy(out, p[j], v + j * shape->stride_v, E);
    }
}

void attention_plain_backward(real *dq, real *dk, real *dv, KeyGradients keys,
                              const real *dz, const real *weights, const real *q,
                              const real *k, const real *v, const AttentionShape *shape)
{
    int64_t m = shape->m, D = shape->D, E = shape->E;
    for (int64_t j = 0; keys == KEYS_WRITE && j < m; j++) {
        memset(dk + j * shape->stride_k, 0, (size_t)D * sizeof(real));
        memset(dv + j * shape->stride_v, 0, (size_t)E * sizeof(real));
    }
    for (int64_t i = 0; i < shape->n; i++) {
        int64_t first = first_key(shape, i), last = last_key(shape, i);
        const real *p = weights + i * m;
        const real *qi = q + i * shape->stride_q, *dzi = dz + i * shape->stride_z;
        real *dqi = dq + i * shape->stride_q;
        memset(dqi, 0, (size_t)D * sizeof(real));
        real mean = 0; /* sum_m p_im dp_im */
        for (int64_t j = first; j <= last; j++)
            mean += p[j] * vec_dot(dzi, v + j * shape->stride_v, E);
        for (int64_t j = first; j <= last; j++) {
            const real *kj = k + j * shape->stride_k, *vj = v + j * shape->stride_v;
            vec_axpy(dv + j * shape->stride_v, p[j], dzi, E); /* (d) */
            real ds = p[j] * (vec_dot(dzi, vj, E) - mean);    /* (e) */
            vec_axpy(dqi, shape->scale * ds, kj, D);          /* (f) */
            vec_axpy(dk + j * shape->stride_k, shape->scale * ds, qi, D);
        }
    }
}
