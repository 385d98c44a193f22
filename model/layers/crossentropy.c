#include "model/layers/crossentropy.h"

#include <math.h>
#include <string.h>

#include "model/math/blas.h"
#include "model/math/vec.h"

/* exp(z - max) in place; returns -log p(target) and the sum of exps. */
static double row_loss(real *z, real *sum, int32_t target, int64_t V)
{
    real top = vec_max(z, V);
    real at_target = z[target];
    *sum = vec_exp_sum(z, z, top, V);
    return log((double)*sum) + (double)top - (double)at_target;
}

void crossentropy_rows(real *logits, double *nats, real *token_nats,
                       const int32_t *targets, real scale, int64_t rows, int64_t V)
{
    for (int64_t n = 0; n < rows; n++) {
        real *z = logits + n * V;
        double loss = 0;
        if (targets[n] < 0) {
            memset(z, 0, (size_t)V * sizeof(real));
        } else {
            real sum;
            loss = row_loss(z, &sum, targets[n], V);
            vec_scale(z, scale / sum, V); /* (a) */
            z[targets[n]] -= scale;
        }
        *nats += loss;
        if (token_nats != NULL)
            token_nats[n] = (real)loss;
    }
}

void crossentropy_loss_rows(real *logits, double *nats, real *token_nats,
                            const int32_t *targets, int64_t rows, int64_t V)
{
    for (int64_t n = 0; n < rows; n++) {
        real sum;
        double loss =
            targets[n] < 0 ? 0 : row_loss(logits + n * V, &sum, targets[n], V);
        *nats += loss;
        if (token_nats != NULL)
            token_nats[n] = (real)loss;
    }
}

double crossentropy_head(real *df, real *dweight, real *token_nats, const real *f,
                         const real *weight, const int32_t *targets, real scale,
                         real *logits, int64_t N, int64_t C, int64_t V)
{
    double nats = 0;
    for (int64_t first = 0; first < N; first += CROSSENTROPY_ROWS) {
        int64_t rows = N - first < CROSSENTROPY_ROWS ? N - first : CROSSENTROPY_ROWS;
        const real *in = f + first * C;
        real *out_nats = token_nats == NULL ? NULL : token_nats + first;
        matmul(PLAIN, TRANSPOSED, rows, V, C, 1, in, C, weight, C, 0, logits, V);
        if (df == NULL) {
            crossentropy_loss_rows(logits, &nats, out_nats, targets + first, rows, V);
            continue;
        }
        crossentropy_rows(logits, &nats, out_nats, targets + first, scale, rows, V);
        /* (b) df = dz W_E */
        matmul(PLAIN, PLAIN, rows, C, V, 1, logits, V, weight, C, 0, df + first * C, C);
        /* (c) dW_E += dz^T f */
        matmul(TRANSPOSED, PLAIN, V, C, rows, 1, logits, V, in, C, 1, dweight, C);
    }
    return nats;
}
