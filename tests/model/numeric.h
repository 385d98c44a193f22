/* Help for tests of numbers: buffers, random values, comparisons, central differences. */
#ifndef JUEJU_TESTS_MODEL_NUMERIC_H
#define JUEJU_TESTS_MODEL_NUMERIC_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/base/memory.h"
#include "model/base/rng.h"

/* Two ways to the same number: rounding only. Differences: also their own error, which is
 * why derivations are settled in the double build. */
#ifdef JUEJU_REAL_DOUBLE
#define SAME_TOLERANCE 1e-12
#define SLOPE_STEP 1e-3
#define SLOPE_RTOL 1e-6
#define SLOPE_ATOL 1e-9
#else
#define SAME_TOLERANCE 1e-5
#define SLOPE_STEP 2e-2
#define SLOPE_RTOL 1e-2
#define SLOPE_ATOL 2e-3
#endif

/* Buffers that one test owns, each an allocation of its own (so that the address sanitizer
 * sees one real too far), zeroed and 64-byte aligned. */
enum { POOL_BUFFERS = 64 };

typedef struct {
    Arena buffers[POOL_BUFFERS];
    int count;
} Pool;

static inline real *pool_reals(Pool *pool, int64_t count)
{
    Error err;
    assert_true(pool->count < POOL_BUFFERS);
    Arena *buffer = &pool->buffers[pool->count++];
    size_t bytes = (size_t)(count > 0 ? count : 1) * sizeof(real);
    assert_int_equal(arena_create(buffer, bytes, "a test", &err), STATUS_OK);
    return arena_reals(buffer, count);
}

static inline void fill_random(real *values, int64_t count, double deviation,
                               uint64_t name)
{
    Rng rng = rng_stream(20260, name);
    for (int64_t i = 0; i < count; i++)
        values[i] = (real)(deviation * rng_normal(&rng));
}

static inline void fill_value(real *values, int64_t count, double value)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = (real)value;
}

/* Normal with that deviation, from the stream `name`. */
static inline real *pool_random(Pool *pool, int64_t count, double deviation,
                                uint64_t name)
{
    real *values = pool_reals(pool, count);
    fill_random(values, count, deviation, name);
    return values;
}

static inline real *pool_copy(Pool *pool, const real *from, int64_t count)
{
    real *values = pool_reals(pool, count);
    memcpy(values, from, (size_t)count * sizeof(real));
    return values;
}

static inline void pool_free(Pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        arena_destroy(&pool->buffers[i]);
    pool->count = 0;
}

/* |a - b| <= atol + rtol max(|a|, |b|); false for a NaN or an infinity on either side. */
static inline bool numbers_agree(double a, double b, double atol, double rtol)
{
    return isfinite(a) && isfinite(b) &&
           fabs(a - b) <= atol + rtol * fmax(fabs(a), fabs(b));
}

#define assert_near(a, b, tolerance)                                                   \
    do {                                                                               \
        double near_a_ = (double)(a), near_b_ = (double)(b);                           \
        if (!numbers_agree(near_a_, near_b_, tolerance, tolerance))                    \
            fail_msg("%s = %.9g, but %s = %.9g", #a, near_a_, #b, near_b_);            \
    } while (0)

#define assert_all_near(a, b, count, tolerance)                                        \
    do {                                                                               \
        for (int64_t near_i_ = 0; near_i_ < (count); near_i_++) {                      \
            double near_a_ = (double)(a)[near_i_], near_b_ = (double)(b)[near_i_];     \
            if (!numbers_agree(near_a_, near_b_, tolerance, tolerance))                \
                fail_msg("%s[%lld] = %.9g, but %s[%lld] = %.9g", #a,                   \
                         (long long)near_i_, near_a_, #b, (long long)near_i_,          \
                         near_b_);                                                     \
        }                                                                              \
    } while (0)

static inline double sum_products(const real *a, const real *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static inline double sum_all(const real *a, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)a[i];
    return sum;
}

/* A number as a function of memory that the checker changes and puts back. */
typedef double (*NumericFunction)(void *context);

/* (8 (f(w+h) - f(w-h)) - (f(w+2h) - f(w-2h))) / 12h: its error is O(h^4). */
static inline double numeric_slope(real *w, NumericFunction function, void *context)
{
    const real start = *w;
    double f[5];
    for (int i = -2; i <= 2; i++) {
        *w = start + (real)i * (real)SLOPE_STEP;
        f[i + 2] = i == 0 ? 0 : function(context);
    }
    *w = start;
    return (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * SLOPE_STEP);
}

/* The first of `count` elements whose analytic gradient is not the numeric one, or -1.
 * At most `samples` are looked at, evenly spread; 0: all. */
static inline int64_t gradient_mistake(real *values, const real *analytic,
                                       int64_t count, int64_t samples,
                                       NumericFunction function, void *context)
{
    int64_t step = samples > 0 && count > samples ? count / samples : 1;
    for (int64_t i = 0; i < count; i += step) {
        double slope = numeric_slope(&values[i], function, context);
        if (!numbers_agree((double)analytic[i], slope, SLOPE_ATOL, SLOPE_RTOL)) {
            print_message("element %lld: gradient %.9g, difference %.9g\n",
                          (long long)i, (double)analytic[i], slope);
            return i;
        }
    }
    return -1;
}

#define assert_gradient(values, analytic, count, function, context)                    \
    assert_int_equal(gradient_mistake(values, analytic, count, 0, function, context),  \
                     -1)

#endif
