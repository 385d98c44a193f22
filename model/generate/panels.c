#include "model/generate/panels.h"

#include <string.h>

#include "model/math/vec.h"

void panels_layout(Panels *panels, Arena *arena, int64_t in, int64_t out)
{
    panels->in = in;
    panels->out = out;
    panels->stride = panels_round(out);
    panels->weight = arena_reals(arena, in * panels->stride);
    panels->bias = arena_reals(arena, panels->stride);
}

void panels_pack(const Panels *panels, const real *weight, int64_t ld, const real *bias)
{
    int64_t in = panels->in;
    int64_t out = panels->out;
    memset(panels->weight, 0, (size_t)(in * panels->stride) * sizeof(real));
    memset(panels->bias, 0, (size_t)panels->stride * sizeof(real));
    for (int64_t first = 0; first < out; first += PANEL) {
        int64_t columns = out - first < PANEL ? out - first : PANEL;
        for (int64_t p = 0; p < in; p++)
            memcpy(panels->weight + first * in + p * PANEL, weight + p * ld + first,
                   (size_t)columns * sizeof(real));
    }
    if (bias != NULL)
        memcpy(panels->bias, bias, (size_t)out * sizeof(real));
}

void panels_pack_transposed(const Panels *panels, const real *weight, int64_t ld)
{
    int64_t in = panels->in;
    memset(panels->weight, 0, (size_t)(in * panels->stride) * sizeof(real));
    memset(panels->bias, 0, (size_t)panels->stride * sizeof(real));
    for (int64_t j = 0; j < panels->out; j++) {
        real *column = panels->weight + j / PANEL * PANEL * in + j % PANEL;
        for (int64_t p = 0; p < in; p++)
            column[p * PANEL] = weight[j * ld + p];
    }
}

static void multiply(real *c, int64_t ldc, const real *a, int64_t lda,
                     const Panels *panels, int64_t m)
{
    int64_t rows = panels_rows(m);
    for (int64_t first = 0; first < panels->stride; first += PANEL)
        tile_matmul(c + first, ldc, (TileStart){c + first, ldc}, a, lda, 1,
                    panels->weight + first * panels->in, PANEL, rows, PANEL,
                    panels->in);
}

void panels_write(real *c, int64_t ldc, const real *a, int64_t lda,
                  const Panels *panels, int64_t m)
{
    for (int64_t i = 0; i < m; i++)
        memcpy(c + i * ldc, panels->bias, (size_t)panels->stride * sizeof(real));
    multiply(c, ldc, a, lda, panels, m);
}

void panels_add(real *c, int64_t ldc, const real *a, int64_t lda, const Panels *panels,
                int64_t m)
{
    for (int64_t i = 0; i < m; i++)
        vec_add(c + i * ldc, panels->bias, panels->stride);
    multiply(c, ldc, a, lda, panels, m);
}

void panels_write_one(real *c, int64_t ldc, const real *a, int64_t lda,
                      const Panels *panels, int64_t panel, int64_t m)
{
    int64_t first = panel * PANEL;
    tile_matmul(c + first, ldc, (TileStart){0}, a, lda, 1,
                panels->weight + first * panels->in, PANEL, panels_rows(m), PANEL,
                panels->in);
}
