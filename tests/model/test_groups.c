/* MHA, GQA, MQA and lists of groups: what is the same, and what each is of the other. */
#include "model/math/blas.h"
#include "tests/model/heads_case.h"

static void reading_groups_directly_equals_copying_them(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        Segments segments;
        Case at = make_case(shape_of(kind, &own), &segments, RAGGED, RAGGED_SEGMENTS);
        Case plain = make_case(at.shape, &segments, RAGGED, RAGGED_SEGMENTS);
        int64_t floats = heads_plain_scratch(at.N, 33, &at.shape);
        real *scratch = pool_reals(&own, floats);
        fill_value(scratch, floats, (double)NAN);
        fill_value(plain.dx, at.N * at.shape.C, (double)NAN);
        forward(&at);
        backward(&at);
        heads_plain_forward(plain.y, plain.x, &plain.params, scratch, &segments.batch,
                            &plain.shape);
        heads_plain_backward(plain.dx, &plain.dparams, plain.dy, plain.x, &plain.params,
                             scratch, &segments.batch, &plain.shape);
        assert_all_near(at.y, plain.y, at.N * at.shape.C, 2 * SAME_TOLERANCE);
        assert_gradients_near(&at, &plain.dparams, plain.dx, 20 * SAME_TOLERANCE);
        pool_free(&at.pool);
        pool_free(&plain.pool);
        pool_free(&own);
    }
}

static void query_heads_read_groups_in_order(void **state)
{
    (void)state;
    const HeadsShape llama = {.H = 32, .G = 8}, mha = {.H = 12, .G = 12},
                     mqa = {.H = 71, .G = 1};
    for (int64_t h = 0; h < 32; h++)
        assert_int_equal(heads_group(&llama, h), h / 4);
    for (int64_t h = 0; h < 12; h++)
        assert_int_equal(heads_group(&mha, h), h);
    for (int64_t h = 0; h < 71; h++)
        assert_int_equal(heads_group(&mqa, h), 0);
}

/* W_QKV and W_O together: 4 C^2 for any number of heads; with G key/value heads
 * 2 C^2 + 2 C G D. */
static void weights_do_not_depend_on_the_number_of_query_heads(void **state)
{
    (void)state;
    enum { C = 128 };
    static const int64_t HEADS[] = {1, 2, 4, 8, 16};
    for (int i = 0; i < 5; i++) {
        int64_t H = HEADS[i], D = C / H;
        HeadsShape mha = causal_shape(C, H, H, D);
        assert_int_equal(C * heads_qkv_width(&mha) + H * D * C, 4 * C * C);
        for (int64_t G = 1; G <= H; G *= 2) {
            HeadsShape gqa = causal_shape(C, H, G, D);
            assert_int_equal(C * heads_qkv_width(&gqa) + H * D * C,
                             2 * C * C + 2 * C * G * D);
        }
    }
}

static void a_list_that_says_the_formula_gives_the_same_bits(void **state)
{
    (void)state;
    static const uint16_t LISTS[3][4] = {{0, 1, 2, 3}, {0, 0, 1, 1}, {0, 0, 0, 0}};
    for (int i = 0; i < 3; i++) {
        Segments segments;
        HeadsShape shape = causal_shape(16, 4, 4 >> i, 4);
        Case formula = make_case(shape, &segments, RAGGED, RAGGED_SEGMENTS);
        shape.groups = LISTS[i];
        Case list = make_case(shape, &segments, RAGGED, RAGGED_SEGMENTS);
        forward(&formula);
        forward(&list);
        backward(&formula);
        backward(&list);
        size_t bytes = (size_t)(60 * 16) * sizeof(real);
        assert_memory_equal(formula.y, list.y, bytes);
        assert_memory_equal(formula.dx, list.dx, bytes);
        real *a[TENSORS], *b[TENSORS];
        int64_t sizes[TENSORS];
        tensors_of(a, sizes, &formula.dparams, &formula);
        tensors_of(b, sizes, &list.dparams, &list);
        for (int t = 0; t < TENSORS; t++)
            assert_memory_equal(a[t], b[t], (size_t)sizes[t] * sizeof(real));
        pool_free(&formula.pool);
        pool_free(&list.pool);
    }
}

/* Column of MHA's qkv that shows what column c of GQA's (H, G) shows, for query head h. */
static int64_t repeated_column(const HeadsShape *gqa, int64_t c, int64_t h)
{
    int64_t H = gqa->H, G = gqa->G, D = gqa->D;
    if (c < H * D)
        return c;
    bool value = c >= (H + G) * D;
    return (value ? 2 * H : H) * D + h * D + c % D;
}

/* GQA is MHA whose K and V weights are repeated for the heads of a group; so its gradient is
 * the sum of theirs. */
static void groups_are_equal_key_heads_of_mha(void **state)
{
    (void)state;
    enum { C = 16, H = 4, D = 4 };
    for (int64_t G = 1; G <= 4; G *= 2) {
        Segments segments;
        Case gqa =
            make_case(causal_shape(C, H, G, D), &segments, RAGGED, RAGGED_SEGMENTS);
        Case mha =
            make_case(causal_shape(C, H, H, D), &segments, RAGGED, RAGGED_SEGMENTS);
        for (int64_t c = 0; c < gqa.width; c++) {
            for (int64_t h = 0; h < H; h++) {
                bool reads = c < H * D || heads_group(&gqa.shape, h) == (c / D - H) % G;
                int64_t to = repeated_column(&gqa.shape, c, h);
                for (int64_t i = 0; reads && i < C; i++)
                    mha.params.qkv.weight[i * mha.width + to] =
                        gqa.params.qkv.weight[i * gqa.width + c];
                if (reads)
                    mha.params.qkv.bias[to] = gqa.params.qkv.bias[c];
            }
        }
        forward(&gqa);
        forward(&mha);
        backward(&gqa);
        backward(&mha);
        assert_all_near(gqa.y, mha.y, gqa.N * C, 2 * SAME_TOLERANCE);
        assert_all_near(gqa.dx, mha.dx, gqa.N * C, 20 * SAME_TOLERANCE);
        for (int64_t c = H * D; c < gqa.width; c++) {
            for (int64_t i = 0; i < C; i++) {
                double sum = 0;
                for (int64_t h = 0; h < H; h++) {
                    int64_t from = repeated_column(&gqa.shape, c, h);
                    if (heads_group(&gqa.shape, h) == (c / D - H) % G)
                        sum += (double)mha.dparams.qkv.weight[i * mha.width + from];
                }
                assert_near(gqa.dparams.qkv.weight[i * gqa.width + c], sum,
                            20 * SAME_TOLERANCE);
            }
        }
        pool_free(&gqa.pool);
        pool_free(&mha.pool);
    }
}

/* Of five query heads none reads key head 1: it gets no gradient, its values no use. */
static void a_key_head_that_nobody_reads_gets_no_gradient(void **state)
{
    (void)state;
    Segments segments;
    Case at = make_case(shape_of(4, NULL), &segments, RAGGED, RAGGED_SEGMENTS);
    int64_t H = 5, G = 4, D = 6;
    forward(&at);
    backward(&at);
    for (int64_t d = 0; d < D; d++) {
        assert_true(at.dparams.qkv.bias[(H + 1) * D + d] == 0);
        assert_true(at.dparams.qkv.bias[(H + G + 1) * D + d] == 0);
        assert_true(at.dparams.qkv.bias[(H + G) * D + d] != 0);
    }
    real *before = pool_copy(&at.pool, at.y, at.N * 12);
    fill_random(at.params.qkv.bias + (H + 1) * D, D, 5, 99);
    fill_random(at.params.qkv.bias + (H + G + 1) * D, D, 5, 98);
    forward(&at);
    assert_memory_equal(before, at.y, (size_t)(at.N * 12) * sizeof(real));
    pool_free(&at.pool);
}

/* All heads cut: y = b_O, which alone has a gradient. With or without key heads left. */
static void a_layer_without_heads_gives_its_bias(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 5, 9};
    for (int64_t G = 0; G < 2; G++) {
        Segments segments;
        Case at = make_case(causal_shape(8, 0, G, 4), &segments, STARTS, 2);
        fill_value(at.dx, 9 * 8, (double)NAN);
        forward(&at);
        backward(&at);
        for (int64_t i = 0; i < 9 * 8; i++) {
            assert_true(at.y[i] == at.params.out.bias[i % 8]);
            assert_true(at.dx[i] == 0);
        }
        for (int64_t j = 0; j < 8; j++) {
            double sum = 0;
            for (int64_t i = 0; i < 9; i++)
                sum += (double)at.dy[i * 8 + j];
            assert_near(at.dparams.out.bias[j], sum, SAME_TOLERANCE);
        }
        for (int64_t i = 0; i < 8 * at.width; i++)
            assert_true(at.dparams.qkv.weight[i] == 0);
        pool_free(&at.pool);
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_groups_directly_equals_copying_them),
        cmocka_unit_test(query_heads_read_groups_in_order),
        cmocka_unit_test(weights_do_not_depend_on_the_number_of_query_heads),
        cmocka_unit_test(a_list_that_says_the_formula_gives_the_same_bits),
        cmocka_unit_test(groups_are_equal_key_heads_of_mha),
        cmocka_unit_test(a_key_head_that_nobody_reads_gets_no_gradient),
        cmocka_unit_test(a_layer_without_heads_gives_its_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
