#include "model/attention/core.h"

#include <math.h>
#include <string.h>

#include "model/math/tile.h"
#include "model/math/transpose.h"
#include "model/math/vec.h"

/* Queries that are worked on together. With 16 the causal edge wastes 8 columns a row on
 * average, and 16 rows fill the registers of tile_matmul twice. */
enum { QUERIES = 16 };

static const TileStart ZERO = {0};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t attention_scratch(int64_t n, int64_t D)
{
    int64_t columns = tile_round(n);
    int64_t depth = tile_round(D);
    /* Backward is the larger: k^T, v^T; k, q, dz, dk, dv; two tiles; dq's tile. */
    return 2 * D * columns + 5 * n * depth + 2 * QUERIES * columns + QUERIES * depth;
}

/* The next `count` reals of scratch; count is a multiple of TILE_LANES. */
static real *carve(real **scratch, int64_t count)
{
    real *start = *scratch;
    *scratch += count;
    return start;
}

/* to (D, columns) = scale from^T; columns from n on are zero. */
static void copy_transposed(real *to, int64_t columns, const real *from, real scale,
                            const AttentionShape *shape)
{
    transpose_copy(to, columns, from, shape->stride, shape->n, shape->D, scale);
    for (int64_t d = 0; d < shape->D; d++) {
        for (int64_t j = shape->n; j < columns; j++)
            to[d * columns + j] = 0;
    }
}

/* The mask: -inf for the keys behind the visible ones, where exp then gives 0. Rows can so
 * be worked on in whole vectors. */
static void hide(real *scores, int64_t visible, int64_t wide)
{
    for (int64_t j = visible; j < wide; j++)
        scores[j] = -INFINITY;
}

/* to (n, depth) = scale from; columns from D on are zero. */
static void copy_rows(real *to, int64_t depth, const real *from, int64_t stride,
                      real scale, const AttentionShape *shape)
{
    for (int64_t j = 0; j < shape->n; j++) {
        real *row = to + j * depth;
        for (int64_t d = 0; d < shape->D; d++)
            row[d] = scale * from[j * stride + d];
        for (int64_t d = shape->D; d < depth; d++)
            row[d] = 0;
    }
}

void attention_forward(real *z, real *logsum, const real *q, const real *k,
                       const real *v, real *scratch, const AttentionShape *shape)
{
    int64_t n = shape->n;
    int64_t D = shape->D;
    int64_t columns = tile_round(n);
    int64_t depth = tile_round(D);
    real scale = (real)(1 / sqrt((double)D));
    real *kt = carve(&scratch, D * columns);
    real *values = carve(&scratch, n * depth);
    real *tile = carve(&scratch, QUERIES * columns);
    real *mix = carve(&scratch, QUERIES * depth);
    copy_transposed(kt, columns, k, scale, shape);
    copy_rows(values, depth, v, shape->stride, 1, shape);

    for (int64_t first = 0; first < n; first += QUERIES) {
        int64_t rows = smaller(QUERIES, n - first);
        int64_t seen = first + rows; /* keys that any of these queries may see */
        int64_t wide = tile_round(seen);
        /* (a) s = q k^T / sqrt(D) */
        tile_matmul(tile, columns, ZERO, q + first * shape->stride, shape->stride, 1,
                    kt, columns, rows, wide, D);
        /* (b) without the division: that comes after the mix, on D numbers not i */
        real inverse[QUERIES];
        for (int64_t r = 0; r < rows; r++) {
            real *p = tile + r * columns;
            hide(p, first + r + 1, wide);
            real top = vec_max(p, wide);
            real sum = vec_exp_sum(p, p, top, wide);
            logsum[first + r] = top + (real)log((double)sum);
            inverse[r] = 1 / sum;
        }
        /* (c) z = p v */
        tile_matmul(mix, depth, ZERO, tile, columns, 1, values, depth, rows, depth,
                    seen);
        for (int64_t r = 0; r < rows; r++) {
            real *out = z + (first + r) * shape->stride_z;
            for (int64_t d = 0; d < D; d++)
                out[d] = mix[r * depth + d] * inverse[r];
        }
    }
}

void attention_backward(real *dq, real *dk, real *dv, const real *dz, const real *z,
                        const real *logsum, const real *q, const real *k, const real *v,
                        real *scratch, const AttentionShape *shape)
{
    int64_t n = shape->n;
    int64_t D = shape->D;
    int64_t columns = tile_round(n);
    int64_t depth = tile_round(D);
    real scale = (real)(1 / sqrt((double)D));
    real *kt = carve(&scratch, D * columns);
    real *vt = carve(&scratch, D * columns);
    real *keys = carve(&scratch, n * depth);    /* k / sqrt(D) */
    real *queries = carve(&scratch, n * depth); /* q / sqrt(D) */
    real *douts = carve(&scratch, n * depth);
    real *dkeys = carve(&scratch, n * depth);
    real *dvalues = carve(&scratch, n * depth);
    real *p = carve(&scratch, QUERIES * columns);
    real *ds = carve(&scratch, QUERIES * columns);
    real *dqueries = carve(&scratch, QUERIES * depth);
    copy_transposed(kt, columns, k, scale, shape);
    copy_transposed(vt, columns, v, 1, shape);
    copy_rows(keys, depth, k, shape->stride, scale, shape);
    copy_rows(queries, depth, q, shape->stride, scale, shape);
    copy_rows(douts, depth, dz, shape->stride_z, 1, shape);
    memset(dkeys, 0, (size_t)(n * depth) * sizeof(real));
    memset(dvalues, 0, (size_t)(n * depth) * sizeof(real));

    for (int64_t first = 0; first < n; first += QUERIES) {
        int64_t rows = smaller(QUERIES, n - first);
        int64_t seen = first + rows;
        int64_t wide = tile_round(seen);
        /* (a) s again, and dp_ij = dz_i . v_j into ds */
        tile_matmul(p, columns, ZERO, q + first * shape->stride, shape->stride, 1, kt,
                    columns, rows, wide, D);
        tile_matmul(ds, columns, ZERO, douts + first * depth, depth, 1, vt, columns,
                    rows, wide, D);
        for (int64_t r = 0; r < rows; r++) {
            int64_t i = first + r;
            real *p_row = p + r * columns;
            real *ds_row = ds + r * columns;
            real mean = vec_dot(dz + i * shape->stride_z, z + i * shape->stride_z, D);
            hide(p_row, i + 1, wide);
            vec_exp_sum(p_row, p_row, logsum[i], wide); /* (b) */
#pragma omp simd
            for (int64_t j = 0; j < wide; j++) /* (e) */
                ds_row[j] = p_row[j] * (ds_row[j] - mean);
        }
        /* (d) dv_j += sum_i p_ij dz_i */
        tile_matmul(dvalues, depth, (TileStart){dvalues, depth}, p, 1, columns,
                    douts + first * depth, depth, seen, depth, rows);
        /* (f) dq_i = sum_j ds_ij k_j / sqrt(D);  dk_j += sum_i ds_ij q_i / sqrt(D) */
        tile_matmul(dqueries, depth, ZERO, ds, columns, 1, keys, depth, rows, depth,
                    seen);
        tile_matmul(dkeys, depth, (TileStart){dkeys, depth}, ds, 1, columns,
                    queries + first * depth, depth, seen, depth, rows);
        for (int64_t r = 0; r < rows; r++)
            memcpy(dq + (first + r) * shape->stride, dqueries + r * depth,
                   (size_t)D * sizeof(real));
    }
    for (int64_t j = 0; j < n; j++) {
        memcpy(dk + j * shape->stride, dkeys + j * depth, (size_t)D * sizeof(real));
        memcpy(dv + j * shape->stride, dvalues + j * depth, (size_t)D * sizeof(real));
    }
}
