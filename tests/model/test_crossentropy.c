#include "model/base/batch.h"
#include "model/layers/crossentropy.h"
#include "model/math/blas.h"
#include "tests/model/numeric.h"

/* Three blocks of rows, the last of them short. */
enum { N = 2 * CROSSENTROPY_ROWS + 37, C = 7, V = 29 };
static const real SCALE = (real)0.25;

typedef struct {
    Pool pool;
    int64_t N;
    real *f, *df, *weight, *dweight, *logits, *token_nats;
    int32_t targets[N];
} Case;

/* Every fifth row has no target. */
static Case make_case(int64_t rows)
{
    Case at = {.N = rows};
    at.f = pool_random(&at.pool, rows * C, 1, 1);
    at.df = pool_reals(&at.pool, rows * C);
    at.weight = pool_random(&at.pool, V * C, 1, 2);
    at.dweight = pool_reals(&at.pool, V * C);
    at.token_nats = pool_reals(&at.pool, rows);
    at.logits = pool_reals(&at.pool, crossentropy_scratch(rows, C, V));
    Rng rng = rng_stream(1, 2);
    for (int64_t n = 0; n < rows; n++)
        at.targets[n] = n % 5 == 2 ? TARGET_NONE : (int32_t)rng_below(&rng, V);
    return at;
}

static double head(Case *at, bool backward)
{
    return crossentropy_head(backward ? at->df : NULL, backward ? at->dweight : NULL,
                             at->token_nats, at->f, at->weight, at->targets, SCALE,
                             at->logits, at->N, C, V);
}

/* -log softmax(f_n W^T)[target], in double */
static double slow_loss(const Case *at, int64_t n)
{
    double z[V], sum = 0;
    for (int v = 0; v < V; v++) {
        z[v] = sum_products(at->f + n * C, at->weight + v * C, C);
        sum += exp(z[v]);
    }
    return at->targets[n] < 0 ? 0 : log(sum) - z[at->targets[n]];
}

static void the_loss_is_minus_log_softmax(void **state)
{
    (void)state;
    Case at = make_case(N);
    double with_gradient = head(&at, true);
    double sum = 0;
    for (int64_t n = 0; n < N; n++) {
        double nats = slow_loss(&at, n);
        assert_near(at.token_nats[n], nats, SAME_TOLERANCE);
        sum += nats;
    }
    assert_near(with_gradient, sum, SAME_TOLERANCE);
    fill_value(at.token_nats, N, (double)NAN);
    assert_true(head(&at, false) == with_gradient); /* forward only: the same bits */
    for (int64_t n = 0; n < N; n++)
        assert_near(at.token_nats[n], slow_loss(&at, n), SAME_TOLERANCE);
    pool_free(&at.pool);
}

static void rows_without_a_target_contribute_nothing(void **state)
{
    (void)state;
    Case at = make_case(N);
    fill_value(at.df, N * C, (double)NAN); /* written, not added to */
    double loss = head(&at, true);
    real *dweight = pool_copy(&at.pool, at.dweight, V * C);
    for (int64_t n = 0; n < N; n++) {
        if (at.targets[n] >= 0)
            continue;
        assert_true(at.token_nats[n] == 0);
        for (int64_t j = 0; j < C; j++)
            assert_true(at.df[n * C + j] == 0);
        fill_value(at.f + n * C, C, 100); /* so it does not matter what they hold */
    }
    fill_value(at.dweight, V * C, 0);
    assert_near(head(&at, true), loss, SAME_TOLERANCE);
    assert_all_near(at.dweight, dweight, V * C, SAME_TOLERANCE);
    pool_free(&at.pool);
}

static double scaled_loss(void *context)
{
    return (double)SCALE * head(context, false);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    Case at = make_case(9);
    head(&at, true);
    assert_gradient(at.f, at.df, at.N * C, scaled_loss, &at);
    assert_gradient(at.weight, at.dweight, V * C, scaled_loss, &at);
    pool_free(&at.pool);
}

static void blocks_of_rows_make_no_difference(void **state)
{
    (void)state;
    Case whole = make_case(N), part = make_case(N);
    double loss = head(&whole, true);
    double sum = 0;
    for (int64_t first = 0; first < N; first += 100) {
        int64_t rows = N - first < 100 ? N - first : 100;
        sum += crossentropy_head(part.df + first * C, part.dweight, NULL,
                                 part.f + first * C, part.weight, part.targets + first,
                                 SCALE, part.logits, rows, C, V);
    }
    assert_near(sum, loss, SAME_TOLERANCE);
    assert_all_near(part.df, whole.df, N * C, SAME_TOLERANCE);
    assert_all_near(part.dweight, whole.dweight, V * C, 10 * SAME_TOLERANCE);
    pool_free(&whole.pool);
    pool_free(&part.pool);
}

static void weight_gradients_are_added_to(void **state)
{
    (void)state;
    Case once = make_case(40), added = make_case(40);
    head(&once, true);
    fill_value(added.dweight, V * C, 3);
    head(&added, true);
    for (int64_t i = 0; i < V * C; i++)
        assert_near(added.dweight[i], 3 + (double)once.dweight[i], SAME_TOLERANCE);
    pool_free(&once.pool);
    pool_free(&added.pool);
}

/* The head of given logits: with the identity as weights, f is z and df is dz. z becomes dz
 * unless the pass is forward only. */
static double head_of_logits(real *z, real *nats, const int32_t *targets, int64_t rows,
                             int64_t columns, bool backward)
{
    Pool pool = {0};
    real *identity = pool_reals(&pool, columns * columns);
    real *dweight = pool_reals(&pool, columns * columns);
    real *dz = pool_reals(&pool, rows * columns);
    real *scratch = pool_reals(&pool, crossentropy_scratch(rows, columns, columns));
    for (int64_t i = 0; i < columns; i++)
        identity[i * columns + i] = 1;
    double loss = crossentropy_head(backward ? dz : NULL, dweight, nats, z, identity,
                                    targets, 1, scratch, rows, columns, columns);
    if (backward)
        memcpy(z, dz, (size_t)(rows * columns) * sizeof(real));
    pool_free(&pool);
    return loss;
}

/* More columns than one block holds, and a last block that is short. */
static void blocks_of_columns_make_no_difference(void **state)
{
    (void)state;
    enum { ROWS = 4, WIDE = 2 * CROSSENTROPY_COLUMNS + 29 };
    const int32_t targets[ROWS] = {0, CROSSENTROPY_COLUMNS, WIDE - 1, TARGET_NONE};
    Pool pool = {0};
    real *z = pool_random(&pool, ROWS * WIDE, 3, 9);
    real *expected = pool_reals(&pool, ROWS * WIDE);
    double loss = 0;
    for (int n = 0; n < ROWS && targets[n] >= 0; n++) {
        double sum = 0;
        for (int v = 0; v < WIDE; v++)
            sum += exp((double)z[n * WIDE + v]);
        for (int v = 0; v < WIDE; v++)
            expected[n * WIDE + v] =
                (real)(exp((double)z[n * WIDE + v]) / sum - (v == targets[n]));
        loss += log(sum) - (double)z[n * WIDE + targets[n]];
    }
    assert_near(head_of_logits(z, NULL, targets, ROWS, WIDE, true), loss,
                10 * SAME_TOLERANCE);
    assert_all_near(z, expected, ROWS * WIDE, 10 * SAME_TOLERANCE);
    pool_free(&pool);
}

/* sum dz = 0 in each row; sum df f = sum dW W, both being <dz, z>. */
static void gradients_keep_their_identities(void **state)
{
    (void)state;
    Case at = make_case(N);
    head(&at, true);
    assert_near(sum_products(at.df, at.f, N * C),
                sum_products(at.dweight, at.weight, V * C), 10 * SAME_TOLERANCE);
    real *z = pool_random(&at.pool, 64 * V, 3, 5);
    head_of_logits(z, NULL, at.targets, 64, V, true);
    for (int64_t n = 0; n < 64; n++)
        assert_near(sum_all(z + n * V, V), 0, SAME_TOLERANCE);
    pool_free(&at.pool);
}

static void huge_logits_stay_finite(void **state)
{
    (void)state;
    const int32_t targets[] = {0, 1};
    real z[] = {10000, -10000, 0, 10000, -10000, 0};
    real again[6], nats[2];
    memcpy(again, z, sizeof z);
    double loss = head_of_logits(z, nats, targets, 2, 3, true);
    assert_near(nats[0], 0, 1e-12);
    assert_near(nats[1], 20000, 1e-12);
    assert_near(loss, 20000, 1e-12);
    const real expected[] = {0, 0, 0, 1, -1, 0};
    assert_all_near(z, expected, 6, 1e-12);
    assert_true(head_of_logits(again, NULL, targets, 2, 3, false) == loss);
}

/* A later block of columns with logits far above the first block's, and far below it. */
static void blocks_may_lie_far_apart(void **state)
{
    (void)state;
    enum { WIDE = 3 * CROSSENTROPY_COLUMNS };
    static const double STEPS[][3] = {{0, 100, 50}, {100, 0, 50}, {0, 41, 82},
                                      {0, 500, 0},  {0, 39, 39},  {80, 0, 81}};
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        Pool pool = {0};
        real *z = pool_random(&pool, WIDE, 1, 9);
        real *expected = pool_reals(&pool, WIDE);
        const int32_t target = CROSSENTROPY_COLUMNS + 3;
        double top = 0, sum = 0;
        for (int v = 0; v < WIDE; v++) {
            z[v] += (real)STEPS[i][v / CROSSENTROPY_COLUMNS];
            top = fmax(top, (double)z[v]);
        }
        for (int v = 0; v < WIDE; v++)
            sum += exp((double)z[v] - top);
        for (int v = 0; v < WIDE; v++)
            expected[v] = (real)(exp((double)z[v] - top) / sum - (v == target));
        double loss = top + log(sum) - (double)z[target];
        assert_near(head_of_logits(z, NULL, &target, 1, WIDE, true), loss,
                    10 * SAME_TOLERANCE);
        assert_all_near(z, expected, WIDE, 10 * SAME_TOLERANCE);
        pool_free(&pool);
    }
}

static void what_is_not_a_number_is_seen_in_the_loss(void **state)
{
    (void)state;
    const real bad[] = {(real)NAN, (real)INFINITY};
    const int32_t target = 4;
    for (int b = 0; b < 2; b++) {
        for (int at = 0; at < 20; at++) {
            real z[20] = {0}, again[20] = {0};
            z[at] = again[at] = bad[b];
            assert_true(isnan(head_of_logits(z, NULL, &target, 1, 20, true)));
            assert_true(isnan(head_of_logits(again, NULL, &target, 1, 20, false)));
        }
    }
}

static void a_single_token_costs_nothing(void **state)
{
    (void)state;
    const int32_t target = 0;
    real z = 5;
    double loss = head_of_logits(&z, NULL, &target, 1, 1, true);
    assert_true(loss == 0 && z == 0);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_minus_log_softmax),
        cmocka_unit_test(rows_without_a_target_contribute_nothing),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(blocks_of_rows_make_no_difference),
        cmocka_unit_test(blocks_of_columns_make_no_difference),
        cmocka_unit_test(weight_gradients_are_added_to),
        cmocka_unit_test(gradients_keep_their_identities),
        cmocka_unit_test(huge_logits_stay_finite),
        cmocka_unit_test(blocks_may_lie_far_apart),
        cmocka_unit_test(what_is_not_a_number_is_seen_in_the_loss),
        cmocka_unit_test(a_single_token_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
