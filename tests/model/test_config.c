#include "model/gpt/config.h"
#include "tests/model/numeric.h"

static GptConfig family(Family family)
{
    GptConfig config = gpt_config_family(family);
    config.vocab_size = 7200;
    return config;
}

static GptConfig valid(void)
{
    return family(FAMILY_GPT2);
}

static void assert_allowed(const GptConfig *config)
{
    Error err = {.message = ""};
    if (gpt_config_check(config, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

/* Refused, with a message that holds both words. */
static void assert_refused(const GptConfig *config, const char *name, const char *found)
{
    Error err = {0};
    assert_int_equal(gpt_config_check(config, &err), STATUS_USAGE);
    assert_int_equal(err.status, STATUS_USAGE);
    if (strstr(err.message, name) == NULL || strstr(err.message, found) == NULL)
        fail_msg("expected %s and %s in: %s", name, found, err.message);
    assert_int_equal(gpt_config_check(config, NULL), STATUS_USAGE);
}

static void the_default_is_the_house_model(void **state)
{
    (void)state;
    GptConfig config = gpt_config_default();
    assert_int_equal(config.layers, 4);
    assert_int_equal(config.heads, 4);
    assert_int_equal(config.kv_heads, 4);
    assert_int_equal(config.width, 128);
    assert_int_equal(config.context, 128);
    assert_int_equal(config.mlp_width, 512);
    assert_int_equal(config.head_size, 32);
    assert_true(config.biases && config.tied && config.norm == NORM_LAYER);
    assert_refused(&config, "vocab_size", "0"); /* V is missing */
    config = valid();
    assert_allowed(&config);
}

static void families_have_the_switches_of_the_table(void **state)
{
    (void)state;
    GptConfig llama = family(FAMILY_LLAMA), deepseek = family(FAMILY_DEEPSEEK);
    assert_allowed(&llama);
    assert_allowed(&deepseek);
    const GptConfig *both[] = {&llama, &deepseek};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(both[i]->norm, NORM_RMS);
        assert_int_equal(both[i]->position, POSITION_ROPE);
        assert_int_equal(both[i]->mlp, MLP_SWIGLU);
        assert_int_equal(both[i]->mlp_width, 352); /* 8/3 of 128 is 341.3 */
        assert_true(!both[i]->biases && both[i]->tied && both[i]->norm_eps == 1e-6);
    }
    assert_int_equal(llama.attention, ATTENTION_HEADS);
    assert_int_equal(llama.kv_heads, 2);
    assert_int_equal(llama.head_size, 32);
    assert_int_equal(deepseek.attention, ATTENTION_MLA);
    assert_int_equal(deepseek.kv_heads, 4);
    assert_int_equal(deepseek.kv_rank, 64);
    assert_int_equal(deepseek.q_rank, 96);
    assert_int_equal(deepseek.nope_size, 32);
    assert_int_equal(deepseek.rope_size, 16);
    assert_int_equal(deepseek.value_size, 32);
    assert_int_equal(gpt_score_size(&deepseek), 48);
    assert_int_equal(gpt_value_size(&deepseek), 32);
    assert_int_equal(gpt_score_size(&llama), 32);
    assert_int_equal(gpt_value_size(&llama), 32);
    assert_string_equal(FAMILY_NAMES[FAMILY_DEEPSEEK], "deepseek");
    assert_string_equal(NORM_NAMES[NORM_RMS], "rmsnorm");
    assert_string_equal(NORM_PLACE_NAMES[NORM_AFTER], "after");
    assert_string_equal(POSITION_NAMES[POSITION_NONE], "none");
    assert_string_equal(MLP_NAMES[MLP_SWIGLU], "swiglu");
    assert_string_equal(ATTENTION_NAMES[ATTENTION_MLA], "mla");
}

static void filling_touches_open_sizes_only(void **state)
{
    (void)state;
    for (int f = 0; f < 3; f++) {
        GptConfig config = family((Family)f), again = config;
        gpt_config_fill(&again);
        assert_true(gpt_config_equal(&config, &again));
    }
    GptConfig config = gpt_config_open(FAMILY_DEEPSEEK);
    config.q_rank = 0; /* no query latent: not open */
    config.value_size = 5;
    gpt_config_fill(&config);
    assert_int_equal(config.q_rank, 0);
    assert_int_equal(config.value_size, 5);
    config = gpt_config_open(FAMILY_DEEPSEEK);
    config.position = POSITION_NONE;
    gpt_config_fill(&config);
    assert_int_equal(config.rope_size, 0);
    config = gpt_config_open(FAMILY_LLAMA);
    config.heads = 1;
    gpt_config_fill(&config);
    assert_int_equal(config.kv_heads, 1);
}

static void sizes_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        const char *name;
        int64_t maximum;
    } SIZES[] = {
        {offsetof(GptConfig, vocab_size), "vocab_size", 1 << 24},
        {offsetof(GptConfig, context), "n_positions", 1 << 20},
        {offsetof(GptConfig, width), "n_embd", 1 << 16},
        {offsetof(GptConfig, layers), "n_layer", 256},
        {offsetof(GptConfig, heads), "n_head", 1024},
        {offsetof(GptConfig, mlp_width), "n_inner", 1 << 18},
        {offsetof(GptConfig, head_size), "head_dim", 1 << 16},
    };
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
        bool is_head_size = SIZES[s].offset == offsetof(GptConfig, head_size);
        const int64_t bad[] = {0, -1, INT64_MIN, SIZES[s].maximum + 1, INT64_MAX};
        for (int b = 0; b < 5; b++) {
            GptConfig config = valid();
            char found[32];
            memcpy((char *)&config + SIZES[s].offset, &bad[b], sizeof bad[b]);
            snprintf(found, sizeof found, "%lld", (long long)bad[b]);
            assert_refused(&config, SIZES[s].name, found);
        }
        GptConfig largest = valid();
        largest.width = 1 << 16; /* a multiple of any allowed power of two */
        memcpy((char *)&largest + SIZES[s].offset, &SIZES[s].maximum, sizeof(int64_t));
        if (!is_head_size) {
            largest.head_size = largest.kv_heads = 0;
            gpt_config_fill(&largest);
        }
        assert_allowed(&largest);
    }
}

static void mla_sizes_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        const char *name;
        int64_t minimum;
    } SIZES[] = {
        {offsetof(GptConfig, q_rank), "q_lora_rank", 0},
        {offsetof(GptConfig, kv_rank), "kv_lora_rank", 1},
        {offsetof(GptConfig, nope_size), "qk_nope_head_dim", 1},
        {offsetof(GptConfig, rope_size), "qk_rope_head_dim", 2},
        {offsetof(GptConfig, value_size), "v_head_dim", 1},
    };
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
        const int64_t bad[] = {SIZES[s].minimum - 1, INT64_MIN, (1 << 16) + 1,
                               INT64_MAX};
        for (int b = 0; b < 4; b++) {
            GptConfig config = family(FAMILY_DEEPSEEK);
            char found[32];
            memcpy((char *)&config + SIZES[s].offset, &bad[b], sizeof bad[b]);
            snprintf(found, sizeof found, "%lld", (long long)bad[b]);
            assert_refused(&config, SIZES[s].name, found);
        }
        GptConfig smallest = family(FAMILY_DEEPSEEK);
        memcpy((char *)&smallest + SIZES[s].offset, &SIZES[s].minimum, sizeof(int64_t));
        assert_allowed(&smallest);
    }
}

static void
the_width_must_divide_among_the_heads_unless_their_size_is_given(void **state)
{
    (void)state;
    GptConfig config = valid();
    config.heads = config.kv_heads = 5;
    assert_allowed(&config); /* 5 heads of 32 in a width of 128 */
    config.head_size = 0;
    gpt_config_fill(&config);
    assert_refused(&config, "128", "5");
    assert_refused(&config, "multiple", "head size");
    config.width = 15;
    gpt_config_fill(&config);
    assert_int_equal(config.head_size, 3);
    assert_allowed(&config);
    config = gpt_config_open(FAMILY_DEEPSEEK);
    config.vocab_size = 10;
    config.heads = 5;
    gpt_config_fill(&config);
    assert_refused(&config, "128", "5");
}

static void combinations_that_cannot_be_are_refused_with_the_reason(void **state)
{
    (void)state;
    GptConfig config = valid();
    config.kv_heads = 3;
    assert_refused(&config, "multiple of the number of key/value heads", "3");
    config.kv_heads = 8;
    assert_refused(&config, "num_key_value_heads", "8");
    config.kv_heads = 0;
    assert_refused(&config, "num_key_value_heads", "0");
    for (config.kv_heads = 1; config.kv_heads <= 4; config.kv_heads *= 2)
        assert_allowed(&config);

    config = valid();
    config.position = POSITION_ROPE;
    config.head_size = 31;
    assert_refused(&config, "even", "31");
    config.position = POSITION_SINUSOIDAL;
    assert_allowed(&config);
    config = family(FAMILY_DEEPSEEK);
    config.rope_size = 15;
    assert_refused(&config, "even", "15");
    config.position = POSITION_LEARNED;
    config.rope_size = 16;
    assert_refused(&config, "learned", "qk_rope_head_dim");
    config.rope_size = 0;
    assert_allowed(&config);

    config = family(FAMILY_DEEPSEEK);
    config.kv_heads = 2;
    assert_refused(&config, "mla", "num_key_value_heads 2");
    config = family(FAMILY_DEEPSEEK);
    config.biases = true;
    assert_refused(&config, "mla", "biases");
    config = family(FAMILY_DEEPSEEK);
    config.head_size = 32;
    assert_refused(&config, "head_dim", "mla");
    static const size_t others[] = {
        offsetof(GptConfig, q_rank), offsetof(GptConfig, kv_rank),
        offsetof(GptConfig, nope_size), offsetof(GptConfig, rope_size),
        offsetof(GptConfig, value_size)};
    for (size_t i = 0; i < 5; i++) {
        const int64_t eight = 8;
        config = valid();
        memcpy((char *)&config + others[i], &eight, sizeof eight);
        assert_refused(&config, "(8)", "\"heads\"");
    }
}

static void windows_need_layers_that_slide(void **state)
{
    (void)state;
    GptConfig config = valid();
    config.window = 16;
    assert_refused(&config, "16", "no layer slides");
    config.sliding[1] = config.sliding[3] = true;
    assert_allowed(&config);
    assert_int_equal(gpt_layer_window(&config, 0), 0);
    assert_int_equal(gpt_layer_window(&config, 1), 16);
    config.window = 0;
    assert_refused(&config, "2 layers slide", "window");
    config.window = -1;
    assert_refused(&config, "sliding_window", "-1");
    config.window = 1;
    assert_allowed(&config);
    config = valid();
    config.sliding[4] = true; /* behind the last layer: nobody looks */
    assert_allowed(&config);
}

static void cut_heads_must_be_heads_of_the_model(void **state)
{
    (void)state;
    GptConfig config = valid();
    config.removed[2] = 0xf;
    assert_allowed(&config);
    config.removed[2] = 0x10;
    assert_refused(&config, "layer 2", "4 heads");
    config.heads = config.kv_heads = 64;
    config.removed[2] = UINT64_MAX;
    assert_allowed(&config);
    config.heads = config.kv_heads = 128;
    assert_refused(&config, "layer 2", "128");
    config.removed[2] = 0;
    assert_allowed(&config);
}

/* Six query heads on three key/value heads: 0 1 | 2 3 | 4 5; 0, 2 and 3 are cut. */
static void a_layer_keeps_the_heads_that_are_left(void **state)
{
    (void)state;
    GptConfig config = valid();
    config.heads = 6;
    config.kv_heads = 3;
    config.removed[1] = 1 | 1 << 2 | 1 << 3;
    assert_allowed(&config);
    assert_int_equal(gpt_layer_heads(&config, 0), 6);
    assert_int_equal(gpt_layer_kv_heads(&config, 0), 3);
    assert_int_equal(gpt_layer_heads(&config, 1), 3);
    assert_int_equal(gpt_layer_kv_heads(&config, 1), 2);
    static const int64_t heads[] = {1, 4, 5}, groups[] = {0, 1, 1}, kv[] = {0, 2};
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(gpt_layer_head(&config, 1, i), heads[i]);
        assert_int_equal(gpt_layer_group(&config, 1, i), groups[i]);
    }
    for (int64_t i = 0; i < 2; i++)
        assert_int_equal(gpt_layer_kv_head(&config, 1, i), kv[i]);
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(gpt_layer_head(&config, 0, i), i);
        assert_int_equal(gpt_layer_group(&config, 0, i), i / 2);
    }
    config.removed[1] = 0x3f;
    assert_int_equal(gpt_layer_heads(&config, 1), 0);
    assert_int_equal(gpt_layer_kv_heads(&config, 1), 0);
    config.heads = config.kv_heads = 100; /* more than have bits */
    config.removed[1] = 0;
    assert_int_equal(gpt_layer_heads(&config, 1), 100);
    assert_int_equal(gpt_layer_head(&config, 1, 99), 99);
}

static void numbers_out_of_range_are_named(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *found;
    } bad[] = {
        {-0.1, "-0.1"}, {1.5, "1.5"}, {(double)INFINITY, "inf"}, {(double)NAN, "nan"}};
    for (int b = 0; b < 4; b++) {
        GptConfig config = valid();
        config.dropout = bad[b].value;
        assert_refused(&config, "dropout", bad[b].found);
        config = valid();
        config.norm_eps = bad[b].value;
        assert_refused(&config, "layer_norm_epsilon", bad[b].found);
        config = valid();
        config.rope_theta = bad[b].value;
        if (b != 1)
            assert_refused(&config, "rope_theta", bad[b].found);
    }
    GptConfig config = valid();
    config.dropout = 1;
    assert_refused(&config, "dropout", "1");
    config.dropout = 0.999;
    config.norm_eps = 1;
    assert_allowed(&config);
    config.norm_eps = 0;
    assert_refused(&config, "layer_norm_epsilon", "0");
}

static void narrow_heads_are_advised_against(void **state)
{
    (void)state;
    char text[256];
    for (int f = 0; f < 3; f++) {
        GptConfig config = family((Family)f);
        assert_null(gpt_config_advice(&config, text, sizeof text));
    }
    GptConfig config = valid();
    config.head_size = 31;
    assert_ptr_equal(gpt_config_advice(&config, text, sizeof text), text);
    assert_non_null(strstr(text, "31 channels"));
    config = family(FAMILY_DEEPSEEK);
    config.nope_size = 8; /* with 16 turned ones */
    assert_non_null(gpt_config_advice(&config, text, sizeof text));
    assert_non_null(strstr(text, "24 channels"));
}

static void configs_are_equal_when_weights_mean_the_same(void **state)
{
    (void)state;
    GptConfig a = valid(), b = a;
    b.dropout = 0.1;
    b.scaled_residual = false;
    b.removed[4] = 1; /* behind the last layer */
    assert_true(gpt_config_equal(&a, &b));
    b = a;
    b.removed[3] = 1;
    assert_false(gpt_config_equal(&a, &b));
    b = a;
    b.sliding[0] = true;
    assert_false(gpt_config_equal(&a, &b));
    b = a;
    b.tied = false;
    assert_false(gpt_config_equal(&a, &b));
    b = a;
    b.rope_theta = 1e6; /* nothing is turned */
    assert_true(gpt_config_equal(&a, &b));
    GptConfig llama = family(FAMILY_LLAMA), other = llama;
    other.rope_theta = 1e6;
    assert_false(gpt_config_equal(&llama, &other));
    static const size_t sizes[] = {
        offsetof(GptConfig, vocab_size), offsetof(GptConfig, context),
        offsetof(GptConfig, width),      offsetof(GptConfig, layers),
        offsetof(GptConfig, heads),      offsetof(GptConfig, mlp_width),
        offsetof(GptConfig, kv_heads),   offsetof(GptConfig, head_size),
        offsetof(GptConfig, q_rank),     offsetof(GptConfig, kv_rank),
        offsetof(GptConfig, nope_size),  offsetof(GptConfig, rope_size),
        offsetof(GptConfig, value_size), offsetof(GptConfig, window)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t value;
        b = a;
        memcpy(&value, (const char *)&b + sizes[i], sizeof value);
        value++;
        memcpy((char *)&b + sizes[i], &value, sizeof value);
        assert_false(gpt_config_equal(&a, &b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_the_house_model),
        cmocka_unit_test(families_have_the_switches_of_the_table),
        cmocka_unit_test(filling_touches_open_sizes_only),
        cmocka_unit_test(sizes_out_of_range_are_named),
        cmocka_unit_test(mla_sizes_out_of_range_are_named),
        cmocka_unit_test(
            the_width_must_divide_among_the_heads_unless_their_size_is_given),
        cmocka_unit_test(combinations_that_cannot_be_are_refused_with_the_reason),
        cmocka_unit_test(windows_need_layers_that_slide),
        cmocka_unit_test(cut_heads_must_be_heads_of_the_model),
        cmocka_unit_test(a_layer_keeps_the_heads_that_are_left),
        cmocka_unit_test(numbers_out_of_range_are_named),
        cmocka_unit_test(narrow_heads_are_advised_against),
        cmocka_unit_test(configs_are_equal_when_weights_mean_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
