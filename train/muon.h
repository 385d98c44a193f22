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
 * Matrices that were packed for speed are taken apart: W_Q, W_K and W_V each for itself,
 * and MLA's keys and values, whose columns lie by turns. */
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

/* The (in, out) matrix to update, as it lies in a wider one: `slices` slices of `width`
 * columns, one every `step`; rows are `stride` reals apart. out = slices x width. */
typedef struct {
    int64_t rows, stride;
    int64_t slices, width, step;
} MuonShape;

/* One update; values, momentum and grads point to its first number and lie alike.
 * scratch: rows x out + muon_scratch. */
void muon_update(real *values, real *momentum, const real *grads,
                 const MuonShape *shape, const MuonOptions *options, real *scratch);

#endif
