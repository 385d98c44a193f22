#include "model/layers/crossentropy.h"

#include <math.h>
#include <stdbool.h>

#include "model/math/blas.h"
#include "model/math/vec.h"

/* A block of rows in work. */
typedef struct {
    int64_t rows, V;
    real *z;    /* (rows, V) logits, then exp(z - m), then dz */
    real *tops; /* (blocks, rows) m_nb */
    real *sums; /* (blocks, rows) s_nb */
    real *hit;  /* (rows) z at the target */
    const int32_t *targets;
} Rows;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t column_blocks(int64_t V)
{
    return (V + CROSSENTROPY_COLUMNS - 1) / CROSSENTROPY_COLUMNS;
}

int64_t crossentropy_scratch(int64_t N, int64_t V)
{
    int64_t rows = smaller(N, CROSSENTROPY_ROWS);
    return rows * (V + 2 * column_blocks(V) + 1);
}

/* Columns first .. first+count-1 of the logits, and what (d) needs of them. */
static void take_exponentials(const Rows *at, int64_t block, int64_t first,
                              int64_t count)
{
    for (int64_t n = 0; n < at->rows; n++) {
        real *z = at->z + n * at->V + first;
        int64_t target = at->targets[n] - first;
        if (target >= 0 && target < count)
            at->hit[n] = z[target];
        real top = vec_max(z, count);
        at->tops[block * at->rows + n] = top;
        at->sums[block * at->rows + n] = vec_exp_sum(z, z, top, count);
    }
}

/* (d) l_n = m + log sum_b s_nb exp(m_nb - m), m the largest m_nb; kept as m and the sum
 * while blocks come in. */
static real log_sum(const Rows *at, int64_t n)
{
    real top = at->tops[n];
    double sum = (double)at->sums[n];
    for (int64_t b = 1; b < column_blocks(at->V); b++) {
        real next = at->tops[b * at->rows + n];
        double adds = (double)at->sums[b * at->rows + n];
        if (next > top) {
            sum = sum * (double)vec_exp_one(top - next) + adds;
            top = next;
        } else {
            sum += adds * (double)vec_exp_one(next - top);
        }
    }
    return top + (real)log(sum);
}

/* The losses; turns each m_nb into the factor that (a) and (d) put before exp(z - m_nb). */
static double finish_rows(const Rows *at, real *token_nats, real scale)
{
    double nats = 0;
    for (int64_t n = 0; n < at->rows; n++) {
        bool counts = at->targets[n] >= 0;
        real l = log_sum(at, n);
        double loss = counts ? (double)l - (double)at->hit[n] : 0;
        nats += loss;
        if (token_nats != NULL)
            token_nats[n] = (real)loss;
        for (int64_t b = 0; b < column_blocks(at->V); b++) {
            real *top = &at->tops[b * at->rows + n];
            *top = counts ? scale * vec_exp_one(*top - l) : 0;
        }
    }
    return nats;
}

/* (a) dz = factor exp(z - m_nb) - scale at the target. */
static void take_gradients(const Rows *at, int64_t block, int64_t first, int64_t count,
                           real scale)
{
    for (int64_t n = 0; n < at->rows; n++) {
        real *z = at->z + n * at->V + first;
        int64_t target = at->targets[n] - first;
        vec_scale(z, at->tops[block * at->rows + n], count);
        if (target >= 0 && target < count)
            z[target] -= scale;
    }
}

double crossentropy_head(real *df, real *dweight, real *token_nats, const real *f,
                         const real *weight, const int32_t *targets, real scale,
                         real *scratch, int64_t N, int64_t C, int64_t V)
{
    double nats = 0;
    for (int64_t row = 0; row < N; row += CROSSENTROPY_ROWS) {
        int64_t rows = smaller(CROSSENTROPY_ROWS, N - row);
        const real *in = f + row * C;
        Rows at = {.rows = rows, .V = V, .z = scratch, .targets = targets + row};
        at.tops = at.z + rows * V;
        at.sums = at.tops + rows * column_blocks(V);
        at.hit = at.sums + rows * column_blocks(V);
        for (int64_t first = 0; first < V; first += CROSSENTROPY_COLUMNS) {
            int64_t count = smaller(CROSSENTROPY_COLUMNS, V - first);
            matmul(PLAIN, TRANSPOSED, rows, count, C, 1, in, C, weight + first * C, C,
                   0, at.z + first, V);
            take_exponentials(&at, first / CROSSENTROPY_COLUMNS, first, count);
        }
        nats += finish_rows(&at, token_nats == NULL ? NULL : token_nats + row, scale);
        if (df == NULL)
            continue;
        for (int64_t first = 0; first < V; first += CROSSENTROPY_COLUMNS) {
            int64_t count = smaller(CROSSENTROPY_COLUMNS, V - first);
            const real *dz = at.z + first;
            take_gradients(&at, first / CROSSENTROPY_COLUMNS, first, count, scale);
            /* (b) df = dz W_E */
            matmul(PLAIN, PLAIN, rows, C, count, 1, dz, V, weight + first * C, C,
                   first > 0 ? 1 : 0, df + row * C, C);
            /* (c) dW_E += dz^T f */
            matmul(TRANSPOSED, PLAIN, count, C, rows, 1, dz, V, in, C, 1,
                   dweight + first * C, C);
        }
    }
    return nats;
}
