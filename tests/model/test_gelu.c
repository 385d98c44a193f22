#include "model/layers/gelu.h"
#include "tests/model/numeric.h"

enum { COUNT = 401 };

/* -8 .. 8 in steps of 0.04 */
static void fill_grid(real *u)
{
    for (int i = 0; i < COUNT; i++)
        u[i] = (real)((i - COUNT / 2) * 0.04);
}

static void forward_is_the_tanh_form(void **state)
{
    (void)state;
    real u[COUNT], y[COUNT];
    fill_grid(u);
    gelu_forward(y, u, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double x = (double)u[i];
        double t = sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
        assert_near(y[i], x * (1 + tanh(t)) / 2, SAME_TOLERANCE);
    }
}

static void forward_works_in_place(void **state)
{
    (void)state;
    real u[COUNT], y[COUNT];
    fill_grid(u);
    gelu_forward(y, u, COUNT);
    gelu_forward(u, u, COUNT);
    assert_memory_equal(u, y, sizeof u);
}

static void the_two_sides_differ_by_u(void **state)
{
    (void)state;
    real u[COUNT], y[COUNT];
    fill_grid(u);
    gelu_forward(y, u, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_near(y[i] - y[COUNT - 1 - i], u[i], SAME_TOLERANCE);
}

typedef struct {
    real u[COUNT];
    real dy[COUNT];
} Case;

static double weighted(void *context)
{
    const Case *at = context;
    real y[COUNT];
    gelu_forward(y, at->u, COUNT);
    return sum_products(y, at->dy, COUNT);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    Case at;
    real du[COUNT];
    fill_grid(at.u);
    fill_random(at.dy, COUNT, 1, 1);
    memcpy(du, at.dy, sizeof du);
    gelu_backward(du, at.u, COUNT);
    assert_gradient(at.u, du, COUNT, weighted, &at);
}

static void the_slope_is_what_backward_multiplies_by(void **state)
{
    (void)state;
    real u[COUNT], slope[COUNT], y[COUNT], expected[COUNT], du[COUNT];
    fill_grid(u);
    fill_grid(slope);
    gelu_forward(expected, u, COUNT);
    gelu_forward_slope(y, slope, COUNT);
    assert_memory_equal(y, expected, sizeof y);
    for (int i = 0; i < COUNT; i++)
        du[i] = 1;
    gelu_backward(du, u, COUNT);
    assert_all_near(slope, du, COUNT, SAME_TOLERANCE);
}

static void far_from_zero_it_is_u_or_nothing(void **state)
{
    (void)state;
    const real far[] = {20, 300, (real)1e4, (real)1e6};
    for (int i = 0; i < 4; i++) {
        real up = far[i], down = -far[i], dup = 1, ddown = 1;
        gelu_backward(&dup, &up, 1);
        gelu_backward(&ddown, &down, 1);
        gelu_forward(&up, &up, 1);
        gelu_forward(&down, &down, 1);
        assert_true(up == far[i] && dup == 1);
        assert_near(down, 0, 1e-12);
        assert_near(ddown, 0, 1e-12);
    }
    real nan = (real)NAN;
    gelu_forward(&nan, &nan, 1);
    assert_true(isnan(nan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_tanh_form),
        cmocka_unit_test(forward_works_in_place),
        cmocka_unit_test(the_two_sides_differ_by_u),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(the_slope_is_what_backward_multiplies_by),
        cmocka_unit_test(far_from_zero_it_is_u_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
