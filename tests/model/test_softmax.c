#include "model/math/softmax.h"
#include "tests/model/numeric.h"

enum { LONGEST = 40 };

static void a_row_sums_to_one_and_is_its_definition(void **state)
{
    (void)state;
    Pool pool = {0};
    for (int64_t n = 1; n <= LONGEST; n++) {
        pool_free(&pool);
        const real *s = pool_random(&pool, n, 3, (uint64_t)n);
        real *p = pool_copy(&pool, s, n);
        real result = softmax_forward(p, n);
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += exp((double)s[i]);
        assert_near(result, log(sum), SAME_TOLERANCE);
        assert_near(sum_all(p, n), 1, SAME_TOLERANCE);
        for (int64_t i = 0; i < n; i++)
            assert_near(p[i], exp((double)s[i]) / sum, SAME_TOLERANCE);
    }
    pool_free(&pool);
}

static void a_shift_changes_nothing(void **state)
{
    (void)state;
    enum { N = 19 };
    real p[N], q[N];
    fill_random(p, N, 2, 1);
    for (int i = 0; i < N; i++) {
        p[i] = (real)(round((double)p[i] * 1024) / 1024); /* so that p + 64 is exact */
        q[i] = p[i] + 64;
    }
    real a = softmax_forward(p, N), b = softmax_forward(q, N);
    assert_memory_equal(p, q, sizeof p);
    assert_near(b - 64, a, 20 * SAME_TOLERANCE);
}

static void huge_scores_do_not_overflow(void **state)
{
    (void)state;
    real s[] = {(real)1e30, (real)-1e30, 0, (real)1e30};
    real top = softmax_forward(s, 4);
    assert_true(s[0] == (real)0.5 && s[3] == (real)0.5 && s[1] == 0 && s[2] == 0);
    assert_near(top, 1e30, SAME_TOLERANCE);
    real masked[] = {(real)-INFINITY, 2, (real)-INFINITY};
    softmax_forward(masked, 3);
    assert_true(masked[0] == 0 && masked[1] == 1 && masked[2] == 0);
}

static void what_is_not_a_number_stays_visible(void **state)
{
    (void)state;
    const real bad[] = {(real)NAN, (real)INFINITY};
    for (int b = 0; b < 2; b++) {
        for (int at = 0; at < 20; at++) {
            real s[20] = {0};
            s[at] = bad[b];
            assert_true(isnan(softmax_forward(s, 20)));
            assert_true(isnan(s[at]));
        }
    }
}

typedef struct {
    real s[LONGEST];
    real dp[LONGEST];
    int64_t n;
} Case;

static double weighted(void *context)
{
    const Case *at = context;
    real p[LONGEST];
    memcpy(p, at->s, sizeof p);
    softmax_forward(p, at->n);
    return sum_products(p, at->dp, at->n);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= LONGEST; n += 3) {
        Case at = {.n = n};
        fill_random(at.s, n, 1, 7);
        fill_random(at.dp, n, 1, 8);
        real p[LONGEST], ds[LONGEST];
        memcpy(p, at.s, sizeof p);
        memcpy(ds, at.dp, sizeof ds);
        softmax_forward(p, n);
        softmax_backward(ds, p, n);
        assert_gradient(at.s, ds, n, weighted, &at);
        assert_near(sum_all(ds, n), 0, SAME_TOLERANCE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_sums_to_one_and_is_its_definition),
        cmocka_unit_test(a_shift_changes_nothing),
        cmocka_unit_test(huge_scores_do_not_overflow),
        cmocka_unit_test(what_is_not_a_number_stays_visible),
        cmocka_unit_test(backward_is_the_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
