/* The options of a model: presets, patterns of layers, a model in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scripts/model_options.h"

typedef struct {
    int64_t other;
    ModelOptions model;
} Values;

static const Option OPTIONS[] = {
    {"other", 0, OPTION_INT, offsetof(Values, other), "N", "", 0, 9, NULL},
    MODEL_OPTIONS(Values, model),
    {0}};

static const CommandInfo INFO = {
    .name = "test", .arguments = "[FILE]", .options = OPTIONS, .maximum_arguments = 1};

enum { WORDS = 12 };

/* Sizes of the command's own, then the words, which end with NULL. */
static Status parse(GptConfig *config, Values *values, const char *const *words,
                    Error *err)
{
    char texts[WORDS][32] = {"test"};
    char *argv[WORDS + 1] = {texts[0]};
    const char *file;
    int argc = 1, count;
    bool help;
    for (; words[argc - 1] != NULL; argc++) {
        snprintf(texts[argc], sizeof *texts, "%s", words[argc - 1]);
        argv[argc] = texts[argc];
    }
    *values = (Values){.model = model_options_start()};
    values->model.config.vocab_size = 50;
    values->model.config.layers = 3;
    TRY(model_options_parse(&INFO, values, &values->model, argc, argv, &file, &count,
                            &help, err));
    /* argv is about to go; the pattern is a word of it. */
    Status status = model_options_config(config, &values->model, err);
    values->model.window_layers = NULL;
    return status;
}

static GptConfig parsed(const char *const *words)
{
    GptConfig config;
    Values values;
    Error err = {.message = ""};
    if (parse(&config, &values, words, &err) != STATUS_OK ||
        gpt_config_check(&config, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return config;
}

static void a_family_presets_what_is_not_given(void **state)
{
    (void)state;
    for (int f = 0; f < 3; f++) {
        GptConfig expected = gpt_config_open((Family)f);
        expected.vocab_size = 50;
        expected.layers = 3;
        gpt_config_fill(&expected);
        GptConfig config =
            parsed((const char *[]){"--family", FAMILY_NAMES[f], "x", NULL});
        assert_true(gpt_config_equal(&config, &expected));
        assert_true(config.scaled_residual);
    }
}

static void what_is_given_counts_wherever_it_stands(void **state)
{
    (void)state;
    GptConfig before = parsed((const char *[]){"--norm", "layernorm", "-G1", "--biases",
                                               "--family", "llama", NULL});
    GptConfig behind = parsed((const char *[]){"--family", "llama", "--norm",
                                               "layernorm", "-G1", "--biases", NULL});
    assert_true(gpt_config_equal(&before, &behind));
    assert_int_equal(before.norm, NORM_LAYER);
    assert_int_equal(before.kv_heads, 1);
    assert_true(before.biases);
    assert_int_equal(before.position, POSITION_ROPE);
    assert_int_equal(before.layers, 3); /* the command's */
    GptConfig last =
        parsed((const char *[]){"--family", "deepseek", "--family", "gpt2", NULL});
    assert_int_equal(last.attention, ATTENTION_HEADS);
    assert_true(last.norm_eps == 1e-5);
}

static void epsilon_is_the_family_s(void **state)
{
    (void)state;
    GptConfig config;
    ModelOptions model = model_options_start();
    model.config.family = FAMILY_LLAMA; /* as a recipe sets it */
    assert_int_equal(model_options_config(&config, &model, NULL), STATUS_OK);
    assert_true(config.norm_eps == 1e-6);
}

static void a_pattern_is_repeated_over_the_layers(void **state)
{
    (void)state;
    GptConfig config =
        parsed((const char *[]){"--window", "4", "--window-layers", "sf", "-L5", NULL});
    for (int l = 0; l < 5; l++)
        assert_true(config.sliding[l] == (l % 2 == 0));
    config = parsed((const char *[]){"--window", "4", NULL});
    assert_true(config.sliding[0] && config.sliding[2] && !config.sliding[3]);
    config = parsed((const char *[]){NULL});
    assert_false(config.sliding[0]);
    static const char *const bad[] = {"", "sx", "S", "s f"};
    for (int i = 0; i < 4; i++) {
        Values values;
        Error err;
        assert_int_equal(
            parse(&config, &values,
                  (const char *[]){"--window", "4", "--window-layers", bad[i], NULL},
                  &err),
            STATUS_USAGE);
        assert_non_null(strstr(err.message, "--window-layers"));
    }
}

static void mistakes_are_those_of_options_parse(void **state)
{
    (void)state;
    GptConfig config;
    Values values;
    Error err;
    assert_int_equal(parse(&config, &values,
                           (const char *[]){"--family", "llama", "--heads", "0", NULL},
                           &err),
                     STATUS_USAGE);
    assert_non_null(strstr(err.message, "--heads"));
}

static void assert_said(const char *const *words, const char *expected)
{
    char text[256];
    GptConfig config = parsed(words);
    model_describe(text, sizeof text, &config);
    assert_string_equal(text, expected);
}

static void a_model_in_words(void **state)
{
    (void)state;
    assert_said((const char *[]){NULL}, "gpt2, L3 H4 C128 T128 F512 V50");
    assert_said((const char *[]){"--family", "llama", NULL},
                "llama, L3 H4 G2 C128 T128 F352 V50");
    assert_said((const char *[]){"--family", "deepseek", NULL},
                "deepseek, L3 H4 R64 Rq96 P32 O16 E32 C128 T128 F352 V50");
    assert_said((const char *[]){"--no-biases", "--norm-place", "after", "--head-size",
                                 "16", "--window", "8", NULL},
                "gpt2, L3 H4 D16 C128 T128 F512 V50, norms after, no biases, "
                "window 8 in layers sss");
    GptConfig config = gpt_config_default();
    char text[32];
    config.removed[1] = 5;
    memset(text, 'x', sizeof text);
    model_describe(text, sizeof text, &config); /* cut, but closed */
    assert_int_equal(strlen(text), sizeof text - 1);
    char whole[128];
    model_describe(whole, sizeof whole, &config);
    assert_non_null(strstr(whole, ", 2 heads cut"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_presets_what_is_not_given),
        cmocka_unit_test(what_is_given_counts_wherever_it_stands),
        cmocka_unit_test(epsilon_is_the_family_s),
        cmocka_unit_test(a_pattern_is_repeated_over_the_layers),
        cmocka_unit_test(mistakes_are_those_of_options_parse),
        cmocka_unit_test(a_model_in_words),
    };
    return cmocka_run_group_tests_name("model options", tests, NULL, NULL);
}
