#include "model/layers/rope.h"
#include "tests/model/numeric.h"

/* Rows of PAD numbers of others, then HEADS heads that lie SPACING apart. */
enum { N = 6, T = 40, HEADS = 3, PAD = 2, D = 10, SPACING = 13 };
enum { STRIDE = PAD + HEADS * SPACING + 1 };

static const int32_t POSITIONS[N] = {0, 1, 2, 7, 39, 3};
static const RopeLayout LAYOUTS[] = {ROPE_HALVES, ROPE_PAIRS};
static const double THETA = 100;

typedef struct {
    Pool pool;
    RopeLayout layout;
    int32_t positions[N];
    real *x, *start, *table;
} Case;

static Case make_case(RopeLayout layout)
{
    Case at = {.layout = layout};
    memcpy(at.positions, POSITIONS, sizeof POSITIONS);
    at.x = pool_random(&at.pool, N * STRIDE, 1, 1);
    at.start = pool_copy(&at.pool, at.x, N * STRIDE);
    at.table = pool_reals(&at.pool, T * D);
    rope_table(at.table, THETA, T, D);
    return at;
}

static void turn(Case *at, RopeDirection direction)
{
    rope_apply(at->x + PAD, STRIDE, HEADS, SPACING, at->positions, at->table,
               at->layout, direction, N, D);
}

static int64_t head_start(int64_t n, int64_t h)
{
    return n * STRIDE + PAD + h * SPACING;
}

/* Where the two channels of pair i are. */
static int64_t first_of(RopeLayout layout, int64_t i)
{
    return layout == ROPE_HALVES ? i : 2 * i;
}

static int64_t second_of(RopeLayout layout, int64_t i)
{
    return layout == ROPE_HALVES ? i + D / 2 : 2 * i + 1;
}

static void table_is_its_formula(void **state)
{
    (void)state;
    const double thetas[] = {10000, 500000, 1, 0.25, 1e9};
    for (int t = 0; t < 5; t++) {
        Case at = make_case(ROPE_HALVES);
        rope_table(at.table, thetas[t], T, D);
        for (int64_t p = 0; p < T; p++) {
            for (int64_t i = 0; i < D / 2; i++) {
                double angle = (double)p / pow(thetas[t], 2.0 * (double)i / D);
                assert_near(at.table[p * D + i], cos(angle), SAME_TOLERANCE);
                assert_near(at.table[p * D + D / 2 + i], sin(angle), SAME_TOLERANCE);
            }
        }
        pool_free(&at.pool);
    }
}

/* Far out a product of floats would be off by a thousandth of a turn. */
static void angles_far_out_are_exact(void **state)
{
    (void)state;
    enum { FAR = 600000, FOUR = 4 };
    Pool pool = {.count = 0};
    real *table = pool_reals(&pool, FAR * FOUR);
    rope_table(table, 10000, FAR, FOUR); /* speeds 1 and 1/100 */
    for (int64_t p = FAR - 50; p < FAR; p++) {
        assert_near(table[p * FOUR], cos((double)p), SAME_TOLERANCE);
        assert_near(table[p * FOUR + 1], cos((double)p / 100), SAME_TOLERANCE);
        assert_near(table[p * FOUR + 3], sin((double)p / 100), SAME_TOLERANCE);
    }
    pool_free(&pool);
}

static void forward_turns_each_pair_and_nothing_else(void **state)
{
    (void)state;
    for (int l = 0; l < 2; l++) {
        Case at = make_case(LAYOUTS[l]);
        real *expected = pool_copy(&at.pool, at.start, N * STRIDE);
        for (int64_t n = 0; n < N; n++) {
            for (int64_t h = 0; h < HEADS; h++) {
                for (int64_t i = 0; i < D / 2; i++) {
                    int64_t ia = head_start(n, h) + first_of(LAYOUTS[l], i);
                    int64_t ib = head_start(n, h) + second_of(LAYOUTS[l], i);
                    double angle = POSITIONS[n] * pow(THETA, -2.0 * (double)i / D);
                    double a = (double)at.start[ia], b = (double)at.start[ib];
                    expected[ia] = (real)(a * cos(angle) - b * sin(angle));
                    expected[ib] = (real)(a * sin(angle) + b * cos(angle));
                }
            }
        }
        turn(&at, ROPE_FORWARD);
        for (int64_t i = 0; i < N * STRIDE; i++) {
            int64_t column = i % STRIDE - PAD;
            if (column < 0 || column / SPACING >= HEADS || column % SPACING >= D)
                assert_true(at.x[i] == at.start[i]);
        }
        assert_all_near(at.x, expected, N * STRIDE, SAME_TOLERANCE);
        pool_free(&at.pool);
    }
}

static void position_zero_changes_nothing(void **state)
{
    (void)state;
    for (int l = 0; l < 2; l++) {
        Case at = make_case(LAYOUTS[l]);
        memset(at.positions, 0, sizeof at.positions);
        turn(&at, ROPE_FORWARD);
        assert_memory_equal(at.x, at.start, N * STRIDE * sizeof(real));
        turn(&at, ROPE_BACKWARD);
        assert_memory_equal(at.x, at.start, N * STRIDE * sizeof(real));
        pool_free(&at.pool);
    }
}

static void a_turn_keeps_the_length(void **state)
{
    (void)state;
    for (int l = 0; l < 2; l++) {
        Case at = make_case(LAYOUTS[l]);
        turn(&at, ROPE_FORWARD);
        for (int64_t n = 0; n < N; n++) {
            for (int64_t h = 0; h < HEADS; h++) {
                const real *after = at.x + head_start(n, h);
                const real *before = at.start + head_start(n, h);
                assert_near(sum_products(after, after, D),
                            sum_products(before, before, D), SAME_TOLERANCE);
            }
        }
        pool_free(&at.pool);
    }
}

static void turning_back_gives_x_again(void **state)
{
    (void)state;
    for (int l = 0; l < 2; l++) {
        Case at = make_case(LAYOUTS[l]);
        turn(&at, ROPE_FORWARD);
        turn(&at, ROPE_BACKWARD);
        assert_all_near(at.x, at.start, N * STRIDE, SAME_TOLERANCE);
        pool_free(&at.pool);
    }
}

/* q at position p and k at position s, both in the rows of one head. */
static double score(const Case *at, const real *q, const real *k, int32_t p, int32_t s)
{
    real turned[2 * D];
    const int32_t positions[2] = {p, s};
    memcpy(turned, q, D * sizeof(real));
    memcpy(turned + D, k, D * sizeof(real));
    rope_apply(turned, D, 1, D, positions, at->table, at->layout, ROPE_FORWARD, 2, D);
    return sum_products(turned, turned + D, D);
}

static void a_score_depends_on_the_difference_of_positions_only(void **state)
{
    (void)state;
    for (int l = 0; l < 2; l++) {
        Case at = make_case(LAYOUTS[l]);
        const real *q = at.start, *k = at.start + D;
        for (int32_t distance = 0; distance < 20; distance++) {
            double first = score(&at, q, k, distance, 0);
            for (int32_t s = 1; s + distance < T; s += 6)
                assert_near(score(&at, q, k, s + distance, s), first, SAME_TOLERANCE);
        }
        /* ... and does depend on it, with its sign. */
        assert_true(fabs(score(&at, q, k, 3, 0) - score(&at, q, k, 4, 0)) > 1e-2);
        assert_true(fabs(score(&at, q, k, 3, 0) - score(&at, q, k, 0, 3)) > 1e-2);
        pool_free(&at.pool);
    }
}

/* The channels of ROPE_PAIRS put in the order of ROPE_HALVES: even ones first, then odd. */
static void the_layouts_differ_by_the_order_of_channels(void **state)
{
    (void)state;
    Case halves = make_case(ROPE_HALVES), pairs = make_case(ROPE_PAIRS);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t i = 0; i < D; i++)
            halves.x[head_start(n, 0) + i / 2 + i % 2 * (D / 2)] =
                pairs.x[head_start(n, 0) + i];
    }
    turn(&halves, ROPE_FORWARD);
    turn(&pairs, ROPE_FORWARD);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t i = 0; i < D; i++)
            assert_near(halves.x[head_start(n, 0) + i / 2 + i % 2 * (D / 2)],
                        pairs.x[head_start(n, 0) + i], SAME_TOLERANCE);
    }
    pool_free(&halves.pool);
    pool_free(&pairs.pool);
}

typedef struct {
    Case at;
    real *dy;
} Slope;

static double weighted(void *context)
{
    Slope *slope = context;
    Case *at = &slope->at;
    memcpy(at->x, at->start, N * STRIDE * sizeof(real));
    turn(at, ROPE_FORWARD);
    return sum_products(at->x, slope->dy, N * STRIDE);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    for (int l = 0; l < 2; l++) {
        Slope slope = {.at = make_case(LAYOUTS[l])};
        Case *at = &slope.at;
        slope.dy = pool_random(&at->pool, N * STRIDE, 1, 2);
        real *dx = pool_copy(&at->pool, slope.dy, N * STRIDE);
        rope_apply(dx + PAD, STRIDE, HEADS, SPACING, at->positions, at->table,
                   at->layout, ROPE_BACKWARD, N, D);
        assert_gradient(at->start, dx, N * STRIDE, weighted, &slope);
        pool_free(&at->pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_its_formula),
        cmocka_unit_test(angles_far_out_are_exact),
        cmocka_unit_test(forward_turns_each_pair_and_nothing_else),
        cmocka_unit_test(position_zero_changes_nothing),
        cmocka_unit_test(a_turn_keeps_the_length),
        cmocka_unit_test(turning_back_gives_x_again),
        cmocka_unit_test(a_score_depends_on_the_difference_of_positions_only),
        cmocka_unit_test(the_layouts_differ_by_the_order_of_channels),
        cmocka_unit_test(backward_is_the_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
