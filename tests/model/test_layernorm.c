#include "model/layers/layernorm.h"
#include "tests/model/numeric.h"

enum { N = 4, WIDEST = 37 };

typedef struct {
    Pool pool;
    int64_t C;
    double eps;
    LayerNormParams params, dparams;
    LayerNormSaved saved;
    real *x, *y, *dx, *dy;
} Case;

static Case make_case(int64_t C, double eps)
{
    Case at = {.C = C, .eps = eps};
    at.x = pool_random(&at.pool, N * C, 2, 1);
    at.y = pool_reals(&at.pool, N * C);
    at.dx = pool_reals(&at.pool, N * C);
    at.dy = pool_random(&at.pool, N * C, 1, 2);
    at.params = (LayerNormParams){pool_random(&at.pool, C, 1, 3),
                                  pool_random(&at.pool, C, 1, 4)};
    at.dparams = (LayerNormParams){pool_reals(&at.pool, C), pool_reals(&at.pool, C)};
    at.saved = (LayerNormSaved){pool_reals(&at.pool, N), pool_reals(&at.pool, N)};
    return at;
}

static void forward(Case *at)
{
    layernorm_forward(at->y, &at->saved, at->x, &at->params, at->eps, N, at->C);
}

static void backward(Case *at)
{
    layernorm_backward_add(at->dx, &at->dparams, at->dy, &at->saved, at->x, &at->params,
                           N, at->C);
}

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, N * at->C);
}

static void a_row_has_mean_zero_and_variance_one(void **state)
{
    (void)state;
    for (int64_t C = 2; C <= WIDEST; C++) {
        Case at = make_case(C, 0);
        fill_value(at.params.gain, C, 1);
        fill_value(at.params.bias, C, 0);
        forward(&at);
        for (int64_t n = 0; n < N; n++) {
            assert_near(sum_all(at.y + n * C, C), 0, (double)C * SAME_TOLERANCE);
            assert_near(sum_products(at.y + n * C, at.y + n * C, C) / (double)C, 1,
                        10 * SAME_TOLERANCE);
        }
        pool_free(&at.pool);
    }
}

static void forward_is_its_definition(void **state)
{
    (void)state;
    Case at = make_case(13, 1e-2);
    forward(&at);
    for (int64_t n = 0; n < N; n++) {
        const real *row = at.x + n * at.C;
        double mean = sum_all(row, at.C) / (double)at.C, variance = 0;
        for (int64_t j = 0; j < at.C; j++)
            variance += pow((double)row[j] - mean, 2) / (double)at.C;
        for (int64_t j = 0; j < at.C; j++)
            assert_near(at.y[n * at.C + j],
                        ((double)row[j] - mean) / sqrt(variance + 1e-2) *
                                (double)at.params.gain[j] +
                            (double)at.params.bias[j],
                        SAME_TOLERANCE);
    }
    pool_free(&at.pool);
}

/* E[x^2] - E[x]^2 would lose the variance here. */
static void a_large_mean_does_not_hide_the_variance(void **state)
{
    (void)state;
    Case at = make_case(16, 1e-5);
    for (int64_t i = 0; i < N * at.C; i++)
        at.x[i] = 4096 + (real)(i % 2);
    forward(&at);
    for (int64_t n = 0; n < N; n++)
        assert_near(at.saved.inverse[n], 1 / sqrt(0.25 + 1e-5), SAME_TOLERANCE);
    pool_free(&at.pool);
}

static void equal_numbers_become_the_bias(void **state)
{
    (void)state;
    Case at = make_case(8, 1e-5);
    fill_value(at.x, N * at.C, 3);
    forward(&at);
    for (int64_t n = 0; n < N; n++)
        assert_memory_equal(at.y + n * at.C, at.params.bias, 8 * sizeof(real));
    backward(&at);
    for (int64_t i = 0; i < N * at.C; i++)
        assert_true(isfinite(at.dx[i]));
    pool_free(&at.pool);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    for (int64_t C = 3; C <= WIDEST; C += 17) {
        Case at = make_case(C, 1e-5);
        forward(&at);
        fill_value(at.y, N * C, (double)NAN); /* not needed: what is saved suffices */
        backward(&at);
        assert_gradient(at.x, at.dx, N * C, weighted, &at);
        assert_gradient(at.params.gain, at.dparams.gain, C, weighted, &at);
        assert_gradient(at.params.bias, at.dparams.bias, C, weighted, &at);
        pool_free(&at.pool);
    }
}

static void gradients_are_added_to(void **state)
{
    (void)state;
    Case once = make_case(11, 1e-5), added = make_case(11, 1e-5);
    forward(&once);
    forward(&added);
    backward(&once);
    fill_value(added.dx, N * added.C, 3);
    fill_value(added.dparams.gain, added.C, -5);
    fill_value(added.dparams.bias, added.C, 7);
    backward(&added);
    for (int64_t i = 0; i < N * once.C; i++)
        assert_near(added.dx[i], 3 + (double)once.dx[i], SAME_TOLERANCE);
    for (int64_t j = 0; j < once.C; j++) {
        assert_near(added.dparams.gain[j], -5 + (double)once.dparams.gain[j],
                    SAME_TOLERANCE);
        assert_near(added.dparams.bias[j], 7 + (double)once.dparams.bias[j],
                    SAME_TOLERANCE);
    }
    pool_free(&once.pool);
    pool_free(&added.pool);
}

/* sum dx = 0, and without eps also sum dx xhat = 0: shifting or scaling x changes nothing. */
static void dx_is_orthogonal_to_one_and_to_xhat(void **state)
{
    (void)state;
    Case at = make_case(29, 0);
    forward(&at);
    backward(&at);
    for (int64_t n = 0; n < N; n++) {
        double shift = 0, scale = 0;
        for (int64_t j = 0; j < at.C; j++) {
            double d = (double)at.dx[n * at.C + j];
            shift += d;
            scale += d * ((double)at.x[n * at.C + j] - (double)at.saved.mean[n]) *
                     (double)at.saved.inverse[n];
        }
        assert_near(shift, 0, SAME_TOLERANCE);
        assert_near(scale, 0, SAME_TOLERANCE);
    }
    pool_free(&at.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_mean_zero_and_variance_one),
        cmocka_unit_test(forward_is_its_definition),
        cmocka_unit_test(a_large_mean_does_not_hide_the_variance),
        cmocka_unit_test(equal_numbers_become_the_bias),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(gradients_are_added_to),
        cmocka_unit_test(dx_is_orthogonal_to_one_and_to_xhat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
