/* Multi-head attention: packed heads against one head after the other. */
#include "model/attention/core.h"
#include "model/attention/heads.h"
#include "model/math/blas.h"
#include "tests/model/numeric.h"

typedef struct {
    Pool pool;
    int64_t H, D, C, N;
    HeadsShape shape;
    TokenBatch batch;
    HeadsParams params, dparams;
    HeadsSaved saved;
    real *x, *y, *dx, *dy, *dqkv, *scratch;
} Case;

static LinearParams linear(Pool *pool, int64_t in, int64_t out, double deviation,
                           uint64_t name)
{
    return (LinearParams){pool_random(pool, in * out, deviation, name),
                          pool_random(pool, out, deviation, name + 1)};
}

static Case make_case(int64_t H, int64_t D, const int64_t *starts, int64_t segments)
{
    int64_t C = H * D, N = starts[segments], longest = 0;
    Case at = {.H = H, .D = D, .C = C, .N = N};
    at.shape = (HeadsShape){.C = C,
                            .H = H,
                            .G = H,
                            .D = D,
                            .scale = (real)(1 / sqrt((double)D)),
                            .causal = true};
    at.batch = (TokenBatch){.tokens = N, .segments = segments, .starts = starts};
    for (int64_t s = 0; s < segments; s++)
        longest =
            starts[s + 1] - starts[s] > longest ? starts[s + 1] - starts[s] : longest;
    at.params = (HeadsParams){linear(&at.pool, C, 3 * C, 0.5, 1),
                              linear(&at.pool, C, C, 0.5, 3)};
    at.dparams =
        (HeadsParams){linear(&at.pool, C, 3 * C, 0, 1), linear(&at.pool, C, C, 0, 3)};
    at.saved = (HeadsSaved){pool_reals(&at.pool, N * 3 * C),
                            pool_reals(&at.pool, N * C), pool_reals(&at.pool, H * N)};
    at.x = pool_random(&at.pool, N * C, 1, 5);
    at.y = pool_reals(&at.pool, N * C);
    at.dx = pool_reals(&at.pool, N * C);
    at.dy = pool_random(&at.pool, N * C, 1, 6);
    at.dqkv = pool_reals(&at.pool, N * 3 * C);
    at.scratch = pool_reals(&at.pool, heads_scratch(longest, &at.shape));
    return at;
}

static void forward(Case *at)
{
    heads_forward(at->y, &at->saved, at->x, &at->params, at->scratch, &at->batch,
                  &at->shape);
}

static void backward(Case *at, real *dmixed)
{
    heads_backward(at->dx, &at->dparams, at->dy, &at->saved, at->x, &at->params,
                   at->dqkv, dmixed, at->scratch, &at->batch, &at->shape);
}

/* Columns first .. first+count-1 of (rows, cols) as a matrix of its own. */
static real *columns(Pool *pool, const real *from, int64_t rows, int64_t cols,
                     int64_t first, int64_t count)
{
    real *to = pool_reals(pool, rows * count);
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * count, from + i * cols + first, (size_t)count * sizeof(real));
    return to;
}

/* Head h of segment s: its own three projections, then plain attention; z (n, D). */
static real *single_head(Case *at, int64_t s, int64_t h)
{
    int64_t C = at->C, D = at->D, start = at->batch.starts[s];
    int64_t n = at->batch.starts[s + 1] - start;
    real *part[3];
    for (int64_t q = 0; q < 3; q++) {
        int64_t first = q * C + h * D;
        LinearParams own = {
            columns(&at->pool, at->params.qkv.weight, C, 3 * C, first, D),
            columns(&at->pool, at->params.qkv.bias, 1, 3 * C, first, D)};
        part[q] = pool_reals(&at->pool, n * D);
        linear_forward(part[q], at->x + start * C, &own, n, C, D);
    }
    real *z = pool_reals(&at->pool, n * D), *weights = pool_reals(&at->pool, n * n);
    attention_plain_forward(z, weights, part[0], part[1], part[2],
                            &(AttentionShape){.n = n,
                                              .m = n,
                                              .D = D,
                                              .E = D,
                                              .stride_q = D,
                                              .stride_k = D,
                                              .stride_v = D,
                                              .stride_z = D,
                                              .scale = at->shape.scale,
                                              .causal = true});
    return z;
}

static void packed_heads_are_single_heads_side_by_side(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 21};
    Case at = make_case(3, 5, STARTS, 1);
    forward(&at);
    real *side_by_side = pool_reals(&at.pool, at.N * at.C);
    real *added = pool_reals(&at.pool, at.N * at.C),
         *y = pool_reals(&at.pool, at.N * at.C);
    for (int64_t h = 0; h < 3; h++) {
        const real *z = single_head(&at, 0, h);
        for (int64_t i = 0; i < at.N * at.D; i++) {
            side_by_side[i / at.D * at.C + h * at.D + i % at.D] = z[i];
            added[i / at.D * at.C + i % at.D] += z[i]; /* not what multi-head means */
        }
    }
    linear_forward(y, side_by_side, &at.params.out, at.N, at.C, at.C);
    assert_all_near(at.y, y, at.N * at.C, SAME_TOLERANCE);
    linear_forward(y, added, &at.params.out, at.N, at.C, at.C);
    assert_false(numbers_agree((double)at.y[0], (double)y[0], 1e-3, 1e-3));
    pool_free(&at.pool);
}

/* [2,3,8] -> [2,3,2,4] -> [2,2,3,4], scores [2,2,3,3], back to [2,3,8]: two rows of three
 * tokens, two heads of four. The view needs a transpose; a plain reshape of a row's [3,8] to
 * [2,3,4] takes numbers of both heads for one. */
static void a_view_and_a_transpose_split_heads_a_reshape_mixes_them(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 3, 6};
    Case at = make_case(2, 4, STARTS, 2);
    forward(&at);
    int differing = 0;
    for (int64_t s = 0; s < 2; s++) {
        /* q, k, v of this row, each [3,8] */
        real *part[3];
        for (int64_t q = 0; q < 3; q++)
            part[q] = columns(&at.pool, at.saved.qkv + s * 3 * 24, 3, 24, q * 8, 8);
        for (int64_t h = 0; h < 2; h++) {
            real view[3][12], reshape[3][12], z_view[12], z_reshape[12], weights[9];
            for (int64_t q = 0; q < 3; q++) {
                for (int64_t t = 0; t < 3; t++) {
                    for (int64_t d = 0; d < 4; d++) {
                        view[q][t * 4 + d] = part[q][t * 8 + h * 4 + d];
                        reshape[q][t * 4 + d] = part[q][h * 12 + t * 4 + d];
                    }
                }
            }
            /* "Token 1 of head 0" after the reshape is token 0 of head 1. */
            if (h == 0)
                assert_memory_equal(&reshape[0][4], &part[0][4], 4 * sizeof(real));
            const AttentionShape shape = {.n = 3,
                                          .m = 3,
                                          .D = 4,
                                          .E = 4,
                                          .stride_q = 4,
                                          .stride_k = 4,
                                          .stride_v = 4,
                                          .stride_z = 4,
                                          .scale = (real)0.5,
                                          .causal = true};
            attention_plain_forward(z_view, weights, view[0], view[1], view[2], &shape);
            attention_plain_forward(z_reshape, weights, reshape[0], reshape[1],
                                    reshape[2], &shape);
            const real *mixed = at.saved.mixed + s * 24 + h * 4;
            for (int64_t i = 0; i < 12; i++) {
                double z = (double)mixed[i / 4 * 8 + i % 4];
                assert_near(z, z_view[i], SAME_TOLERANCE);
                differing += !numbers_agree(z, (double)z_reshape[i], 1e-3, 1e-3);
            }
        }
    }
    assert_true(differing > 24);
    pool_free(&at.pool);
}

static void segments_do_not_see_each_other(void **state)
{
    (void)state;
    static const int64_t BOTH[] = {0, 18, 31}, FIRST[] = {0, 18}, SECOND[] = {0, 13};
    Case both = make_case(2, 8, BOTH, 2);
    Case first = make_case(2, 8, FIRST, 1), second = make_case(2, 8, SECOND, 1);
    memcpy(second.x, both.x + 18 * 16, 13 * 16 * sizeof(real));
    memcpy(second.dy, both.dy + 18 * 16, 13 * 16 * sizeof(real));
    Case *cases[] = {&both, &first, &second};
    for (int i = 0; i < 3; i++) {
        forward(cases[i]);
        backward(cases[i], cases[i]->dx);
    }
    assert_all_near(both.y, first.y, 18 * 16, SAME_TOLERANCE);
    assert_all_near(both.y + 18 * 16, second.y, 13 * 16, SAME_TOLERANCE);
    assert_all_near(both.dx, first.dx, 18 * 16, SAME_TOLERANCE);
    assert_all_near(both.dx + 18 * 16, second.dx, 13 * 16, SAME_TOLERANCE);
    for (int64_t i = 0; i < 16 * 48; i++)
        assert_near(both.dparams.qkv.weight[i],
                    (double)first.dparams.qkv.weight[i] +
                        (double)second.dparams.qkv.weight[i],
                    3 * SAME_TOLERANCE);
    for (int i = 0; i < 3; i++)
        pool_free(&cases[i]->pool);
}

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, at->N * at->C);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 7, 8, 12};
    Case at = make_case(2, 3, STARTS, 3);
    forward(&at);
    /* What y, dx and the scratch buffers hold does not matter: what is saved suffices. */
    fill_value(at.y, at.N * at.C, (double)NAN);
    fill_value(at.dx, at.N * at.C, (double)NAN);
    fill_value(at.dqkv, at.N * 3 * at.C, (double)NAN);
    fill_value(at.scratch, heads_scratch(7, &at.shape), (double)NAN);
    real *dmixed = pool_reals(&at.pool, at.N * at.C);
    backward(&at, dmixed);
    assert_gradient(at.x, at.dx, at.N * at.C, weighted, &at);
    assert_gradient(at.params.qkv.weight, at.dparams.qkv.weight, 3 * at.C * at.C,
                    weighted, &at);
    assert_gradient(at.params.qkv.bias, at.dparams.qkv.bias, 3 * at.C, weighted, &at);
    assert_gradient(at.params.out.weight, at.dparams.out.weight, at.C * at.C, weighted,
                    &at);
    assert_gradient(at.params.out.bias, at.dparams.out.bias, at.C, weighted, &at);
    pool_free(&at.pool);
}

static void parameter_gradients_are_added_to(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 9};
    Case once = make_case(2, 4, STARTS, 1), added = make_case(2, 4, STARTS, 1);
    real *sums[] = {added.dparams.qkv.weight, added.dparams.qkv.bias,
                    added.dparams.out.weight, added.dparams.out.bias};
    const real *parts[] = {once.dparams.qkv.weight, once.dparams.qkv.bias,
                           once.dparams.out.weight, once.dparams.out.bias};
    const int64_t sizes[] = {8 * 24, 24, 64, 8};
    forward(&once);
    forward(&added);
    for (int t = 0; t < 4; t++)
        fill_value(sums[t], sizes[t], t + 1);
    real *dmixed = pool_reals(&once.pool, once.N * once.C);
    backward(&once, dmixed);
    backward(&added, added.dx); /* dmixed may be dx */
    for (int t = 0; t < 4; t++) {
        for (int64_t i = 0; i < sizes[t]; i++)
            assert_near(sums[t][i], t + 1 + (double)parts[t][i], SAME_TOLERANCE);
    }
    assert_memory_equal(once.dx, added.dx, (size_t)(once.N * once.C) * sizeof(real));
    pool_free(&once.pool);
    pool_free(&added.pool);
}

/* Adding the same to every key adds q.c to a whole row of scores: nothing changes. */
static void the_bias_of_the_keys_has_no_gradient(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 24};
    Case at = make_case(2, 8, STARTS, 1);
    forward(&at);
    backward(&at, at.dx);
    for (int64_t j = 0; j < at.C; j++)
        assert_near(at.dparams.qkv.bias[at.C + j], 0, 3 * SAME_TOLERANCE);
    pool_free(&at.pool);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_heads_are_single_heads_side_by_side),
        cmocka_unit_test(a_view_and_a_transpose_split_heads_a_reshape_mixes_them),
        cmocka_unit_test(segments_do_not_see_each_other),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(parameter_gradients_are_added_to),
        cmocka_unit_test(the_bias_of_the_keys_has_no_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
