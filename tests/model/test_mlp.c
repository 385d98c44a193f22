#include "model/layers/gelu.h"
#include "model/layers/mlp.h"
#include "model/math/blas.h"
#include "tests/model/numeric.h"

enum { N = 5, C = 6, F = 11 };

typedef struct {
    Pool pool;
    MlpParams params, dparams;
    MlpSaved saved;
    real *x, *y, *dx, *dy, *scratch;
} Case;

static LinearParams linear(Pool *pool, int64_t in, int64_t out, double deviation,
                           uint64_t name)
{
    return (LinearParams){pool_random(pool, in * out, deviation, name),
                          pool_random(pool, out, deviation, name + 1)};
}

static Case make_case(void)
{
    Case at = {.pool = {.count = 0}};
    at.x = pool_random(&at.pool, N * C, 1, 1);
    at.y = pool_reals(&at.pool, N * C);
    at.dx = pool_reals(&at.pool, N * C);
    at.dy = pool_random(&at.pool, N * C, 1, 2);
    at.scratch = pool_reals(&at.pool, N * F);
    at.params =
        (MlpParams){linear(&at.pool, C, F, 0.5, 10), linear(&at.pool, F, C, 0.5, 20)};
    at.dparams =
        (MlpParams){linear(&at.pool, C, F, 0, 10), linear(&at.pool, F, C, 0, 20)};
    at.saved = (MlpSaved){pool_reals(&at.pool, N * F), pool_reals(&at.pool, N * F)};
    return at;
}

static void forward(Case *at)
{
    mlp_forward(at->y, &at->saved, at->x, &at->params, N, C, F);
}

static void backward(Case *at)
{
    mlp_backward(at->dx, &at->dparams, at->dy, &at->saved, at->x, &at->params,
                 at->scratch, N, C, F);
}

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, N * C);
}

static void forward_is_two_products_around_gelu(void **state)
{
    (void)state;
    Case at = make_case();
    forward(&at);
    real *u = pool_reals(&at.pool, N * F), *y = pool_reals(&at.pool, N * C);
    linear_forward(u, at.x, &at.params.up, N, C, F);
    gelu_forward(u, u, N * F);
    linear_forward(y, u, &at.params.down, N, F, C);
    assert_memory_equal(at.y, y, N * C * sizeof(real));
    pool_free(&at.pool);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    Case at = make_case();
    forward(&at);
    /* y, and what scratch and dx hold, do not matter: what is saved suffices. */
    fill_value(at.y, N * C, (double)NAN);
    fill_value(at.dx, N * C, (double)NAN);
    fill_value(at.scratch, N * F, (double)NAN);
    backward(&at);
    assert_gradient(at.x, at.dx, N * C, weighted, &at);
    assert_gradient(at.params.up.weight, at.dparams.up.weight, C * F, weighted, &at);
    assert_gradient(at.params.up.bias, at.dparams.up.bias, F, weighted, &at);
    assert_gradient(at.params.down.weight, at.dparams.down.weight, F * C, weighted,
                    &at);
    assert_gradient(at.params.down.bias, at.dparams.down.bias, C, weighted, &at);
    pool_free(&at.pool);
}

static void parameter_gradients_are_added_to(void **state)
{
    (void)state;
    Case once = make_case(), added = make_case();
    forward(&once);
    forward(&added);
    backward(&once);
    real *sums[] = {added.dparams.up.weight, added.dparams.up.bias,
                    added.dparams.down.weight, added.dparams.down.bias};
    const real *parts[] = {once.dparams.up.weight, once.dparams.up.bias,
                           once.dparams.down.weight, once.dparams.down.bias};
    const int64_t sizes[] = {C * F, F, F * C, C};
    for (int t = 0; t < 4; t++)
        fill_value(sums[t], sizes[t], t + 1);
    backward(&added);
    for (int t = 0; t < 4; t++) {
        for (int64_t i = 0; i < sizes[t]; i++)
            assert_near(sums[t][i], t + 1 + (double)parts[t][i], SAME_TOLERANCE);
    }
    assert_memory_equal(once.dx, added.dx, N * C * sizeof(real));
    pool_free(&once.pool);
    pool_free(&added.pool);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_two_products_around_gelu),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(parameter_gradients_are_added_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
