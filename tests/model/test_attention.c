/* One head: the fast path against the plain one, and both against the mathematics. */
#include "model/attention/core.h"
#include "tests/model/numeric.h"

static const int64_t LENGTHS[] = {1, 2, 15, 16, 17, 31, 50, 64, 127, 128, 200};
static const int64_t DEPTHS[] = {1, 3, 8, 12, 16, 20, 32, 64};
enum { LENGTHS_COUNT = 11, DEPTHS_COUNT = 8 };

/* One head in packed rows: q, k and v lie in rows of 3D + 5, z in rows of D + 3. */
typedef struct {
    Pool pool;
    AttentionShape shape;
    int64_t packed, out; /* reals of the packed arrays and of z */
    real *qkv, *dqkv, *z, *dz, *logsum, *weights, *scratch;
} Head;

static Head make_head(int64_t n, int64_t D, double deviation)
{
    int64_t packed = 3 * D + 5;
    Head at = {.shape = {.n = n,
                         .m = n,
                         .D = D,
                         .E = D,
                         .stride_q = packed,
                         .stride_k = packed,
                         .stride_v = packed,
                         .stride_z = D + 3,
                         .scale = (real)(1 / sqrt((double)D)),
                         .causal = true}};
    at.packed = n * at.shape.stride_q;
    at.out = n * at.shape.stride_z;
    at.qkv = pool_random(&at.pool, at.packed, deviation, 1);
    at.dqkv = pool_reals(&at.pool, at.packed);
    at.z = pool_reals(&at.pool, at.out);
    at.dz = pool_random(&at.pool, at.out, 1, 2);
    at.logsum = pool_reals(&at.pool, n);
    at.weights = pool_reals(&at.pool, n * n);
    at.scratch = pool_reals(&at.pool, attention_scratch(n, n, D, D));
    return at;
}

static void forward(Head *at)
{
    int64_t D = at->shape.D;
    attention_forward(at->z, at->logsum, at->qkv, at->qkv + D, at->qkv + 2 * D,
                      at->scratch, &at->shape);
}

static void backward(Head *at)
{
    int64_t D = at->shape.D;
    attention_backward(at->dqkv, at->dqkv + D, at->dqkv + 2 * D, KEYS_WRITE, at->dz,
                       at->z, at->logsum, at->qkv, at->qkv + D, at->qkv + 2 * D,
                       at->scratch, &at->shape);
}

static void plain_forward(Head *at)
{
    int64_t D = at->shape.D;
    attention_plain_forward(at->z, at->weights, at->qkv, at->qkv + D, at->qkv + 2 * D,
                            &at->shape);
}

static void plain_backward(Head *at)
{
    int64_t D = at->shape.D;
    attention_plain_backward(at->dqkv, at->dqkv + D, at->dqkv + 2 * D, KEYS_WRITE,
                             at->dz, at->weights, at->qkv, at->qkv + D, at->qkv + 2 * D,
                             &at->shape);
}

static void the_fast_path_equals_the_plain_one(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTHS_COUNT; i++) {
        for (int j = 0; j < DEPTHS_COUNT; j++) {
            Head fast = make_head(LENGTHS[i], DEPTHS[j], 1);
            Head plain = make_head(LENGTHS[i], DEPTHS[j], 1);
            int64_t floats =
                attention_scratch(LENGTHS[i], LENGTHS[i], DEPTHS[j], DEPTHS[j]);
            /* Outputs and scratch are written whatever they hold; between the rows nothing is. */
            fill_value(fast.z, fast.out, 77);
            fill_value(plain.z, plain.out, 77);
            fill_value(fast.dqkv, fast.packed, 88);
            fill_value(plain.dqkv, plain.packed, 88);
            fill_value(fast.scratch, floats, (double)NAN);
            forward(&fast);
            plain_forward(&plain);
            assert_all_near(fast.z, plain.z, fast.out, SAME_TOLERANCE);
            fill_value(fast.scratch, floats, (double)NAN);
            backward(&fast);
            plain_backward(&plain);
            assert_all_near(fast.dqkv, plain.dqkv, fast.packed, 3 * SAME_TOLERANCE);
            pool_free(&fast.pool);
            pool_free(&plain.pool);
        }
    }
}

/* p_ij = exp(s_ij - l_i): the saved l is the log of the sum of exps. */
static void logsum_gives_the_weights_again(void **state)
{
    (void)state;
    Head at = make_head(37, 12, 1);
    forward(&at);
    plain_forward(&at);
    for (int64_t i = 0; i < 37; i++) {
        double sum = 0;
        for (int64_t j = 0; j < 37; j++) {
            double p = (double)at.weights[i * 37 + j];
            double s = sum_products(at.qkv + i * at.shape.stride_q,
                                    at.qkv + j * at.shape.stride_q + 12, 12) /
                       sqrt(12);
            assert_near(p, j <= i ? exp(s - (double)at.logsum[i]) : 0, SAME_TOLERANCE);
            sum += p;
        }
        assert_near(sum, 1, SAME_TOLERANCE);
    }
    pool_free(&at.pool);
}

static void no_token_sees_a_later_one(void **state)
{
    (void)state;
    enum { TOKENS = 53, DEPTH = 8 };
    for (int64_t t = 1; t < TOKENS; t += 4) {
        Head before = make_head(TOKENS, DEPTH, 1), after = make_head(TOKENS, DEPTH, 1);
        fill_random(after.qkv + t * after.shape.stride_q,
                    after.packed - t * after.shape.stride_q, 3, 99);
        forward(&before);
        forward(&after);
        /* Rows below t: the same bits. Row t is another one. */
        assert_memory_equal(before.z, after.z,
                            (size_t)(t * before.shape.stride_z) * sizeof(real));
        assert_true(before.z[t * before.shape.stride_z] !=
                    after.z[t * after.shape.stride_z]);
        /* And no gradient flows forward: only rows below t have one, so all others get 0. */
        fill_value(before.dz + t * before.shape.stride_z,
                   before.out - t * before.shape.stride_z, 0);
        fill_value(before.dqkv, before.packed, 0);
        backward(&before);
        for (int64_t i = t * before.shape.stride_q; i < before.packed; i++)
            assert_true(before.dqkv[i] == 0);
        pool_free(&before.pool);
        pool_free(&after.pool);
    }
}

static void the_first_token_sees_only_itself(void **state)
{
    (void)state;
    Head at = make_head(5, 8, 1);
    forward(&at);
    assert_all_near(at.z, at.qkv + 16, 8, SAME_TOLERANCE);
    pool_free(&at.pool);
}

static void large_scores_do_not_overflow(void **state)
{
    (void)state;
    static const double DEVIATIONS[] = {30, 1000, 1e6};
    for (int d = 0; d < 3; d++) {
        Head at = make_head(40, 16, DEVIATIONS[d]);
        forward(&at);
        for (int64_t i = 0; i < 40; i++) {
            for (int64_t c = 0; c < 16; c++) {
                /* A mean of values lies between the least and the largest of them. */
                double least = (double)INFINITY, largest = -(double)INFINITY;
                for (int64_t j = 0; j <= i; j++) {
                    double v = (double)at.qkv[j * at.shape.stride_q + 32 + c];
                    least = fmin(least, v);
                    largest = fmax(largest, v);
                }
                double z = (double)at.z[i * at.shape.stride_z + c];
                double slack = SAME_TOLERANCE * DEVIATIONS[d] * 10;
                assert_true(z >= least - slack && z <= largest + slack);
            }
        }
        backward(&at);
        for (int64_t i = 0; i < at.packed; i++)
            assert_true(isfinite(at.dqkv[i]));
        pool_free(&at.pool);
    }
}

static void a_nan_stays_visible(void **state)
{
    (void)state;
    for (int64_t at_value = 0; at_value < 3; at_value++) {
        Head at = make_head(20, 8, 1);
        at.qkv[7 * at.shape.stride_q + at_value * 8 + 1] = (real)NAN; /* in q, k, v */
        forward(&at);
        assert_true(isnan(at.z[7 * at.shape.stride_z + 1]));
        pool_free(&at.pool);
    }
}

static double weighted(void *context)
{
    Head *at = context;
    forward(at);
    double sum = 0;
    for (int64_t i = 0; i < at->shape.n; i++)
        sum += sum_products(at->z + i * at->shape.stride_z,
                            at->dz + i * at->shape.stride_z, at->shape.D);
    return sum;
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    Head at = make_head(19, 5, 1);
    forward(&at);
    backward(&at);
    for (int64_t i = 0; i < 19; i++)
        assert_gradient(at.qkv + i * at.shape.stride_q, at.dqkv + i * at.shape.stride_q,
                        15, weighted, &at);
    pool_free(&at.pool);
}

/* sum dq q = sum dk k (both are sum ds s), and sum_j dv_j = sum_i dz_i. */
static void gradients_keep_their_identities(void **state)
{
    (void)state;
    Head at = make_head(70, 20, 1);
    int64_t D = 20;
    forward(&at);
    backward(&at);
    double dq_q = 0, dk_k = 0;
    for (int64_t i = 0; i < 70; i++) {
        const real *row = at.qkv + i * at.shape.stride_q;
        const real *drow = at.dqkv + i * at.shape.stride_q;
        dq_q += sum_products(row, drow, D);
        dk_k += sum_products(row + D, drow + D, D);
    }
    assert_near(dq_q, dk_k, 10 * SAME_TOLERANCE);
    for (int64_t d = 0; d < D; d++) {
        double dv = 0, dz = 0;
        for (int64_t i = 0; i < 70; i++) {
            dv += (double)at.dqkv[i * at.shape.stride_q + 2 * D + d];
            dz += (double)at.dz[i * at.shape.stride_z + d];
        }
        assert_near(dv, dz, 10 * SAME_TOLERANCE);
    }
    pool_free(&at.pool);
}

/* Equal keys: every token takes the mean of the values so far. */
static void equal_keys_give_the_mean(void **state)
{
    (void)state;
    Head at = make_head(33, 4, 1);
    for (int64_t i = 0; i < 33; i++)
        fill_value(at.qkv + i * at.shape.stride_q + 4, 4, 0.5);
    forward(&at);
    double sum = 0;
    for (int64_t i = 0; i < 33; i++) {
        sum += (double)at.qkv[i * at.shape.stride_q + 8];
        assert_near(at.z[i * at.shape.stride_z], sum / (double)(i + 1), SAME_TOLERANCE);
    }
    pool_free(&at.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_path_equals_the_plain_one),
        cmocka_unit_test(logsum_gives_the_weights_again),
        cmocka_unit_test(no_token_sees_a_later_one),
        cmocka_unit_test(the_first_token_sees_only_itself),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(a_nan_stays_visible),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(gradients_keep_their_identities),
        cmocka_unit_test(equal_keys_give_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
