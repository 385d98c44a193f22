#include "model/layers/crossentropy.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/math/blas.h"
#include "model/math/vec.h"

enum {
    /* Rows of a block of logits lie an odd number of cache lines apart: with a power of two
     * a column of them would fall into few sets of the cache. */
    STRIDE = CROSSENTROPY_COLUMNS + 64 / (int)sizeof(real),
    FAR = 40, /* exp(40) = 2e17: products and sums of such numbers are still far from
                 overflow */
};

/* The rows with a target that are in work, and their logits. */
typedef struct {
    int64_t rows, C, V;
    int64_t origin[CROSSENTROPY_ROWS]; /* where each row is in f */
    real *in;                          /* (rows, C) f, then g f */
    real *din;                         /* (rows, C) e W_E */
    real *e;       /* (blocks, rows, STRIDE) logits, then exp(z - shift) */
    real *shifts;  /* (blocks, rows) what was taken off in each block */
    real *shift;   /* (rows) m_n: what the last blocks take off */
    real *hit;     /* (rows) z at the target */
    double *sums;  /* (rows) of e, in terms of `shift` */
    int32_t *goal; /* (rows) targets */
} Rows;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t column_blocks(int64_t V)
{
    return (V + CROSSENTROPY_COLUMNS - 1) / CROSSENTROPY_COLUMNS;
}

int64_t crossentropy_scratch(int64_t N, int64_t C, int64_t V)
{
    int64_t rows = smaller(N, CROSSENTROPY_ROWS);
    return rows * (2 * C + column_blocks(V) * (STRIDE + 1) + 2);
}

static void divide_scratch(Rows *at, real *scratch, int64_t most)
{
    at->e = scratch; /* on a cache line, as its rows are */
    at->in = at->e + most * column_blocks(at->V) * STRIDE;
    at->din = at->in + most * at->C;
    at->shifts = at->din + most * at->C;
    at->shift = at->shifts + most * column_blocks(at->V);
    at->hit = at->shift + most;
}

/* Takes the next rows with a target, from `row` on; returns where to go on. */
static int64_t gather(Rows *at, const real *f, const int32_t *targets, int64_t row,
                      int64_t N)
{
    at->rows = 0;
    for (; row < N && at->rows < CROSSENTROPY_ROWS; row++) {
        if (targets[row] < 0)
            continue;
        memcpy(at->in + at->rows * at->C, f + row * at->C,
               (size_t)at->C * sizeof(real));
        at->goal[at->rows] = targets[row];
        at->origin[at->rows++] = row;
    }
    return row;
}

/* Turns the logits of a block of columns, first .. first+count-1, into exponentials. */
static void take_exponentials(const Rows *at, real *e, int64_t block, int64_t first,
                              int64_t count)
{
    for (int64_t n = 0; n < at->rows; n++) {
        real *z = e + n * STRIDE;
        int64_t target = at->goal[n] - first;
        if (target >= 0 && target < count)
            at->hit[n] = z[target];
        real top = vec_max(z, count);
        if (block == 0 || top > at->shift[n] + FAR) {
            at->sums[n] =
                block == 0 ? 0 : at->sums[n] * (double)vec_exp_one(at->shift[n] - top);
            at->shift[n] = top;
        }
        at->shifts[block * at->rows + n] = at->shift[n];
        at->sums[n] += (double)vec_exp_sum(z, z, at->shift[n], count);
    }
}

/* (d) The losses. */
static double finish_rows(const Rows *at, real *token_nats)
{
    double nats = 0;
    for (int64_t n = 0; n < at->rows; n++) {
        double loss = (double)at->shift[n] + log(at->sums[n]) - (double)at->hit[n];
        nats += loss;
        if (token_nats != NULL)
            token_nats[at->origin[n]] = (real)loss;
    }
    return nats;
}

/* Blocks that took off less than the last ones did: rare. */
static void bring_to_last_shift(const Rows *at, real *e, int64_t block, int64_t count)
{
    for (int64_t n = 0; n < at->rows; n++) {
        real shift = at->shifts[block * at->rows + n];
        if (shift != at->shift[n])
            vec_scale(e + n * STRIDE, vec_exp_one(shift - at->shift[n]), count);
    }
}

/* (e) for the rows in work; e is complete. */
static void backward(const Rows *at, real *df, real *dweight, const real *weight,
                     real scale)
{
    int64_t C = at->C;
    real factors[CROSSENTROPY_ROWS] = {0};
    for (int64_t n = 0; n < at->rows; n++) {
        vec_axpy(dweight + at->goal[n] * C, -scale, at->in + n * C, C);
        factors[n] = (real)((double)scale / at->sums[n]);
        vec_scale(at->in + n * C, factors[n], C);
    }
    for (int64_t first = 0; first < at->V; first += CROSSENTROPY_COLUMNS) {
        int64_t count = smaller(CROSSENTROPY_COLUMNS, at->V - first);
        int64_t block = first / CROSSENTROPY_COLUMNS;
        real *e = at->e + block * at->rows * STRIDE;
        bring_to_last_shift(at, e, block, count);
        matmul(PLAIN, PLAIN, at->rows, C, count, 1, e, STRIDE, weight + first * C, C,
               first > 0 ? 1 : 0, at->din, C);
        matmul(TRANSPOSED, PLAIN, count, C, at->rows, 1, e, STRIDE, at->in, C, 1,
               dweight + first * C, C);
    }
    for (int64_t n = 0; n < at->rows; n++) {
        real *out = df + at->origin[n] * C;
        const real *target = weight + at->goal[n] * C;
        const real *mean = at->din + n * C;
#pragma omp simd
        for (int64_t j = 0; j < C; j++)
            out[j] = factors[n] * mean[j] - scale * target[j];
    }
}

double crossentropy_head(real *df, real *dweight, real *token_nats, const real *f,
                         const real *weight, const int32_t *targets, real scale,
                         real *scratch, int64_t N, int64_t C, int64_t V)
{
    double sums[CROSSENTROPY_ROWS] = {0};
    int32_t goal[CROSSENTROPY_ROWS] = {0};
    Rows at = {.C = C, .V = V, .sums = sums, .goal = goal};
    divide_scratch(&at, scratch, smaller(N, CROSSENTROPY_ROWS));
    if (df != NULL)
        memset(df, 0, (size_t)(N * C) * sizeof(real));
    if (token_nats != NULL)
        memset(token_nats, 0, (size_t)N * sizeof(real));
    double nats = 0;
    for (int64_t row = 0; row < N;) {
        row = gather(&at, f, targets, row, N);
        if (at.rows == 0)
            break;
        for (int64_t first = 0; first < V; first += CROSSENTROPY_COLUMNS) {
            int64_t count = smaller(CROSSENTROPY_COLUMNS, V - first);
            int64_t block = first / CROSSENTROPY_COLUMNS;
            real *e = at.e + block * at.rows * STRIDE;
            matmul(PLAIN, TRANSPOSED, at.rows, count, C, 1, at.in, C,
                   weight + first * C, C, 0, e, STRIDE);
            take_exponentials(&at, e, block, first, count);
        }
        nats += finish_rows(&at, token_nats);
        if (df != NULL)
            backward(&at, df, dweight, weight, scale);
    }
    return nats;
}
