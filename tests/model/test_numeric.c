/* The checker that the other tests trust. */
#include "tests/model/numeric.h"

typedef struct {
    real x[3];
} Cubic;

/* f = x0^3 + 2 x1 - sin x2 */
static double cubic(void *context)
{
    const Cubic *at = context;
    double a = (double)at->x[0];
    return a * a * a + 2 * (double)at->x[1] - sin((double)at->x[2]);
}

static void right_gradients_are_accepted(void **state)
{
    (void)state;
    Cubic at = {{(real)0.7, -3, 1}};
    const real gradient[] = {(real)1.47, 2, (real)-0.5403023058681398};
    assert_gradient(at.x, gradient, 3, cubic, &at);
    assert_true(at.x[0] == (real)0.7 && at.x[1] == -3 && at.x[2] == 1);
}

static void wrong_gradients_are_rejected(void **state)
{
    (void)state;
    Cubic at = {{(real)0.7, -3, 1}};
    const real g = (real)1.47;
    const real wrong[] = {-g, 2 * g, 0, (real)NAN, (real)INFINITY, g * (real)1.05};
    for (int i = 0; i < 6; i++)
        assert_int_equal(gradient_mistake(at.x, &wrong[i], 1, 0, cubic, &at), 0);
    at.x[0] = (real)NAN; /* 0/0 on both sides is no agreement */
    assert_int_equal(gradient_mistake(at.x, &wrong[3], 1, 0, cubic, &at), 0);
}

static void infinities_and_nan_agree_with_nothing(void **state)
{
    (void)state;
    assert_true(numbers_agree(1, 1 + 1e-9, 0, 1e-8));
    assert_false(numbers_agree(1, 1 + 1e-7, 0, 1e-8));
    assert_false(numbers_agree(1, -1, 0, 1e-8));
    assert_false(numbers_agree((double)INFINITY, (double)INFINITY, 1, 1));
    assert_false(numbers_agree(1, (double)INFINITY, 1, 1));
    assert_false(numbers_agree((double)NAN, (double)NAN, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_gradients_are_accepted),
        cmocka_unit_test(wrong_gradients_are_rejected),
        cmocka_unit_test(infinities_and_nan_agree_with_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
