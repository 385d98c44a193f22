/* Small matrix products for attention: C = A B or C += A B with B's rows contiguous.
 *
 * One poem and one head make products too small for BLAS to do well (n about 50, D = 32).
 * This kernel keeps 8 rows by 2 vectors of C in registers. Buffers are padded to whole
 * vectors: TILE_LANES reals. */
#ifndef JUEJU_MODEL_MATH_TILE_H
#define JUEJU_MODEL_MATH_TILE_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/real.h"

enum { TILE_BYTES = 64, TILE_LANES = TILE_BYTES / (int)sizeof(real) };

/* n rounded up to whole vectors. */
static inline int64_t tile_round(int64_t n)
{
    return (n + TILE_LANES - 1) / TILE_LANES * TILE_LANES;
}

/* Where sums begin: S (m, n) with rows ld apart. NULL is zero, ld = 0 one row for all (a
 * bias), C itself adds to what is there. */
typedef struct {
    const real *from;
    int64_t ld;
} TileStart;

/* C (m, n) = S + A B.   A (m, k): A[i][p] = a[i row_step + p col_step], so a transposed A
 * costs nothing extra.   B (k, n) with rows ldb apart.   n and ldb are multiples of
 * TILE_LANES and b is 64-byte aligned. */
void tile_matmul(real *c, int64_t ldc, TileStart start, const real *a, int64_t row_step,
                 int64_t col_step, const real *b, int64_t ldb, int64_t m, int64_t n,
                 int64_t k);

#endif
