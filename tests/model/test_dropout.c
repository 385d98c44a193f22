#include "model/layers/dropout.h"
#include "tests/model/numeric.h"

enum { N = 300, C = 131, ALL = N * C };
static const uint64_t KEY = 20;

static real *ones(Pool *pool)
{
    real *x = pool_reals(pool, ALL);
    fill_value(x, ALL, 1);
    return x;
}

static int64_t zeros(const real *x, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] == 0;
    return sum;
}

static void the_share_of_zeros_is_p_and_the_mean_stays(void **state)
{
    (void)state;
    static const double SHARES[] = {0.01, 0.1, 0.3, 0.5, 0.9};
    for (int s = 0; s < 5; s++) {
        Pool pool = {0};
        double p = SHARES[s];
        real *x = ones(&pool);
        dropout_apply(x, p, KEY, 0, N, C);
        double deviation = sqrt(p * (1 - p) / ALL);
        assert_true(fabs((double)zeros(x, ALL) / ALL - p) <=
                    4 * deviation + 1.0 / 65536);
        assert_true(fabs(sum_all(x, ALL) / ALL - 1) <= 4 * deviation / (1 - p) + 1e-3);
        for (int64_t i = 0; i < ALL; i++)
            assert_true(x[i] == 0 || fabs((double)x[i] * (1 - p) - 1) <= 2e-4);
        /* Every column is dropped as often as every other: no lane is special. */
        for (int64_t j = 0; j < C; j++) {
            int64_t dropped = 0;
            for (int64_t n = 0; n < N; n++)
                dropped += x[n * C + j] == 0;
            assert_true(fabs((double)dropped / N - p) <= 5 * sqrt(p * (1 - p) / N));
        }
        pool_free(&pool);
    }
}

/* Columns share the bits of a random number by fours: none may follow from another. */
static void neighbours_are_dropped_independently(void **state)
{
    (void)state;
    Pool pool = {0};
    const double p = 0.3;
    real *x = ones(&pool);
    dropout_apply(x, p, KEY, 0, N, C);
    for (int64_t apart = 1; apart <= 5; apart++) {
        int64_t both = 0, pairs = N * (C - apart);
        for (int64_t n = 0; n < N; n++) {
            for (int64_t j = 0; j + apart < C; j++)
                both += x[n * C + j] == 0 && x[n * C + j + apart] == 0;
        }
        double share = (double)both / (double)pairs;
        assert_true(fabs(share - p * p) <= 5 * sqrt(p * p / (double)pairs));
    }
    pool_free(&pool);
}

static void p_of_zero_changes_nothing(void **state)
{
    (void)state;
    Pool pool = {0};
    real *x = pool_random(&pool, ALL, 1, 1), *before = pool_copy(&pool, x, ALL);
    dropout_apply(x, 0, KEY, 0, N, C);
    assert_memory_equal(x, before, ALL * sizeof(real));
    pool_free(&pool);
}

static void the_same_inputs_are_dropped_again(void **state)
{
    (void)state;
    Pool pool = {0};
    real *a = ones(&pool), *b = ones(&pool);
    dropout_apply(a, 0.25, KEY, 17, N, C);
    dropout_apply(b, 0.25, KEY, 17, N, C);
    assert_memory_equal(a, b, ALL * sizeof(real));
    /* The gradient meets the mask that the input met, whatever the values are. */
    real *x = pool_random(&pool, ALL, 1, 2), *before = pool_copy(&pool, x, ALL);
    dropout_apply(x, 0.25, KEY, 17, N, C);
    for (int64_t i = 0; i < ALL; i++)
        assert_true(x[i] == before[i] * a[i]);
    pool_free(&pool);
}

static void no_split_of_the_rows_changes_the_mask(void **state)
{
    (void)state;
    Pool pool = {0};
    real *whole = ones(&pool);
    dropout_apply(whole, 0.5, KEY, 1000, N, C);
    static const int64_t PARTS[] = {1, 2, 7, 150, 299};
    for (int s = 0; s < 5; s++) {
        real *x = ones(&pool);
        for (int64_t first = 0; first < N; first += PARTS[s]) {
            int64_t rows = N - first < PARTS[s] ? N - first : PARTS[s];
            dropout_apply(x + first * C, 0.5, KEY, 1000 + (uint64_t)first, rows, C);
        }
        assert_memory_equal(x, whole, ALL * sizeof(real));
    }
    pool_free(&pool);
}

static void other_keys_and_rows_drop_other_inputs(void **state)
{
    (void)state;
    Pool pool = {0};
    real *a = ones(&pool);
    dropout_apply(a, 0.5, KEY, 0, N, C);
    for (int other = 0; other < 2; other++) {
        real *b = ones(&pool);
        dropout_apply(b, 0.5, KEY + (other == 0), other == 1 ? N : 0, N, C);
        int64_t equal = 0;
        for (int64_t i = 0; i < ALL; i++)
            equal += a[i] == b[i];
        /* Independent masks agree in half of the places. */
        assert_true(fabs((double)equal / ALL - 0.5) <= 4 * sqrt(0.25 / ALL));
    }
    pool_free(&pool);
}

/* 0 times NaN is NaN: what is dropped is set, not multiplied. */
static void what_is_dropped_is_gone(void **state)
{
    (void)state;
    Pool pool = {0};
    real *mask = ones(&pool), *x = pool_reals(&pool, ALL);
    fill_value(x, ALL, (double)NAN);
    dropout_apply(mask, 0.5, KEY, 0, N, C);
    dropout_apply(x, 0.5, KEY, 0, N, C);
    for (int64_t i = 0; i < ALL; i++)
        assert_true(mask[i] == 0 ? x[i] == 0 : isnan(x[i]));
    pool_free(&pool);
}

static void p_near_one_stays_finite(void **state)
{
    (void)state;
    Pool pool = {0};
    real *x = ones(&pool);
    dropout_apply(x, 1 - 1e-9, KEY, 0, N, C);
    for (int64_t i = 0; i < ALL; i++)
        assert_true(isfinite(x[i]));
    pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_of_zeros_is_p_and_the_mean_stays),
        cmocka_unit_test(neighbours_are_dropped_independently),
        cmocka_unit_test(p_of_zero_changes_nothing),
        cmocka_unit_test(the_same_inputs_are_dropped_again),
        cmocka_unit_test(no_split_of_the_rows_changes_the_mask),
        cmocka_unit_test(other_keys_and_rows_drop_other_inputs),
        cmocka_unit_test(what_is_dropped_is_gone),
        cmocka_unit_test(p_near_one_stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
