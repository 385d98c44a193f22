/* Matrix products of our own for training's shapes: a few hundred rows times matrices of a
 * few hundred columns, where a general BLAS spends a good part of its time arranging.
 *
 * Goto and van de Geijn 2008 ("Anatomy of high-performance matrix multiplication"), with
 * one level less: op(B) is cut into panels of 32 columns (two vectors), a panel into blocks
 * of 256 rows. Each block is copied, transposed on the way if need be, into a buffer that
 * stays in the first-level cache while the rows of op(A) pass by, eight at a time, straight
 * from where they are (model/math/tile.h).
 *
 *          panel 0   panel 1
 *        +---------+---------+--        for each block of 256 rows of B
 *   256  | block   | block   |            for each panel
 *        +---------+---------+--            copy the block (32 KB in float)
 *        | block   | block   |              for each 8 rows of A: C += A block
 *
 * Element (i, j) of C is a sum over k in rising order, block by block, whatever m is: a row's
 * result does not depend on the rows beside it. */
#ifndef JUEJU_MODEL_MATH_PRODUCT_H
#define JUEJU_MODEL_MATH_PRODUCT_H

#include "model/math/blas.h"
#include "model/math/tile.h"

/* C = S + alpha op(A) op(B); S is zero, a bias for every row, or C (TileStart). Shapes as
 * matmul's. */
void product_matmul(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                    real alpha, const real *a, int64_t lda, const real *b, int64_t ldb,
                    TileStart start, real *c, int64_t ldc);

/* Whether these shapes are better off here than in the BLAS, on this kind of CPU: measured,
 * tests/bench/LOG.md. */
bool product_fits(Transpose ta, int64_t m, int64_t n, int64_t k, int64_t lda);

#endif
