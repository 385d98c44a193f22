#include "model/math/transpose.h"

#include "model/math/tile.h"

static void transpose_plain(real *to, int64_t ld_to, const real *from, int64_t ld_from,
                            int64_t rows, int64_t cols, real scale)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++)
            to[c * ld_to + r] = scale * from[r * ld_from + c];
    }
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif

#ifdef HAVE_SHUFFLE

typedef real Vector
    __attribute__((vector_size(TILE_BYTES), may_alias, aligned(sizeof(real))));

/* The first and the second half of a0 b0 a1 b1 a2 b2 ... */
#ifdef JUEJU_REAL_DOUBLE
enum { ROUNDS = 3 };
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
enum { ROUNDS = 4 };
#define LOW(a, b)                                                                      \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,  \
                            23)
#define HIGH(a, b)                                                                     \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,    \
                            30, 15, 31)
#endif

/* A square of TILE_LANES rows and columns. Element (r, c) stands at place r LANES + c of the
 * rows laid end to end. One round puts row i between the elements of row i + LANES/2, which
 * rotates the bits of the place by one; after log2(LANES) rounds r and c have changed places. */
static inline __attribute__((always_inline)) void
transpose_square(real *to, int64_t ld_to, const real *from, int64_t ld_from, real scale)
{
    Vector rows[TILE_LANES];
    Vector mixed[TILE_LANES];
#pragma GCC unroll 16
    for (int i = 0; i < TILE_LANES; i++)
        rows[i] = scale * *(const Vector *)(from + i * ld_from);
#pragma GCC unroll 4
    for (int round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 8
        for (int i = 0; i < TILE_LANES / 2; i++) {
            mixed[2 * i] = LOW(rows[i], rows[i + TILE_LANES / 2]);
            mixed[2 * i + 1] = HIGH(rows[i], rows[i + TILE_LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < TILE_LANES; i++)
            rows[i] = mixed[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < TILE_LANES; i++)
        *(Vector *)(to + i * ld_to) = rows[i];
}

void transpose_copy(real *to, int64_t ld_to, const real *from, int64_t ld_from,
                    int64_t rows, int64_t cols, real scale)
{
    int64_t whole_rows = rows / TILE_LANES * TILE_LANES;
    int64_t whole_cols = cols / TILE_LANES * TILE_LANES;
    for (int64_t r = 0; r < whole_rows; r += TILE_LANES) {
        for (int64_t c = 0; c < whole_cols; c += TILE_LANES)
            transpose_square(to + c * ld_to + r, ld_to, from + r * ld_from + c, ld_from,
                             scale);
    }
    transpose_plain(to + whole_cols * ld_to, ld_to, from + whole_cols, ld_from,
                    whole_rows, cols - whole_cols, scale);
    transpose_plain(to + whole_rows, ld_to, from + whole_rows * ld_from, ld_from,
                    rows - whole_rows, cols, scale);
}

#else

void transpose_copy(real *to, int64_t ld_to, const real *from, int64_t ld_from,
                    int64_t rows, int64_t cols, real scale)
{
    transpose_plain(to, ld_to, from, ld_from, rows, cols, scale);
}

#endif
