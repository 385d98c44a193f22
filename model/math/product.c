#include "model/math/product.h"

#include <string.h>

#include "model/math/tile.h"

enum {
    PANEL = 2 * TILE_LANES, /* columns */
    BLOCK = 256,            /* rows of a panel that are copied at a time */
    EDGE_ROWS = 8, /* rows of C that the last, partial panel works on at a time */
};

/* block (rows, PANEL) = alpha op(B)[first .. first+rows-1][column .. column+columns-1],
 * zeros in the columns behind. */
static void copy_block(real *block, Transpose tb, const real *b, int64_t ldb,
                       int64_t first, int64_t rows, int64_t column, int64_t columns,
                       real alpha)
{
    if (columns < PANEL)
        memset(block, 0, (size_t)(rows * PANEL) * sizeof(real));
    if (tb == PLAIN) {
        for (int64_t p = 0; p < rows; p++) {
            const real *from = b + (first + p) * ldb + column;
            for (int64_t j = 0; j < columns; j++)
                block[p * PANEL + j] = alpha * from[j];
        }
        return;
    }
    for (int64_t j = 0; j < columns; j++) {
        const real *from = b + (column + j) * ldb + first;
        for (int64_t p = 0; p < rows; p++)
            block[p * PANEL + j] = alpha * from[p];
    }
}

/* The last panel when it is not full: through a buffer of whole vectors. */
static void multiply_edge(real *c, int64_t ldc, const real *a, int64_t row_step,
                          int64_t col_step, const real *block, int64_t m,
                          int64_t columns, int64_t rows, bool add)
{
    real part[EDGE_ROWS * PANEL] __attribute__((aligned(TILE_BYTES)));
    for (int64_t i = 0; i < m; i += EDGE_ROWS) {
        int64_t count = m - i < EDGE_ROWS ? m - i : EDGE_ROWS;
        tile_matmul(part, PANEL, a + i * row_step, row_step, col_step, block, PANEL,
                    count, PANEL, rows, false);
        for (int64_t r = 0; r < count; r++) {
            real *out = c + (i + r) * ldc;
            for (int64_t j = 0; j < columns; j++)
                out[j] = part[r * PANEL + j] + (add ? out[j] : 0);
        }
    }
}

void product_matmul(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                    real alpha, const real *a, int64_t lda, const real *b, int64_t ldb,
                    bool add, real *c, int64_t ldc)
{
    real block[BLOCK * PANEL] __attribute__((aligned(TILE_BYTES)));
    int64_t row_step = ta == PLAIN ? lda : 1;
    int64_t col_step = ta == PLAIN ? 1 : lda;
    for (int64_t first = 0; first < k; first += BLOCK) {
        int64_t rows = k - first < BLOCK ? k - first : BLOCK;
        const real *rows_a = a + first * col_step;
        bool adds = add || first > 0;
        for (int64_t column = 0; column < n; column += PANEL) {
            int64_t columns = n - column < PANEL ? n - column : PANEL;
            copy_block(block, tb, b, ldb, first, rows, column, columns, alpha);
            if (columns == PANEL)
                tile_matmul(c + column, ldc, rows_a, row_step, col_step, block, PANEL,
                            m, PANEL, rows, adds);
            else
                multiply_edge(c + column, ldc, rows_a, row_step, col_step, block, m,
                              columns, rows, adds);
        }
    }
}

bool product_fits(Transpose ta, int64_t m, int64_t n, int64_t k, int64_t lda,
                  int64_t ldc)
{
#ifdef __AVX512F__
    /* Copying a block costs about as much as three rows of work on it; rows of A^T or C
     * that lie pages apart cost more than they save. */
    bool far_apart = (ta == TRANSPOSED && lda > 4096) || ldc > 4096;
    return m >= 32 && n >= TILE_LANES && k >= 8 && !far_apart;
#else
    /* The tile's sixteen sums need 32 registers of 64 bytes. */
    (void)ta, (void)m, (void)n, (void)k, (void)lda, (void)ldc;
    return false;
#endif
}
