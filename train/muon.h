/* Muon: momentum, orthogonalised. Keller Jordan et al. 2024,
 * https://kellerjordan.github.io/posts/muon.
 *
 *   m = mu m + g
 *   u = g + mu m                                   (Nesterov)
 *   o = orthogonal factor of u, about U V^T of u = U S V^T
 *   w = w - rate (decay w + sqrt(max(1, out/in)) o)
 *
 * The orthogonal factor comes from Newton-Schulz steps: x_0 = u / |u|_F and
 *   x <- a x + b (x x^T) x + c (x x^T)^2 x
 * which moves every singular value s to a s + b s^3 + c s^5. With a = 3.4445, b = -4.7750,
 * c = 2.0315 five steps bring singular values between about 0.01 and 1 to 0.7 .. 1.2,
 * which is enough.
 *
 * Matrices that were packed for speed are taken apart: W_Q, W_K and W_V each for itself. */
#ifndef JUEJU_TRAIN_MUON_H
#define JUEJU_TRAIN_MUON_H

#include <stdint.h>

#include "model/base/memory.h"
#include "model/base/real.h"

typedef struct {
    double rate;
    double momentum;
    double decay;
} MuonOptions;

enum { MUON_STEPS = 5 };

/* x (rows, cols), contiguous, becomes about its orthogonal factor. scratch: reals as
 * muon_scratch says. A zero matrix stays zero. */
void muon_orthogonalise(real *x, int64_t rows, int64_t cols, real *scratch);
int64_t muon_scratch(int64_t rows, int64_t cols);

/* One update of a (rows, cols) = (in, out) block of a matrix whose rows are `stride` reals
 * apart in values, momentum and grads alike. scratch: rows x cols + muon_scratch. */
void muon_update(real *values, real *momentum, const real *grads, int64_t stride,
                 int64_t rows, int64_t cols, const MuonOptions *options, real *scratch);

#endif
