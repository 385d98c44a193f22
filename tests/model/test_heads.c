/* Self-attention of several heads: gradients, single heads side by side, masks and
 * positions. How query heads share key heads: test_groups.c. */
#include "model/attention/core.h"
#include "model/math/blas.h"
#include "tests/model/heads_case.h"

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, at->N * at->shape.C);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 7, 8, 12};
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        Segments segments;
        Case at = make_case(shape_of(kind, &own), &segments, STARTS, 3);
        forward(&at);
        /* What y, dx and the scratch buffers hold does not matter: what is saved suffices. */
        fill_value(at.y, at.N * at.shape.C, (double)NAN);
        fill_value(at.dx, at.N * at.shape.C, (double)NAN);
        fill_value(at.dqkv, at.N * at.width, (double)NAN);
        fill_value(at.dmixed, at.N * at.across, (double)NAN);
        fill_value(at.scratch, heads_scratch(7, &at.shape), (double)NAN);
        backward(&at);
        real *values[TENSORS], *gradients[TENSORS];
        int64_t sizes[TENSORS];
        tensors_of(values, sizes, &at.params, &at);
        tensors_of(gradients, sizes, &at.dparams, &at);
        assert_gradient(at.x, at.dx, at.N * at.shape.C, weighted, &at);
        for (int t = 0; t < TENSORS; t++)
            assert_gradient(values[t], gradients[t], sizes[t], weighted, &at);
        pool_free(&at.pool);
        pool_free(&own);
    }
}

static void parameter_gradients_are_added_to(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 9};
    Segments segments;
    Case once = make_case(causal_shape(8, 2, 1, 4), &segments, STARTS, 1);
    Case added = make_case(once.shape, &segments, STARTS, 1);
    real *sums[TENSORS], *parts[TENSORS];
    int64_t sizes[TENSORS];
    tensors_of(sums, sizes, &added.dparams, &added);
    tensors_of(parts, sizes, &once.dparams, &once);
    forward(&once);
    forward(&added);
    for (int t = 0; t < TENSORS; t++)
        fill_value(sums[t], sizes[t], t + 1);
    added.dmixed = added.dx; /* dmixed may be dx */
    backward(&once);
    backward(&added);
    for (int t = 0; t < TENSORS; t++) {
        for (int64_t i = 0; i < sizes[t]; i++)
            assert_near(sums[t][i], t + 1 + (double)parts[t][i], SAME_TOLERANCE);
    }
    assert_memory_equal(once.dx, added.dx, (size_t)(once.N * 8) * sizeof(real));
    pool_free(&once.pool);
    pool_free(&added.pool);
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

static AttentionShape single_shape(int64_t n, int64_t D, real scale)
{
    return (AttentionShape){.n = n,
                            .m = n,
                            .D = D,
                            .E = D,
                            .stride_q = D,
                            .stride_k = D,
                            .stride_v = D,
                            .stride_z = D,
                            .scale = scale,
                            .causal = true};
}

/* Head h of a batch of one segment: its own three projections, then plain attention. */
static real *single_head(Case *at, int64_t h)
{
    int64_t C = at->shape.C, D = at->shape.D, n = at->N;
    real *part[3];
    for (int64_t q = 0; q < 3; q++) {
        int64_t first = q * at->across + h * D;
        LinearParams own = {
            columns(&at->pool, at->params.qkv.weight, C, at->width, first, D),
            columns(&at->pool, at->params.qkv.bias, 1, at->width, first, D)};
        part[q] = pool_reals(&at->pool, n * D);
        linear_forward(part[q], at->x, &own, n, C, D);
    }
    real *z = pool_reals(&at->pool, n * D), *weights = pool_reals(&at->pool, n * n);
    AttentionShape shape = single_shape(n, D, at->shape.scale);
    attention_plain_forward(z, weights, part[0], part[1], part[2], &shape);
    return z;
}

/* One product for all heads equals separate heads, put side by side, not added. */
static void packed_heads_are_single_heads_side_by_side(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 21};
    Segments segments;
    Case at = make_case(causal_shape(15, 3, 3, 5), &segments, STARTS, 1);
    forward(&at);
    int64_t size = at.N * 15;
    real *side_by_side = pool_reals(&at.pool, size);
    real *added = pool_reals(&at.pool, size), *y = pool_reals(&at.pool, size);
    for (int64_t h = 0; h < 3; h++) {
        const real *z = single_head(&at, h);
        for (int64_t i = 0; i < at.N * 5; i++) {
            side_by_side[i / 5 * 15 + h * 5 + i % 5] = z[i];
            added[i / 5 * 15 + i % 5] += z[i]; /* not what multi-head means */
        }
    }
    linear_forward(y, side_by_side, &at.params.out, at.N, 15, 15);
    assert_all_near(at.y, y, size, SAME_TOLERANCE);
    linear_forward(y, added, &at.params.out, at.N, 15, 15);
    assert_false(numbers_agree((double)at.y[0], (double)y[0], 1e-3, 1e-3));
    pool_free(&at.pool);
}

/* With G = H head h of the layer is the core on columns h of Q, K and V, to the bit. */
static void with_equal_heads_each_is_a_head_of_its_own_bit_for_bit(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 44};
    Segments segments;
    Case at = make_case(causal_shape(32, 4, 4, 8), &segments, STARTS, 1);
    forward(&at);
    AttentionShape shape = single_shape(44, 8, at.shape.scale);
    for (int64_t h = 0; h < 4; h++) {
        real *part[3];
        for (int64_t q = 0; q < 3; q++)
            part[q] = columns(&at.pool, at.saved.qkv, 44, 96, q * 32 + h * 8, 8);
        real *z = pool_reals(&at.pool, 44 * 8), *logsum = pool_reals(&at.pool, 44);
        attention_forward(z, logsum, part[0], part[1], part[2], at.scratch, &shape);
        assert_memory_equal(columns(&at.pool, at.saved.mixed, 44, 32, h * 8, 8), z,
                            44 * 8 * sizeof(real));
        assert_memory_equal(at.saved.logsum + h * 44, logsum, 44 * sizeof(real));
    }
    pool_free(&at.pool);
}

/* [2,3,8] -> [2,3,2,4] -> [2,2,3,4], scores [2,2,3,3], back to [2,3,8]: two rows of three
 * tokens, two heads of four. The view needs a transpose; a plain reshape of a row's [3,8] to
 * [2,3,4] takes numbers of both heads for one. */
static void a_view_and_a_transpose_split_heads_a_reshape_mixes_them(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 3, 6};
    Segments segments;
    Case at = make_case(causal_shape(8, 2, 2, 4), &segments, STARTS, 2);
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
            const AttentionShape shape = single_shape(3, 4, (real)0.5);
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
    const HeadsShape shape = causal_shape(16, 2, 2, 8);
    Segments all[3];
    Case both = make_case(shape, &all[0], BOTH, 2);
    Case first = make_case(shape, &all[1], FIRST, 1);
    Case second = make_case(shape, &all[2], SECOND, 1);
    memcpy(second.x, both.x + 18 * 16, 13 * 16 * sizeof(real));
    memcpy(second.dy, both.dy + 18 * 16, 13 * 16 * sizeof(real));
    Case *cases[] = {&both, &first, &second};
    for (int i = 0; i < 3; i++) {
        forward(cases[i]);
        backward(cases[i]);
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

/* Another token t changes y of exactly the tokens that see it, for every kind of shape. */
static void a_token_is_known_to_those_that_see_it_only(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        Segments segments;
        Case at = make_case(shape_of(kind, &own), &segments, RAGGED, RAGGED_SEGMENTS);
        const HeadsShape *shape = &at.shape;
        int64_t C = shape->C;
        forward(&at);
        real *before = pool_copy(&own, at.y, at.N * C);
        real *x = pool_copy(&own, at.x, at.N * C);
        for (int64_t s = 0; s < RAGGED_SEGMENTS; s++) {
            int64_t t = (RAGGED[s] + RAGGED[s + 1] - 1) / 2;
            fill_random(at.x + t * C, C, 2, 77);
            forward(&at);
            memcpy(at.x, x, (size_t)(at.N * C) * sizeof(real));
            for (int64_t i = 0; i < at.N; i++) {
                bool inside = i >= RAGGED[s] && i < RAGGED[s + 1];
                bool sees = inside && (!shape->causal || i >= t) &&
                            (shape->window == 0 || i - t < shape->window);
                bool same =
                    memcmp(before + i * C, at.y + i * C, (size_t)C * sizeof(real)) == 0;
                assert_int_equal(same, !sees);
            }
        }
        pool_free(&at.pool);
        pool_free(&own);
    }
}

static void a_window_of_all_tokens_is_none(void **state)
{
    (void)state;
    Segments segments;
    HeadsShape shape = causal_shape(16, 4, 2, 4);
    Case full = make_case(shape, &segments, RAGGED, RAGGED_SEGMENTS);
    shape.window = 33; /* the longest segment */
    Case windowed = make_case(shape, &segments, RAGGED, RAGGED_SEGMENTS);
    forward(&full);
    forward(&windowed);
    backward(&full);
    backward(&windowed);
    assert_memory_equal(full.y, windowed.y, 60 * 16 * sizeof(real));
    assert_memory_equal(full.dx, windowed.dx, 60 * 16 * sizeof(real));
    pool_free(&full.pool);
    pool_free(&windowed.pool);
}

/* Scores depend on distances: moving all positions on changes nothing, moving some does. */
static void rotary_positions_are_relative(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 40};
    Pool own = {.count = 0};
    Segments segments;
    HeadsShape shape = causal_shape(16, 4, 2, 4);
    shape.rope = rope_of(&own, 4);
    Case at = make_case(shape, &segments, STARTS, 1);
    forward(&at);
    real *before = pool_copy(&own, at.y, 40 * 16);
    for (int i = 0; i < 40; i++)
        segments.positions[i] += 111;
    forward(&at);
    assert_all_near(at.y, before, 40 * 16, 20 * SAME_TOLERANCE);
    for (int i = 20; i < 40; i++)
        segments.positions[i] += 3;
    forward(&at);
    assert_all_near(at.y, before, 20 * 16, 20 * SAME_TOLERANCE);
    assert_false(
        numbers_agree((double)at.y[20 * 16], (double)before[20 * 16], 1e-3, 1e-3));
    pool_free(&at.pool);
    pool_free(&own);
}

/* An encoder without positions: other order, the same outputs in that order. */
static void without_mask_and_positions_the_order_does_not_matter(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 37};
    Segments segments;
    HeadsShape shape = causal_shape(8, 2, 1, 4);
    shape.causal = false;
    Case at = make_case(shape, &segments, STARTS, 1);
    Case turned = make_case(shape, &segments, STARTS, 1);
    for (int64_t i = 0; i < 37; i++)
        memcpy(turned.x + i * 8, at.x + (36 - i) * 8, 8 * sizeof(real));
    forward(&at);
    forward(&turned);
    for (int64_t i = 0; i < 37; i++)
        assert_all_near(turned.y + i * 8, at.y + (36 - i) * 8, 8, SAME_TOLERANCE);
    pool_free(&at.pool);
    pool_free(&turned.pool);
}

/* Adding the same to every key adds q.c to a whole row of scores: nothing changes. */
static void the_bias_of_the_keys_has_no_gradient(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 24};
    Segments segments;
    Case at = make_case(causal_shape(16, 2, 2, 8), &segments, STARTS, 1);
    forward(&at);
    backward(&at);
    for (int64_t j = 0; j < 16; j++)
        assert_near(at.dparams.qkv.bias[16 + j], 0, 3 * SAME_TOLERANCE);
    pool_free(&at.pool);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(parameter_gradients_are_added_to),
        cmocka_unit_test(packed_heads_are_single_heads_side_by_side),
        cmocka_unit_test(with_equal_heads_each_is_a_head_of_its_own_bit_for_bit),
        cmocka_unit_test(a_view_and_a_transpose_split_heads_a_reshape_mixes_them),
        cmocka_unit_test(segments_do_not_see_each_other),
        cmocka_unit_test(a_token_is_known_to_those_that_see_it_only),
        cmocka_unit_test(a_window_of_all_tokens_is_none),
        cmocka_unit_test(rotary_positions_are_relative),
        cmocka_unit_test(without_mask_and_positions_the_order_does_not_matter),
        cmocka_unit_test(the_bias_of_the_keys_has_no_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
