/* A linear layer packed for sampling: c = a W + b or c += a W + b.
 *   a (m, in)   W (in, out)   b (out)   c (m, out)
 *
 * A step of sampling multiplies few rows with all weights of the model, so what counts is
 * how the weights come out of the cache. W is cut into panels of PANEL columns, each stored
 * as (in, PANEL) without gaps:
 *
 *       W   0 .. 31 | 32 .. 63 | ...        panel 0: in x 32 reals, panel 1: in x 32, ...
 *
 * A panel is read from front to back once, while eight rows of c stay in registers.
 *
 * Element (i, j) of c is one sum over the `in` products in rising order, however many rows
 * there are and whichever thread works on the panel. That is why a poem has the same bits
 * whether it is sampled alone or among others, which BLAS does not promise: it takes other
 * kernels for one row than for many. */
#ifndef JUEJU_MODEL_GENERATE_PANELS_H
#define JUEJU_MODEL_GENERATE_PANELS_H

#include <stdint.h>

#include "model/base/memory.h"
#include "model/math/tile.h"

enum { PANEL = 2 * TILE_LANES };

typedef struct {
    int64_t in, out;
    int64_t
        stride; /* out rounded up to whole panels: what rows of c are apart at least */
    real *weight; /* (stride / PANEL, in, PANEL); columns past `out` are 0 */
    real *bias;   /* (stride), 0 past `out` */
} Panels;

/* n rounded up to whole panels. */
static inline int64_t panels_round(int64_t n)
{
    return (n + PANEL - 1) / PANEL * PANEL;
}

/* The rows that a product of m rows writes: one row alone or whole blocks of four, which
 * cost no more than the single rows. The rows past m take numbers without meaning. */
static inline int64_t panels_rows(int64_t m)
{
    return m <= 1 ? m : (m + 3) / 4 * 4;
}

/* Takes memory from the arena (which may only count). */
void panels_layout(Panels *panels, Arena *arena, int64_t in, int64_t out);

/* Copies W (in, out), its rows ld apart, and b, or no b (NULL). */
void panels_pack(const Panels *panels, const real *weight, int64_t ld,
                 const real *bias);

/* The same from W^T (out, in), its rows ld apart, without a bias: the output head, which has
 * the shape of the embedding. */
void panels_pack_transposed(const Panels *panels, const real *weight, int64_t ld);

/* c = a W + b, rows of c ldc apart, ldc at least `stride`: columns past `out` take zeros. a
 * and c have room for panels_rows(m) rows. They must not overlap. */
void panels_write(real *c, int64_t ldc, const real *a, int64_t lda,
                  const Panels *panels, int64_t m);

/* c += a W + b, likewise. */
void panels_add(real *c, int64_t ldc, const real *a, int64_t lda, const Panels *panels,
                int64_t m);

/* Columns PANEL panel .. of c = a W, for layers without a bias whose panels are shared
 * out among threads. */
void panels_write_one(real *c, int64_t ldc, const real *a, int64_t lda,
                      const Panels *panels, int64_t panel, int64_t m);

#endif
