/* jueju sample from the options to stdout, on small checkpoints. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "scripts/commands.h"
#include "scripts/sample_batch.h"
#include "scripts/sample_print.h"
#include "tests/base/scratch.h"
#include "tests/scripts/tiny_checkpoint.h"

enum { OUTPUT = 1 << 20, WORDS = 24 };

static char scratch[PATH_SIZE]; /* the folder of this test */
static char written[OUTPUT];    /* stdout of the last call */
static char notes[OUTPUT];      /* its stderr */
static char message[sizeof((Error *)0)->message];

/* ---- running the command ----------------------------------------------------------- */

static int redirect(FILE *stream, int number, const char *path)
{
    fflush(stream);
    int kept = dup(number);
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(kept >= 0 && file >= 0);
    dup2(file, number);
    close(file);
    return kept;
}

static void restore(FILE *stream, int number, int kept, char *text, const char *path)
{
    fflush(stream);
    dup2(kept, number);
    close(kept);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, OUTPUT - 1, file)] = '\0';
    fclose(file);
}

/* Runs "sample" with the words up to NULL; fills written, notes and message. */
static Status run_sample(const char *first, ...)
{
    char words[WORDS][1024] = {"sample"};
    char *argv[WORDS + 1] = {words[0]};
    int argc = 1;
    va_list rest;
    va_start(rest, first);
    for (const char *word = first; word != NULL; word = va_arg(rest, const char *)) {
        assert_true(argc < WORDS && strlen(word) < sizeof words[0]);
        strcpy(words[argc], word);
        argv[argc] = words[argc];
        argc++;
    }
    va_end(rest);
    char out[PATH_SIZE], err[PATH_SIZE];
    int kept_out = redirect(stdout, 1, scratch_path(out, scratch, "stdout"));
    int kept_err = redirect(stderr, 2, scratch_path(err, scratch, "stderr"));
    Error error = {0};
    Status status = COMMAND_SAMPLE.run(argc, argv, &error);
    restore(stdout, 1, kept_out, written, out);
    restore(stderr, 2, kept_err, notes, err);
    memcpy(message, error.message, sizeof message);
    return status;
}

static const char *folder_of(const char *name)
{
    static char path[PATH_SIZE];
    return scratch_path(path, scratch, name);
}

/* The one JSON object that was written. */
static json_t *one_object(void)
{
    json_error_t error;
    json_t *object = json_loads(written, 0, &error);
    assert_non_null(object);
    return object;
}

static const char *text_of(const json_t *object)
{
    return json_string_value(json_object_get(object, "text"));
}

static int create(void **state)
{
    (void)state;
    scratch_create(scratch);
    Gpt random = tiny_random_model(1);
    tiny_save(&random, false, folder_of("random"));
    Gpt stream = tiny_random_model(2);
    tiny_save(&stream, true, folder_of("stream"));

    /* special tokens far likelier than all else; characters and their marks equal */
    double logits[TINY_VOCABULARY] = {0};
    for (int id = 0; id < TOKEN_SPECIALS; id++)
        logits[id] = id == TOKEN_EOS ? 0 : 8;
    Gpt plain = tiny_fixed_model(logits);
    tiny_save(&plain, false, folder_of("plain"));
    logits[TOKEN_EOS] = -60;
    Gpt endless = tiny_fixed_model(logits);
    tiny_save(&endless, false, folder_of("endless"));
    for (int id = TOKEN_SPECIALS; id < TOKEN_SPECIALS + 4; id++)
        logits[id] = -60;
    Gpt markless = tiny_fixed_model(logits);
    tiny_save(&markless, false, folder_of("markless"));
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    scratch_remove(scratch);
    return 0;
}

/* ---- what is written --------------------------------------------------------------- */

static void a_poem_has_no_special_tokens_and_says_how_it_ended(void **state)
{
    (void)state;
    for (int seed = 0; seed < 30; seed++) {
        char number[16];
        snprintf(number, sizeof number, "%d", seed);
        assert_int_equal(run_sample(folder_of("plain"), "--seed", number, "--json",
                                    "--temperature=1", "--top-p=1", NULL),
                         STATUS_OK);
        assert_string_equal(notes, "");
        json_t *object = one_object();
        const char *text = text_of(object);
        assert_true(text[0] != '\0'); /* <eos> never comes first */
        assert_null(strchr(text, '<'));
        assert_int_equal(json_integer_value(json_object_get(object, "seed")), seed);
        const char *ended = json_string_value(json_object_get(object, "ended"));
        assert_true(strcmp(ended, "eos") == 0 || strcmp(ended, "length") == 0);
        json_decref(object);
    }
}

/* Every token has the same probability, so the mean is known whatever was drawn. */
static void nats_are_the_mean_under_the_models_own_distribution(void **state)
{
    (void)state;
    double expected = log(5 * exp(8.0) + (TINY_VOCABULARY - 5));
    static const char *const TEMPERATURES[] = {"1", "0.3", "0"};
    for (int t = 0; t < 3; t++) {
        assert_int_equal(run_sample(folder_of("plain"), "--json", "--seed=3",
                                    "--prompt", "春山", "--temperature",
                                    TEMPERATURES[t], NULL),
                         STATUS_OK);
        json_t *object = one_object();
        double nats = json_real_value(json_object_get(object, "nats"));
        assert_true(fabs(nats - expected) < 1e-5);
        int64_t tokens = json_integer_value(json_object_get(object, "tokens"));
        bool eos =
            strcmp(json_string_value(json_object_get(object, "ended")), "eos") == 0;
        /* three bytes a character; the prompt's two were given */
        assert_int_equal(tokens, (int64_t)strlen(text_of(object)) / 3 - 2 + eos);
        json_decref(object);
    }
}

static void the_limit_cuts_back_to_a_whole_line(void **state)
{
    (void)state;
    int cut = 0;
    for (int seed = 0; seed < 20; seed++) {
        char number[16];
        snprintf(number, sizeof number, "%d", seed);
        assert_int_equal(run_sample(folder_of("endless"), "--seed", number, "--json",
                                    "--max-tokens=30", NULL),
                         STATUS_OK);
        json_t *object = one_object();
        const char *text = text_of(object);
        size_t length = strlen(text);
        assert_string_equal(json_string_value(json_object_get(object, "ended")),
                            "length");
        assert_int_equal(json_integer_value(json_object_get(object, "tokens")),
                         length / 3);
        bool whole = strcmp(text + length - 3, "。") == 0 ||
                     strcmp(text + length - 3, "？") == 0 ||
                     strcmp(text + length - 3, "！") == 0;
        assert_true(whole ||
                    (length == 90 && strstr(notes, "before the end of a line")));
        cut += whole && length < 90;
        json_decref(object);
    }
    assert_true(cut > 5);
}

static void a_limit_before_any_line_is_told(void **state)
{
    (void)state;
    /* the prompt's own line does not count */
    assert_int_equal(run_sample(folder_of("markless"), "--seed=1", "--max-tokens=5",
                                "--prompt", "春。", NULL),
                     STATUS_OK);
    assert_int_equal(strlen(written), 2 * 3 + 1 + 5 * 3 + 1); /* two lines */
    assert_non_null(strstr(notes, "1 of the poems reached the limit of 5 tokens"));
}

static void the_context_is_filled_to_its_edge(void **state)
{
    (void)state;
    char prompt[TINY_CONTEXT * 3 + 1] = "";
    for (int i = 0; i < TINY_CONTEXT; i++) {
        if (i > 0)
            strcat(prompt, "春");
        /* <bos> and i characters leave T - i tokens: the last one is never read */
        assert_int_equal(run_sample(folder_of("markless"), "--seed=1", "--json",
                                    "--prompt", prompt, NULL),
                         STATUS_OK);
        json_t *object = one_object();
        assert_int_equal(strlen(text_of(object)), 3 * TINY_CONTEXT);
        json_decref(object);
    }
    strcat(prompt, "春");
    assert_int_equal(run_sample(folder_of("markless"), "--prompt", prompt, NULL),
                     STATUS_USAGE);
    assert_non_null(strstr(message, "40 characters"));
    assert_non_null(strstr(message, "41 tokens"));
    assert_non_null(strstr(message, "holds 40"));
}

static void people_get_lines_and_a_heading(void **state)
{
    (void)state;
    assert_int_equal(run_sample(folder_of("endless"), "--seed=1", "--max-tokens=1",
                                "--prompt=举头。望明月？", "--title", "望月",
                                "--author", "人", NULL),
                     STATUS_OK);
    static const char BEGINS[] = "望月　人\n舉頭。\n望明月？\n";
    assert_memory_equal(written, BEGINS, sizeof BEGINS - 1);
    assert_non_null(strstr(notes, "举 read as 舉"));

    assert_int_equal(run_sample(folder_of("plain"), "--seed=5", "-n3", NULL),
                     STATUS_OK);
    int blank = 0;
    for (const char *at = written; (at = strstr(at, "\n\n")) != NULL; at++)
        blank++;
    assert_int_equal(blank, 2);
    assert_int_equal(written[strlen(written) - 1], '\n');
}

static void unknown_characters_of_a_prompt_are_printed_as_typed(void **state)
{
    (void)state;
    assert_int_equal(run_sample(folder_of("plain"), "--seed=1", "--json",
                                "--prompt=啊月", "--title=吧", NULL),
                     STATUS_OK);
    json_t *object = one_object();
    assert_memory_equal(text_of(object), "啊月", 6);
    assert_string_equal(json_string_value(json_object_get(object, "title")), "吧");
    assert_null(json_object_get(object, "author"));
    assert_non_null(strstr(notes, "--prompt: the model does not know 啊"));
    assert_non_null(strstr(notes, "--title: the model does not know 吧"));
    json_decref(object);
}

static void an_acrostic_begins_every_line(void **state)
{
    (void)state;
    int whole = 0;
    for (int seed = 0; seed < 40; seed++) {
        char number[16];
        snprintf(number, sizeof number, "%d", seed);
        assert_int_equal(run_sample(folder_of("plain"), "--seed", number, "--json",
                                    "--acrostic=春夏 秋冬", "--temperature=1", NULL),
                         STATUS_OK);
        json_t *object = one_object();
        if (strcmp(json_string_value(json_object_get(object, "ended")), "eos") == 0) {
            static const char *const FIRST[] = {"春", "夏", "秋", "冬"};
            const char *text = text_of(object);
            size_t length = strlen(text);
            int line = 0;
            bool begins = true;
            for (size_t i = 0; i < length; i += 3) {
                if (begins && line < 4)
                    assert_memory_equal(text + i, FIRST[line++], 3);
                begins =
                    memcmp(text + i, "，", 3) == 0 || memcmp(text + i, "。", 3) == 0 ||
                    memcmp(text + i, "？", 3) == 0 || memcmp(text + i, "！", 3) == 0;
            }
            assert_int_equal(line, 4);
            assert_memory_not_equal(text + length - 3, "，", 3);
            assert_true(begins);
            whole++;
        }
        json_decref(object);
    }
    assert_true(whole > 5);
}

/* ---- many poems -------------------------------------------------------------------- */

static void a_poem_is_the_same_alone_and_among_others(void **state)
{
    (void)state;
    static char batch[OUTPUT];
    assert_int_equal(run_sample(folder_of("random"), "--seed=100", "-n", "150",
                                "--json", "--threads=1", "--prompt=春",
                                "--temperature=1.2", NULL),
                     STATUS_OK);
    strcpy(batch, written);
    static const char *const THREADS[] = {"2", "3"};
    for (int t = 0; t < 2; t++) {
        assert_int_equal(run_sample(folder_of("random"), "--seed=100", "-n150",
                                    "--json", "--threads", THREADS[t], "--prompt=春",
                                    "--temperature=1.2", NULL),
                         STATUS_OK);
        assert_string_equal(written, batch);
    }
    const char *line = batch;
    for (int i = 0; i < 150; i++) {
        size_t length = strcspn(line, "\n") + 1;
        char seed[16];
        snprintf(seed, sizeof seed, "%d", 100 + i);
        if (i % 7 == 0) {
            assert_int_equal(run_sample(folder_of("random"), "--seed", seed, "--json",
                                        "--prompt=春", "--temperature=1.2", NULL),
                             STATUS_OK);
            assert_int_equal(strlen(written), length);
            assert_memory_equal(written, line, length);
        }
        line += length;
    }
    assert_int_equal(*line, '\0');
}

static void more_poems_than_the_window_come_in_order(void **state)
{
    (void)state;
    enum { POEMS = 3 * SAMPLE_WINDOW + 5 };
    char count[16];
    snprintf(count, sizeof count, "%d", POEMS);
    assert_int_equal(
        run_sample(folder_of("random"), "--seed=0", "-n", count, "--json", NULL),
        STATUS_OK);
    const char *line = written;
    for (int i = 0; i < POEMS; i++) {
        json_error_t error;
        json_t *object = json_loadb(line, strcspn(line, "\n"), 0, &error);
        assert_non_null(object);
        assert_int_equal(json_integer_value(json_object_get(object, "seed")), i);
        json_decref(object);
        line += strcspn(line, "\n") + 1;
    }
    assert_int_equal(*line, '\0');
}

static void greedy_poems_do_not_depend_on_the_seed(void **state)
{
    (void)state;
    static char first[OUTPUT];
    assert_int_equal(
        run_sample(folder_of("random"), "--seed=1", "--temperature=0", NULL),
        STATUS_OK);
    strcpy(first, written);
    assert_int_equal(run_sample(folder_of("random"), "--seed=2", "--top-k=1", NULL),
                     STATUS_OK);
    assert_string_equal(written, first);
}

static void without_a_seed_the_seed_is_named(void **state)
{
    (void)state;
    static char first[OUTPUT];
    assert_int_equal(run_sample(folder_of("random"), NULL), STATUS_OK);
    strcpy(first, written);
    char seed[32];
    assert_int_equal(sscanf(notes, "seed %31s", seed), 1);
    assert_int_equal(run_sample(folder_of("random"), "--seed", seed, NULL), STATUS_OK);
    assert_string_equal(written, first);
}

typedef struct {
    int asked;
    int64_t poems;
} Stopper;

static bool stop_later(void *context)
{
    Stopper *stopper = context;
    return ++stopper->asked > 60;
}

static Status count_poem(void *context, int64_t index, const Poem *poem, Error *err)
{
    (void)poem;
    (void)err;
    Stopper *stopper = context;
    assert_int_equal(index, stopper->poems);
    stopper->poems++;
    return STATUS_OK;
}

static void a_run_that_is_stopped_has_given_whole_poems(void **state)
{
    (void)state;
    Checkpoint checkpoint;
    Error err = {0};
    assert_int_equal(checkpoint_open(&checkpoint, folder_of("random"), &err),
                     STATUS_OK);
    SamplePlan plan = {
        .checkpoint = &checkpoint,
        .settings = {.temperature = 1, .top_p = 1, .repetition_penalty = 1}};
    assert_int_equal(sample_plan_finish(&plan, 10, &err), STATUS_OK);
    Stopper stopper = {0};
    SampleHooks hooks = {.context = &stopper, .poem = count_poem, .stop = stop_later};
    assert_int_equal(sample_batch(&plan, 1000000, 0, &hooks, &err), STATUS_INTERRUPTED);
    assert_true(stopper.poems > 0 && stopper.poems < 1000);
    sample_plan_free(&plan);
    checkpoint_close(&checkpoint);
}

/* What a terminal shows of text with "erase from the start of this line" in it. */
static void show(char *screen, const char *text)
{
    static const char ERASE[] = "\r\033[J";
    size_t used = 0;
    while (*text != '\0') {
        if (strncmp(text, ERASE, sizeof ERASE - 1) == 0) {
            while (used > 0 && screen[used - 1] != '\n')
                used--;
            text += sizeof ERASE - 1;
        } else {
            screen[used++] = *text++;
        }
    }
    screen[used] = '\0';
}

/* Character by character and, where the limit cuts, taken back: in the end a terminal shows
 * what a file would hold. */
static void a_terminal_shows_what_a_file_holds(void **state)
{
    (void)state;
    static char screen[OUTPUT];
    Checkpoint checkpoint;
    Error err = {0};
    assert_int_equal(checkpoint_open(&checkpoint, folder_of("endless"), &err),
                     STATUS_OK);
    SamplePlan plan = {
        .checkpoint = &checkpoint,
        .settings = {.temperature = 1, .top_p = 1, .repetition_penalty = 1}};
    assert_int_equal(
        prompt_text_prepare(&plan.title, "望月", "--title", &checkpoint, stderr, &err),
        STATUS_OK);
    assert_int_equal(sample_plan_finish(&plan, 30, &err), STATUS_OK);
    int taken_back = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        char *text[2] = {NULL, NULL};
        for (int live = 0; live < 2; live++) {
            size_t size = 0;
            FILE *stream = open_memstream(&text[live], &size);
            SamplePrinter printer = {.plan = &plan, .stream = stream, .live = live};
            SampleHooks hooks = {.context = &printer,
                                 .poem = sample_print_poem,
                                 .token = sample_print_token};
            assert_int_equal(sample_batch(&plan, 1, seed, &hooks, &err), STATUS_OK);
            fclose(stream);
        }
        show(screen, text[1]);
        assert_string_equal(screen, text[0]);
        taken_back += strchr(text[1], '\r') != NULL;
        free(text[0]);
        free(text[1]);
    }
    assert_true(taken_back > 5);
    sample_plan_free(&plan);
    checkpoint_close(&checkpoint);
}

/* ---- running text ------------------------------------------------------------------ */

static void running_text_goes_on_beyond_the_context(void **state)
{
    (void)state;
    static char first[OUTPUT];
    assert_int_equal(run_sample(folder_of("stream"), "--seed=1", "--json", NULL),
                     STATUS_OK);
    json_t *object = one_object();
    assert_int_equal(strlen(text_of(object)), 3 * SAMPLE_STREAM_TOKENS);
    assert_string_equal(json_string_value(json_object_get(object, "ended")), "length");
    json_decref(object);
    strcpy(first, written);
    assert_int_equal(run_sample(folder_of("stream"), "--seed=0", "-n2", "--threads=2",
                                "--json", NULL),
                     STATUS_OK);
    assert_non_null(strstr(written, first)); /* the second of two, the same bits */

    char prompt[TINY_CONTEXT * 9 + 1] = "";
    for (int i = 0; i < 3 * TINY_CONTEXT; i++)
        strcat(prompt, i % 2 ? "春" : "水");
    assert_int_equal(run_sample(folder_of("stream"), "--seed=1", "--json", "--prompt",
                                prompt, "--max-tokens=7", NULL),
                     STATUS_OK);
    object = one_object();
    assert_int_equal(strlen(text_of(object)), strlen(prompt) + 21);
    assert_memory_equal(text_of(object), prompt, strlen(prompt));
    json_decref(object);
}

/* ---- what is refused --------------------------------------------------------------- */

static void wrong_options_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *option, *message;
    } CASES[] = {
        {"--temperature=-1", "--temperature"},
        {"--temperature=nan", "--temperature"},
        {"--temperature=inf", "--temperature"},
        {"--top-p=0", "top-p"},
        {"--top-p=1.5", "--top-p"},
        {"--top-p=nan", "--top-p"},
        {"--top-k=-1", "--top-k"},
        {"--top-k=29", "0 (no limit) .. 28"},
        {"-n0", "count"},
        {"-n=x", "count"},
        {"--count=-5", "--count"},
        {"--max-tokens=-1", "--max-tokens"},
        {"--repetition-penalty=0", "--repetition-penalty"},
        {"--seed=-2", "--seed"},
        {"--prompt=\xFF", "--prompt"},
        {"--title=\xE6\x9C", "--title"},
        {"--acrostic=春，", "--acrostic"},
        {"--seed=9007199254740993", "--seed"},
        {"--tile=x", "--title"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        assert_int_equal(run_sample(folder_of("plain"), CASES[i].option, NULL),
                         STATUS_USAGE);
        assert_string_equal(written, "");
        if (strstr(message, CASES[i].message) == NULL)
            fail_msg("%s gave: %s", CASES[i].option, message);
    }
    assert_int_equal(
        run_sample(folder_of("plain"), "--seed=9007199254740992", "-n2", NULL),
        STATUS_USAGE);
    assert_non_null(strstr(message, "at most 9007199254740991 for 2 poems"));
    assert_int_equal(
        run_sample(folder_of("plain"), "--acrostic=春夏", "--prompt=月", NULL),
        STATUS_USAGE);
    assert_int_equal(run_sample(folder_of("plain"), folder_of("random"), NULL),
                     STATUS_USAGE);
    assert_int_equal(run_sample(folder_of("stream"), "--title=月", NULL), STATUS_USAGE);
    assert_non_null(strstr(message, "--title"));
}

static void help_shows_the_defaults(void **state)
{
    (void)state;
    assert_int_equal(run_sample("--help", NULL), STATUS_OK);
    assert_non_null(strstr(written, "--acrostic"));
    assert_non_null(strstr(written, "(default: 0.8)"));
}

/* Cuts a file of a checkpoint copy short, or removes it. */
static void damage(const char *name, const char *file, long size)
{
    char path[PATH_SIZE];
    assert_int_equal(path_join(path, folder_of(name), file, NULL), STATUS_OK);
    if (size < 0)
        assert_int_equal(unlink(path), 0);
    else
        assert_int_equal(truncate(path, size), 0);
}

static void damaged_checkpoints_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        long size;
    } CASES[] = {
        {"config.json", -1},      {"config.json", 10},
        {"config.json", 0},       {"model.safetensors", -1},
        {"model.safetensors", 4}, {"model.safetensors", 5000},
        {"tokenizer.json", -1},   {"tokenizer.json", 100},
        {"variants.json", 20},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Gpt gpt = tiny_random_model(4);
        tiny_save(&gpt, false, folder_of("damaged"));
        damage("damaged", CASES[i].file, CASES[i].size);
        Status status = run_sample(folder_of("damaged"), NULL);
        if (CASES[i].size < 0 && strcmp(CASES[i].file, "config.json") != 0)
            assert_true(status == STATUS_INPUT || status == STATUS_IO);
        else
            assert_int_equal(status, STATUS_INPUT);
        if (strstr(message, CASES[i].file) == NULL)
            fail_msg("%s of %ld gave: %s", CASES[i].file, CASES[i].size, message);
        assert_string_equal(written, "");
        scratch_remove(folder_of("damaged"));
    }
    assert_int_equal(run_sample(folder_of("nowhere"), NULL), STATUS_INPUT);
    assert_non_null(strstr(message, "nowhere"));
    scratch_text(folder_of("file"), "no folder");
    assert_int_equal(run_sample(folder_of("file"), NULL), STATUS_INPUT);
}

static void a_checkpoint_without_variants_samples(void **state)
{
    (void)state;
    Gpt gpt = tiny_random_model(4);
    tiny_save(&gpt, false, folder_of("bare"));
    damage("bare", "variants.json", -1);
    assert_int_equal(run_sample(folder_of("bare"), "--prompt=舉", NULL), STATUS_OK);
}

static void another_vocabulary_is_refused(void **state)
{
    (void)state;
    Gpt gpt = tiny_random_model(4);
    tiny_save(&gpt, false, folder_of("other"));
    Tokenizer tokenizer;
    tiny_tokenizer(&tokenizer);
    tokenizer.size--;
    char path[PATH_SIZE];
    path_join(path, folder_of("other"), "tokenizer.json", NULL);
    assert_int_equal(tokenizer_save(&tokenizer, path, NULL), STATUS_OK);
    tokenizer_free(&tokenizer);
    assert_int_equal(run_sample(folder_of("other"), NULL), STATUS_INPUT);
    assert_non_null(strstr(message, "27 tokens"));
    assert_non_null(strstr(message, "28"));
}

/* ---- finding checkpoints ----------------------------------------------------------- */

static void save_at(const char *run, const char *name, int64_t time)
{
    char folder[PATH_SIZE], path[PATH_SIZE];
    path_join(path, folder_of("runs"), run, NULL);
    path_join(folder, path, name, NULL);
    Gpt gpt = tiny_random_model(9);
    tiny_save(&gpt, false, folder);
    path_join(path, folder, "model.safetensors", NULL);
    const struct timespec times[] = {{.tv_sec = time}, {.tv_sec = time}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void assert_newest(const char *expected)
{
    char found[PATH_SIZE];
    Error err = {0};
    assert_int_equal(checkpoint_newest(found, folder_of("runs"), &err), STATUS_OK);
    assert_non_null(strstr(found, expected));
}

static void the_newest_run_is_found_and_its_best_preferred(void **state)
{
    (void)state;
    char found[PATH_SIZE];
    Error err = {0};
    assert_int_equal(checkpoint_newest(found, folder_of("runs"), &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "runs"));
    save_at("a", "last", 1000);
    assert_newest("runs/a/last");
    save_at("b", "best", 2000);
    assert_newest("runs/b/best");
    save_at("a", "best", 900);
    assert_newest("runs/b/best");
    save_at("a", "last", 3000); /* a goes on: its best is older, but the run is newer */
    assert_newest("runs/a/best");
    save_at("c", ".", 4000); /* a checkpoint, not a run */
    assert_newest("runs/c");
    save_at("c.tmp.3", ".", 5000); /* half written */
    assert_newest("runs/c");

    char path[PATH_SIZE];
    path_join(path, folder_of("runs"), "a", NULL);
    assert_int_equal(checkpoint_locate(found, path, &err), STATUS_OK);
    assert_non_null(strstr(found, "runs/a/best"));
    path_join(path, folder_of("runs"), "a/last", NULL);
    assert_int_equal(checkpoint_locate(found, path, &err), STATUS_OK);
    assert_non_null(strstr(found, "runs/a/last"));
    assert_int_equal(checkpoint_locate(found, folder_of("runs"), &err), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poem_has_no_special_tokens_and_says_how_it_ended),
        cmocka_unit_test(nats_are_the_mean_under_the_models_own_distribution),
        cmocka_unit_test(the_limit_cuts_back_to_a_whole_line),
        cmocka_unit_test(a_limit_before_any_line_is_told),
        cmocka_unit_test(the_context_is_filled_to_its_edge),
        cmocka_unit_test(people_get_lines_and_a_heading),
        cmocka_unit_test(unknown_characters_of_a_prompt_are_printed_as_typed),
        cmocka_unit_test(an_acrostic_begins_every_line),
        cmocka_unit_test(a_poem_is_the_same_alone_and_among_others),
        cmocka_unit_test(more_poems_than_the_window_come_in_order),
        cmocka_unit_test(greedy_poems_do_not_depend_on_the_seed),
        cmocka_unit_test(without_a_seed_the_seed_is_named),
        cmocka_unit_test(a_run_that_is_stopped_has_given_whole_poems),
        cmocka_unit_test(a_terminal_shows_what_a_file_holds),
        cmocka_unit_test(running_text_goes_on_beyond_the_context),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(help_shows_the_defaults),
        cmocka_unit_test(damaged_checkpoints_are_named),
        cmocka_unit_test(a_checkpoint_without_variants_samples),
        cmocka_unit_test(another_vocabulary_is_refused),
        cmocka_unit_test(the_newest_run_is_found_and_its_best_preferred),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
