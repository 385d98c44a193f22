#include "model/math/tile.h"

/* GCC's and clang's vector type: any CPU, lowered to the widest vectors that it has. */
typedef real Vector __attribute__((vector_size(TILE_BYTES), may_alias));
/* The same at any address. */
typedef real Unaligned
    __attribute__((vector_size(TILE_BYTES), may_alias, aligned(sizeof(real))));

/* rows x 2 vectors of C. `rows` and `wide` are constants at every call, so that the
 * compiler unrolls the loops and keeps `sum` in registers. */
static inline __attribute__((always_inline)) void
tile_block(real *c, int64_t ldc, const real *a, int64_t row_step, int64_t col_step,
           const real *b, int64_t ldb, int64_t k, bool add, const int rows,
           const int wide)
{
    Vector sum[8][2];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++)
            sum[i][v] =
                add ? *(const Unaligned *)(c + i * ldc + v * TILE_LANES) : (Vector){0};
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

static inline __attribute__((always_inline)) void
tile_rows(real *c, int64_t ldc, const real *a, int64_t row_step, int64_t col_step,
          const real *b, int64_t ldb, int64_t n, int64_t k, bool add, const int rows)
{
    int64_t j = 0;
    for (; j + 2 * TILE_LANES <= n; j += 2 * TILE_LANES)
        tile_block(c + j, ldc, a, row_step, col_step, b + j, ldb, k, add, rows, 2);
    if (j < n)
        tile_block(c + j, ldc, a, row_step, col_step, b + j, ldb, k, add, rows, 1);
}

void tile_matmul(real *c, int64_t ldc, const real *a, int64_t row_step,
                 int64_t col_step, const real *b, int64_t ldb, int64_t m, int64_t n,
                 int64_t k, bool add)
{
    while (m >= 8) {
        tile_rows(c, ldc, a, row_step, col_step, b, ldb, n, k, add, 8);
        c += 8 * ldc;
        a += 8 * row_step;
        m -= 8;
    }
    if (m >= 4) {
        tile_rows(c, ldc, a, row_step, col_step, b, ldb, n, k, add, 4);
        c += 4 * ldc;
        a += 4 * row_step;
        m -= 4;
    }
    while (m > 0) {
        tile_rows(c, ldc, a, row_step, col_step, b, ldb, n, k, add, 1);
        c += ldc;
        a += row_step;
        m--;
    }
}
