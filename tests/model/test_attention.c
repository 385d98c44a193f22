/* One head: the fast path against the plain one, and both against the mathematics. */
#include "model/attention/core.h"
#include "tests/model/numeric.h"

static const int64_t LENGTHS[] = {1, 2, 15, 16, 17, 31, 50, 64, 127, 128, 200};
static const int64_t DEPTHS[] = {1, 3, 8, 12, 16, 20, 32, 64};
enum { LENGTHS_COUNT = 11, DEPTHS_COUNT = 8 };

typedef struct {
    int64_t n, m, D, E;
    bool causal;
    int64_t window;
    int64_t gap; /* reals between the rows */
} Kind;

/* One head. Rows of q, k, v, z and their gradients. */
typedef struct {
    Pool pool;
    AttentionShape shape;
    int64_t q_size, k_size, v_size, z_size, scratch_size;
    real *q, *k, *v, *z, *dq, *dk, *dv, *dz;
    real *logsum, *weights, *scratch;
} Head;

static Head make_head(Kind kind, double deviation)
{
    int64_t n = kind.n, m = kind.m, D = kind.D, E = kind.E;
    Head at = {.shape = {.n = n,
                         .m = m,
                         .D = D,
                         .E = E,
                         .stride_q = D + kind.gap,
                         .stride_k = D + kind.gap,
                         .stride_v = E + kind.gap,
                         .stride_z = E + kind.gap,
                         .scale = (real)(1 / sqrt((double)D)),
                         .causal = kind.causal,
                         .window = kind.window}};
    at.q_size = n * at.shape.stride_q;
    at.k_size = m * at.shape.stride_k;
    at.v_size = m * at.shape.stride_v;
    at.z_size = n * at.shape.stride_z;
    at.q = pool_random(&at.pool, at.q_size, deviation, 1);
    at.k = pool_random(&at.pool, at.k_size, deviation, 2);
    at.v = pool_random(&at.pool, at.v_size, deviation, 3);
    at.z = pool_reals(&at.pool, at.z_size);
    at.dq = pool_reals(&at.pool, at.q_size);
    at.dk = pool_reals(&at.pool, at.k_size);
    at.dv = pool_reals(&at.pool, at.v_size);
    at.dz = pool_random(&at.pool, at.z_size, 1, 4);
    at.logsum = pool_reals(&at.pool, n);
    at.weights = pool_reals(&at.pool, n * m);
    at.scratch_size = attention_scratch(n, m, D, E);
    at.scratch = pool_reals(&at.pool, at.scratch_size);
    return at;
}

/* Causal self-attention, as in a GPT. */
static Head make_causal(int64_t n, int64_t D, double deviation)
{
    return make_head((Kind){n, n, D, D, true, 0, 5}, deviation);
}

static void forward(Head *at)
{
    attention_forward(at->z, at->logsum, at->q, at->k, at->v, at->scratch, &at->shape);
}

static void backward(Head *at, KeyGradients keys)
{
    attention_backward(at->dq, at->dk, at->dv, keys, at->dz, at->z, at->logsum, at->q,
                       at->k, at->v, at->scratch, &at->shape);
}

static void plain_forward(Head *at)
{
    attention_plain_forward(at->z, at->weights, at->q, at->k, at->v, &at->shape);
}

static void plain_backward(Head *at, KeyGradients keys)
{
    attention_plain_backward(at->dq, at->dk, at->dv, keys, at->dz, at->weights, at->q,
                             at->k, at->v, &at->shape);
}

static void assert_fast_is_plain(Kind kind, KeyGradients keys)
{
    Head fast = make_head(kind, 1), plain = make_head(kind, 1);
    Head *both[] = {&fast, &plain};
    for (int i = 0; i < 2; i++) {
        /* Outputs and scratch are written whatever they hold; between the rows nothing is. */
        Head *at = both[i];
        fill_value(at->z, at->z_size, 77);
        fill_value(at->dq, at->q_size, 88);
        fill_value(at->dk, at->k_size, 9);
        fill_value(at->dv, at->v_size, -7);
    }
    fill_value(fast.scratch, fast.scratch_size, (double)NAN);
    forward(&fast);
    plain_forward(&plain);
    assert_all_near(fast.z, plain.z, fast.z_size, SAME_TOLERANCE);
    fill_value(fast.scratch, fast.scratch_size, (double)NAN);
    backward(&fast, keys);
    plain_backward(&plain, keys);
    assert_all_near(fast.dq, plain.dq, fast.q_size, 3 * SAME_TOLERANCE);
    assert_all_near(fast.dk, plain.dk, fast.k_size, 5 * SAME_TOLERANCE);
    assert_all_near(fast.dv, plain.dv, fast.v_size, 5 * SAME_TOLERANCE);
    pool_free(&fast.pool);
    pool_free(&plain.pool);
}

static void the_fast_path_equals_the_plain_one(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTHS_COUNT; i++) {
        for (int j = 0; j < DEPTHS_COUNT; j++) {
            int64_t n = LENGTHS[i], D = DEPTHS[j];
            assert_fast_is_plain((Kind){n, n, D, D, true, 0, 0}, KEYS_WRITE);
            assert_fast_is_plain((Kind){n, n, D, D, true, 0, 5}, KEYS_ADD);
        }
    }
}

static void windows_of_any_size_equal_the_plain_ones(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTHS_COUNT; i++) {
        int64_t n = LENGTHS[i];
        const int64_t windows[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 50, n - 1, n + 1};
        for (int w = 0; w < 12; w++) {
            if (windows[w] > 0)
                assert_fast_is_plain((Kind){n, n, 8, 8, true, windows[w], 3},
                                     KEYS_WRITE);
        }
    }
}

/* An encoder, and cross-attention: any number of keys, values of another width. */
static void queries_and_keys_may_differ_in_number_and_width(void **state)
{
    (void)state;
    static const int64_t WIDTHS[][2] = {{8, 8}, {5, 16}, {32, 20}, {16, 64}};
    for (int i = 0; i < LENGTHS_COUNT; i++) {
        for (int j = 0; j < LENGTHS_COUNT; j++) {
            const int64_t *width = WIDTHS[(i + j) % 4];
            assert_fast_is_plain(
                (Kind){LENGTHS[i], LENGTHS[j], width[0], width[1], false, 0, j % 3},
                i % 2 == 0 ? KEYS_WRITE : KEYS_ADD);
        }
    }
}

/* Rows that are whole vectors are read in place, others are copied: the same bits. */
static void reading_in_place_and_copying_give_the_same_bits(void **state)
{
    (void)state;
    Head packed = make_head((Kind){70, 70, 32, 32, true, 40, 0}, 1);
    Head spread = make_head((Kind){70, 70, 32, 32, true, 40, 5}, 1);
    real *const to[] = {spread.q, spread.k, spread.v, spread.dz};
    const real *const from[] = {packed.q, packed.k, packed.v, packed.dz};
    for (int t = 0; t < 4; t++) {
        for (int64_t i = 0; i < 70; i++)
            memcpy(to[t] + i * 37, from[t] + i * 32, 32 * sizeof(real));
    }
    forward(&packed);
    forward(&spread);
    backward(&packed, KEYS_WRITE);
    backward(&spread, KEYS_WRITE);
    const real *const got[] = {packed.z, packed.dq, packed.dk, packed.dv};
    const real *const same[] = {spread.z, spread.dq, spread.dk, spread.dv};
    for (int t = 0; t < 4; t++) {
        for (int64_t i = 0; i < 70; i++)
            assert_memory_equal(got[t] + i * 32, same[t] + i * 37, 32 * sizeof(real));
    }
    pool_free(&packed.pool);
    pool_free(&spread.pool);
}

/* p_ij = exp(s_ij - l_i): the saved l is the log of the sum of exps. */
static void logsum_gives_the_weights_again(void **state)
{
    (void)state;
    static const int64_t WINDOWS[] = {0, 10};
    for (int w = 0; w < 2; w++) {
        Head at = make_head((Kind){37, 37, 12, 12, true, WINDOWS[w], 1}, 1);
        forward(&at);
        plain_forward(&at);
        for (int64_t i = 0; i < 37; i++) {
            double sum = 0;
            for (int64_t j = 0; j < 37; j++) {
                bool seen = j <= i && (w == 0 || i - j < 10);
                double p = (double)at.weights[i * 37 + j];
                double s = sum_products(at.q + i * 13, at.k + j * 13, 12) / sqrt(12);
                assert_near(p, seen ? exp(s - (double)at.logsum[i]) : 0,
                            SAME_TOLERANCE);
                sum += p;
            }
            assert_near(sum, 1, SAME_TOLERANCE);
        }
        pool_free(&at.pool);
    }
}

static void no_token_sees_a_later_one(void **state)
{
    (void)state;
    enum { TOKENS = 53, DEPTH = 8, ROW = 13 };
    for (int64_t t = 1; t < TOKENS; t += 4) {
        Head before = make_causal(TOKENS, DEPTH, 1);
        Head after = make_causal(TOKENS, DEPTH, 1);
        real *const changed[] = {after.q, after.k, after.v};
        for (int i = 0; i < 3; i++)
            fill_random(changed[i] + t * ROW, (TOKENS - t) * ROW, 3, 99);
        forward(&before);
        forward(&after);
        /* Rows below t: the same bits. Row t is another one. */
        assert_memory_equal(before.z, after.z, (size_t)(t * ROW) * sizeof(real));
        assert_true(before.z[t * ROW] != after.z[t * ROW]);
        /* And no gradient flows forward: only rows below t have one, so all others get 0. */
        fill_value(before.dz + t * ROW, (TOKENS - t) * ROW, 0);
        backward(&before, KEYS_WRITE);
        const real *const gradients[] = {before.dq, before.dk, before.dv};
        for (int g = 0; g < 3; g++) {
            for (int64_t i = t * ROW; i < TOKENS * ROW; i++)
                assert_true(gradients[g][i] == 0);
        }
        pool_free(&before.pool);
        pool_free(&after.pool);
    }
}

/* Token t of 90 with a window of 20: tokens before t and from t + 20 on do not know it. */
static void no_token_sees_one_outside_its_window(void **state)
{
    (void)state;
    enum { TOKENS = 90, WINDOW = 20, ROW = 10 };
    const Kind kind = {TOKENS, TOKENS, 8, 8, true, WINDOW, 2};
    for (int64_t t = 0; t < TOKENS; t += 7) {
        Head before = make_head(kind, 1), after = make_head(kind, 1);
        fill_random(after.k + t * ROW, 8, 3, 98);
        fill_random(after.v + t * ROW, 8, 3, 99);
        forward(&before);
        forward(&after);
        for (int64_t i = 0; i < TOKENS; i++) {
            bool same =
                memcmp(before.z + i * ROW, after.z + i * ROW, 8 * sizeof(real)) == 0;
            assert_int_equal(same, i < t || i >= t + WINDOW);
            if (!same) /* only tokens that do not see t have a gradient */
                fill_value(before.dz + i * ROW, ROW, 0);
        }
        backward(&before, KEYS_WRITE);
        for (int64_t d = 0; d < 8; d++)
            assert_true(before.dk[t * ROW + d] == 0 && before.dv[t * ROW + d] == 0);
        pool_free(&before.pool);
        pool_free(&after.pool);
    }
}

static void a_window_of_all_tokens_is_none(void **state)
{
    (void)state;
    static const int64_t WINDOWS[] = {75, 76, 1000, INT64_MAX};
    for (int w = 0; w < 4; w++) {
        Head full = make_head((Kind){75, 75, 16, 16, true, 0, 0}, 1);
        Head windowed = make_head((Kind){75, 75, 16, 16, true, WINDOWS[w], 0}, 1);
        forward(&full);
        forward(&windowed);
        backward(&full, KEYS_WRITE);
        backward(&windowed, KEYS_WRITE);
        size_t bytes = 75 * 16 * sizeof(real);
        assert_memory_equal(full.z, windowed.z, bytes);
        assert_memory_equal(full.dq, windowed.dq, bytes);
        assert_memory_equal(full.dk, windowed.dk, bytes);
        assert_memory_equal(full.dv, windowed.dv, bytes);
        pool_free(&full.pool);
        pool_free(&windowed.pool);
    }
}

static void a_window_of_one_copies_the_values(void **state)
{
    (void)state;
    Head at = make_head((Kind){40, 40, 8, 8, true, 1, 0}, 1);
    forward(&at);
    assert_all_near(at.z, at.v, 40 * 8, SAME_TOLERANCE);
    pool_free(&at.pool);
}

/* 0 times NaN is NaN: were keys far outside the window computed and then masked, z would
 * show it. */
static void what_no_query_of_a_block_sees_is_not_computed(void **state)
{
    (void)state;
    Head at = make_head((Kind){200, 200, 8, 8, true, 10, 0}, 1);
    fill_value(at.k, 100 * 8, (double)NAN);
    fill_value(at.v, 100 * 8, (double)NAN);
    fill_value(at.dz, 150 * 8, 0);
    forward(&at);
    for (int64_t i = 150 * 8; i < 200 * 8; i++)
        assert_true(isfinite(at.z[i]));
    fill_value(at.z, 150 * 8, 0);
    fill_value(at.logsum, 150, 0);
    backward(&at, KEYS_WRITE);
    for (int64_t i = 150 * 8; i < 200 * 8; i++)
        assert_true(isfinite(at.dq[i]) && isfinite(at.dk[i]));
    pool_free(&at.pool);
}

static void the_first_token_sees_only_itself(void **state)
{
    (void)state;
    Head at = make_causal(5, 8, 1);
    forward(&at);
    assert_all_near(at.z, at.v, 8, SAME_TOLERANCE);
    pool_free(&at.pool);
}

/* Without a mask the order of keys and values does not matter. */
static void an_encoder_does_not_know_the_order_of_keys(void **state)
{
    (void)state;
    const Kind kind = {21, 45, 8, 12, false, 0, 0};
    Head at = make_head(kind, 1), turned = make_head(kind, 1);
    for (int64_t j = 0; j < 45; j++) {
        memcpy(turned.k + j * 8, at.k + (44 - j) * 8, 8 * sizeof(real));
        memcpy(turned.v + j * 12, at.v + (44 - j) * 12, 12 * sizeof(real));
    }
    forward(&at);
    forward(&turned);
    assert_all_near(at.z, turned.z, 21 * 12, SAME_TOLERANCE);
    /* And every query sees the last key. */
    fill_random(turned.v, 12, 3, 99);
    forward(&turned);
    for (int64_t i = 0; i < 21; i++)
        assert_true(memcmp(at.z + i * 12, turned.z + i * 12, 12 * sizeof(real)) != 0);
    pool_free(&at.pool);
    pool_free(&turned.pool);
}

static void large_scores_do_not_overflow(void **state)
{
    (void)state;
    static const double DEVIATIONS[] = {30, 1000, 1e6};
    for (int d = 0; d < 3; d++) {
        Head at = make_head((Kind){40, 40, 16, 16, true, 0, 0}, DEVIATIONS[d]);
        forward(&at);
        for (int64_t i = 0; i < 40; i++) {
            for (int64_t c = 0; c < 16; c++) {
                /* A mean of values lies between the least and the largest of them. */
                double least = (double)INFINITY, largest = -(double)INFINITY;
                for (int64_t j = 0; j <= i; j++) {
                    double v = (double)at.v[j * 16 + c];
                    least = fmin(least, v);
                    largest = fmax(largest, v);
                }
                double z = (double)at.z[i * 16 + c];
                double slack = SAME_TOLERANCE * DEVIATIONS[d] * 10;
                assert_true(z >= least - slack && z <= largest + slack);
            }
        }
        backward(&at, KEYS_WRITE);
        for (int64_t i = 0; i < 40 * 16; i++)
            assert_true(isfinite(at.dq[i]) && isfinite(at.dk[i]) && isfinite(at.dv[i]));
        pool_free(&at.pool);
    }
}

static void a_nan_stays_visible(void **state)
{
    (void)state;
    for (int part = 0; part < 3; part++) {
        for (int64_t window = 0; window <= 5; window += 5) {
            Head at = make_head((Kind){20, 20, 8, 8, true, window, 0}, 1);
            real *const parts[] = {at.q, at.k, at.v};
            parts[part][7 * 8 + 1] = (real)NAN;
            forward(&at);
            assert_true(isnan(at.z[7 * 8 + 1]));
            pool_free(&at.pool);
        }
    }
}

static double weighted(void *context)
{
    Head *at = context;
    forward(at);
    double sum = 0;
    for (int64_t i = 0; i < at->shape.n; i++)
        sum += sum_products(at->z + i * at->shape.stride_z,
                            at->dz + i * at->shape.stride_z, at->shape.E);
    return sum;
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    static const Kind KINDS[] = {{19, 19, 5, 5, true, 0, 2},
                                 {35, 35, 3, 4, true, 6, 0},
                                 {9, 21, 4, 3, false, 0, 1},
                                 {1, 1, 2, 2, true, 0, 0},
                                 {18, 1, 2, 2, false, 0, 0}};
    for (int c = 0; c < 5; c++) {
        Head at = make_head(KINDS[c], 1);
        forward(&at);
        backward(&at, KEYS_WRITE);
        for (int64_t i = 0; i < KINDS[c].n; i++)
            assert_gradient(at.q + i * at.shape.stride_q, at.dq + i * at.shape.stride_q,
                            KINDS[c].D, weighted, &at);
        for (int64_t j = 0; j < KINDS[c].m; j++) {
            assert_gradient(at.k + j * at.shape.stride_k, at.dk + j * at.shape.stride_k,
                            KINDS[c].D, weighted, &at);
            assert_gradient(at.v + j * at.shape.stride_v, at.dv + j * at.shape.stride_v,
                            KINDS[c].E, weighted, &at);
        }
        pool_free(&at.pool);
    }
}

/* sum dq q = sum dk k (both are sum ds s), and sum_j dv_j = sum_i dz_i. */
static void gradients_keep_their_identities(void **state)
{
    (void)state;
    static const Kind KINDS[] = {{70, 70, 20, 20, true, 0, 0},
                                 {70, 70, 20, 20, true, 13, 0},
                                 {40, 33, 12, 20, false, 0, 0}};
    for (int c = 0; c < 3; c++) {
        Head at = make_head(KINDS[c], 1);
        int64_t n = KINDS[c].n, m = KINDS[c].m, D = KINDS[c].D, E = KINDS[c].E;
        forward(&at);
        backward(&at, KEYS_WRITE);
        assert_near(sum_products(at.q, at.dq, n * D), sum_products(at.k, at.dk, m * D),
                    10 * SAME_TOLERANCE);
        for (int64_t e = 0; e < E; e++) {
            double dv = 0, dz = 0;
            for (int64_t j = 0; j < m; j++)
                dv += (double)at.dv[j * E + e];
            for (int64_t i = 0; i < n; i++)
                dz += (double)at.dz[i * E + e];
            assert_near(dv, dz, 10 * SAME_TOLERANCE);
        }
        pool_free(&at.pool);
    }
}

/* Equal keys: every token takes the mean of the values that it sees. */
static void equal_keys_give_the_mean(void **state)
{
    (void)state;
    for (int64_t window = 0; window <= 9; window += 9) {
        Head at = make_head((Kind){43, 43, 4, 4, true, window, 0}, 1);
        fill_value(at.k, 43 * 4, 0.5);
        forward(&at);
        for (int64_t i = 0; i < 43; i++) {
            int64_t first = window > 0 && i >= window ? i - window + 1 : 0;
            double sum = 0;
            for (int64_t j = first; j <= i; j++)
                sum += (double)at.v[j * 4];
            assert_near(at.z[i * 4], sum / (double)(i - first + 1), SAME_TOLERANCE);
        }
        pool_free(&at.pool);
    }
}

/* The scores of any number of tokens are a matrix of rank D at most (arXiv:2002.07028): after
 * D steps of elimination nothing is left. */
static void a_heads_scores_have_rank_d_at_most(void **state)
{
    (void)state;
    enum { TOKENS = 7, DEPTH = 3 };
    Head at = make_head((Kind){TOKENS, TOKENS, DEPTH, DEPTH, false, 0, 0}, 1);
    double s[TOKENS][TOKENS];
    for (int i = 0; i < TOKENS; i++) {
        for (int j = 0; j < TOKENS; j++)
            s[i][j] = sum_products(at.q + i * DEPTH, at.k + j * DEPTH, DEPTH);
    }
    for (int step = 0; step < DEPTH; step++) {
        assert_true(fabs(s[step][step]) > 1e-3); /* a pivot: the rank is D, not less */
        for (int i = step + 1; i < TOKENS; i++) {
            double factor = s[i][step] / s[step][step];
            for (int j = 0; j < TOKENS; j++)
                s[i][j] -= factor * s[step][j];
        }
    }
    for (int i = DEPTH; i < TOKENS; i++) {
        for (int j = 0; j < TOKENS; j++)
            assert_near(s[i][j], 0, 1e-10);
    }
    pool_free(&at.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_path_equals_the_plain_one),
        cmocka_unit_test(windows_of_any_size_equal_the_plain_ones),
        cmocka_unit_test(queries_and_keys_may_differ_in_number_and_width),
        cmocka_unit_test(reading_in_place_and_copying_give_the_same_bits),
        cmocka_unit_test(logsum_gives_the_weights_again),
        cmocka_unit_test(no_token_sees_a_later_one),
        cmocka_unit_test(no_token_sees_one_outside_its_window),
        cmocka_unit_test(a_window_of_all_tokens_is_none),
        cmocka_unit_test(a_window_of_one_copies_the_values),
        cmocka_unit_test(what_no_query_of_a_block_sees_is_not_computed),
        cmocka_unit_test(the_first_token_sees_only_itself),
        cmocka_unit_test(an_encoder_does_not_know_the_order_of_keys),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(a_nan_stays_visible),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(gradients_keep_their_identities),
        cmocka_unit_test(equal_keys_give_the_mean),
        cmocka_unit_test(a_heads_scores_have_rank_d_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
