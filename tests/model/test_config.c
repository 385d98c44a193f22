#include "model/gpt/config.h"
#include "tests/model/numeric.h"

static GptConfig valid(void)
{
    GptConfig config = gpt_config_default();
    config.vocab_size = 7200;
    return config;
}

static void the_default_is_the_house_model(void **state)
{
    (void)state;
    GptConfig config = gpt_config_default();
    assert_int_equal(config.layers, 4);
    assert_int_equal(config.heads, 4);
    assert_int_equal(config.width, 128);
    assert_int_equal(config.context, 128);
    assert_int_equal(config.mlp_width, 512);
    assert_int_equal(gpt_head_size(&config), 32);
    Error err = {0};
    assert_int_equal(gpt_config_check(&config, &err), STATUS_USAGE); /* V is missing */
    assert_non_null(strstr(err.message, "vocab_size"));
    config = valid();
    assert_int_equal(gpt_config_check(&config, &err), STATUS_OK);
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
        {offsetof(GptConfig, layers), "n_layer", 1024},
        {offsetof(GptConfig, heads), "n_head", 1024},
        {offsetof(GptConfig, mlp_width), "n_inner", 1 << 18},
    };
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
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
        assert_int_equal(gpt_config_check(&largest, NULL), STATUS_OK);
    }
}

static void the_width_must_divide_among_the_heads(void **state)
{
    (void)state;
    GptConfig config = valid();
    config.heads = 5;
    assert_refused(&config, "128", "5");
    config.width = 3;
    assert_refused(&config, "multiple", "3");
    config.width = 15;
    assert_int_equal(gpt_config_check(&config, NULL), STATUS_OK);
    assert_int_equal(gpt_head_size(&config), 3);
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
    }
    GptConfig config = valid();
    config.dropout = 1;
    assert_refused(&config, "dropout", "1");
    config.dropout = 0.999;
    config.norm_eps = 1;
    assert_int_equal(gpt_config_check(&config, NULL), STATUS_OK);
    config.norm_eps = 0;
    assert_refused(&config, "layer_norm_epsilon", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_the_house_model),
        cmocka_unit_test(sizes_out_of_range_are_named),
        cmocka_unit_test(the_width_must_divide_among_the_heads),
        cmocka_unit_test(numbers_out_of_range_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
