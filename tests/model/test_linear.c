#include "model/layers/linear.h"
#include "model/math/blas.h"
#include "tests/model/numeric.h"

enum { N = 7, IN = 5, OUT = 9 };

typedef struct {
    Pool pool;
    LinearParams params, dparams;
    real *x, *y, *dx, *dy;
} Case;

static Case make_case(bool bias)
{
    Case at = {.pool = {.count = 0}};
    at.x = pool_random(&at.pool, N * IN, 1, 1);
    at.y = pool_reals(&at.pool, N * OUT);
    at.dx = pool_reals(&at.pool, N * IN);
    at.dy = pool_random(&at.pool, N * OUT, 1, 2);
    at.params.weight = pool_random(&at.pool, IN * OUT, 1, 3);
    at.dparams.weight = pool_reals(&at.pool, IN * OUT);
    if (bias) {
        at.params.bias = pool_random(&at.pool, OUT, 1, 4);
        at.dparams.bias = pool_reals(&at.pool, OUT);
    }
    return at;
}

static double weighted(void *context)
{
    const Case *at = context;
    linear_forward(at->y, at->x, &at->params, N, IN, OUT);
    return sum_products(at->y, at->dy, N * OUT);
}

static void forward_is_its_definition(void **state)
{
    (void)state;
    for (int bias = 0; bias < 2; bias++) {
        Case at = make_case(bias);
        fill_value(at.y, N * OUT, (double)NAN); /* y is written, not added to */
        linear_forward(at.y, at.x, &at.params, N, IN, OUT);
        for (int n = 0; n < N; n++) {
            for (int o = 0; o < OUT; o++) {
                double sum = bias ? (double)at.params.bias[o] : 0;
                for (int i = 0; i < IN; i++)
                    sum += (double)at.x[n * IN + i] *
                           (double)at.params.weight[i * OUT + o];
                assert_near(at.y[n * OUT + o], sum, SAME_TOLERANCE);
            }
        }
        pool_free(&at.pool);
    }
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    for (int bias = 0; bias < 2; bias++) {
        Case at = make_case(bias);
        fill_value(at.dx, N * IN, (double)NAN); /* dx is written */
        linear_backward(at.dx, &at.dparams, at.dy, at.x, &at.params, N, IN, OUT);
        assert_gradient(at.x, at.dx, N * IN, weighted, &at);
        assert_gradient(at.params.weight, at.dparams.weight, IN * OUT, weighted, &at);
        if (bias)
            assert_gradient(at.params.bias, at.dparams.bias, OUT, weighted, &at);
        pool_free(&at.pool);
    }
}

static void parameter_gradients_are_added_to(void **state)
{
    (void)state;
    Case once = make_case(true), twice = make_case(true);
    linear_backward(once.dx, &once.dparams, once.dy, once.x, &once.params, N, IN, OUT);
    fill_value(twice.dparams.weight, IN * OUT, 3);
    fill_value(twice.dparams.bias, OUT, -2);
    linear_backward(NULL, &twice.dparams, twice.dy, twice.x, &twice.params, N, IN, OUT);
    linear_backward(twice.dx, &twice.dparams, twice.dy, twice.x, &twice.params, N, IN,
                    OUT);
    for (int i = 0; i < IN * OUT; i++)
        assert_near(twice.dparams.weight[i], 3 + 2 * (double)once.dparams.weight[i],
                    SAME_TOLERANCE);
    for (int i = 0; i < OUT; i++)
        assert_near(twice.dparams.bias[i], -2 + 2 * (double)once.dparams.bias[i],
                    SAME_TOLERANCE);
    assert_memory_equal(once.dx, twice.dx, N * IN * sizeof(real));
    pool_free(&once.pool);
    pool_free(&twice.pool);
}

/* Without b both are <dy, y>. */
static void both_gradients_weigh_the_same(void **state)
{
    (void)state;
    Case at = make_case(false);
    double expected = weighted(&at);
    linear_backward(at.dx, &at.dparams, at.dy, at.x, &at.params, N, IN, OUT);
    assert_near(sum_products(at.dx, at.x, N * IN), expected, SAME_TOLERANCE);
    assert_near(sum_products(at.dparams.weight, at.params.weight, IN * OUT), expected,
                SAME_TOLERANCE);
    pool_free(&at.pool);
}

/* For an x that goes elsewhere, too. */
static void backward_add_adds_to_dx(void **state)
{
    (void)state;
    Case at = make_case(true), added = make_case(true);
    linear_backward(at.dx, &at.dparams, at.dy, at.x, &at.params, N, IN, OUT);
    fill_value(added.dx, N * IN, 2);
    linear_backward_add(added.dx, &added.dparams, added.dy, added.x, &added.params, N,
                        IN, OUT);
    for (int i = 0; i < N * IN; i++)
        assert_near(added.dx[i], 2 + (double)at.dx[i], SAME_TOLERANCE);
    assert_all_near(added.dparams.weight, at.dparams.weight, IN * OUT, SAME_TOLERANCE);
    assert_all_near(added.dparams.bias, at.dparams.bias, OUT, SAME_TOLERANCE);
    pool_free(&at.pool);
    pool_free(&added.pool);
}

static void a_sum_of_nothing_is_the_bias(void **state)
{
    (void)state;
    for (int bias = 0; bias < 2; bias++) {
        Case at = make_case(bias);
        fill_value(at.y, N * OUT, (double)NAN);
        linear_forward(at.y, at.x, &at.params, N, 0, OUT);
        for (int i = 0; i < N * OUT; i++)
            assert_true(at.y[i] == (bias ? at.params.bias[i % OUT] : 0));
        fill_value(at.dx, N * IN, (double)NAN);
        linear_backward(at.dx, &at.dparams, at.dy, at.x, &at.params, N, IN, 0);
        linear_backward_add(at.dx, &at.dparams, at.dy, at.x, &at.params, N, IN, 0);
        for (int i = 0; i < N * IN; i++)
            assert_true(at.dx[i] == 0);
        for (int i = 0; i < IN * OUT; i++)
            assert_true(at.dparams.weight[i] == 0);
        pool_free(&at.pool);
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_its_definition),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(parameter_gradients_are_added_to),
        cmocka_unit_test(both_gradients_weigh_the_same),
        cmocka_unit_test(backward_add_adds_to_dx),
        cmocka_unit_test(a_sum_of_nothing_is_the_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
