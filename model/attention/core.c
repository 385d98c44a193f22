#include "model/attention/core.h"

#include <math.h>
#include <string.h>

#include "model/math/tile.h"
#include "model/math/transpose.h"
#include "model/math/vec.h"

/* Scores lie transposed in a tile, keys down and queries across:
 *
 *                 queries 16 .. 31   32 .. 47          a strip is one vector of queries,
 *     keys 0         . . . . . .    . . . . . .        a block one strip or two
 *       ..           . . . . . .    . . . . . .
 *     keys 16        . . . . . .    . . . . . .
 *       ..             \ . . . .    . . . . . .        masks are needed on the
 *     keys 32            \          . . . . . .        diagonals only
 *       ..                            \ . . . .
 *
 * So maxima and sums over keys stay in their lanes, keys and values are read where they are,
 * and only the block's queries are transposed. The odd queries, n mod 16 of them, come
 * first, where a causal block sees few keys. */
enum { STRIP = TILE_LANES, BLOCK = 2 * STRIP };

static const TileStart ZERO = {0};

/* Keys from .. to - 1. */
typedef struct {
    int64_t from, to;
} Keys;

/* Keys that the same strips look at: lanes lane .. lane + lanes - 1 of the tile. */
typedef struct {
    Keys keys;
    int64_t lane, lanes;
} Zone;

/* Queries first .. first + rows - 1, in `lanes` lanes: rows rounded up to strips. Zones that
 * are not needed are empty. */
typedef struct {
    int64_t first, rows, lanes;
    Zone zones[3];
} Block;

/* Rows of whole, aligned vectors, as tile_matmul wants them on its right. */
typedef struct {
    const real *at;
    int64_t ld;
} Rows;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t attention_scratch(int64_t n, int64_t m, int64_t D, int64_t E)
{
    (void)n; /* one block of queries at a time */
    int64_t deep = tile_round(D), deep_v = tile_round(E);
    /* Backward is the larger: q^T, dz^T; two tiles; k, dk, dv; q, dz, dq of a block. */
    return BLOCK * (D + E) + 2 * BLOCK * m + m * (2 * deep + deep_v) +
           BLOCK * (2 * deep + deep_v);
}

/* The next `count` reals of scratch; count is a multiple of TILE_LANES. */
static real *carve(real **scratch, int64_t count)
{
    real *start = *scratch;
    *scratch += count;
    return start;
}

/* The keys that at least one of the queries first .. last sees. */
static Keys seen_by_any(const AttentionShape *shape, int64_t first, int64_t last)
{
    if (!shape->causal)
        return (Keys){0, shape->m};
    int64_t from = shape->window > 0 ? first - shape->window + 1 : 0;
    return (Keys){larger(from, 0), last + 1};
}

/* The keys that all of the queries first .. last see; none if to <= from. */
static Keys seen_by_all(const AttentionShape *shape, int64_t first, int64_t last)
{
    if (!shape->causal)
        return (Keys){0, shape->m};
    int64_t from = shape->window > 0 ? last - shape->window + 1 : 0;
    return (Keys){larger(from, 0), first + 1};
}

static Block block_at(const AttentionShape *shape, int64_t first)
{
    int64_t left = shape->n - first;
    int64_t rows = left % STRIP != 0 ? left % STRIP : left % BLOCK != 0 ? STRIP : BLOCK;
    Block block = {.first = first, .rows = rows, .lanes = tile_round(rows)};
    if (rows <= STRIP) {
        block.zones[0] = (Zone){seen_by_any(shape, first, first + rows - 1), 0, STRIP};
        return block;
    }
    Keys a = seen_by_any(shape, first, first + STRIP - 1);
    Keys b = seen_by_any(shape, first + STRIP, first + BLOCK - 1);
    block.zones[0] = (Zone){{a.from, b.from}, 0, STRIP};
    block.zones[1] = (Zone){{b.from, a.to}, 0, BLOCK};
    block.zones[2] = (Zone){{a.to, b.to}, STRIP, STRIP};
    return block;
}

/* to (channels, lanes) = scale from^T of the block's rows; lanes without a query are 0. */
static void transpose_block(real *to, const real *from, int64_t stride,
                            int64_t channels, real scale, const Block *block)
{
    transpose_copy(to, block->lanes, from + block->first * stride, stride, block->rows,
                   channels, scale);
    for (int64_t d = 0; d < channels; d++) {
        for (int64_t r = block->rows; r < block->lanes; r++)
            to[d * block->lanes + r] = 0;
    }
}

/* `count` rows where they are, if they are fit for tile_matmul; else their copy, padded
 * with zeros, in `room` (count, channels rounded up). */
static Rows fit_rows(real *room, const real *from, int64_t stride, int64_t count,
                     int64_t channels)
{
    if (channels % TILE_LANES == 0 && stride % TILE_LANES == 0 &&
        (uintptr_t)from % TILE_BYTES == 0)
        return (Rows){from, stride};
    int64_t wide = tile_round(channels);
    for (int64_t j = 0; j < count; j++) {
        memcpy(room + j * wide, from + j * stride, (size_t)channels * sizeof(real));
        memset(room + j * wide + channels, 0, (size_t)(wide - channels) * sizeof(real));
    }
    return (Rows){room, wide};
}

/* tile (keys, lanes) = rows right, zone by zone: row j of `rows` times `right`
 * (channels, lanes). */
static void multiply_keys(real *tile, const real *rows, int64_t stride,
                          const real *right, int64_t channels, const Block *block)
{
    int64_t lanes = block->lanes;
    for (int i = 0; i < 3; i++) {
        const Zone *zone = &block->zones[i];
        int64_t j = zone->keys.from;
        tile_matmul(tile + j * lanes + zone->lane, lanes, ZERO, rows + j * stride,
                    stride, 1, right + zone->lane, lanes, zone->keys.to - j,
                    zone->lanes, channels);
    }
}

/* The mask: -inf where query first + r may not see key j; exp then gives 0. `tile` is the
 * strip's first column. */
static void hide(real *tile, int64_t ld, int64_t first, Keys hidden,
                 const AttentionShape *shape)
{
    bool limited = shape->window > 0 && shape->window < shape->m;
    for (int64_t j = hidden.from; j < hidden.to; j++) {
        /* lanes low .. high - 1 are queries j .. j + window - 1 */
        int low = (int)larger(j - first, 0);
        int high = limited ? (int)smaller(j - first + shape->window, STRIP) : STRIP;
        real *row = tile + j * ld;
#pragma omp simd
        for (int r = 0; r < STRIP; r++)
            row[r] = r < low || r >= high ? -INFINITY : row[r];
    }
}

static void hide_edges(real *tile, int64_t ld, int64_t first, int64_t rows,
                       const AttentionShape *shape)
{
    Keys any = seen_by_any(shape, first, first + rows - 1);
    Keys all = seen_by_all(shape, first, first + rows - 1);
    Keys before = {any.from, smaller(all.from, any.to)};
    Keys behind = {larger(all.to, before.to), any.to};
    hide(tile, ld, first, before, shape);
    hide(tile, ld, first, behind, shape);
}

/* Scores of a strip become exp(s - top), with top and the sum of each column. */
static void exp_columns(real *tile, int64_t ld, Keys keys, real top[STRIP],
                        real sum[STRIP])
{
    for (int r = 0; r < STRIP; r++) {
        top[r] = tile[keys.from * ld + r];
        sum[r] = 0;
    }
    for (int64_t j = keys.from; j < keys.to; j++) {
        const real *row = tile + j * ld;
#pragma omp simd
        for (int r = 0; r < STRIP; r++)
            top[r] = row[r] > top[r] ? row[r] : top[r];
    }
    for (int64_t j = keys.from; j < keys.to; j++) {
        real *row = tile + j * ld;
#pragma omp simd
        for (int r = 0; r < STRIP; r++) {
            row[r] = vec_exp_one(row[r] - top[r]);
            sum[r] += row[r];
        }
    }
}

void attention_forward(real *z, real *logsum, const real *q, const real *k,
                       const real *v, real *scratch, const AttentionShape *shape)
{
    int64_t n = shape->n, m = shape->m, D = shape->D, E = shape->E;
    int64_t deep_v = tile_round(E);
    real *qt = carve(&scratch, D * BLOCK);
    real *tile = carve(&scratch, m * BLOCK);
    real *mix = carve(&scratch, STRIP * deep_v);
    Rows values = fit_rows(carve(&scratch, m * deep_v), v, shape->stride_v, m, E);

    for (int64_t first = 0; first < n;) {
        Block block = block_at(shape, first);
        /* (a) s = scale k q^T */
        transpose_block(qt, q, shape->stride_q, D, shape->scale, &block);
        multiply_keys(tile, k, shape->stride_k, qt, D, &block);
        for (int64_t lane = 0; lane < block.lanes; lane += STRIP) {
            int64_t i = first + lane;
            int64_t rows = smaller(STRIP, block.rows - lane);
            Keys keys = seen_by_any(shape, i, i + rows - 1);
            /* (b) without the division: that comes after the mix, on E numbers not m */
            real top[STRIP], sum[STRIP];
            hide_edges(tile + lane, block.lanes, i, rows, shape);
            exp_columns(tile + lane, block.lanes, keys, top, sum);
            /* (c) z = p v */
            tile_matmul(mix, deep_v, ZERO, tile + keys.from * block.lanes + lane, 1,
                        block.lanes, values.at + keys.from * values.ld, values.ld, rows,
                        deep_v, keys.to - keys.from);
            for (int64_t r = 0; r < rows; r++) {
                logsum[i + r] = top[r] + (real)log((double)sum[r]);
                real *out = z + (i + r) * shape->stride_z;
                real inverse = 1 / sum[r];
                for (int64_t d = 0; d < E; d++)
                    out[d] = mix[r * deep_v + d] * inverse;
            }
        }
        first += block.rows;
    }
}

/* Where rows of gradients add up: in place if they are whole vectors, else in `room`. */
typedef struct {
    real *at;
    int64_t ld;
} Sums;

static Sums begin_sums(real *room, real *to, int64_t stride, KeyGradients keys,
                       int64_t m, int64_t channels)
{
    int64_t wide = tile_round(channels);
    if (wide != channels) {
        memset(room, 0, (size_t)(m * wide) * sizeof(real));
        return (Sums){room, wide};
    }
    for (int64_t j = 0; keys == KEYS_WRITE && j < m; j++)
        memset(to + j * stride, 0, (size_t)channels * sizeof(real));
    return (Sums){to, stride};
}

static void end_sums(real *to, int64_t stride, Sums sums, KeyGradients keys, int64_t m,
                     int64_t channels)
{
    if (sums.at == to)
        return;
    for (int64_t j = 0; j < m; j++) {
        real *row = to + j * stride;
        for (int64_t d = 0; d < channels; d++)
            row[d] = sums.at[j * sums.ld + d] + (keys == KEYS_ADD ? row[d] : 0);
    }
}

/* sums_j += sum_r tile_jr rows_r, zone by zone. */
static void add_to_keys(Sums sums, const real *tile, Rows rows, int64_t channels,
                        const Block *block)
{
    int64_t lanes = block->lanes;
    for (int i = 0; i < 3; i++) {
        const Zone *zone = &block->zones[i];
        int64_t j = zone->keys.from;
        real *to = sums.at + j * sums.ld;
        tile_matmul(to, sums.ld, (TileStart){to, sums.ld},
                    tile + j * lanes + zone->lane, lanes, 1,
                    rows.at + zone->lane * rows.ld, rows.ld, zone->keys.to - j,
                    tile_round(channels), smaller(zone->lanes, block->rows));
    }
}

/* (b) and (e) on a strip: scores in p become weights, dp in ds becomes ds. */
static void weights_again(real *p, real *ds, int64_t ld, Keys keys, const real l[STRIP],
                          const real mean[STRIP])
{
    for (int64_t j = keys.from; j < keys.to; j++) {
        real *p_row = p + j * ld;
        real *ds_row = ds + j * ld;
#pragma omp simd
        for (int r = 0; r < STRIP; r++) {
            p_row[r] = vec_exp_one(p_row[r] - l[r]);
            ds_row[r] = p_row[r] * (ds_row[r] - mean[r]);
        }
    }
}

void attention_backward(real *dq, real *dk, real *dv, KeyGradients keys, const real *dz,
                        const real *z, const real *logsum, const real *q, const real *k,
                        const real *v, real *scratch, const AttentionShape *shape)
{
    int64_t n = shape->n, m = shape->m, D = shape->D, E = shape->E;
    int64_t deep = tile_round(D), deep_v = tile_round(E);
    real *qt = carve(&scratch, D * BLOCK);
    real *dzt = carve(&scratch, E * BLOCK);
    real *p = carve(&scratch, m * BLOCK);
    real *ds = carve(&scratch, m * BLOCK);
    real *queries_room = carve(&scratch, BLOCK * deep);
    real *douts_room = carve(&scratch, BLOCK * deep_v);
    real *dqueries = carve(&scratch, STRIP * deep);
    Rows key_rows = fit_rows(carve(&scratch, m * deep), k, shape->stride_k, m, D);
    Sums dkeys = begin_sums(carve(&scratch, m * deep), dk, shape->stride_k, keys, m, D);
    Sums dvalues =
        begin_sums(carve(&scratch, m * deep_v), dv, shape->stride_v, keys, m, E);

    for (int64_t first = 0; first < n;) {
        Block block = block_at(shape, first);
        /* (a) s again, and scale dp = scale v dz^T into ds, so that ds has the scale that
         * (f) wants */
        transpose_block(qt, q, shape->stride_q, D, shape->scale, &block);
        transpose_block(dzt, dz, shape->stride_z, E, shape->scale, &block);
        multiply_keys(p, k, shape->stride_k, qt, D, &block);
        multiply_keys(ds, v, shape->stride_v, dzt, E, &block);
        for (int64_t lane = 0; lane < block.lanes; lane += STRIP) {
            int64_t i = first + lane;
            int64_t rows = smaller(STRIP, block.rows - lane);
            Keys seen = seen_by_any(shape, i, i + rows - 1);
            real l[STRIP] = {0}, mean[STRIP] = {0};
            for (int64_t r = 0; r < rows; r++) {
                l[r] = logsum[i + r];
                mean[r] = shape->scale * vec_dot(dz + (i + r) * shape->stride_z,
                                                 z + (i + r) * shape->stride_z, E);
            }
            hide_edges(p + lane, block.lanes, i, rows, shape);
            weights_again(p + lane, ds + lane, block.lanes, seen, l, mean); /* (b)(e) */
            /* (f) dq_i = scale sum_j ds_ij k_j */
            tile_matmul(dqueries, deep, ZERO, ds + seen.from * block.lanes + lane, 1,
                        block.lanes, key_rows.at + seen.from * key_rows.ld, key_rows.ld,
                        rows, deep, seen.to - seen.from);
            for (int64_t r = 0; r < rows; r++)
                memcpy(dq + (i + r) * shape->stride_q, dqueries + r * deep,
                       (size_t)D * sizeof(real));
        }
        Rows douts = fit_rows(douts_room, dz + first * shape->stride_z, shape->stride_z,
                              block.rows, E);
        Rows queries = fit_rows(queries_room, q + first * shape->stride_q,
                                shape->stride_q, block.rows, D);
        add_to_keys(dvalues, p, douts, E, &block);  /* (d) dv_j += sum_i p_ij dz_i */
        add_to_keys(dkeys, ds, queries, D, &block); /* (f) dk_j += sum_i ds_ij q_i */
        first += block.rows;
    }
    end_sums(dk, shape->stride_k, dkeys, keys, m, D);
    end_sums(dv, shape->stride_v, dvalues, keys, m, E);
}
