/* Bytes of caches and numbers of weights, against their formulas and against the program's
 * own parameter table. */
#include "model/gpt/memory.h"

#include <stdlib.h>
#include <string.h>

#include "model/gpt/params.h"
#include "tests/model/numeric.h"

/* L equal layers of G KV heads for H query heads of size D, two bytes a number. */
static MemoryShape plain(int64_t layers, int64_t heads, int64_t kv_heads, int64_t size)
{
    MemoryShape shape = {.kind = memory_kind(heads, kv_heads),
                         .layers = layers,
                         .query_heads = heads,
                         .kv_heads = kv_heads,
                         .head_size = size};
    MemoryLayers all = {layers, heads, kv_heads, size, size, 0, true};
    assert_int_equal(memory_add_layers(&shape, &all, NULL), STATUS_OK);
    return shape;
}

/* DeepSeek-V3's attention. */
static MemoryShape latent(int64_t layers)
{
    MemoryShape shape = {.kind = MEMORY_MLA,
                         .layers = layers,
                         .query_heads = 128,
                         .kv_heads = 128,
                         .head_size = 192,
                         .latent = 512,
                         .rope_size = 64};
    MemoryLayers all = {layers, 128, 128, 192, 128, 0, true};
    assert_int_equal(memory_add_layers(&shape, &all, NULL), STATUS_OK);
    return shape;
}

static MemoryCache cache_of(const MemoryShape *shape, int64_t tokens, int64_t batch,
                            int64_t cards, int64_t bits)
{
    MemoryUse use = {tokens, batch, cards, bits};
    MemoryCache cache;
    Error err = {0};
    if (memory_cache(&cache, shape, &use, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return cache;
}

static int64_t per_token(int64_t layers, int64_t heads, int64_t kv_heads, int64_t size)
{
    MemoryShape shape = plain(layers, heads, kv_heads, size);
    return cache_of(&shape, 0, 1, 1, 16).per_token;
}

static void the_number_of_kv_heads_decides_the_kind(void **state)
{
    (void)state;
    assert_int_equal(memory_kind(32, 32), MEMORY_MHA);
    assert_int_equal(memory_kind(32, 8), MEMORY_GQA);
    assert_int_equal(memory_kind(32, 2), MEMORY_GQA);
    assert_int_equal(memory_kind(32, 1), MEMORY_MQA);
    assert_int_equal(memory_kind(1, 1), MEMORY_MHA);
    assert_string_equal(MEMORY_KIND_NAMES[MEMORY_MLA], "MLA");
}

/* 2 L G D bytes, and H / G times that as MHA. */
static void a_token_takes_two_vectors_a_kv_head_and_layer(void **state)
{
    (void)state;
    assert_int_equal(per_token(32, 32, 32, 128), 524288);
    assert_int_equal(per_token(32, 32, 8, 128), 131072);
    assert_int_equal(per_token(3, 12, 4, 7), 2 * 3 * 4 * 7 * 2);
    for (int64_t kv_heads = 1; kv_heads <= 64; kv_heads *= 2) {
        MemoryShape shape = plain(80, 64, kv_heads, 128);
        MemoryCache cache = cache_of(&shape, 0, 1, 1, 16);
        assert_int_equal(cache.per_token, kv_heads * per_token(80, 64, 1, 128));
        assert_int_equal(cache.mha_per_token, per_token(80, 64, 64, 128));
        assert_int_equal(cache.total, 0);
        assert_int_equal(cache.cached_layers, 80);
    }
}

static void keys_and_values_may_differ_in_size(void **state)
{
    (void)state;
    MemoryShape shape = {.kind = MEMORY_GQA, .layers = 2};
    MemoryLayers layers = {2, 8, 4, 192, 128, 0, true};
    assert_int_equal(memory_add_layers(&shape, &layers, NULL), STATUS_OK);
    assert_int_equal(cache_of(&shape, 0, 1, 1, 16).per_token, 2 * 4 * (192 + 128) * 2);
}

static void mla_caches_one_latent_for_all_heads(void **state)
{
    (void)state;
    MemoryShape shape = latent(61);
    MemoryCache cache = cache_of(&shape, 0, 1, 1, 16);
    assert_int_equal(cache.per_token, 61 * (512 + 64) * 2);
    assert_int_equal(cache.per_token, 70272);
    assert_int_equal(cache.mha_per_token, 4997120);
    assert_int_equal(cache.mha_per_token / cache.per_token, 71);
    shape.groups[0].key_size = shape.groups[0].value_size = 0;
    cache = cache_of(&shape, 0, 1, 1, 16);
    assert_int_equal(cache.per_token, 70272);
    assert_int_equal(cache.mha_per_token, 0); /* not known */
}

static void tokens_and_batch_multiply(void **state)
{
    (void)state;
    MemoryShape shape = plain(5, 6, 3, 16);
    int64_t one = cache_of(&shape, 0, 1, 1, 16).per_token;
    for (int64_t tokens = 1; tokens < 50; tokens += 7)
        for (int64_t batch = 1; batch < 9; batch += 3) {
            MemoryCache cache = cache_of(&shape, tokens, batch, 1, 16);
            assert_int_equal(cache.per_token, one);
            assert_int_equal(cache.total, tokens * batch * one);
            assert_int_equal(cache.total_unbounded, cache.total);
            assert_int_equal(cache.mha_total, 2 * cache.total);
        }
}

static void bits_become_whole_bytes_at_the_end(void **state)
{
    (void)state;
    MemoryShape shape = plain(3, 1, 1, 1); /* 6 numbers a token */
    assert_int_equal(cache_of(&shape, 0, 1, 1, 32).per_token, 24);
    assert_int_equal(cache_of(&shape, 0, 1, 1, 8).per_token, 6);
    assert_int_equal(cache_of(&shape, 0, 1, 1, 4).per_token, 3);
    assert_int_equal(cache_of(&shape, 3, 1, 1, 4).total, 9);
    shape = plain(1, 1, 1, 1);
    shape.groups[0].value_size = 2; /* 3 numbers: 12 bits */
    assert_int_equal(cache_of(&shape, 0, 1, 1, 4).per_token, 2);
    assert_int_equal(cache_of(&shape, 2, 1, 1, 4).total, 3);
}

/* Layers with a window grow up to it and then stand still. */
static void a_window_bounds_its_layers(void **state)
{
    (void)state;
    const int64_t window = 10, row = 2 * 2 * 4 * 2;
    MemoryShape shape = {.kind = MEMORY_GQA, .layers = 5};
    MemoryLayers full = {2, 4, 2, 4, 4, 0, true};
    MemoryLayers bounded = {3, 4, 2, 4, 4, window, true};
    assert_int_equal(memory_add_layers(&shape, &full, NULL), STATUS_OK);
    assert_int_equal(memory_add_layers(&shape, &bounded, NULL), STATUS_OK);
    for (int64_t tokens = 1; tokens < 30; tokens++) {
        MemoryCache cache = cache_of(&shape, tokens, 3, 1, 16);
        int64_t kept = tokens < window ? tokens : window;
        assert_int_equal(cache.per_token, 5 * row);
        assert_int_equal(cache.per_token_full, 2 * row);
        assert_int_equal(cache.total, 3 * (2 * tokens + 3 * kept) * row);
        assert_int_equal(cache.total_unbounded, 3 * 5 * tokens * row);
        assert_int_equal(cache.mha_total, 2 * cache.total);
        assert_int_equal(cache.window_layers, 3);
    }
}

static void layers_without_attention_take_nothing(void **state)
{
    (void)state;
    MemoryShape shape = {.kind = MEMORY_GQA, .layers = 8};
    MemoryLayers attention = {2, 4, 2, 8, 8, 0, true};
    MemoryLayers none = {6, 4, 2, 8, 8, 0, false};
    assert_int_equal(memory_add_layers(&shape, &attention, NULL), STATUS_OK);
    assert_int_equal(memory_add_layers(&shape, &none, NULL), STATUS_OK);
    MemoryCache cache = cache_of(&shape, 7, 1, 1, 16);
    assert_int_equal(cache.per_token, per_token(2, 4, 2, 8));
    assert_int_equal(cache.total, 7 * cache.per_token);
    assert_int_equal(cache.cached_layers, 2);
}

static void layers_that_are_alike_become_one_group(void **state)
{
    (void)state;
    MemoryShape shape = {0};
    for (int64_t i = 0; i < 100; i++) {
        MemoryLayers layer = {1, 4, 2, 8, 8, i % 3, true};
        assert_int_equal(memory_add_layers(&shape, &layer, NULL), STATUS_OK);
    }
    assert_int_equal(shape.group_count, 3);
    assert_int_equal(
        shape.groups[0].count + shape.groups[1].count + shape.groups[2].count, 100);
    Error err = {0};
    Status status = STATUS_OK;
    for (int64_t i = 3; status == STATUS_OK; i++) {
        MemoryLayers layer = {1, 4, 2, 8, 8, i, true};
        status = memory_add_layers(&shape, &layer, &err);
    }
    assert_int_equal(status, STATUS_INPUT);
    assert_int_equal(shape.group_count, MEMORY_GROUPS);
    assert_non_null(strstr(err.message, "64"));
}

/* ---- cards -------------------------------------------------------------------------- */

static void cards_divide_the_heads_until_they_must_be_copied(void **state)
{
    (void)state;
    MemoryShape shape = plain(32, 64, 8, 128);
    int64_t whole = cache_of(&shape, 100, 2, 1, 16).total;
    for (int64_t cards = 1; cards <= 64; cards *= 2) {
        MemoryCache cache = cache_of(&shape, 100, 2, cards, 16);
        int64_t parts = cards < 8 ? cards : 8;
        assert_int_equal(cache.total, whole);
        assert_int_equal(cache.card_total * parts, whole);
        assert_int_equal(cache.card_kv_heads, 8 / parts);
        assert_int_equal(cache.card_per_token * parts, cache.per_token);
    }
}

static void one_kv_head_and_a_latent_are_on_every_card(void **state)
{
    (void)state;
    MemoryShape one = plain(32, 64, 1, 128), mla = latent(61);
    for (int64_t cards = 1; cards <= 64; cards *= 4) {
        MemoryCache cache = cache_of(&one, 10, 1, cards, 16);
        assert_int_equal(cache.card_total, cache.total);
        cache = cache_of(&mla, 10, 1, cards, 16);
        assert_int_equal(cache.card_total, cache.total);
        assert_int_equal(cache.card_kv_heads, 0);
    }
}

/* The definition, slowly: mark the KV head of each query head of each card. */
static int64_t most_heads(int64_t heads, int64_t kv_heads, int64_t cards)
{
    int64_t most = 0, each = heads / cards;
    for (int64_t card = 0; card < cards; card++) {
        bool read[64] = {false};
        int64_t count = 0;
        for (int64_t j = card * each; j < (card + 1) * each; j++)
            read[j / (heads / kv_heads)] = true;
        for (int64_t g = 0; g < kv_heads; g++)
            count += read[g];
        most = count > most ? count : most;
    }
    return most;
}

static void a_card_holds_the_kv_heads_that_its_query_heads_read(void **state)
{
    (void)state;
    int64_t checked = 0;
    for (int64_t heads = 1; heads <= 48; heads++)
        for (int64_t kv_heads = 1; kv_heads <= heads; kv_heads++)
            for (int64_t cards = 1; cards <= heads; cards++) {
                if (heads % kv_heads != 0 || heads % cards != 0)
                    continue;
                MemoryShape shape = plain(1, heads, kv_heads, 1);
                MemoryCache cache = cache_of(&shape, 1, 1, cards, 8);
                assert_int_equal(cache.card_kv_heads,
                                 most_heads(heads, kv_heads, cards));
                assert_int_equal(cache.card_per_token, 2 * cache.card_kv_heads);
                checked++;
            }
    assert_true(checked > 500);
}

static void cards_that_do_not_divide_the_query_heads_are_refused(void **state)
{
    (void)state;
    MemoryShape shape = plain(32, 71, 1, 64), mla = latent(61);
    MemoryUse use = {0, 1, 2, 16};
    MemoryCache cache;
    Error err = {0};
    assert_int_equal(memory_cache(&cache, &shape, &use, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "71 query heads"));
    assert_non_null(strstr(err.message, "2 cards"));
    use.cards = 3;
    assert_int_equal(memory_cache(&cache, &mla, &use, &err), STATUS_USAGE);
    use.cards = 142; /* more cards than heads */
    assert_int_equal(memory_cache(&cache, &shape, &use, NULL), STATUS_USAGE);
    use.cards = 71;
    assert_int_equal(memory_cache(&cache, &shape, &use, &err), STATUS_OK);
}

/* ---- too large ---------------------------------------------------------------------- */

static void counts_that_leave_64_bits_are_refused(void **state)
{
    (void)state;
    const int64_t big = MEMORY_SIZE_MAX;
    MemoryShape shapes[] = {plain(MEMORY_LAYERS_MAX, big, big, big),
                            plain(1, big, big, big), plain(1, 1, 1, big)};
    MemoryUse uses[] = {{0, 1, 1, 64}, {1, 1, 1, 64}, {INT64_MAX, 1, 1, 8}};
    MemoryCache cache;
    for (int i = 0; i < 3; i++) {
        Error err = {0};
        assert_int_equal(memory_cache(&cache, &shapes[i], &uses[i], &err),
                         STATUS_INPUT);
        assert_non_null(strstr(err.message, "too large"));
    }
    MemoryShape small = plain(1, 1, 1, 1);
    MemoryUse most = {INT64_MAX / 16 + 1, 1, 1, 8}; /* 2 numbers a token, in bits */
    assert_int_equal(memory_cache(&cache, &small, &most, NULL), STATUS_INPUT);
    most.tokens--;
    assert_int_equal(memory_cache(&cache, &small, &most, NULL), STATUS_OK);
    assert_int_equal(cache.total, 2 * most.tokens);
    most.batch = 2;
    assert_int_equal(memory_cache(&cache, &small, &most, NULL), STATUS_INPUT);
    most = (MemoryUse){(int64_t)1 << 62, 4, 1, 8}; /* wraps around to 0 rows */
    assert_int_equal(memory_cache(&cache, &small, &most, NULL), STATUS_INPUT);

    MemoryParameters parameters;
    MemoryShape *wide = &shapes[0];
    wide->weights = (MemoryWeights){.known = true,
                                    .width = big,
                                    .vocab_size = big,
                                    .embedded_width = big,
                                    .norm_vectors = 2,
                                    .layer_norms = 2};
    assert_int_equal(memory_parameters(&parameters, wide, NULL), STATUS_INPUT);
    int64_t bytes = 0;
    assert_int_equal(memory_bytes(&bytes, INT64_MAX, 8, NULL), STATUS_INPUT);
    assert_int_equal(memory_bytes(&bytes, 3, 4, NULL), STATUS_OK);
    assert_int_equal(bytes, 2);
}

/* ---- weights ------------------------------------------------------------------------ */

/* Only attention, no biases: 4 C^2 for any number of heads, 2 C^2 + 2 C G D with groups. */
static void attention_has_four_square_matrices_or_fewer(void **state)
{
    (void)state;
    const int64_t width = 96;
    for (int64_t heads = 1; heads <= 12; heads++)
        for (int64_t kv_heads = 1; kv_heads <= heads; kv_heads++) {
            if (width % heads != 0 || heads % kv_heads != 0)
                continue;
            int64_t size = width / heads;
            MemoryShape shape = plain(1, heads, kv_heads, size);
            shape.weights = (MemoryWeights){.known = true, .width = width};
            MemoryParameters parameters;
            assert_int_equal(memory_parameters(&parameters, &shape, NULL), STATUS_OK);
            assert_int_equal(parameters.attention,
                             2 * width * width + 2 * width * kv_heads * size);
            if (kv_heads == heads)
                assert_int_equal(parameters.attention, 4 * width * width);
        }
}

static void own_models_are_counted_as_their_table_counts_them(void **state)
{
    (void)state;
    for (int64_t layers = 1; layers < 4; layers++) {
        GptConfig config = gpt_config_default();
        config.vocab_size = 100 + layers;
        config.layers = layers;
        config.mlp_width = 64 + layers;
        ParamTable table;
        assert_int_equal(param_table_create(&table, &config, NULL), STATUS_OK);
        MemoryShape shape = plain(layers, config.heads, config.heads, config.head_size);
        shape.weights = (MemoryWeights){.known = true,
                                        .width = config.width,
                                        .vocab_size = config.vocab_size,
                                        .embedded_width = config.width,
                                        .positions = config.context,
                                        .tied = true,
                                        .norm_vectors = 2,
                                        .layer_norms = 2,
                                        .other_norms = 1,
                                        .qkv_bias = true,
                                        .out_bias = true,
                                        .mlp_bias = true,
                                        .dense_layers = layers,
                                        .dense_width = config.mlp_width};
        MemoryParameters parameters;
        assert_int_equal(memory_parameters(&parameters, &shape, NULL), STATUS_OK);
        assert_int_equal(parameters.total, table.parameters);
        assert_int_equal(parameters.active, parameters.total);
        assert_int_equal(parameters.embedding + parameters.attention + parameters.mlp +
                             parameters.norms,
                         parameters.total);
        param_table_destroy(&table);
    }
}

static void a_token_meets_only_some_experts(void **state)
{
    (void)state;
    MemoryShape shape = plain(4, 8, 8, 16);
    shape.weights = (MemoryWeights){.known = true,
                                    .width = 128,
                                    .gated = true,
                                    .dense_layers = 1,
                                    .dense_width = 300,
                                    .expert_layers = 3,
                                    .experts = 10,
                                    .experts_used = 2,
                                    .expert_width = 50,
                                    .shared_width = 70};
    MemoryParameters parameters;
    assert_int_equal(memory_parameters(&parameters, &shape, NULL), STATUS_OK);
    int64_t expert = 3 * 128 * 50, shared = 3 * 128 * 70, router = 128 * 10;
    assert_int_equal(parameters.mlp,
                     3 * 128 * 300 + 3 * (10 * expert + shared + router));
    assert_int_equal(parameters.total - parameters.active, 3 * 8 * expert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_kv_heads_decides_the_kind),
        cmocka_unit_test(a_token_takes_two_vectors_a_kv_head_and_layer),
        cmocka_unit_test(keys_and_values_may_differ_in_size),
        cmocka_unit_test(mla_caches_one_latent_for_all_heads),
        cmocka_unit_test(tokens_and_batch_multiply),
        cmocka_unit_test(bits_become_whole_bytes_at_the_end),
        cmocka_unit_test(a_window_bounds_its_layers),
        cmocka_unit_test(layers_without_attention_take_nothing),
        cmocka_unit_test(layers_that_are_alike_become_one_group),
        cmocka_unit_test(cards_divide_the_heads_until_they_must_be_copied),
        cmocka_unit_test(one_kv_head_and_a_latent_are_on_every_card),
        cmocka_unit_test(a_card_holds_the_kv_heads_that_its_query_heads_read),
        cmocka_unit_test(cards_that_do_not_divide_the_query_heads_are_refused),
        cmocka_unit_test(counts_that_leave_64_bits_are_refused),
        cmocka_unit_test(attention_has_four_square_matrices_or_fewer),
        cmocka_unit_test(own_models_are_counted_as_their_table_counts_them),
        cmocka_unit_test(a_token_meets_only_some_experts),
    };
    return cmocka_run_group_tests_name("memory of described models", tests, NULL, NULL);
}
