/* The product of our own equals three plain loops, for every shape and transposition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/memory.h"
#include "model/base/rng.h"
#include "model/math/product.h"

enum { LARGEST = 600 * 70 };

static real *a, *b, *c, *expected;

static int take_memory(void **state)
{
    (void)state;
    real **const buffers[] = {&a, &b, &c, &expected};
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            memory_allocate(buffers[i], LARGEST, sizeof(real), "test", NULL),
            STATUS_OK);
    return 0;
}

static int give_memory(void **state)
{
    (void)state;
    memory_free(a);
    memory_free(b);
    memory_free(c);
    memory_free(expected);
    return 0;
}

static void fill(real *values, uint64_t name)
{
    Rng rng = rng_stream(7, name);
    for (int i = 0; i < LARGEST; i++)
        values[i] = (real)rng_normal(&rng);
}

/* Rows of every matrix are `gap` further apart than they need to be. */
static void check(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, bool add,
                  int64_t gap)
{
    int64_t lda = (ta == PLAIN ? k : m) + gap;
    int64_t ldb = (tb == PLAIN ? n : k) + gap;
    int64_t ldc = n + gap;
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);
    fill(expected, 3);
    real alpha = (real)0.75;
    product_matmul(ta, tb, m, n, k, alpha, a, lda, b, ldb,
                   (TileStart){add ? c : NULL, ldc}, c, ldc);
    matmul_plain(ta, tb, m, n, k, alpha, a, lda, b, ldb, add ? 1 : 0, expected, ldc);
    double tolerance = 4 * (double)REAL_EPSILON * (double)(k + 1);
    for (int64_t i = 0; i < LARGEST; i++) {
        if (!(fabs((double)(c[i] - expected[i])) <= tolerance))
            fail_msg(
                "ta %d tb %d m %lld n %lld k %lld add %d: element %lld is %g, not %g",
                ta, tb, (long long)m, (long long)n, (long long)k, add, (long long)i,
                (double)c[i], (double)expected[i]);
    }
}

static void equals_three_loops(void **state)
{
    (void)state;
    /* Around the sizes of a panel (32, in double 16), a block (256) and a tile (8). */
    static const int64_t MS[] = {1, 7, 8, 13, 33};
    static const int64_t NS[] = {1, 16, 31, 32, 65};
    static const int64_t KS[] = {1, 8, 255, 256, 513};
    for (int t = 0; t < 8; t++) {
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 5; j++) {
                for (int p = 0; p < 5; p++)
                    check(t & 1 ? TRANSPOSED : PLAIN, t & 2 ? TRANSPOSED : PLAIN, MS[i],
                          NS[j], KS[p], (t & 4) != 0, (i + j + p) % 3);
            }
        }
    }
}

/* A row's numbers do not depend on how many rows there are. */
static void rows_do_not_see_each_other(void **state)
{
    (void)state;
    fill(a, 1);
    fill(b, 2);
    product_matmul(PLAIN, PLAIN, 41, 40, 300, 1, a, 300, b, 40, (TileStart){0},
                   expected, 40);
    for (int64_t m = 1; m < 41; m += 3) {
        product_matmul(PLAIN, PLAIN, m, 40, 300, 1, a, 300, b, 40, (TileStart){0}, c,
                       40);
        assert_memory_equal(c, expected, (size_t)(m * 40) * sizeof(real));
    }
}

static void overwrites_what_was_there(void **state)
{
    (void)state;
    fill(a, 1);
    fill(b, 2);
    for (int i = 0; i < LARGEST; i++)
        c[i] = (real)NAN;
    product_matmul(PLAIN, TRANSPOSED, 9, 37, 20, 1, a, 20, b, 20, (TileStart){0}, c,
                   37);
    for (int i = 0; i < 9 * 37; i++)
        assert_true(isfinite(c[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_three_loops),
        cmocka_unit_test(rows_do_not_see_each_other),
        cmocka_unit_test(overwrites_what_was_there),
    };
    return cmocka_run_group_tests(tests, take_memory, give_memory);
}
