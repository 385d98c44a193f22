#include "model/layers/rmsnorm.h"
#include "tests/model/numeric.h"

enum { N = 4, WIDEST = 37 };

/* Four arrays with a row stride of their own each; the columns from C on belong to others. */
typedef struct {
    Pool pool;
    int64_t C, x_stride, y_stride, dx_stride, dy_stride;
    double eps;
    RmsNormParams params, dparams;
    RmsNormSaved saved;
    real *x, *y, *dx, *dy;
} Case;

/* Rows side by side for wider = 0, else further apart by different numbers of columns.
 * The first C columns are the same numbers in both. */
static Case make_case(int64_t C, double eps, int64_t wider)
{
    Case at = {.C = C, .eps = eps};
    at.x_stride = C + wider;
    at.y_stride = C + 2 * wider;
    at.dx_stride = C + 3 * wider;
    at.dy_stride = C + 5 * wider;
    at.x = pool_random(&at.pool, N * at.x_stride, 1, 10);
    at.y = pool_random(&at.pool, N * at.y_stride, 1, 11);
    at.dx = pool_random(&at.pool, N * at.dx_stride, 1, 12);
    at.dy = pool_random(&at.pool, N * at.dy_stride, 1, 13);
    const real *x = pool_random(&at.pool, N * C, 2, 1);
    const real *dy = pool_random(&at.pool, N * C, 1, 2);
    for (int64_t n = 0; n < N; n++) {
        memcpy(at.x + n * at.x_stride, x + n * C, (size_t)C * sizeof(real));
        memcpy(at.dy + n * at.dy_stride, dy + n * C, (size_t)C * sizeof(real));
        fill_value(at.dx + n * at.dx_stride, C, 0);
    }
    at.params = (RmsNormParams){pool_random(&at.pool, C, 1, 3)};
    at.dparams = (RmsNormParams){pool_reals(&at.pool, C)};
    at.saved = (RmsNormSaved){pool_reals(&at.pool, N)};
    return at;
}

static void forward(Case *at)
{
    rmsnorm_forward(at->y, at->y_stride, &at->saved, at->x, at->x_stride, &at->params,
                    at->eps, N, at->C);
}

static void backward(Case *at)
{
    rmsnorm_backward_add(at->dx, at->dx_stride, &at->dparams, at->dy, at->dy_stride,
                         &at->saved, at->x, at->x_stride, &at->params, N, at->C);
}

static double weighted(void *context)
{
    Case *at = context;
    double sum = 0;
    forward(at);
    for (int64_t n = 0; n < N; n++)
        sum +=
            sum_products(at->y + n * at->y_stride, at->dy + n * at->dy_stride, at->C);
    return sum;
}

static void a_row_has_mean_square_one(void **state)
{
    (void)state;
    for (int64_t C = 1; C <= WIDEST; C++) {
        Case at = make_case(C, 0, 0);
        fill_value(at.params.gain, C, 1);
        forward(&at);
        for (int64_t n = 0; n < N; n++)
            assert_near(sum_products(at.y + n * C, at.y + n * C, C) / (double)C, 1,
                        SAME_TOLERANCE);
        pool_free(&at.pool);
    }
}

static void forward_is_its_definition(void **state)
{
    (void)state;
    for (int64_t C = 1; C <= WIDEST; C += 6) {
        Case at = make_case(C, 1e-2, 0);
        forward(&at);
        for (int64_t n = 0; n < N; n++) {
            const real *row = at.x + n * C;
            double mean_square = sum_products(row, row, C) / (double)C;
            assert_near(at.saved.inverse[n], 1 / sqrt(mean_square + 1e-2),
                        SAME_TOLERANCE);
            for (int64_t j = 0; j < C; j++)
                assert_near(at.y[n * C + j],
                            (double)row[j] / sqrt(mean_square + 1e-2) *
                                (double)at.params.gain[j],
                            SAME_TOLERANCE);
        }
        pool_free(&at.pool);
    }
}

static void without_eps_the_scale_of_x_does_not_matter(void **state)
{
    (void)state;
    Case at = make_case(19, 0, 0);
    forward(&at);
    const real *before = pool_copy(&at.pool, at.y, N * at.C);
    for (int64_t i = 0; i < N * at.C; i++)
        at.x[i] *= 300;
    forward(&at);
    assert_all_near(at.y, before, N * at.C, SAME_TOLERANCE);
    pool_free(&at.pool);
}

static void zeros_stay_zeros_and_their_gradient_is_finite(void **state)
{
    (void)state;
    Case at = make_case(8, 1e-5, 0);
    fill_value(at.x, N * at.C, 0);
    forward(&at);
    backward(&at);
    for (int64_t i = 0; i < N * at.C; i++) {
        assert_true(at.y[i] == 0);
        assert_near(at.dx[i], /* r u */
                    (double)at.dy[i] * (double)at.params.gain[i % at.C] / sqrt(1e-5),
                    SAME_TOLERANCE);
    }
    pool_free(&at.pool);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    for (int64_t C = 3; C <= WIDEST; C += 17) {
        Case at = make_case(C, 1e-5, 0);
        forward(&at);
        fill_value(at.y, N * C, (double)NAN); /* not needed: what is saved suffices */
        backward(&at);
        assert_gradient(at.x, at.dx, N * C, weighted, &at);
        assert_gradient(at.params.gain, at.dparams.gain, C, weighted, &at);
        pool_free(&at.pool);
    }
}

static void gradients_are_added_to(void **state)
{
    (void)state;
    Case once = make_case(11, 1e-5, 0), added = make_case(11, 1e-5, 0);
    forward(&once);
    forward(&added);
    backward(&once);
    fill_value(added.dx, N * added.C, 3);
    fill_value(added.dparams.gain, added.C, -5);
    backward(&added);
    for (int64_t i = 0; i < N * once.C; i++)
        assert_near(added.dx[i], 3 + (double)once.dx[i], SAME_TOLERANCE);
    for (int64_t j = 0; j < once.C; j++)
        assert_near(added.dparams.gain[j], -5 + (double)once.dparams.gain[j],
                    SAME_TOLERANCE);
    pool_free(&once.pool);
    pool_free(&added.pool);
}

/* sum x dx = 0 without eps: scaling x changes nothing. */
static void dx_is_orthogonal_to_x(void **state)
{
    (void)state;
    Case at = make_case(29, 0, 0);
    forward(&at);
    backward(&at);
    for (int64_t n = 0; n < N; n++)
        assert_near(sum_products(at.x + n * at.C, at.dx + n * at.C, at.C), 0,
                    SAME_TOLERANCE);
    pool_free(&at.pool);
}

/* The first C columns of rows are the same bits as rows side by side, the others as before. */
static void assert_columns(const real *wide, int64_t stride, const real *narrow,
                           int64_t C, uint64_t name)
{
    Pool pool = {.count = 0};
    const real *before = pool_random(&pool, N * stride, 1, name);
    for (int64_t n = 0; n < N; n++) {
        assert_memory_equal(wide + n * stride, narrow + n * C,
                            (size_t)C * sizeof(real));
        assert_memory_equal(wide + n * stride + C, before + n * stride + C,
                            (size_t)(stride - C) * sizeof(real));
    }
    pool_free(&pool);
}

static void columns_of_wider_rows_are_normed_alone(void **state)
{
    (void)state;
    Case narrow = make_case(21, 1e-5, 0), wide = make_case(21, 1e-5, 4);
    forward(&narrow);
    forward(&wide);
    assert_columns(wide.y, wide.y_stride, narrow.y, 21, 11);
    backward(&narrow);
    backward(&wide);
    assert_columns(wide.dx, wide.dx_stride, narrow.dx, 21, 12);
    assert_columns(wide.x, wide.x_stride, narrow.x, 21, 10);
    assert_columns(wide.dy, wide.dy_stride, narrow.dy, 21, 13);
    assert_memory_equal(wide.dparams.gain, narrow.dparams.gain, 21 * sizeof(real));
    pool_free(&narrow.pool);
    pool_free(&wide.pool);
}

static void forward_works_in_place(void **state)
{
    (void)state;
    Case at = make_case(21, 1e-5, 0);
    forward(&at);
    rmsnorm_forward(at.x, at.C, &at.saved, at.x, at.C, &at.params, at.eps, N, at.C);
    assert_memory_equal(at.x, at.y, N * 21 * sizeof(real));
    pool_free(&at.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_mean_square_one),
        cmocka_unit_test(forward_is_its_definition),
        cmocka_unit_test(without_eps_the_scale_of_x_does_not_matter),
        cmocka_unit_test(zeros_stay_zeros_and_their_gradient_is_finite),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(gradients_are_added_to),
        cmocka_unit_test(dx_is_orthogonal_to_x),
        cmocka_unit_test(columns_of_wider_rows_are_normed_alone),
        cmocka_unit_test(forward_works_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
