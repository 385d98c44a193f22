/* The option table: what is taken, what is refused and in which words. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scripts/commands.h"
#include "scripts/nearest.h"

typedef struct {
    CommonOptions common;
    int64_t count;
    int64_t any;
    double temperature;
    double rate;
    const char *prompt;
    bool json;
    bool stream;
    int optimizer;
} Values;

static const char *const OPTIMIZERS[] = {"adamw", "muon", NULL};

static const Option OPTIONS[] = {
    COMMON_OPTIONS(Values),
    {"count", 'n', OPTION_INT, offsetof(Values, count), "N", "poems", 1, 1e6, NULL},
    {"any", 0, OPTION_INT, offsetof(Values, any), "N", "no limits", 0, 0, NULL},
    {"temperature", 't', OPTION_REAL, offsetof(Values, temperature), "T",
     "0 takes the likeliest character every time, and this help is long enough to wrap",
     0, 100, NULL},
    {"rate", 0, OPTION_REAL, offsetof(Values, rate), "R", "open upwards", 0, HUGE_VAL,
     NULL},
    {"prompt", 'p', OPTION_TEXT, offsetof(Values, prompt), "TEXT", "first characters",
     0, 0, NULL},
    {"json", 'j', OPTION_FLAG, offsetof(Values, json), NULL, "for programs", 0, 0,
     NULL},
    {"stream", 's', OPTION_FLAG, offsetof(Values, stream), NULL, "as it comes", 0, 0,
     NULL},
    {"optimizer", 0, OPTION_CHOICE, offsetof(Values, optimizer), NULL,
     "of the matrices", 0, 0, OPTIMIZERS},
    {.name = NULL}};

static const CommandInfo INFO = {
    .name = "sample",
    .arguments = "CHECKPOINT [MORE]",
    .summary = "writes poems",
    .details = "A paragraph that is so long that it must be broken somewhere before it "
               "leaves the page at its right side.\n  as  it  is",
    .options = OPTIONS,
    .minimum_arguments = 1,
    .maximum_arguments = 2};

static const Values DEFAULTS = {{1337, 0}, 4, -5, 0.8, 1, "春", false, true, 1};

/* Words end with NULL; the command's name and nothing else is put before them. */
typedef struct {
    Values values;
    const char *positional[2];
    int positional_count;
    bool help;
    Error err;
    Status status;
} Parsed;

enum { MAX_WORDS = 16 };

static int copy_words(char **argv, const char *const *words)
{
    static char name[] = "sample";
    int argc = 0;
    argv[argc++] = name;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    argv[argc] = NULL;
    return argc;
}

static Parsed parse(const char *const *words)
{
    char *argv[MAX_WORDS + 2];
    int argc = copy_words(argv, words);
    Parsed parsed = {.values = DEFAULTS};
    parsed.status = options_parse(&INFO, &parsed.values, argc, argv, parsed.positional,
                                  &parsed.positional_count, &parsed.help, &parsed.err);
    return parsed;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

/* Refused as wrong usage, with every one of the words in the message. */
static void assert_refused(Parsed parsed, const char *first, const char *second)
{
    assert_int_equal(parsed.status, STATUS_USAGE);
    if (!strstr(parsed.err.message, first) || !strstr(parsed.err.message, second))
        fail_msg("expected '%s' and '%s' in '%s'", first, second, parsed.err.message);
}

static bool given(const char *name, const char *const *words)
{
    char *argv[MAX_WORDS + 2];
    int argc = copy_words(argv, words);
    return options_given(&INFO, argc, argv, name);
}

static void defaults_stay_when_nothing_is_given(void **state)
{
    (void)state;
    Parsed parsed = PARSE("checkpoint");
    assert_int_equal(parsed.status, STATUS_OK);
    assert_memory_equal(&parsed.values, &DEFAULTS, sizeof DEFAULTS);
    assert_int_equal(parsed.positional_count, 1);
    assert_string_equal(parsed.positional[0], "checkpoint");
    assert_false(parsed.help);
}

static void every_spelling_of_a_value_means_the_same(void **state)
{
    (void)state;
    Parsed spellings[] = {PARSE("c", "--count", "7"), PARSE("c", "--count=7"),
                          PARSE("-n", "7", "c"),      PARSE("-n7", "c"),
                          PARSE("-n=7", "c"),         PARSE("c", "-jn7", "--no-json"),
                          PARSE("-n3", "c", "-n+7"),  PARSE("-n", "007", "c")};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        assert_int_equal(spellings[i].status, STATUS_OK);
        assert_int_equal(spellings[i].values.count, 7);
        assert_false(spellings[i].values.json);
        assert_int_equal(spellings[i].positional_count, 1);
    }
}

static void flags_turn_on_and_off_and_the_last_one_counts(void **state)
{
    (void)state;
    assert_true(PARSE("c", "--json").values.json);
    assert_true(PARSE("c", "--no-json", "--json").values.json);
    assert_false(PARSE("c", "--json", "--no-json").values.json);
    assert_false(PARSE("c", "--no-stream").values.stream);
    Parsed group = PARSE("c", "-js");
    assert_true(group.values.json && group.values.stream);
}

static void values_reach_their_places(void **state)
{
    (void)state;
    Parsed parsed = PARSE("c", "--prompt", "床前明月光", "--temperature", "1.5e-1",
                          "--optimizer", "adamw", "--any", "-9223372036854775808",
                          "--rate=1e300", "--seed", "9007199254740992");
    assert_int_equal(parsed.status, STATUS_OK);
    assert_string_equal(parsed.values.prompt, "床前明月光");
    assert_true(parsed.values.temperature == 1.5e-1);
    assert_int_equal(parsed.values.optimizer, 0);
    assert_true(parsed.values.any == INT64_MIN);
    assert_true(parsed.values.rate == 1e300);
    assert_true(parsed.values.common.seed == 9007199254740992);
}

static void empty_texts_and_dashes_are_values(void **state)
{
    (void)state;
    assert_string_equal(PARSE("c", "--prompt", "").values.prompt, "");
    assert_string_equal(PARSE("c", "--prompt=").values.prompt, "");
    assert_string_equal(PARSE("c", "--prompt=--json").values.prompt, "--json");
    assert_string_equal(PARSE("c", "--prompt=a=b").values.prompt, "a=b");
    assert_string_equal(PARSE("c", "--prompt", "-").values.prompt, "-");
    assert_string_equal(PARSE("-").positional[0], "-");
    Parsed rest = PARSE("--", "--json", "-n");
    assert_int_equal(rest.positional_count, 2);
    assert_string_equal(rest.positional[0], "--json");
    assert_string_equal(rest.positional[1], "-n");
    assert_false(rest.values.json);
}

static void whole_numbers_are_refused_unless_they_are_whole_and_fit(void **state)
{
    (void)state;
    static const char *const WRONG[] = {"",    " 3",  "3 ", "0x10", "1e3",
                                        "3.0", "abc", "-",  "+",    "--3",
                                        "3a",  "nan", "９", "1_000"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        char word[64];
        snprintf(word, sizeof word, "--count=%s", WRONG[i]);
        assert_refused(PARSE("c", word), "--count", "a whole number from 1 to 1000000");
        snprintf(word, sizeof word, "--any=%s", WRONG[i]);
        assert_refused(PARSE("c", word), "--any", "a whole number, found");
    }
    assert_refused(PARSE("c", "--count", "0"), "--count", "found '0'");
    assert_refused(PARSE("c", "--count", "-1"), "--count", "found '-1'");
    assert_refused(PARSE("c", "--count", "1000001"), "--count", "1000001");
    assert_refused(PARSE("c", "--any", "9223372036854775808"), "--any", "775808");
    assert_refused(PARSE("c", "--any", "-9223372036854775809"), "--any", "775809");
    /* One above 2^53: a comparison in double would let it pass. */
    assert_refused(PARSE("c", "--seed", "9007199254740993"), "--seed", "740993");
}

static void numbers_are_finite_and_within_their_limits(void **state)
{
    (void)state;
    static const char *const WRONG[] = {
        "nan", "NaN",   "-nan", "inf", "-inf", "infinity", "",      " 1",
        "1 ",  "0x1p3", "1e",   ".",   "1,5",  "e5",       "1e999", "--1"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        char word[64];
        snprintf(word, sizeof word, "--temperature=%s", WRONG[i]);
        assert_refused(PARSE("c", word), "--temperature", "a number from 0 to 100");
        snprintf(word, sizeof word, "--rate=%s", WRONG[i]);
        assert_refused(PARSE("c", word), "--rate", "a number of at least 0");
    }
    assert_refused(PARSE("c", "--temperature", "-0.1"), "--temperature", "'-0.1'");
    assert_refused(PARSE("c", "--temperature", "100.001"), "--temperature", "100.001");
    assert_true(PARSE("c", "-t", "0").values.temperature == 0);
    assert_true(PARSE("c", "-t", "100").values.temperature == 100);
    assert_true(PARSE("c", "-t.5").values.temperature == 0.5);
}

static void a_refused_value_leaves_the_default(void **state)
{
    (void)state;
    assert_int_equal(PARSE("c", "--count", "0").values.count, DEFAULTS.count);
    assert_true(PARSE("c", "-t", "nan").values.temperature == DEFAULTS.temperature);
}

static void unknown_names_get_the_nearest_known_one(void **state)
{
    (void)state;
    assert_refused(PARSE("c", "--tempertaure", "1"), "--tempertaure",
                   "did you mean --temperature?");
    assert_refused(PARSE("c", "--temp=1"), "--temp", "did you mean --temperature?");
    assert_refused(PARSE("c", "--jsno"), "--jsno", "did you mean --json?");
    assert_refused(PARSE("c", "--no-jsno"), "--no-jsno", "did you mean --no-json?");
    assert_refused(PARSE("c", "--hlep"), "--hlep", "did you mean --help?");
    assert_refused(PARSE("c", "--zzzz"), "--zzzz", "jueju sample --help");
    assert_refused(PARSE("c", "-x"), "-x", "jueju sample --help");
    assert_refused(PARSE("c", "-jx"), "unknown option -x", "-jx");
    assert_refused(PARSE("c", "--optimizer", "muno"), "adamw, muon",
                   "did you mean muon?");
    assert_refused(PARSE("c", "--optimizer", ""), "adamw, muon", "found ''");
    char long_name[3000];
    memset(long_name, '-', 2);
    memset(long_name + 2, 'a', sizeof long_name - 3);
    long_name[sizeof long_name - 1] = '\0';
    assert_refused(PARSE("c", long_name), "unknown option", "aaa");
}

static void forgotten_values_are_noticed(void **state)
{
    (void)state;
    assert_refused(PARSE("c", "--prompt"), "--prompt", "TEXT");
    assert_refused(PARSE("c", "-n"), "--count", "needs a value");
    assert_refused(PARSE("c", "--prompt", "--json"), "--prompt", "--json follows");
    assert_refused(PARSE("c", "--count", "--json"), "--count", "--json follows");
    assert_refused(PARSE("c", "--json=yes"), "--json", "takes no value");
    assert_refused(PARSE("c", "--no-count"), "--count", "--no-");
}

static void arguments_are_counted(void **state)
{
    (void)state;
    assert_refused(PARSE("--json"), "argument is missing", "CHECKPOINT");
    assert_refused(PARSE("a", "b", "c"), "unexpected argument 'c'", "CHECKPOINT");
    assert_int_equal(PARSE("a", "b").positional_count, 2);
}

static void help_wins_over_what_follows(void **state)
{
    (void)state;
    Parsed parsed = PARSE("--help", "--nonsense");
    assert_int_equal(parsed.status, STATUS_OK);
    assert_true(parsed.help);
    assert_true(PARSE("-h").help);
    assert_true(PARSE("-jh").help);
    assert_int_equal(PARSE("--", "-h").positional_count, 1);
    assert_false(PARSE("--", "-h").help);
}

static void given_agrees_with_what_was_parsed(void **state)
{
    (void)state;
    assert_false(given("json", (const char *const[]){"c", "-nj", NULL}));
    assert_true(given("json", (const char *const[]){"c", "-n1", "-j", NULL}));
    assert_true(given("json", (const char *const[]){"c", "--no-json", NULL}));
    assert_true(given("count", (const char *const[]){"c", "-jn4", NULL}));
    assert_false(given("count", (const char *const[]){"c", "--prompt=-n", NULL}));
    assert_false(given("json", (const char *const[]){"c", "--", "--json", NULL}));
    assert_false(given("prompt", (const char *const[]){"c", NULL}));
}

static void help_names_every_option_with_its_default(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    options_help(&INFO, &DEFAULTS, stream);
    assert_int_equal(fclose(stream), 0);
    static const char *const EXPECTED[] = {"usage: jueju sample [OPTIONS] CHECKPOINT",
                                           "writes poems",
                                           "\n  as  it  is\n",
                                           "-n, --count N",
                                           "(default: 4)",
                                           "(default: 0.8)",
                                           "(default: 春)",
                                           "--[no-]json",
                                           "(default: off)",
                                           "(default: on)",
                                           "--optimizer adamw|muon",
                                           "(default: muon)",
                                           "(default: 1337)",
                                           "-h, --help"};
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++)
        if (!strstr(text, EXPECTED[i]))
            fail_msg("expected '%s' in:\n%s", EXPECTED[i], text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_in_range(strlen(line), 1, 84);
    free(text);
}

static const char *nearest_of(const char *word, const char *const *names)
{
    Nearest nearest = nearest_start(word);
    for (; *names; names++)
        nearest_try(&nearest, *names);
    return nearest.name;
}

static void nearest_is_near_or_nothing(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"sample", "train", "data", "eval", NULL};
    assert_string_equal(nearest_of("smaple", NAMES), "sample");
    assert_string_equal(nearest_of("tarin", NAMES), "train");
    assert_string_equal(nearest_of("trains", NAMES), "train");
    assert_string_equal(nearest_of("dat", NAMES), "data");
    assert_string_equal(nearest_of("sam", NAMES), "sample");
    assert_null(nearest_of("xyz", NAMES));
    assert_null(nearest_of("", NAMES));
    assert_null(nearest_of("e", NAMES));
    assert_null(nearest_of("教", NAMES));
}

/* Every string of up to three bytes from a small alphabet as the only argument: whatever
 * comes, it is taken or refused with a message. */
static void any_argument_is_taken_or_refused_with_words(void **state)
{
    (void)state;
    static const char ALPHABET[] = "-=nj7h\x80 ";
    size_t letters = sizeof ALPHABET - 1;
    for (size_t code = 0; code < letters * letters * letters * letters; code++) {
        char word[5] = "";
        size_t rest = code;
        for (int i = 0; i < 4; i++, rest /= letters)
            word[i] = ALPHABET[rest % letters];
        Parsed parsed = PARSE(word);
        if (parsed.status != STATUS_OK) {
            assert_int_equal(parsed.status, STATUS_USAGE);
            assert_true(parsed.err.message[0] != '\0');
        } else {
            assert_true(parsed.help || parsed.positional_count == 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_stay_when_nothing_is_given),
        cmocka_unit_test(every_spelling_of_a_value_means_the_same),
        cmocka_unit_test(flags_turn_on_and_off_and_the_last_one_counts),
        cmocka_unit_test(values_reach_their_places),
        cmocka_unit_test(empty_texts_and_dashes_are_values),
        cmocka_unit_test(whole_numbers_are_refused_unless_they_are_whole_and_fit),
        cmocka_unit_test(numbers_are_finite_and_within_their_limits),
        cmocka_unit_test(a_refused_value_leaves_the_default),
        cmocka_unit_test(unknown_names_get_the_nearest_known_one),
        cmocka_unit_test(forgotten_values_are_noticed),
        cmocka_unit_test(arguments_are_counted),
        cmocka_unit_test(help_wins_over_what_follows),
        cmocka_unit_test(given_agrees_with_what_was_parsed),
        cmocka_unit_test(help_names_every_option_with_its_default),
        cmocka_unit_test(nearest_is_near_or_nothing),
        cmocka_unit_test(any_argument_is_taken_or_refused_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
