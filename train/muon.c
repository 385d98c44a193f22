#include "train/muon.h"

#include <math.h>

#include "model/math/blas.h"
#include "model/math/vec.h"

static const real A = (real)3.4445;
static const real B = (real)-4.7750;
static const real C = (real)2.0315;

/* The Gram matrix is taken on the smaller side: k = min(rows, cols). */
static int64_t smaller_side(int64_t rows, int64_t cols)
{
    return rows < cols ? rows : cols;
}

int64_t muon_scratch(int64_t rows, int64_t cols)
{
    int64_t k = smaller_side(rows, cols);
    return 2 * k * k + rows * cols;
}

void muon_orthogonalise(real *x, int64_t rows, int64_t cols, real *scratch)
{
    int64_t k = smaller_side(rows, cols);
    int64_t count = rows * cols;
    real *gram = scratch;
    real *polynomial = gram + k * k;
    real *next = polynomial + k * k;
    double norm = sqrt(vec_square_sum(x, count));
    vec_scale(x, (real)(1 / (norm + 1e-7)), count);
    bool wide = rows <= cols;
    for (int step = 0; step < MUON_STEPS; step++) {
        /* gram = x x^T (or x^T x), polynomial = b gram + c gram^2 + a I */
        if (wide)
            matmul(PLAIN, TRANSPOSED, k, k, cols, 1, x, cols, x, cols, 0, gram, k);
        else
            matmul(TRANSPOSED, PLAIN, k, k, rows, 1, x, cols, x, cols, 0, gram, k);
        for (int64_t i = 0; i < k * k; i++)
            polynomial[i] = B * gram[i];
        matmul(PLAIN, PLAIN, k, k, k, C, gram, k, gram, k, 1, polynomial, k);
        for (int64_t i = 0; i < k; i++)
            polynomial[i * k + i] += A;
        /* x = polynomial x (or x polynomial: it is symmetric) */
        if (wide)
            matmul(PLAIN, PLAIN, rows, cols, k, 1, polynomial, k, x, cols, 0, next,
                   cols);
        else
            matmul(PLAIN, PLAIN, rows, cols, k, 1, x, cols, polynomial, k, 0, next,
                   cols);
        for (int64_t i = 0; i < count; i++)
            x[i] = next[i];
    }
}

void muon_update(real *values, real *momentum, const real *grads,
                 const MuonShape *shape, const MuonOptions *options, real *scratch)
{
    real mu = (real)options->momentum;
    int64_t rows = shape->rows;
    int64_t width = shape->width;
    int64_t cols = shape->slices * width;
    real *update = scratch;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t s = 0; s < shape->slices; s++) {
            int64_t at = i * shape->stride + s * shape->step;
            real *out = update + i * cols + s * width;
            for (int64_t j = 0; j < width; j++) {
                momentum[at + j] = mu * momentum[at + j] + grads[at + j];
                out[j] = grads[at + j] + mu * momentum[at + j];
            }
        }
    }
    muon_orthogonalise(update, rows, cols, scratch + rows * cols);
    double larger = sqrt(fmax(1, (double)cols / (double)rows));
    real step = (real)(options->rate * larger);
    real keep = (real)(1 - options->rate * options->decay);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t s = 0; s < shape->slices; s++) {
            int64_t at = i * shape->stride + s * shape->step;
            const real *out = update + i * cols + s * width;
            for (int64_t j = 0; j < width; j++)
                values[at + j] = keep * values[at + j] - step * out[j];
        }
    }
}
