#include "train/bench_limits.h"

#include <omp.h>
#include <stdlib.h>

#include "model/base/memory.h"
#include "model/math/blas.h"
#include "model/math/product.h"
#include "model/math/tile.h"

enum {
    CHAINS =
        16, /* independent sums: two units times a latency of four to five, and more */
    ROUNDS = 4000000, /* some 25 ms: waking the threads must not count */
    TRIES = 5,
    SIZE = 768,
};

typedef real Vector __attribute__((vector_size(TILE_BYTES)));

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double limits_median(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    return count % 2 == 1 ? numbers[count / 2]
                          : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
}

/* The result depends on every operation, so none can be left out. */
static real multiply_add(real factor, real term)
{
    Vector sums[CHAINS];
    Vector by = factor - (Vector){0};
    Vector plus = term - (Vector){0};
    for (int c = 0; c < CHAINS; c++)
        sums[c] = (real)c - (Vector){0};
    for (int round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 16
        for (int c = 0; c < CHAINS; c++)
            sums[c] = sums[c] * by + plus;
    }
    real total = 0;
    for (int c = 0; c < CHAINS; c++)
        total += sums[c][0];
    return total;
}

double limits_peak(int threads)
{
    double best = 0;
    real sink = 0;
    for (int try = 0; try < TRIES; try++) {
        double began = omp_get_wtime();
#pragma omp parallel num_threads(threads) reduction(+ : sink)
        sink += multiply_add((real)0.5, (real)1 + (real)try);
        double rate =
            2.0 * CHAINS * TILE_LANES * ROUNDS * threads / (omp_get_wtime() - began);
        best = rate > best ? rate : best;
    }
    /* All sums end near 2 term, so the comparison holds and is not known to the compiler. */
    return sink > 0 ? best : 0;
}

typedef void (*Product)(Transpose, Transpose, int64_t, int64_t, int64_t, real,
                        const real *, int64_t, const real *, int64_t, real, real *,
                        int64_t);

static void own_product(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                        real alpha, const real *a, int64_t lda, const real *b,
                        int64_t ldb, real beta, real *c, int64_t ldc)
{
    product_matmul(ta, tb, m, n, k, alpha, a, lda, b, ldb,
                   (TileStart){beta == 1 ? c : NULL, ldc}, c, ldc);
}

static double product_rate(Product product, const real *a, const real *b, real *c,
                           int threads)
{
    double best = 0;
    for (int try = 0; try < TRIES; try++) {
        double began = omp_get_wtime();
#pragma omp parallel num_threads(threads)
        {
            real *out = c + (int64_t)omp_get_thread_num() * SIZE * SIZE;
            for (int i = 0; i < 4; i++)
                product(PLAIN, PLAIN, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, out,
                        SIZE);
        }
        double rate =
            4 * 2.0 * SIZE * SIZE * SIZE * threads / (omp_get_wtime() - began);
        best = rate > best ? rate : best;
    }
    return best;
}

Status limits_product(double *rate, int threads, Error *err)
{
    real *memory;
    size_t size = (size_t)SIZE * SIZE;
    TRY(memory_allocate(&memory, (2 + (size_t)threads) * size, sizeof *memory,
                        "the matrix product's limit", err));
    for (size_t i = 0; i < 2 * size; i++)
        memory[i] = (real)(i % 7) / 8;
    double own =
        product_rate(own_product, memory, memory + size, memory + 2 * size, threads);
    double blas =
        product_rate(matmul_blas, memory, memory + size, memory + 2 * size, threads);
    *rate = own > blas ? own : blas;
    memory_free(memory);
    return STATUS_OK;
}
