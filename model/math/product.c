#include "model/math/product.h"

#include <string.h>

#include "model/math/transpose.h"

enum {
    PANEL = 2 * TILE_LANES, /* columns */
    BLOCK = 256,            /* rows of a panel that are copied at a time */
    EDGE_ROWS = 8, /* rows of C that the last, partial panel works on at a time */
};

/* alpha op(B), n columns. */
typedef struct {
    Transpose transpose;
    const real *b;
    int64_t ldb, n;
    real alpha;
} Right;

/* block (rows, PANEL) = alpha op(B)[first .. first+rows-1][column .. column+columns-1],
 * zeros in the columns behind. */
static void copy_block(real *block, const Right *right, int64_t first, int64_t rows,
                       int64_t column, int64_t columns)
{
    const real *b = right->b;
    int64_t ldb = right->ldb;
    real alpha = right->alpha;
    if (columns < PANEL)
        memset(block, 0, (size_t)(rows * PANEL) * sizeof(real));
    if (right->transpose == PLAIN) {
        for (int64_t p = 0; p < rows; p++) {
            const real *from = b + (first + p) * ldb + column;
            for (int64_t j = 0; j < columns; j++)
                block[p * PANEL + j] = alpha * from[j];
        }
        return;
    }
    transpose_copy(block, PANEL, b + column * ldb + first, ldb, columns, rows, alpha);
}

/* The last panel when it is not full: through a buffer of whole vectors. */
static void multiply_edge(real *c, int64_t ldc, TileStart start, const real *a,
                          int64_t row_step, int64_t col_step, const real *block,
                          int64_t m, int64_t columns, int64_t rows)
{
    real part[EDGE_ROWS * PANEL] __attribute__((aligned(TILE_BYTES)));
    for (int64_t i = 0; i < m; i += EDGE_ROWS) {
        int64_t count = m - i < EDGE_ROWS ? m - i : EDGE_ROWS;
        for (int64_t r = 0; r < count; r++) {
            memset(part + r * PANEL, 0, PANEL * sizeof(real));
            if (start.from != NULL)
                memcpy(part + r * PANEL, start.from + (i + r) * start.ld,
                       (size_t)columns * sizeof(real));
        }
        tile_matmul(part, PANEL, (TileStart){part, PANEL}, a + i * row_step, row_step,
                    col_step, block, PANEL, count, PANEL, rows);
        for (int64_t r = 0; r < count; r++)
            memcpy(c + (i + r) * ldc, part + r * PANEL, (size_t)columns * sizeof(real));
    }
}

/* C = S + A block for all panels: m rows of A against `rows` rows of op(B) from `first`. */
static void multiply_panels(real *c, int64_t ldc, TileStart start, const real *a,
                            int64_t row_step, int64_t col_step, const Right *right,
                            int64_t first, int64_t rows, int64_t m)
{
    real block[BLOCK * PANEL] __attribute__((aligned(TILE_BYTES)));
    for (int64_t column = 0; column < right->n; column += PANEL) {
        int64_t columns = right->n - column < PANEL ? right->n - column : PANEL;
        copy_block(block, right, first, rows, column, columns);
        TileStart here = {start.from == NULL ? NULL : start.from + column, start.ld};
        if (columns == PANEL)
            tile_matmul(c + column, ldc, here, a, row_step, col_step, block, PANEL, m,
                        PANEL, rows);
        else
            multiply_edge(c + column, ldc, here, a, row_step, col_step, block, m,
                          columns, rows);
    }
}

void product_matmul(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                    real alpha, const real *a, int64_t lda, const real *b, int64_t ldb,
                    TileStart start, real *c, int64_t ldc)
{
    int64_t row_step = ta == PLAIN ? lda : 1;
    int64_t col_step = ta == PLAIN ? 1 : lda;
    Right right = {.transpose = tb, .b = b, .ldb = ldb, .n = n, .alpha = alpha};
    for (int64_t first = 0; first < k; first += BLOCK) {
        int64_t rows = k - first < BLOCK ? k - first : BLOCK;
        multiply_panels(c, ldc, start, a + first * col_step, row_step, col_step, &right,
                        first, rows, m);
        start = (TileStart){c, ldc}; /* the next block adds */
    }
}

bool product_fits(Transpose ta, int64_t m, int64_t n, int64_t k, int64_t lda)
{
#ifdef __AVX512F__
    /* Copying a block costs about as much as three rows of work on it. When the rows of A
     * lie pages apart, A^T would come one number from a page: OpenBLAS copies it, too. */
    bool far_apart = ta == TRANSPOSED && lda > 2048;
    return m >= 32 && n >= TILE_LANES && k >= 8 && !far_apart;
#else
    /* The tile's sixteen sums need 32 registers of 64 bytes. */
    (void)ta, (void)m, (void)n, (void)k, (void)lda;
    return false;
#endif
}
