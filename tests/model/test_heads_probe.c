#include "model/gpt/init.h"
#include "model/heads/entropy.h"
#include "model/heads/probe.h"
#include "model/heads/similarity.h"
#include "model/math/blas.h"
#include "tests/model/small_model.h"

enum { N = 9 };

/* Causal maps: every row even, or all on one token. */
static void fill_uniform(real *map)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            map[i * N + j] = j <= i ? 1 / (real)(i + 1) : 0;
    }
}

static void fill_one_hot(real *map, int back)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            map[i * N + j] = j == (i >= back ? i - back : 0);
    }
}

static void entropy_is_one_for_even_rows_and_zero_for_one_hot_rows(void **state)
{
    (void)state;
    real map[N * N];
    int64_t rows = 5;
    fill_uniform(map);
    assert_near(entropy_sum(map, N, &rows), N - 1, 1e-6);
    assert_int_equal(rows, 5 + N - 1); /* gains */
    fill_one_hot(map, 1);
    assert_true(entropy_sum(map, N, &rows) == 0);
}

static void entropy_of_a_row_is_its_definition(void **state)
{
    (void)state;
    const real map[] = {1, 0, 0, (real)0.25, (real)0.75, 0, (real)0.5, 0, (real)0.5};
    int64_t rows = 0;
    double second = -(0.25 * log(0.25) + 0.75 * log(0.75)) / log(2);
    assert_near(entropy_sum(map, 3, &rows), second + log(2) / log(3), 1e-6);
    assert_int_equal(rows, 2);
}

static void distance_is_a_metric_between_zero_and_one(void **state)
{
    (void)state;
    real even[N * N], one[N * N], two[N * N];
    int64_t rows = 5;
    fill_uniform(even);
    fill_one_hot(one, 0);
    fill_one_hot(two, 1);
    assert_true(distance_sum(even, even, N, &rows) == 0);
    assert_int_equal(rows, 5 + N - 1);
    assert_near(distance_sum(one, two, N, &rows), N - 1, 1e-6); /* disjoint rows */
    double a = distance_sum(even, one, N, &rows);
    double b = distance_sum(one, even, N, &rows);
    assert_true(a == b && a > 0 && a < N - 1);
    /* The triangle inequality. */
    double c = distance_sum(even, two, N, &rows);
    assert_true(N - 1 <= a + c + 1e-6);
}

static void distance_of_a_row_is_its_definition(void **state)
{
    (void)state;
    const real p[] = {1, 0, (real)0.25, (real)0.75};
    const real q[] = {1, 0, (real)0.5, (real)0.5};
    int64_t rows = 0;
    double m0 = 0.375, m1 = 0.625;
    double js = (0.25 * log(0.25 / m0) + 0.75 * log(0.75 / m1) + 0.5 * log(0.5 / m0) +
                 0.5 * log(0.5 / m1)) /
                2;
    assert_near(distance_sum(p, q, 2, &rows), sqrt(js / log(2)), 1e-9);
}

static void one_token_says_nothing(void **state)
{
    (void)state;
    const real map = 1;
    int64_t rows = 0;
    assert_true(entropy_sum(&map, 1, &rows) == 0 &&
                distance_sum(&map, &map, 1, &rows) == 0);
    assert_int_equal(rows, 0);
}

static void what_is_not_a_number_is_no_collapse(void **state)
{
    (void)state;
    real bad[N * N], even[N * N];
    int64_t rows = 0;
    fill_uniform(bad);
    fill_uniform(even);
    bad[3 * N + 1] = (real)NAN;
    assert_true(isnan(entropy_sum(bad, N, &rows)));
    assert_true(isnan(distance_sum(bad, even, N, &rows)));
    assert_true(isnan(distance_sum(even, bad, N, &rows)));
}

/* ---- the probe ---------------------------------------------------------------------- */

static const int64_t LENGTHS[] = {5, 13, 1, 7};

static void run_probe(LayerProbe *layers, const Gpt *gpt, const int64_t *lengths,
                      int64_t segments)
{
    Text text;
    Error err;
    TokenBatch batch = random_text(&text, lengths, segments, 17, 1);
    GptWork *work = work_for(gpt, batch.tokens);
    assert_int_equal(heads_probe(layers, gpt, work, &batch, &err), STATUS_OK);
    gpt_work_destroy(work);
}

static void identical_heads_are_at_distance_zero(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt;
    Error err;
    LayerProbe same[2], different[2];
    assert_int_equal(gpt_create(&gpt, &config, &err), STATUS_OK);
    gpt_init(&gpt, INIT_IDENTICAL_HEADS, 1);
    run_probe(same, &gpt, LENGTHS, 4);
    gpt_init(&gpt, INIT_XAVIER_PER_HEAD, 1);
    run_probe(different, &gpt, LENGTHS, 4);
    for (int l = 0; l < 2; l++) {
        assert_true(same[l].min_distance == 0);
        assert_true(different[l].min_distance > 0.01 && different[l].min_distance < 1);
        assert_true(different[l].entropy > 0.1 && different[l].entropy < 1);
    }
    gpt_destroy(&gpt);
}

/* All weights zero: every score is 0, every head looks everywhere. */
static void a_model_of_zeros_looks_everywhere(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt;
    Error err;
    LayerProbe layers[2];
    assert_int_equal(gpt_create(&gpt, &config, &err), STATUS_OK);
    run_probe(layers, &gpt, LENGTHS, 4);
    for (int l = 0; l < 2; l++) {
        assert_near(layers[l].entropy, 1, 1e-6);
        assert_true(layers[l].min_distance == 0);
    }
    gpt_destroy(&gpt);
}

/* Every row of every segment counts the same, and the closest pair is the one reported. */
static void the_probe_is_the_mean_over_rows_and_the_closest_pair(void **state)
{
    (void)state;
    Pool pool = {0};
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    LayerProbe layers[2];
    Text text;
    run_probe(layers, &gpt, LENGTHS, 4);
    TokenBatch batch = random_text(&text, LENGTHS, 4, 17, 1);
    GptWork *work = work_for(&gpt, batch.tokens);
    gpt_loss(&gpt, work, &batch, NULL);
    for (int64_t l = 0; l < 2; l++) {
        double entropy = 0, distances[3] = {0};
        int64_t rows = 0, unused = 0;
        for (int64_t s = 0; s < 4; s++) {
            int64_t n = LENGTHS[s];
            real *maps[3], *mixed = pool_reals(&pool, n * 4);
            for (int64_t h = 0; h < 3; h++) {
                maps[h] = pool_reals(&pool, n * n);
                gpt_attention_map(&gpt, work, &batch, l, h, s, maps[h], mixed);
                entropy += entropy_sum(maps[h], n, &rows);
            }
            distances[0] += distance_sum(maps[0], maps[1], n, &unused);
            distances[1] += distance_sum(maps[0], maps[2], n, &unused);
            distances[2] += distance_sum(maps[1], maps[2], n, &unused);
        }
        double least = fmin(distances[0], fmin(distances[1], distances[2]));
        assert_int_equal(rows, 3 * 22);
        assert_near(layers[l].entropy, entropy / 66, 1e-12);
        assert_near(layers[l].min_distance, least / 22, 1e-12);
    }
    gpt_work_destroy(work);
    gpt_destroy(&gpt);
    pool_free(&pool);
}

static void a_single_head_and_single_tokens_are_no_collapse(void **state)
{
    (void)state;
    GptConfig config = small_config();
    LayerProbe layers[2];
    const int64_t ones[] = {1, 1, 1};
    Gpt three = random_model(&config);
    config.heads = config.kv_heads = 1;
    Gpt one = random_model(&config);
    run_probe(layers, &one, LENGTHS, 4);
    assert_true(layers[0].min_distance == 1 && layers[1].min_distance == 1);
    assert_true(layers[0].entropy > 0 && layers[0].entropy < 1);
    run_probe(layers, &three, ones, 3);
    assert_true(layers[0].min_distance == 1 && layers[0].entropy == 1);
    gpt_destroy(&one);
    gpt_destroy(&three);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entropy_is_one_for_even_rows_and_zero_for_one_hot_rows),
        cmocka_unit_test(entropy_of_a_row_is_its_definition),
        cmocka_unit_test(distance_is_a_metric_between_zero_and_one),
        cmocka_unit_test(distance_of_a_row_is_its_definition),
        cmocka_unit_test(one_token_says_nothing),
        cmocka_unit_test(what_is_not_a_number_is_no_collapse),
        cmocka_unit_test(identical_heads_are_at_distance_zero),
        cmocka_unit_test(a_model_of_zeros_looks_everywhere),
        cmocka_unit_test(the_probe_is_the_mean_over_rows_and_the_closest_pair),
        cmocka_unit_test(a_single_head_and_single_tokens_are_no_collapse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
