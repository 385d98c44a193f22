#include "model/layers/swiglu.h"
#include "model/math/blas.h"
#include "tests/model/numeric.h"

enum { N = 5, C = 6, F = 11, COUNT = 401 };

typedef struct {
    Pool pool;
    SwigluParams params, dparams;
    SwigluSaved saved;
    real *x, *y, *dx, *dy, *scratch;
} Case;

static LinearParams linear(Pool *pool, int64_t in, int64_t out, double deviation,
                           bool bias, uint64_t name)
{
    return (LinearParams){pool_random(pool, in * out, deviation, name),
                          bias ? pool_random(pool, out, deviation, name + 1) : NULL};
}

static SwigluParams make_params(Pool *pool, double deviation, bool bias)
{
    return (SwigluParams){.gate = linear(pool, C, F, deviation, bias, 10),
                          .up = linear(pool, C, F, deviation, bias, 20),
                          .down = linear(pool, F, C, deviation, bias, 30)};
}

static Case make_case(bool bias)
{
    Case at = {.pool = {.count = 0}};
    at.x = pool_random(&at.pool, N * C, 1, 1);
    at.y = pool_reals(&at.pool, N * C);
    at.dx = pool_reals(&at.pool, N * C);
    at.dy = pool_random(&at.pool, N * C, 1, 2);
    at.scratch = pool_reals(&at.pool, 2 * N * F);
    at.params = make_params(&at.pool, 0.5, bias);
    at.dparams = make_params(&at.pool, 0, bias);
    at.saved = (SwigluSaved){pool_reals(&at.pool, N * F), pool_reals(&at.pool, N * F),
                             pool_reals(&at.pool, N * F)};
    return at;
}

static void forward(Case *at)
{
    swiglu_forward(at->y, &at->saved, at->x, &at->params, N, C, F);
}

static void backward(Case *at)
{
    swiglu_backward(at->dx, &at->dparams, at->dy, &at->saved, at->x, &at->params,
                    at->scratch, N, C, F);
}

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, N * C);
}

/* Column j of row x times W, plus b. */
static double column(const double *x, const LinearParams *params, int64_t in,
                     int64_t out, int64_t j)
{
    double sum = params->bias != NULL ? (double)params->bias[j] : 0;
    for (int64_t i = 0; i < in; i++)
        sum += x[i] * (double)params->weight[i * out + j];
    return sum;
}

static void check_definition(bool bias)
{
    Case at = make_case(bias);
    forward(&at);
    for (int64_t n = 0; n < N; n++) {
        double x[C], a[F];
        for (int64_t i = 0; i < C; i++)
            x[i] = (double)at.x[n * C + i];
        for (int64_t j = 0; j < F; j++) {
            double g = column(x, &at.params.gate, C, F, j);
            a[j] = g / (1 + exp(-g)) * column(x, &at.params.up, C, F, j);
        }
        for (int64_t i = 0; i < C; i++)
            assert_near(at.y[n * C + i], column(a, &at.params.down, F, C, i),
                        SAME_TOLERANCE);
    }
    pool_free(&at.pool);
}

static void forward_is_its_definition(void **state)
{
    (void)state;
    check_definition(false);
    check_definition(true);
}

static void assert_linear_gradient(const LinearParams *params,
                                   const LinearParams *dparams, int64_t in, int64_t out,
                                   Case *at)
{
    assert_gradient(params->weight, dparams->weight, in * out, weighted, at);
    if (params->bias != NULL)
        assert_gradient(params->bias, dparams->bias, out, weighted, at);
}

static void check_gradient(bool bias)
{
    Case at = make_case(bias);
    forward(&at);
    /* y, and what scratch and dx hold, do not matter: what is saved suffices. */
    fill_value(at.y, N * C, (double)NAN);
    fill_value(at.dx, N * C, (double)NAN);
    fill_value(at.scratch, 2 * N * F, (double)NAN);
    backward(&at);
    assert_gradient(at.x, at.dx, N * C, weighted, &at);
    assert_linear_gradient(&at.params.gate, &at.dparams.gate, C, F, &at);
    assert_linear_gradient(&at.params.up, &at.dparams.up, C, F, &at);
    assert_linear_gradient(&at.params.down, &at.dparams.down, F, C, &at);
    pool_free(&at.pool);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    check_gradient(false);
}

static void backward_with_biases_is_the_gradient(void **state)
{
    (void)state;
    check_gradient(true);
}

static void parameter_gradients_are_added_to(void **state)
{
    (void)state;
    Case once = make_case(true), added = make_case(true);
    forward(&once);
    forward(&added);
    backward(&once);
    const LinearParams *sums[] = {&added.dparams.gate, &added.dparams.up,
                                  &added.dparams.down};
    const LinearParams *parts[] = {&once.dparams.gate, &once.dparams.up,
                                   &once.dparams.down};
    const int64_t widths[] = {F, F, C};
    for (int t = 0; t < 3; t++) {
        fill_value(sums[t]->weight, C * F, t + 1);
        fill_value(sums[t]->bias, widths[t], -t - 1);
    }
    backward(&added);
    for (int t = 0; t < 3; t++) {
        for (int64_t i = 0; i < C * F; i++)
            assert_near(sums[t]->weight[i], t + 1 + (double)parts[t]->weight[i],
                        SAME_TOLERANCE);
        for (int64_t i = 0; i < widths[t]; i++)
            assert_near(sums[t]->bias[i], -t - 1 + (double)parts[t]->bias[i],
                        SAME_TOLERANCE);
    }
    assert_memory_equal(once.dx, added.dx, N * C * sizeof(real));
    pool_free(&once.pool);
    pool_free(&added.pool);
}

/* -8 .. 8 in steps of 0.04, with u = 1: a is silu(g). */
static void the_two_sides_of_silu_differ_by_g(void **state)
{
    (void)state;
    real g[COUNT], u[COUNT], a[COUNT];
    for (int i = 0; i < COUNT; i++) {
        g[i] = (real)((i - COUNT / 2) * 0.04);
        u[i] = 1;
    }
    swiglu_gate_forward(a, g, u, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_near(a[i] - a[COUNT - 1 - i], g[i], SAME_TOLERANCE);
}

/* sum u du = sum a da, for a is linear in u. */
static void the_gate_is_linear_in_u(void **state)
{
    (void)state;
    real g[COUNT], u[COUNT], a[COUNT], da[COUNT], du[COUNT];
    fill_random(g, COUNT, 2, 1);
    fill_random(u, COUNT, 1, 2);
    fill_random(da, COUNT, 1, 3);
    swiglu_gate_forward(a, g, u, COUNT);
    double expected = sum_products(a, da, COUNT);
    swiglu_gate_backward(da, du, g, u, COUNT);
    assert_near(sum_products(u, du, COUNT), expected, 10 * SAME_TOLERANCE);
}

static void the_gate_works_in_place(void **state)
{
    (void)state;
    real g[COUNT], u[COUNT], a[COUNT], other[COUNT];
    fill_random(g, COUNT, 2, 1);
    fill_random(u, COUNT, 1, 2);
    swiglu_gate_forward(a, g, u, COUNT);
    memcpy(other, g, sizeof g);
    swiglu_gate_forward(other, other, u, COUNT);
    assert_memory_equal(other, a, sizeof a);
    swiglu_gate_forward(u, g, u, COUNT);
    assert_memory_equal(u, a, sizeof a);
}

static void far_from_zero_the_gate_is_open_or_closed(void **state)
{
    (void)state;
    const real far[] = {100, 300, (real)1e4, (real)1e6, (real)1e9};
    for (int i = 0; i < 5; i++) {
        const real g[2] = {far[i], -far[i]}, u[2] = {3, 3};
        real a[2], d[2] = {2, 2}, du[2];
        swiglu_gate_forward(a, g, u, 2);
        swiglu_gate_backward(d, du, g, u, 2);
        assert_true(a[0] == 3 * far[i] && du[0] == 2 * far[i] && d[0] == 6);
        assert_near(a[1], 0, 1e-12);
        assert_near(du[1], 0, 1e-12);
        assert_near(d[1], 0, 1e-12);
    }
}

static void a_nan_is_not_hidden(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        const real nan = (real)NAN;
        real g = which == 0 ? nan : 1, u = which == 1 ? nan : 1, a;
        real d = which == 2 ? nan : 1, du;
        swiglu_gate_forward(&a, &g, &u, 1);
        swiglu_gate_backward(&d, &du, &g, &u, 1);
        assert_true(isnan(a) == (which < 2) && isnan(d));
        assert_true(isnan(du) == (which != 1));
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_its_definition),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(backward_with_biases_is_the_gradient),
        cmocka_unit_test(parameter_gradients_are_added_to),
        cmocka_unit_test(the_two_sides_of_silu_differ_by_g),
        cmocka_unit_test(the_gate_is_linear_in_u),
        cmocka_unit_test(the_gate_works_in_place),
        cmocka_unit_test(far_from_zero_the_gate_is_open_or_closed),
        cmocka_unit_test(a_nan_is_not_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
