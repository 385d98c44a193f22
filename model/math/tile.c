#include "model/math/tile.h"

/* GCC's and clang's vector type: any CPU, lowered to the widest vectors that it has. */
typedef real Vector __attribute__((vector_size(TILE_BYTES), may_alias));
/* The same at any address. */
typedef real Unaligned
    __attribute__((vector_size(TILE_BYTES), may_alias, aligned(sizeof(real))));

/* rows x 2 vectors of C. `rows` and `wide` are constants at every call, so that the
 * compiler unrolls the loops and keeps `sum` in registers. */
static inline __attribute__((always_inline)) void
tile_block(real *c, int64_t ldc, TileStart start, const real *a, int64_t row_step,
           int64_t col_step, const real *b, int64_t ldb, int64_t k, const int rows,
           const int wide)
{
    Vector sum[8][2];
    if (start.from != NULL) {
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++)
                sum[i][v] =
                    *(const Unaligned *)(start.from + i * start.ld + v * TILE_LANES);
        }
    } else {
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++)
                sum[i][v] = (Vector){0};
        }
    }
    for (int64_t p = 0; p < k; p++) {
        const Vector *row = (const Vector *)(b + p * ldb);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            real x = a[i * row_step + p * col_step];
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++)
                sum[i][v] += x * row[v];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++)
            *(Unaligned *)(c + i * ldc + v * TILE_LANES) = sum[i][v];
    }
}

/* `columns` further right, `rows` further down. */
static inline TileStart start_at(TileStart start, int64_t rows, int64_t columns)
{
    if (start.from != NULL)
        start.from += rows * start.ld + columns;
    return start;
}

static inline __attribute__((always_inline)) void
tile_rows(real *c, int64_t ldc, TileStart start, const real *a, int64_t row_step,
          int64_t col_step, const real *b, int64_t ldb, int64_t n, int64_t k,
          const int rows)
{
    int64_t j = 0;
    for (; j + 2 * TILE_LANES <= n; j += 2 * TILE_LANES)
        tile_block(c + j, ldc, start_at(start, 0, j), a, row_step, col_step, b + j, ldb,
                   k, rows, 2);
    if (j < n)
        tile_block(c + j, ldc, start_at(start, 0, j), a, row_step, col_step, b + j, ldb,
                   k, rows, 1);
}

void tile_matmul(real *c, int64_t ldc, TileStart start, const real *a, int64_t row_step,
                 int64_t col_step, const real *b, int64_t ldb, int64_t m, int64_t n,
                 int64_t k)
{
    while (m >= 8) {
        tile_rows(c, ldc, start, a, row_step, col_step, b, ldb, n, k, 8);
        start = start_at(start, 8, 0);
        c += 8 * ldc;
        a += 8 * row_step;
        m -= 8;
    }
    if (m >= 4) {
        tile_rows(c, ldc, start, a, row_step, col_step, b, ldb, n, k, 4);
        start = start_at(start, 4, 0);
        c += 4 * ldc;
        a += 4 * row_step;
        m -= 4;
    }
    while (m > 0) {
        tile_rows(c, ldc, start, a, row_step, col_step, b, ldb, n, k, 1);
        start = start_at(start, 1, 0);
        c += ldc;
        a += row_step;
        m--;
    }
}
