/* Options as JSON and back: a recipe gives the options again, and refuses what it is not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scripts/recipe.h"

typedef struct {
    bool quick;
    int64_t steps;
    double rate;
    const char *text;
    int kind;
    int64_t threads;
} Values;

static const char *const KINDS[] = {"muon", "adamw", NULL};

static const Option OPTIONS[] = {
    {"quick", 0, OPTION_FLAG, offsetof(Values, quick), NULL, "", 0, 0, NULL},
    {"steps", 's', OPTION_INT, offsetof(Values, steps), "N", "", 1, 1e9, NULL},
    {"rate", 'r', OPTION_REAL, offsetof(Values, rate), "X", "", 0, 10, NULL},
    {"text", 0, OPTION_TEXT, offsetof(Values, text), "T", "", 0, 0, NULL},
    {"kind", 0, OPTION_CHOICE, offsetof(Values, kind), "K", "", 0, 0, KINDS},
    {"threads", 0, OPTION_INT, offsetof(Values, threads), "N", "", 0, 9, NULL},
    {0}};

static const CommandInfo INFO = {.name = "test", .arguments = "", .options = OPTIONS};

static const char *const WITHOUT[] = {"threads", NULL};

static const Values DEFAULTS = {.steps = 10, .rate = 1};

/* A recipe taken over after a command line was parsed into DEFAULTS. The words of the line
 * end with NULL. */
static Status take(Values *values, const json_t *recipe, char **words, Error *err)
{
    int argc = 0;
    int count;
    bool help;
    while (words[argc] != NULL)
        argc++;
    *values = DEFAULTS;
    assert_int_equal(
        options_parse(&INFO, values, argc, words, NULL, &count, &help, err), STATUS_OK);
    return recipe_to_options(&INFO, values, recipe, argc, words, "run/last", err);
}

static char COMMAND[] = "test";
static char *NOTHING[] = {COMMAND, NULL};

/* Through text, as a checkpoint keeps it. */
static json_t *saved(const Values *values)
{
    json_t *recipe = recipe_from_options(&INFO, values, WITHOUT);
    char *text = json_dumps(recipe, 0);
    json_t *again = json_loads(text, 0, NULL);
    json_decref(recipe);
    free(text);
    assert_non_null(again);
    return again;
}

static void options_come_back_as_they_were(void **state)
{
    (void)state;
    static const Values CASES[] = {
        {.quick = true, .steps = 3, .rate = 0.1, .text = "明月", .kind = 1},
        {.steps = 1000000000, .rate = 1. / 3, .text = ""},
        {.steps = 1, .rate = 0, .text = NULL},
        {.steps = 1, .rate = 2.2250738585072014e-308},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Values values;
        Error err;
        json_t *recipe = saved(&CASES[i]);
        assert_int_equal(take(&values, recipe, NOTHING, &err), STATUS_OK);
        assert_true(values.quick == CASES[i].quick);
        assert_int_equal(values.steps, CASES[i].steps);
        assert_memory_equal(&values.rate, &CASES[i].rate, sizeof(double));
        assert_int_equal(values.kind, CASES[i].kind);
        if (CASES[i].text == NULL)
            assert_null(values.text);
        else
            assert_string_equal(values.text, CASES[i].text);
        json_decref(recipe);
    }
}

static void what_is_left_out_may_differ(void **state)
{
    (void)state;
    Values values = DEFAULTS;
    Error err;
    values.threads = 4;
    json_t *recipe = saved(&values);
    assert_null(json_object_get(recipe, "threads"));
    assert_int_equal(json_object_size(recipe), 5);
    char option[] = "--threads=2";
    char *words[] = {COMMAND, option, NULL};
    assert_int_equal(take(&values, recipe, words, &err), STATUS_OK);
    assert_int_equal(values.threads, 2);
    json_decref(recipe);
}

/* In any spelling that the command line has. */
static void an_option_given_again_must_agree(void **state)
{
    (void)state;
    const Values run = {
        .quick = true, .steps = 20, .rate = 0.003, .text = "a", .kind = 1};
    static const struct {
        const char *word, *value, *conflict; /* NULL: agrees */
    } CASES[] = {
        {"--steps=20", NULL, NULL},
        {"-s20", NULL, NULL},
        {"-s", "20", NULL},
        {"--rate=0.003", NULL, NULL},
        {"--rate", "3e-3", NULL},
        {"--text=a", NULL, NULL},
        {"--kind=adamw", NULL, NULL},
        {"--quick", NULL, NULL},
        {"--steps=21", NULL, "--steps"},
        {"-s", "10", "--steps"}, /* the default */
        {"--rate", "0.0031", "--rate"},
        {"--rate=1", NULL, "--rate"},
        {"--text=b", NULL, "--text"},
        {"--kind", "muon", "--kind"},
        {"--no-quick", NULL, "--quick"},
    };
    json_t *recipe = saved(&run);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char word[32], value[32];
        char *words[] = {COMMAND, word, NULL, NULL};
        Values values;
        Error err = {0};
        snprintf(word, sizeof word, "%s", CASES[i].word);
        if (CASES[i].value != NULL) {
            snprintf(value, sizeof value, "%s", CASES[i].value);
            words[2] = value;
        }
        Status status = take(&values, recipe, words, &err);
        if (CASES[i].conflict == NULL) {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(values.steps, 20);
        } else {
            assert_int_equal(status, STATUS_USAGE);
            assert_non_null(strstr(err.message, CASES[i].conflict));
            assert_non_null(strstr(err.message, "run/last"));
        }
    }
    json_decref(recipe);
}

static void values_that_no_option_can_have_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *json;
    } CASES[] = {
        {"quick", "1"},    {"quick", "null"},       {"steps", "0"},
        {"steps", "-3"},   {"steps", "1.5"},        {"steps", "\"3\""},
        {"steps", "null"}, {"steps", "2000000000"}, {"rate", "11"},
        {"rate", "-0.1"},  {"rate", "\"1\""},       {"rate", "[]"},
        {"text", "3"},     {"text", "{}"},          {"kind", "\"sgd\""},
        {"kind", "1"},     {"kind", "null"},        {"kind", "\"\""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Values values = DEFAULTS;
        Error err;
        json_t *recipe = saved(&values);
        json_object_set_new(recipe, CASES[i].name,
                            json_loads(CASES[i].json, JSON_DECODE_ANY, NULL));
        assert_int_equal(take(&values, recipe, NOTHING, &err), STATUS_INPUT);
        assert_non_null(strstr(err.message, CASES[i].name));
        assert_non_null(strstr(err.message, "run/last"));
        json_decref(recipe);
    }
}

/* A recipe of an older version lacks an option; one of a newer has one more. */
static void other_versions_recipes_are_taken(void **state)
{
    (void)state;
    Values values = {.steps = 7, .rate = 2};
    Error err;
    json_t *recipe = saved(&values);
    json_object_del(recipe, "rate");
    json_object_set_new(recipe, "unheard-of", json_true());
    assert_int_equal(take(&values, recipe, NOTHING, &err), STATUS_OK);
    assert_int_equal(values.steps, 7);
    assert_true(values.rate >= 1 && values.rate <= 1); /* its default */
    json_decref(recipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_come_back_as_they_were),
        cmocka_unit_test(what_is_left_out_may_differ),
        cmocka_unit_test(an_option_given_again_must_agree),
        cmocka_unit_test(values_that_no_option_can_have_are_refused),
        cmocka_unit_test(other_versions_recipes_are_taken),
    };
    return cmocka_run_group_tests_name("recipe", tests, NULL, NULL);
}
