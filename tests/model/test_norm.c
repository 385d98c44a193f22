#include "model/layers/norm.h"
#include "model/layers/rmsnorm.h"
#include "tests/model/numeric.h"

enum { N = 5, C = 23 };

static const double EPS = 1e-5;

typedef struct {
    Pool pool;
    NormKind kind;
    NormParams params, dparams;
    NormSaved saved;
    real *x, *y, *dx, *dy;
} Case;

/* What the kind has no use for is NULL: a look at it would crash. */
static Case make_case(NormKind kind, bool bias)
{
    Case at = {.kind = kind};
    at.x = pool_random(&at.pool, N * C, 2, 1);
    at.y = pool_reals(&at.pool, N * C);
    at.dx = pool_reals(&at.pool, N * C);
    at.dy = pool_random(&at.pool, N * C, 1, 2);
    at.params.gain = pool_random(&at.pool, C, 1, 3);
    at.params.bias = bias ? pool_random(&at.pool, C, 1, 4) : NULL;
    at.dparams.gain = pool_reals(&at.pool, C);
    at.dparams.bias = bias ? pool_reals(&at.pool, C) : NULL;
    at.saved.mean = kind == NORM_LAYER ? pool_reals(&at.pool, N) : NULL;
    at.saved.inverse = pool_reals(&at.pool, N);
    return at;
}

static void forward(Case *at)
{
    norm_forward(at->kind, at->y, &at->saved, at->x, &at->params, EPS, N, C);
}

static void backward(Case *at)
{
    norm_backward_add(at->kind, at->dx, &at->dparams, at->dy, &at->saved, at->x,
                      &at->params, N, C);
}

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, N * C);
}

static void check_gradient(NormKind kind, bool bias)
{
    Case at = make_case(kind, bias);
    forward(&at);
    backward(&at);
    assert_gradient(at.x, at.dx, N * C, weighted, &at);
    assert_gradient(at.params.gain, at.dparams.gain, C, weighted, &at);
    if (bias)
        assert_gradient(at.params.bias, at.dparams.bias, C, weighted, &at);
    pool_free(&at.pool);
}

static void layer_norm_has_its_gradient(void **state)
{
    (void)state;
    check_gradient(NORM_LAYER, true);
}

static void layer_norm_without_a_bias_has_its_gradient(void **state)
{
    (void)state;
    check_gradient(NORM_LAYER, false);
}

static void rms_norm_has_its_gradient(void **state)
{
    (void)state;
    check_gradient(NORM_RMS, false);
}

static void layer_is_layernorm(void **state)
{
    (void)state;
    Case at = make_case(NORM_LAYER, true), direct = make_case(NORM_LAYER, true);
    forward(&at);
    backward(&at);
    layernorm_forward(direct.y, &direct.saved, direct.x, &direct.params, EPS, N, C);
    layernorm_backward_add(direct.dx, &direct.dparams, direct.dy, &direct.saved,
                           direct.x, &direct.params, N, C);
    assert_memory_equal(at.y, direct.y, N * C * sizeof(real));
    assert_memory_equal(at.dx, direct.dx, N * C * sizeof(real));
    assert_memory_equal(at.dparams.gain, direct.dparams.gain, C * sizeof(real));
    assert_memory_equal(at.dparams.bias, direct.dparams.bias, C * sizeof(real));
    pool_free(&at.pool);
    pool_free(&direct.pool);
}

static void rms_is_rmsnorm(void **state)
{
    (void)state;
    Case at = make_case(NORM_RMS, false), direct = make_case(NORM_RMS, false);
    RmsNormParams params = {direct.params.gain}, dparams = {direct.dparams.gain};
    RmsNormSaved saved = {direct.saved.inverse};
    forward(&at);
    backward(&at);
    rmsnorm_forward(direct.y, C, &saved, direct.x, C, &params, EPS, N, C);
    rmsnorm_backward_add(direct.dx, C, &dparams, direct.dy, C, &saved, direct.x, C,
                         &params, N, C);
    assert_memory_equal(at.y, direct.y, N * C * sizeof(real));
    assert_memory_equal(at.dx, direct.dx, N * C * sizeof(real));
    assert_memory_equal(at.dparams.gain, direct.dparams.gain, C * sizeof(real));
    assert_memory_equal(at.saved.inverse, saved.inverse, N * sizeof(real));
    pool_free(&at.pool);
    pool_free(&direct.pool);
}

static void layer_norm_without_a_bias_has_a_bias_of_zero(void **state)
{
    (void)state;
    Case none = make_case(NORM_LAYER, false), zero = make_case(NORM_LAYER, true);
    fill_value(zero.params.bias, C, 0);
    forward(&none);
    forward(&zero);
    backward(&none);
    backward(&zero);
    assert_all_near(none.y, zero.y, N * C, SAME_TOLERANCE);
    assert_all_near(none.dx, zero.dx, N * C, SAME_TOLERANCE);
    assert_all_near(none.dparams.gain, zero.dparams.gain, C, SAME_TOLERANCE);
    pool_free(&none.pool);
    pool_free(&zero.pool);
}

static void layer_norm_is_rms_norm_of_the_centred_row(void **state)
{
    (void)state;
    Case layer = make_case(NORM_LAYER, true), rms = make_case(NORM_RMS, false);
    forward(&layer);
    for (int64_t i = 0; i < N * C; i++)
        rms.x[i] -= layer.saved.mean[i / C];
    forward(&rms);
    for (int64_t i = 0; i < N * C; i++)
        assert_near((double)layer.y[i] - (double)layer.params.bias[i % C], rms.y[i],
                    SAME_TOLERANCE);
    assert_all_near(layer.saved.inverse, rms.saved.inverse, N, SAME_TOLERANCE);
    pool_free(&layer.pool);
    pool_free(&rms.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm_has_its_gradient),
        cmocka_unit_test(layer_norm_without_a_bias_has_its_gradient),
        cmocka_unit_test(rms_norm_has_its_gradient),
        cmocka_unit_test(layer_is_layernorm),
        cmocka_unit_test(rms_is_rmsnorm),
        cmocka_unit_test(layer_norm_without_a_bias_has_a_bias_of_zero),
        cmocka_unit_test(layer_norm_is_rms_norm_of_the_centred_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
