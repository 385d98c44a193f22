#include "model/layers/embedding.h"

#include "model/math/vec.h"

void embedding_forward(real *x, const real *tokens, real scale, const real *positions,
                       const int32_t *ids, const int32_t *places, int64_t N, int64_t C)
{
    for (int64_t n = 0; n < N; n++) {
        const real *token = tokens + ids[n] * C;
        real *out = x + n * C;
        if (positions == NULL) {
#pragma omp simd
            for (int64_t j = 0; j < C; j++)
                out[j] = scale * token[j];
            continue;
        }
        const real *position = positions + places[n] * C;
#pragma omp simd
        for (int64_t j = 0; j < C; j++)
            out[j] = scale * token[j] + position[j];
    }
}

void embedding_backward(real *dtokens, real scale, real *dpositions, const real *dx,
                        const int32_t *ids, const int32_t *places, int64_t N, int64_t C)
{
    for (int64_t n = 0; n < N; n++) {
        vec_axpy(dtokens + ids[n] * C, scale, dx + n * C, C); /* (a) */
        if (dpositions != NULL)
            vec_add(dpositions + places[n] * C, dx + n * C, C);
    }
}
