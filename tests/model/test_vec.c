#include "model/math/vec.h"
#include "tests/model/numeric.h"

enum { LONGEST = 70 };

static double relative_error(double x)
{
    double right = exp((double)(real)x);
    return fabs((double)vec_exp_one((real)x) - right) / right;
}

static void exp_is_within_its_bound_over_its_whole_range(void **state)
{
    (void)state;
    const double bound = sizeof(real) == sizeof(double) ? 1e-15 : 1.2e-7;
    enum { POINTS = 3500000 };
    double worst = 0;
    for (int i = 0; i <= POINTS; i++)
        worst = fmax(worst, relative_error(-87 + 175.0 * i / POINTS));
    /* Where rounding to n changes, |r| is largest. */
    for (int n = -125; n < 127; n++) {
        float edge = (float)((n + 0.5) * log(2));
        for (int i = 0; i < 40; i++) {
            if (edge >= -87 && edge <= 88)
                worst = fmax(worst, relative_error((double)edge));
            edge = nextafterf(edge, i < 20 ? -100.0f : 100.0f);
        }
    }
    print_message("exp: largest relative error %.3g\n", worst);
    assert_true(worst <= bound);
}

static void exp_at_its_limits(void **state)
{
    (void)state;
    assert_true(vec_exp_one(0) == 1);
    assert_true(vec_exp_one((real)-INFINITY) == 0);
    assert_true(isnan(vec_exp_one((real)NAN)));
    assert_true(vec_exp_one(-800) == 0);
    assert_true(isfinite(vec_exp_one(88)));
#ifndef JUEJU_REAL_DOUBLE
    assert_true(vec_exp_one(nextafterf(-87, -88)) == 0);
    assert_true(vec_exp_one(-87) > 0);
    /* It stays where it is: a softmax never asks, and GELU's gate is 0 there anyway. */
    assert_true(vec_exp_one(89) == vec_exp_one(88));
    assert_true(vec_exp_one(INFINITY) == vec_exp_one(88));
#endif
}

static void exp_never_falls(void **state)
{
    (void)state;
    real last = 0;
    for (int i = 0; i <= 200000; i++) {
        real y = vec_exp_one((real)(-90 + 180.0 * i / 200000));
        assert_true(y >= last * (1 - 4 * REAL_EPSILON));
        last = y;
    }
}

static void sums_of_any_length_equal_plain_loops(void **state)
{
    (void)state;
    Pool pool = {0};
    for (int64_t n = 1; n <= LONGEST; n++) {
        pool_free(&pool);
        const real *a = pool_random(&pool, n, 1, (uint64_t)n);
        const real *b = pool_random(&pool, n, 1, (uint64_t)(n + LONGEST));
        double top = (double)a[0];
        for (int64_t i = 0; i < n; i++)
            top = fmax(top, (double)a[i]);
        assert_near(vec_dot(a, b, n), sum_products(a, b, n), SAME_TOLERANCE);
        assert_near(vec_sum(a, n), sum_all(a, n), SAME_TOLERANCE);
        assert_near(vec_square_sum(a, n), sum_products(a, a, n), 1e-14);
        assert_true((double)vec_max(a, n) == top);
    }
    assert_true(vec_dot(NULL, NULL, 0) == 0);
    assert_true(vec_sum(NULL, 0) == 0);
    assert_true(vec_square_sum(NULL, 0) == 0);
    pool_free(&pool);
}

static void rows_of_any_length_equal_plain_loops(void **state)
{
    (void)state;
    Pool pool = {0};
    for (int64_t n = 0; n <= LONGEST; n++) {
        pool_free(&pool);
        const real *x = pool_random(&pool, n, 1, (uint64_t)n);
        const real *start = pool_random(&pool, n, 1, (uint64_t)(n + LONGEST));
        real *added = pool_copy(&pool, start, n), *scaled = pool_copy(&pool, start, n);
        real *axpy = pool_copy(&pool, start, n), *exps = pool_reals(&pool, n);
        vec_add(added, x, n);
        vec_axpy(axpy, 3, x, n);
        vec_scale(scaled, -2, n);
        real sum = vec_exp_sum(exps, x, (real)0.5, n);
        double expected = 0;
        for (int64_t i = 0; i < n; i++) {
            assert_true(added[i] == start[i] + x[i]);
            assert_true(scaled[i] == -2 * start[i]);
            assert_near(axpy[i], (double)start[i] + 3 * (double)x[i], SAME_TOLERANCE);
            assert_near(exps[i], exp((double)x[i] - 0.5), SAME_TOLERANCE);
            expected += exp((double)x[i] - 0.5);
        }
        assert_near(sum, expected, SAME_TOLERANCE);
        real *in_place = pool_copy(&pool, x, n);
        vec_exp_sum(in_place, in_place, (real)0.5, n);
        assert_memory_equal(in_place, exps, (size_t)n * sizeof(real));
    }
    pool_free(&pool);
}

static void squares_add_up_in_double(void **state)
{
    (void)state;
    Pool pool = {0};
    enum { COUNT = 100000 };
    real *a = pool_reals(&pool, COUNT);
    fill_value(a, COUNT, 1e-3);
    a[COUNT / 2] = 1000; /* in float the small ones would vanish beside it */
    double expected = 1e6 + (COUNT - 1) * (double)a[0] * (double)a[0];
    assert_true(fabs(vec_square_sum(a, COUNT) - expected) <= 1e-6);
    pool_free(&pool);
}

/* As vec.h says: passed over, unless it comes first. The exp that follows keeps it. */
static void max_passes_over_nan(void **state)
{
    (void)state;
    for (int n = 2; n <= LONGEST; n++) {
        for (int at = 0; at < n; at++) {
            real a[LONGEST];
            for (int i = 0; i < n; i++)
                a[i] = (real)(i % 7);
            real top = 0;
            for (int i = 0; i < n; i++)
                top = i != at && a[i] > top ? a[i] : top;
            a[at] = (real)NAN;
            if (at == 0)
                assert_true(isnan(vec_max(a, n)));
            else
                assert_true(vec_max(a, n) == top);
            assert_true(isnan(vec_exp_sum(a, a, vec_max(a, n), n)));
        }
    }
    real low[] = {(real)-INFINITY, (real)-INFINITY, -3};
    assert_true(vec_max(low, 3) == -3);
    assert_true(vec_max(low, 2) == (real)-INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_its_bound_over_its_whole_range),
        cmocka_unit_test(exp_at_its_limits),
        cmocka_unit_test(exp_never_falls),
        cmocka_unit_test(sums_of_any_length_equal_plain_loops),
        cmocka_unit_test(rows_of_any_length_equal_plain_loops),
        cmocka_unit_test(squares_add_up_in_double),
        cmocka_unit_test(max_passes_over_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
