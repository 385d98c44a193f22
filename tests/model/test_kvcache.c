/* What the cache holds and how many bytes that is; attention over it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/generate/attend.h"
#include "model/generate/decode.h"
#include "tests/model/decode_cases.h"

/* ---- bytes -------------------------------------------------------------------------- */

static int64_t numbers(const GptConfig *config, int64_t tokens)
{
    return (int64_t)(kvcache_bytes(config, tokens) / sizeof(real));
}

/* The sizes of a published model; no weights are made. */
static GptConfig published(int64_t layers, int64_t H, int64_t G, int64_t D)
{
    GptConfig config = gpt_config_open(FAMILY_LLAMA);
    config.vocab_size = 1;
    config.context = 1 << 17;
    config.width = H * D;
    config.layers = layers;
    config.heads = H;
    config.kv_heads = G;
    config.head_size = D;
    gpt_config_fill(&config);
    Error err;
    assert_int_equal(gpt_config_check(&config, &err), STATUS_OK);
    return config;
}

static void published_models_take_their_known_bytes(void **state)
{
    (void)state;
    /* Two bytes a number: 2 L G D 2 of one token. */
    static const struct {
        int64_t layers, H, G, D, bytes;
    } MODELS[] = {
        {32, 32, 32, 128, 512 * 1024}, /* Llama-2-7B */
        {32, 71, 1, 64, 8 * 1024},     /* Falcon-7B */
        {32, 32, 8, 128, 131072},      /* Llama-3.1-8B */
        {80, 64, 8, 128, 320 * 1024},  /* Llama-3.3-70B */
        {24, 14, 2, 64, 12 * 1024},    /* Qwen2.5-0.5B */
    };
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        GptConfig config =
            published(MODELS[i].layers, MODELS[i].H, MODELS[i].G, MODELS[i].D);
        assert_int_equal(2 * numbers(&config, 1), MODELS[i].bytes);
        assert_int_equal(2 * numbers(&config, 4096), 4096 * MODELS[i].bytes);
    }
    /* gpt-oss-20b: every second of 24 layers sees 128 tokens; 3.003 GiB at 131,072. */
    GptConfig windows = published(24, 64, 8, 64);
    windows.window = 128;
    for (int l = 0; l < 24; l += 2)
        windows.sliding[l] = true;
    assert_int_equal(2 * numbers(&windows, 1), 48 * 1024);
    assert_int_equal(2 * numbers(&windows, 128), 128 * 48 * 1024);
    assert_int_equal(2 * numbers(&windows, 129), (128 * 48 + 24) * 1024);
    assert_int_equal(2 * numbers(&windows, 131072),
                     (131072 + 128) * INT64_C(24) * 1024);

    /* DeepSeek-V3: 61 layers of 512 + 64 numbers, whatever the heads. */
    GptConfig deepseek = gpt_config_open(FAMILY_DEEPSEEK);
    deepseek.vocab_size = 1;
    deepseek.layers = 61;
    deepseek.heads = 128;
    deepseek.width = 7168;
    deepseek.kv_rank = 512;
    deepseek.q_rank = 1536;
    deepseek.nope_size = deepseek.value_size = 128;
    deepseek.rope_size = 64;
    gpt_config_fill(&deepseek);
    assert_int_equal(2 * numbers(&deepseek, 1), 70272);
}

/* 2 L G D of MHA, GQA, MQA and L (R + O) of MLA, at L 4, H 4, D 32, T 128. */
static void bytes_of_the_default_sizes_follow_the_formula(void **state)
{
    (void)state;
    for (int64_t G = 1; G <= 4; G *= 2) {
        GptConfig config = gpt_config_open(FAMILY_GPT2);
        config.vocab_size = 10;
        config.kv_heads = G;
        gpt_config_fill(&config);
        assert_int_equal(numbers(&config, 1), 2 * 4 * G * 32);
        assert_int_equal(numbers(&config, 128), 128 * 2 * 4 * G * 32);
        config.window = 20;
        config.sliding[1] = config.sliding[2] = config.sliding[3] = true;
        assert_int_equal(numbers(&config, 128), (128 + 3 * 20) * 2 * G * 32);
        config.sliding[1] = config.sliding[2] = config.sliding[3] = false;
        config.window = 0;
        config.removed[2] = 0xf; /* a layer without heads keeps nothing */
        assert_int_equal(numbers(&config, 1), 2 * 3 * G * 32);
    }
    GptConfig mla = gpt_config_family(FAMILY_DEEPSEEK);
    assert_int_equal(numbers(&mla, 1), 4 * (64 + 16));
    mla.removed[0] = 0x7; /* the latent is there as long as one head is */
    assert_int_equal(numbers(&mla, 1), 4 * (64 + 16));
    mla.removed[0] = 0xf;
    assert_int_equal(numbers(&mla, 1), 3 * (64 + 16));
}

/* A cache of its own memory, for `rows` rows. */
static KvCache cache_of(Arena *arena, const KvShape *shapes, int64_t layers,
                        int64_t rows)
{
    KvCache cache;
    Error err;
    *arena = (Arena){0};
    kvcache_layout(&cache, arena, shapes, layers, rows);
    assert_int_equal(arena_create(arena, arena->used, "a test", &err), STATUS_OK);
    kvcache_layout(&cache, arena, shapes, layers, rows);
    return cache;
}

/* Memory that holds a number after so many tokens, when no number is 0, is as much as the
 * formula says: no head is kept twice, nothing of a token that has left the window stays. */
static void numbers_in_memory_are_as_many_as_counted(void **state)
{
    (void)state;
    enum { MOST = 600 };
    real ones[MOST];
    for (int i = 0; i < MOST; i++)
        ones[i] = 1;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        GptConfig config = case_config(&DECODE_CASES[c]);
        KvShape shapes[GPT_LAYERS_MAX];
        for (int64_t l = 0; l < config.layers; l++)
            shapes[l] = kvcache_shape(&config, l);
        Arena arena;
        KvCache cache = cache_of(&arena, shapes, config.layers, 1);
        for (int64_t place = 0; place < config.context; place++) {
            for (int64_t l = 0; l < config.layers; l++) {
                assert_true(shapes[l].heads * shapes[l].key_channels <= MOST);
                kvcache_put(&cache, 0, l, place, ones, ones);
            }
            int64_t held = 0;
            for (int64_t i = 0; i < cache.stride; i++)
                held += cache.memory[i] != 0;
            assert_int_equal(held, numbers(&config, place + 1));
        }
        KvBytes bytes = kvcache_row_bytes(&cache);
        assert_int_equal(bytes.numbers,
                         numbers(&config, config.context) * (int64_t)sizeof(real));
        assert_int_equal(bytes.numbers + bytes.padding,
                         (size_t)cache.stride * sizeof(real));
        arena_destroy(&arena);
    }
}

static void a_decoder_says_what_its_cache_takes(void **state)
{
    (void)state;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        GptConfig config = case_config(&DECODE_CASES[c]);
        Gpt gpt = random_model(&config);
        Decoder *decoder;
        Error err;
        assert_int_equal(
            decoder_create(&decoder, &gpt, &(DecoderOptions){.rows = 3}, &err),
            STATUS_OK);
        assert_int_equal(decoder_cache_bytes(decoder).numbers,
                         numbers(&config, config.context) * (int64_t)sizeof(real));
        decoder_destroy(decoder);
        gpt_destroy(&gpt);
    }
}

/* ---- attention over it -------------------------------------------------------------- */

enum { TOKENS = 90, HEADS = 7, CHANNELS = 33 };

typedef struct {
    int64_t H, G, D, slots;
    uint16_t groups[HEADS];
    bool listed; /* groups as listed, not by the formula */
} Attended;

static const Attended ATTENDED[] = {
    {1, 1, 1, 90, {0}, false},
    {4, 4, 8, 90, {0}, false},
    {6, 2, 5, 90, {0}, false},
    {7, 1, 33, 90, {0}, false},
    {4, 2, 16, 13, {0}, false},
    {6, 3, 9, 1, {0}, false},
    {7, 1, 12, 32, {0}, false},
    {3, 3, 4, 33, {0}, false},
    {5, 2, 7, 90, {0, 0, 0, 1, 1}, true},
    {6, 3, 6, 40, {0, 1, 2, 2, 1, 0}, true},
    {7, 2, 3, 64, {1, 0, 0, 0, 0, 0, 1}, true},
};

/* Rows first .. last of what a head reads. Keys (TOKENS, D) and values (TOKENS, E) lie
 * `width` apart. */
typedef struct {
    const real *keys, *values;
    int64_t width, D, E, first, last;
} Seen;

/* z (E) = softmax(scale q . k) v, all in double. */
static void attend_slowly(double *z, const real *q, const Seen *seen, double scale)
{
    double weights[TOKENS], sum = 0;
    for (int64_t j = seen->first; j <= seen->last; j++) {
        weights[j] =
            exp(scale * sum_products(q, seen->keys + j * seen->width, seen->D));
        sum += weights[j];
    }
    for (int64_t e = 0; e < seen->E; e++) {
        z[e] = 0;
        for (int64_t j = seen->first; j <= seen->last; j++)
            z[e] += weights[j] / sum * (double)seen->values[j * seen->width + e];
    }
}

static void assert_row_near(const real *z, const double *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        assert_near(z[i], expected[i], 1e-5);
}

/* The cache of the second row and layer: the first ones must not be looked at. NaN is left
 * behind by a sequence before: nothing of it may come through. */
static void attention_over_the_cache_equals_the_sums(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof ATTENDED / sizeof *ATTENDED; c++) {
        const Attended *at = &ATTENDED[c];
        Pool pool = {0};
        int64_t D = at->D, width = at->G * D;
        HeadsShape shape = {.C = 1,
                            .H = at->H,
                            .G = at->G,
                            .D = D,
                            .scale = (real)(1 / sqrt((double)D)),
                            .causal = true,
                            .groups = at->listed ? at->groups : NULL};
        KvShape shapes[2] = {{17, 3, 4, 5}, {at->slots, at->G, D, D}};
        Arena arena;
        KvCache cache = cache_of(&arena, shapes, 2, 2);
        real *keys = pool_random(&pool, TOKENS * width, 1.5, 1);
        real *values = pool_random(&pool, TOKENS * width, 1, 2);
        real *nothing = pool_reals(&pool, width);
        real *z = pool_reals(&pool, HEADS * CHANNELS);
        real *q = pool_reals(&pool, (at->H + 2) * D);
        real *scratch = pool_reals(&pool, attend_scratch(&cache, 0));
        fill_value(nothing, width, (double)NAN);
        for (int64_t place = 0; place < TOKENS; place++)
            kvcache_put(&cache, 1, 1, place, nothing, nothing);
        for (int64_t place = 0; place < TOKENS; place++) {
            fill_random(q, (at->H + 2) * D, 1.5, 10 + (uint64_t)place);
            kvcache_put(&cache, 1, 1, place, keys + place * width,
                        values + place * width);
            AttendPast past = {&cache, 1, 1, place + 1};
            attend_heads(z, q, &past, &shape, scratch);
            int64_t first = place + 1 > at->slots ? place + 1 - at->slots : 0;
            for (int64_t h = 0; h < at->H; h++) {
                int64_t g = at->listed ? at->groups[h] : h / (at->H / at->G);
                Seen seen = {keys + g * D, values + g * D, width, D, D, first, place};
                double expected[CHANNELS];
                attend_slowly(expected, q + h * D, &seen, (double)shape.scale);
                assert_row_near(z + h * D, expected, D);
            }
        }
        arena_destroy(&arena);
        pool_free(&pool);
    }
}

/* The same for latents: a (H, stride) becomes sum_j p_j c_j. */
static void attention_over_latents_equals_the_sums(void **state)
{
    (void)state;
    static const int64_t SIZES_OF[][5] = {/* H, R, P, O, slots */
                                          {4, 16, 8, 4, 90},
                                          {1, 1, 1, 0, 90},
                                          {5, 13, 3, 2, 32},
                                          {9, 33, 2, 6, 47},
                                          {2, 5, 4, 0, 1}};
    for (size_t c = 0; c < sizeof SIZES_OF / sizeof *SIZES_OF; c++) {
        Pool pool = {0};
        int64_t H = SIZES_OF[c][0], R = SIZES_OF[c][1], O = SIZES_OF[c][3];
        int64_t slots = SIZES_OF[c][4], K = R + O, stride = R + 3;
        MlaShape shape = {
            .H = H, .R = R, .P = SIZES_OF[c][2], .O = O, .scale = (real)0.3};
        int64_t D = shape.P + O;
        KvShape kept = {slots, 1, K, 0};
        Arena arena;
        KvCache cache = cache_of(&arena, &kept, 1, 1);
        real *keys = pool_random(&pool, TOKENS * K, 1.5, 1);
        real *nothing = pool_reals(&pool, K);
        real *latents = pool_reals(&pool, attend_round(H) * stride);
        real *queries = pool_reals(&pool, attend_round(H) * D);
        real *joined = pool_reals(&pool, H * K); /* [a q_rope] */
        real *scratch = pool_reals(&pool, attend_scratch(&cache, 0));
        fill_value(nothing, K, (double)NAN);
        for (int64_t place = 0; place < TOKENS; place++)
            kvcache_put(&cache, 0, 0, place, nothing, NULL);
        for (int64_t place = 0; place < TOKENS; place++) {
            fill_random(latents, H * stride, 1, 10 + (uint64_t)place);
            fill_random(queries, H * D, 1, 200 + (uint64_t)place);
            for (int64_t h = 0; h < H; h++) {
                memcpy(joined + h * K, latents + h * stride, (size_t)R * sizeof(real));
                memcpy(joined + h * K + R, queries + h * D + shape.P,
                       (size_t)O * sizeof(real));
            }
            kvcache_put(&cache, 0, 0, place, keys + place * K, NULL);
            AttendPast past = {&cache, 0, 0, place + 1};
            attend_latent(latents, stride, queries, &past, &shape, scratch);
            int64_t first = place + 1 > slots ? place + 1 - slots : 0;
            Seen seen = {keys, keys, K, K, R, first, place};
            for (int64_t h = 0; h < H; h++) {
                double expected[CHANNELS];
                attend_slowly(expected, joined + h * K, &seen, (double)shape.scale);
                assert_row_near(latents + h * stride, expected, R);
            }
        }
        arena_destroy(&arena);
        pool_free(&pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_models_take_their_known_bytes),
        cmocka_unit_test(bytes_of_the_default_sizes_follow_the_formula),
        cmocka_unit_test(numbers_in_memory_are_as_many_as_counted),
        cmocka_unit_test(a_decoder_says_what_its_cache_takes),
        cmocka_unit_test(attention_over_the_cache_equals_the_sums),
        cmocka_unit_test(attention_over_latents_equals_the_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
