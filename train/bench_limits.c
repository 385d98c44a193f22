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
    ROUNDS = 1600000, /* some 10 ms: waking the threads must not count */
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

static double sample_peak(int threads)
{
    real sink = 0;
    double began = omp_get_wtime();
#pragma omp parallel num_threads(threads) reduction(+ : sink)
    sink += multiply_add((real)0.5, (real)1);
    double seconds = omp_get_wtime() - began;
    /* All sums end near 2 term, so the comparison holds and is not known to the compiler. */
    return sink > 0 ? 2.0 * CHAINS * TILE_LANES * ROUNDS * threads / seconds : 0;
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

static double sample_product(Product product, const Limits *limits)
{
    const real *a = limits->memory;
    const real *b = a + SIZE * SIZE;
    double began = omp_get_wtime();
#pragma omp parallel num_threads(limits->threads)
    {
        real *out = limits->memory + (2 + (int64_t)omp_get_thread_num()) * SIZE * SIZE;
        product(PLAIN, PLAIN, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, out, SIZE);
    }
    return 2.0 * SIZE * SIZE * SIZE * limits->threads / (omp_get_wtime() - began);
}

Status limits_create(Limits *limits, int threads, Error *err)
{
    *limits = (Limits){.threads = threads};
    size_t size = (size_t)SIZE * SIZE;
    TRY(memory_allocate(&limits->memory, (2 + (size_t)threads) * size,
                        sizeof *limits->memory, "the matrix product's limit", err));
    for (size_t i = 0; i < 2 * size; i++)
        limits->memory[i] = (real)(i % 7) / 8;
    return STATUS_OK;
}

void limits_destroy(Limits *limits)
{
    memory_free(limits->memory);
    limits->memory = NULL;
}

void limits_sample(Limits *limits)
{
    if (limits->count == LIMITS_SAMPLES)
        return;
    int i = limits->count++;
    limits->peak[i] = sample_peak(limits->threads);
    limits->own[i] = sample_product(own_product, limits);
    limits->blas[i] = sample_product(matmul_blas, limits);
}

double limits_peak(Limits *limits)
{
    return limits_median(limits->peak, limits->count);
}

double limits_product(Limits *limits)
{
    double own = limits_median(limits->own, limits->count);
    double blas = limits_median(limits->blas, limits->count);
    return own > blas ? own : blas;
}
