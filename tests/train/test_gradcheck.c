/* The gradient checker, and by it the gradient of the whole model (in the double build). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/math/blas.h"
#include "train/gradcheck.h"

/* ---- the checker -------------------------------------------------------------------- */

enum { SIZE = 12 };

/* f(x) = sum_i (i + 1) sin(x_i), with a bad value from call number `bad` on. */
typedef struct {
    real x[SIZE];
    int calls, bad;
    double bad_value;
} Sines;

static double sines(void *context)
{
    Sines *at = context;
    if (++at->calls == at->bad)
        return at->bad_value;
    double sum = 0;
    for (int i = 0; i < SIZE; i++)
        sum += (i + 1) * sin((double)at->x[i]);
    return sum;
}

static void sines_at(Sines *at, real analytic[SIZE])
{
    *at = (Sines){0};
    for (int i = 0; i < SIZE; i++) {
        at->x[i] = (real)(0.2 * i - 0.7);
        analytic[i] = (real)((i + 1) * cos((double)at->x[i]));
    }
}

static GradcheckRow check(Sines *at, const real *analytic)
{
    return gradcheck_tensor("x", at->x, analytic, SIZE, 0, rng_stream(1, 1), sines, at);
}

/* Of the checker by itself; in float the differences are coarse. */
static const double PASSES =
    sizeof(real) == sizeof(double) ? GRADCHECK_TOLERANCE : 1e-2;

static void a_right_gradient_passes(void **state)
{
    (void)state;
    Sines at;
    real analytic[SIZE];
    sines_at(&at, analytic);
    GradcheckRow row = check(&at, analytic);
    assert_true(row.worst >= 0 && row.worst <= PASSES);
    assert_int_equal(row.size, SIZE);
    assert_int_equal(row.checked, SIZE);
    assert_string_equal(row.tensor, "x");
    assert_int_equal(at.calls, 4 * SIZE);
}

static void wrong_gradients_are_rejected(void **state)
{
    (void)state;
    static const double FACTORS[] = {-1, 2, 0, 0.9, 1.1};
    for (int f = 0; f < 5; f++) {
        Sines at;
        real analytic[SIZE];
        sines_at(&at, analytic);
        for (int i = 0; i < SIZE; i++)
            analytic[i] = (real)(FACTORS[f] * (double)analytic[i]);
        assert_true(check(&at, analytic).worst > 5 * PASSES);
    }
}

/* A thousandth off in one element, whichever it is (of float: a tenth). */
static void one_wrong_element_is_enough(void **state)
{
    (void)state;
    double off = sizeof(real) == sizeof(double) ? 1e-3 : 0.1;
    for (int i = 0; i < SIZE; i++) {
        Sines at;
        real analytic[SIZE];
        sines_at(&at, analytic);
        analytic[i] += (real)(off * (double)analytic[i]);
        GradcheckRow row = check(&at, analytic);
        assert_true(row.worst > PASSES);
        assert_true(row.analytic == (double)analytic[i]);
        assert_true(fabs(row.numeric - row.analytic) > 0);
    }
}

static void what_is_not_a_number_is_rejected(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int b = 0; b < 3; b++) {
        for (int i = 0; i < SIZE; i++) {
            Sines at;
            real analytic[SIZE];
            sines_at(&at, analytic);
            analytic[i] = (real)bad[b];
            assert_true(check(&at, analytic).worst > DBL_MAX);
        }
        for (int call = 1; call <= 4 * SIZE; call++) {
            Sines at;
            real analytic[SIZE];
            sines_at(&at, analytic);
            at.bad = call;
            at.bad_value = bad[b];
            assert_true(check(&at, analytic).worst > DBL_MAX);
        }
    }
    assert_true(gradcheck_error(NAN, NAN) > DBL_MAX);
    assert_true(gradcheck_error(INFINITY, INFINITY) > DBL_MAX);
    assert_true(gradcheck_error(0, 0) <= 0);
}

/* e <= rtol exactly when |a - n| <= atol + rtol max(|a|, |n|), with its sign. */
static void the_error_is_the_rule_of_the_header(void **state)
{
    (void)state;
    const double values[] = {-3, -1e-3, -1e-9, 0, 1e-9, 2e-4, 0.1, 7};
    const double rtol = 0.01, atol = rtol * GRADCHECK_FLOOR;
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            double a = values[i], n = values[j];
            bool passes = fabs(a - n) <= atol + rtol * fmax(fabs(a), fabs(n));
            assert_true((gradcheck_error(a, n) <= rtol) == passes);
        }
    }
}

static void values_are_put_back(void **state)
{
    (void)state;
    Sines at;
    real analytic[SIZE], before[SIZE];
    sines_at(&at, analytic);
    memcpy(before, at.x, sizeof before);
    check(&at, analytic);
    at.bad = at.calls + 3;
    at.bad_value = NAN;
    check(&at, analytic);
    assert_memory_equal(at.x, before, sizeof before);
}

static void samples_are_as_many_as_asked_for(void **state)
{
    (void)state;
    Sines at;
    real analytic[SIZE];
    sines_at(&at, analytic);
    GradcheckRow row =
        gradcheck_tensor("x", at.x, analytic, SIZE, 5, rng_stream(1, 1), sines, &at);
    assert_int_equal(row.checked, 5);
    assert_int_equal(at.calls, 4 * 5);
    row = gradcheck_tensor("x", at.x, analytic, SIZE, 99, rng_stream(1, 1), sines, &at);
    assert_int_equal(row.checked, SIZE);
}

/* ---- the model ---------------------------------------------------------------------- */

#ifdef JUEJU_REAL_DOUBLE

/* Of `rows` tensors and inputs, all elements of each. */
static void check_rows(const GradcheckOptions *options, int64_t rows)
{
    GradcheckReport report;
    Error err = {0};
    Status status = gradcheck_model(&report, options, &err);
    if (status != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(report.count, rows);
    double worst = 0;
    for (int64_t i = 0; i < report.count; i++) {
        const GradcheckRow *row = &report.rows[i];
        if (options->samples == 0)
            assert_int_equal(row->checked, row->size);
        if (!(row->worst <= GRADCHECK_TOLERANCE))
            fail_msg("%s is off by %g", row->tensor, row->worst);
        worst = fmax(worst, row->worst);
    }
    assert_true(report.rows[report.worst].worst >= worst);
    assert_true(worst > 0); /* something was compared */
    gradcheck_report_free(&report);
}

/* All tensors of the table and the input embedding. */
static void check_model(const GradcheckOptions *options)
{
    check_rows(options, 4 + 12 * options->config.layers + 1);
}

static void every_gradient_of_the_model_is_right(void **state)
{
    (void)state;
    GradcheckOptions options = gradcheck_defaults();
    check_model(&options);
}

static void so_are_those_of_other_shapes(void **state)
{
    (void)state;
    static const struct {
        int64_t layers, heads, width, context, mlp_width, vocab;
        double dropout;
    } SHAPES[] = {
        {1, 1, 8, 5, 12, 9, 0},   /* one layer, one head, no dropout */
        {1, 7, 7, 9, 3, 11, 0.5}, /* heads of width 1, an MLP narrower than the model */
        {3, 2, 18, 4, 40, 6, 0.1}, /* no width a multiple of 16 */
        {1, 2, 32, 20, 16, 40, 0}, /* all of them are */
        {1, 1, 2, 2, 1, 2, 0},     /* as small as can be */
    };
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        GradcheckOptions options = gradcheck_defaults();
        options.config.layers = SHAPES[i].layers;
        options.config.heads = SHAPES[i].heads;
        options.config.width = SHAPES[i].width;
        options.config.context = SHAPES[i].context;
        options.config.mlp_width = SHAPES[i].mlp_width;
        options.config.vocab_size = SHAPES[i].vocab;
        options.config.dropout = SHAPES[i].dropout;
        options.seed = 10 + i;
        options.samples = 40;
        check_model(&options);
    }
}

/* L2 Le1: norms before and after the sublayers, then with all other switches turned. */
static void so_are_those_of_an_encoder_and_a_decoder(void **state)
{
    (void)state;
    enum { ENCODER = 12, DECODER = 20, OUTSIDE = 1 + 4 };
    for (int i = 0; i < 3; i++) {
        GptConfig defaults = gradcheck_defaults().config;
        GradcheckOptions options = {.config = gpt_config_open(FAMILY_COUPLET),
                                    .seed = 3};
        GptConfig *config = &options.config;
        config->vocab_size = defaults.vocab_size;
        config->context = 7;
        config->width = defaults.width;
        config->layers = 2;
        config->encoder_layers = 1;
        config->heads = defaults.heads;
        config->mlp_width = defaults.mlp_width;
        config->dropout = defaults.dropout;
        int64_t rows = OUTSIDE + ENCODER + 2 * DECODER;
        if (i == 1) {
            config->norm_place = NORM_AFTER; /* no last norms */
            rows -= 4;
        }
        if (i == 2) {
            config->kv_heads = 1;
            config->norm = NORM_RMS;
            config->mlp = MLP_SWIGLU;
            config->biases = false;
            config->position = POSITION_ROPE;
            config->head_size = 6;
            config->scaled_embedding = false;
            rows = 1 + 2 + 7 + 2 * 11;
        }
        check_rows(&options, rows);
    }
}

#endif

static void sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    GradcheckOptions options = gradcheck_defaults();
    GradcheckReport report;
    Error err;
    options.config.heads = 5; /* of width 12 */
    assert_int_equal(gradcheck_model(&report, &options, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "multiple"));
    assert_null(report.rows);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_gradient_passes),
        cmocka_unit_test(wrong_gradients_are_rejected),
        cmocka_unit_test(one_wrong_element_is_enough),
        cmocka_unit_test(what_is_not_a_number_is_rejected),
        cmocka_unit_test(the_error_is_the_rule_of_the_header),
        cmocka_unit_test(values_are_put_back),
        cmocka_unit_test(samples_are_as_many_as_asked_for),
#ifdef JUEJU_REAL_DOUBLE
        cmocka_unit_test(every_gradient_of_the_model_is_right),
        cmocka_unit_test(so_are_those_of_other_shapes),
        cmocka_unit_test(so_are_those_of_an_encoder_and_a_decoder),
#endif
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("gradcheck", tests, NULL, NULL);
}
