#include "model/generate/attend.h"

#include <string.h>

#include "model/math/softmax.h"
#include "model/math/tile.h"
#include "model/math/transpose.h"
#include "model/math/vec.h"

typedef real Vector __attribute__((vector_size(TILE_BYTES), may_alias));

/* ---- sums over the slots of panels -------------------------------------------------- */

enum { MIXED_AT_ONCE = 16 /* sums that stay in registers */ };

/* rows x cols sums of products over `count` panels, first apart in the lanes of vectors, in
 * the end over these. `rows` and `cols` are constants at every call. */
static inline __attribute__((always_inline)) void
mix_block(real *z, int64_t ldz, const real *p, int64_t ldp, const real *panels,
          int64_t channels, int64_t count, const int rows, const int cols)
{
    Vector sum[MIXED_AT_ONCE];
#pragma GCC unroll 16
    for (int i = 0; i < MIXED_AT_ONCE; i++)
        sum[i] = (Vector){0};
    for (int64_t b = 0; b < count; b++) {
        for (int64_t v = 0; v < KV_PANEL; v += TILE_LANES) {
            const real *weights = p + b * KV_PANEL + v;
            const real *column = panels + b * channels * KV_PANEL + v;
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) {
                Vector weight = *(const Vector *)(weights + i * ldp);
#pragma GCC unroll 8
                for (int c = 0; c < cols; c++)
                    sum[i * cols + c] +=
                        weight * *(const Vector *)(column + c * KV_PANEL);
            }
        }
    }
    _Alignas(TILE_BYTES) real lanes[MIXED_AT_ONCE * TILE_LANES];
    _Alignas(TILE_BYTES) real turned[TILE_LANES * MIXED_AT_ONCE];
    _Alignas(TILE_BYTES) real total[MIXED_AT_ONCE] = {0};
#pragma GCC unroll 16
    for (int i = 0; i < MIXED_AT_ONCE; i++)
        *(Vector *)(lanes + i * TILE_LANES) = sum[i];
    transpose_copy(turned, MIXED_AT_ONCE, lanes, TILE_LANES, MIXED_AT_ONCE, TILE_LANES,
                   1);
    for (int lane = 0; lane < TILE_LANES; lane++) {
        for (int i = 0; i < MIXED_AT_ONCE; i++)
            total[i] += turned[lane * MIXED_AT_ONCE + i];
    }
    for (int i = 0; i < rows; i++)
        memcpy(z + i * ldz, total + i * cols, (size_t)cols * sizeof(real));
}

/* z_ir = sum_j p_ij b_rj over all slots of `count` panels, r < n of a panel's `channels`.
 * p is 0 at slots that are not in use; m is 1 or ATTEND_HEADS. */
static void mix(real *z, int64_t ldz, const real *p, int64_t ldp, const real *panels,
                int64_t channels, int64_t count, int64_t m, int64_t n)
{
    int64_t r = 0;
    if (m == 1) {
        for (; r + 8 <= n; r += 8)
            mix_block(z + r, ldz, p, ldp, panels + r * KV_PANEL, channels, count, 1, 8);
        for (; r < n; r++)
            mix_block(z + r, ldz, p, ldp, panels + r * KV_PANEL, channels, count, 1, 1);
        return;
    }
    for (; r + 4 <= n; r += 4)
        mix_block(z + r, ldz, p, ldp, panels + r * KV_PANEL, channels, count,
                  ATTEND_HEADS, 4);
    for (; r < n; r++)
        mix_block(z + r, ldz, p, ldp, panels + r * KV_PANEL, channels, count,
                  ATTEND_HEADS, 1);
}

/* ---- scores and their softmax ------------------------------------------------------- */

/* Scores of m heads against all slots of `used`, to be added to what is there when `more`.
 * Two or three heads are worked on as four, which takes no longer than one. */
static void score(real *scores, int64_t lds, bool more, const real *q, int64_t ldq,
                  const real *panels, int64_t panel_size, int64_t channels,
                  int64_t used, int64_t m)
{
    int64_t rows = m > 1 ? ATTEND_HEADS : m;
    for (int64_t b = 0; b < kvcache_panels(used); b++) {
        real *columns = scores + b * KV_PANEL;
        TileStart start = {more ? columns : NULL, lds};
        tile_matmul(columns, lds, start, q, ldq, 1, panels + b * panel_size, KV_PANEL,
                    rows, KV_PANEL, channels);
    }
}

/* Rows become p; slots past those in use get 0. */
static void weigh(real *scores, int64_t lds, real scale, int64_t used, int64_t m)
{
    int64_t whole = kvcache_panels(used) * KV_PANEL;
    for (int64_t i = 0; i < m; i++) {
        real *row = scores + i * lds;
        vec_scale(row, scale, used);
        softmax_forward(row, used);
        for (int64_t j = used; j < whole; j++)
            row[j] = 0;
    }
}

int64_t attend_scratch(const KvCache *cache, int64_t expanded)
{
    int64_t slots = cache->most_panels * KV_PANEL;
    return ATTEND_HEADS * (slots + cache->widest_value) + slots * expanded;
}

/* ---- keys and values of their own --------------------------------------------------- */

/* Heads first .. first+result-1 read the same key head, up to ATTEND_HEADS of them. */
static int64_t readers(const HeadsShape *shape, int64_t first)
{
    int64_t g = heads_group(shape, first);
    int64_t count = 1;
    while (count < ATTEND_HEADS && first + count < shape->H &&
           heads_group(shape, first + count) == g)
        count++;
    return count;
}

void attend_heads(real *z, const real *q, const AttendPast *past,
                  const HeadsShape *shape, real *scratch)
{
    const KvCache *cache = past->cache;
    const KvLayer *layer = &cache->layers[past->layer];
    int64_t D = shape->D;
    int64_t lds = cache->most_panels * KV_PANEL;
    int64_t ldm = layer->value_stride;
    int64_t used = kvcache_used(cache, past->layer, past->length);
    real *scores = scratch;
    real *mixed = scratch + ATTEND_HEADS * lds;
    int64_t m = 0;
    for (int64_t h = 0; h < shape->H; h += m) {
        int64_t g = heads_group(shape, h);
        m = readers(shape, h);
        score(scores, lds, false, q + h * D, D,
              kvcache_keys(cache, past->row, past->layer, g), D * KV_PANEL, D, used, m);
        weigh(scores, lds, shape->scale, used, m);
        tile_matmul(mixed, ldm, (TileStart){0}, scores, lds, 1,
                    kvcache_values(cache, past->row, past->layer, g), ldm,
                    m > 1 ? ATTEND_HEADS : m, ldm, used);
        for (int64_t i = 0; i < m; i++)
            memcpy(z + (h + i) * D, mixed + i * ldm, (size_t)D * sizeof(real));
    }
}

/* ---- latent attention --------------------------------------------------------------- */

void attend_latent(real *latents, int64_t stride, const real *queries,
                   const AttendPast *past, const MlaShape *shape, real *scratch)
{
    const KvCache *cache = past->cache;
    const real *panels = kvcache_keys(cache, past->row, past->layer, 0);
    int64_t R = shape->R, P = shape->P, O = shape->O;
    int64_t lds = cache->most_panels * KV_PANEL;
    int64_t used = kvcache_used(cache, past->layer, past->length);
    for (int64_t h = 0; h < shape->H; h += ATTEND_HEADS) {
        int64_t left = shape->H - h;
        int64_t m = left < ATTEND_HEADS ? left : ATTEND_HEADS;
        real *a = latents + h * stride;
        score(scratch, lds, false, a, stride, panels, (R + O) * KV_PANEL, R, used, m);
        score(scratch, lds, true, queries + h * (P + O) + P, P + O,
              panels + R * KV_PANEL, (R + O) * KV_PANEL, O, used, m);
        weigh(scratch, lds, shape->scale, used, m);
        mix(a, stride, scratch, lds, panels, R + O, kvcache_panels(used),
            m > 1 ? ATTEND_HEADS : m, R);
    }
}

/* [k_nope v] of one head, transposed as the cache is: panels of (P + E, KV_PANEL).
 *     [k_nope v]^T (P + E, slots) = [W_UK W_UV]^T (P + E, R) c^T (R, slots) */
static void expand(real *expanded, const real *panels, int64_t count,
                   const LinearParams *up, int64_t head, const MlaShape *shape)
{
    int64_t across = shape->P + shape->E;
    for (int64_t b = 0; b < count; b++)
        tile_matmul(expanded + b * across * KV_PANEL, KV_PANEL, (TileStart){0},
                    up->weight + head * across, 1, shape->H * across,
                    panels + b * (shape->R + shape->O) * KV_PANEL, KV_PANEL, across,
                    KV_PANEL, shape->R);
}

void attend_expanded(real *z, const real *queries, const AttendPast *past,
                     const LinearParams *up, const MlaShape *shape, real *scratch)
{
    const KvCache *cache = past->cache;
    const real *panels = kvcache_keys(cache, past->row, past->layer, 0);
    int64_t R = shape->R, P = shape->P, O = shape->O, E = shape->E;
    int64_t lds = cache->most_panels * KV_PANEL;
    int64_t used = kvcache_used(cache, past->layer, past->length);
    int64_t count = kvcache_panels(used);
    real *expanded = scratch + ATTEND_HEADS * lds;
    for (int64_t h = 0; h < shape->H; h++) {
        const real *q = queries + h * (P + O);
        expand(expanded, panels, count, up, h, shape);
        score(scratch, lds, false, q, P + O, expanded, (P + E) * KV_PANEL, P, used, 1);
        score(scratch, lds, true, q + P, P + O, panels + R * KV_PANEL,
              (R + O) * KV_PANEL, O, used, 1);
        weigh(scratch, lds, shape->scale, used, 1);
        mix(z + h * E, E, scratch, lds, expanded + P * KV_PANEL, P + E, count, 1, E);
    }
}
