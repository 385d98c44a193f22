/* Checkpoints: what is in them, what is refused, what a full disk does; and the log. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif

#include <cmocka.h>
#include <omp.h>

#include "model/base/json.h"
#include "model/gpt/weights.h"
#include "model/math/blas.h"
#include "tests/train/tiny_run.h"

static TinyRun fixture;

static int make_run(void **state)
{
    (void)state;
    tiny_run_create(&fixture);
    return 0;
}

static int free_run(void **state)
{
    (void)state;
    tiny_run_free(&fixture);
    return 0;
}

/* fixture's folder/last/name. */
static const char *last_path(char path[PATH_SIZE], const char *name)
{
    char last[PATH_SIZE];
    return scratch_path(path, scratch_path(last, fixture.folder, "last"), name);
}

static FileMap map_of(const char *path)
{
    FileMap map;
    TINY_MUST(file_map(&map, path, err));
    return map;
}

static void assert_same_files(const char *a, const char *b)
{
    FileMap first = map_of(a), second = map_of(b);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    file_unmap(&second);
    file_unmap(&first);
}

/* Trains `steps` steps of the eleven and leaves FOLDER/last of that step. */
static void train_to(int64_t steps)
{
    TrainOptions options = tiny_options(&fixture);
    TinyHooks hooks = tiny_hooks();
    hooks.stop_at = steps;
    trainer_destroy(tiny_train(&fixture, &options, hooks, STATUS_INTERRUPTED, NULL));
}

static Status restore(const TrainOptions *options, const TrainData *data, Error *error)
{
    char last[PATH_SIZE];
    Trainer *trainer;
    TINY_MUST(trainer_create(&trainer, options, data, err));
    Status status =
        trainer_restore(trainer, scratch_path(last, fixture.folder, "last"), error);
    trainer_destroy(trainer);
    return status;
}

static Status restore_plainly(Error *error)
{
    TrainOptions options = tiny_options(&fixture);
    TrainData data = tiny_data(&fixture);
    return restore(&options, &data, error);
}

/* ---- what is in it ------------------------------------------------------------------ */

static void a_checkpoint_needs_nothing_outside_itself(void **state)
{
    (void)state;
    static const char *const FILES[] = {"config.json",
                                        "generation_config.json",
                                        "model.safetensors",
                                        "tokenizer.json",
                                        "variants.json",
                                        "metrics.jsonl",
                                        "training/optimizer.safetensors",
                                        "training/state.json"};
    TrainOptions options = tiny_options(&fixture);
    Trainer *trainer = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    static const char *const NAMES[] = {"last", "best"};
    for (int n = 0; n < 2; n++) {
        char folder[PATH_SIZE], path[PATH_SIZE], other[PATH_SIZE];
        scratch_path(folder, fixture.folder, NAMES[n]);
        for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
            assert_true(file_exists(scratch_path(path, folder, FILES[i])));
        assert_same_files(scratch_path(path, folder, "tokenizer.json"),
                          scratch_path(other, fixture.set_folder, "tokenizer.json"));
        assert_same_files(scratch_path(path, folder, "variants.json"),
                          scratch_path(other, fixture.set_folder, "variants.json"));
        Gpt gpt;
        ModelTokens tokens;
        TINY_MUST(weights_load(&gpt, &tokens, folder, err));
        assert_int_equal(tokens.eos, TOKEN_EOS);
        if (n == 0)
            assert_memory_equal(gpt.values, trainer->gpt.values,
                                gpt.table.total * sizeof(real));
        gpt_destroy(&gpt);
    }
    trainer_destroy(trainer);
}

static int64_t step_of(const char *name)
{
    char folder[PATH_SIZE], path[PATH_SIZE];
    json_t *json;
    int64_t step = 0;
    scratch_path(folder, fixture.folder, name);
    TINY_MUST(
        json_read_file(&json, scratch_path(path, folder, "training/state.json"), err));
    TINY_MUST(json_get_int(&step, json, "step", 0, 1000, path, err));
    json_decref(json);
    return step;
}

static void best_stays_where_the_loss_was_smallest(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    TinyHooks hooks = tiny_hooks();
    hooks.spoil_at = 9;
    Trainer *trainer = tiny_train(&fixture, &options, hooks, STATUS_OK, NULL);
    assert_int_equal(step_of("last"), 11);
    assert_int_equal(step_of("best"), trainer_best_step(trainer));
    assert_true(trainer_best_step(trainer) <= 8);
    trainer_destroy(trainer);
}

/* The set may be prepared again, or go, while a run trains. */
static void the_vocabulary_is_that_of_the_start(void **state)
{
    (void)state;
    char set[PATH_SIZE], kept[PATH_SIZE], path[PATH_SIZE];
    TrainOptions options = tiny_options(&fixture);
    TrainData data = tiny_data(&fixture);
    Trainer *trainer;
    scratch_path(set, fixture.set_folder, "tokenizer.json");
    FileMap before = map_of(set);
    scratch_path(kept, fixture.root, "kept.json");
    scratch_write(kept, before.data, before.size);
    file_unmap(&before);
    TINY_MUST(trainer_create(&trainer, &options, &data, err));
    TINY_MUST(file_write(set, "another set", 11, err));
    scratch_path(path, fixture.set_folder, "variants.json");
    assert_int_equal(unlink(path), 0);
    TINY_MUST(folder_create(fixture.folder, err));
    TINY_MUST(checkpoint_save(trainer, "last", err));
    assert_same_files(last_path(path, "tokenizer.json"), kept);
    trainer_destroy(trainer);
}

/* ---- what is refused ---------------------------------------------------------------- */

static void assert_refused(Status status, const Error *err, const char *text)
{
    assert_int_equal(status, STATUS_INPUT);
    if (strstr(err->message, text) == NULL)
        fail_msg("'%s' is not in: %s", text, err->message);
}

static void other_data_are_refused(void **state)
{
    (void)state;
    Error error;
    TrainOptions options = tiny_options(&fixture);
    TrainData data = tiny_data(&fixture);
    train_to(2);
    data.fingerprint = "fedcba9876543210";
    Status status = restore(&options, &data, &error);
    assert_refused(status, &error, "0123456789abcdef");
    assert_refused(status, &error, "fedcba9876543210");
    assert_refused(status, &error, fixture.set_folder);
}

static void other_options_are_refused(void **state)
{
    (void)state;
    train_to(2);
    TrainData data = tiny_data(&fixture);
    for (int i = 0; i < 8; i++) {
        TrainOptions options = tiny_options(&fixture);
        GptConfig *model = &options.model;
        Error error;
        int64_t *const sizes[] = {&model->layers, &model->width, &model->heads,
                                  &model->context, &model->mlp_width};
        if (i < 5)
            *sizes[i] *= i < 2 ? 2 : 1;
        if (i == 2)
            model->heads = 4;
        if (i == 3)
            model->context = 20;
        if (i == 4)
            model->mlp_width = 25;
        model->head_size = model->kv_heads = 0;
        gpt_config_fill(model);
        if (i == 5)
            options.seed = 8;
        if (i == 6)
            options.steps = 12;
        if (i == 7)
            options.steps = 1; /* fewer than are done */
        assert_refused(restore(&options, &data, &error), &error, fixture.folder);
    }
}

static void rewrite(const char *path, const json_t *json)
{
    TINY_MUST(json_write_file(path, json, err));
}

static void each_key_of_the_state_is_needed(void **state)
{
    (void)state;
    static const char *const KEYS[] = {
        "step",    "steps",     "tokens",    "epoch",    "row",
        "updates", "best_nats", "best_step", "loss_sum", "loss_steps",
        "seconds", "seed",      "data"};
    char path[PATH_SIZE];
    Error error;
    train_to(5);
    last_path(path, "training/state.json");
    json_t *good;
    TINY_MUST(json_read_file(&good, path, err));
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++) {
        assert_non_null(json_object_get(good, KEYS[k]));
        for (int kind = 0; kind < 4; kind++) {
            json_t *bad = json_deep_copy(good);
            if (kind == 0)
                json_object_del(bad, KEYS[k]);
            if (kind == 1)
                json_object_set_new(bad, KEYS[k], json_array());
            if (kind == 2)
                json_object_set_new(bad, KEYS[k], json_true());
            if (kind == 3)
                json_object_set_new(bad, KEYS[k],
                                    strcmp(KEYS[k], "data") == 0 ? json_integer(1)
                                                                 : json_string("1"));
            rewrite(path, bad);
            json_decref(bad);
            Status status = restore_plainly(&error);
            assert_refused(status, &error, "state.json");
            if (kind < 2)
                assert_refused(status, &error, KEYS[k]);
        }
    }
    rewrite(path, good);
    assert_int_equal(restore_plainly(&error), STATUS_OK);
    json_decref(good);
}

static void a_place_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        json_int_t value;
    } CASES[] = {{"step", -1},     {"step", 0},   {"step", 12},       {"steps", 0},
                 {"tokens", -1},   {"epoch", -1}, {"row", -1},        {"row", 99999},
                 {"updates", 99},  {"seed", -7},  {"loss_steps", -1}, {"seconds", -1},
                 {"best_step", -1}};
    char path[PATH_SIZE];
    Error error;
    train_to(5);
    last_path(path, "training/state.json");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        json_t *json;
        TINY_MUST(json_read_file(&json, path, err));
        json_t *bad = json_deep_copy(json);
        json_object_set_new(bad, CASES[i].key, json_integer(CASES[i].value));
        rewrite(path, bad);
        assert_refused(restore_plainly(&error), &error, fixture.folder);
        rewrite(path, json);
        json_decref(bad);
        json_decref(json);
    }
    assert_int_equal(restore_plainly(&error), STATUS_OK);
}

/* Cut short, grown, or gone: each file that a resume reads. */
static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const char *const FILES[] = {"training/state.json",
                                        "training/optimizer.safetensors",
                                        "model.safetensors", "config.json"};
    Error error;
    train_to(4);
    for (size_t f = 0; f < sizeof FILES / sizeof *FILES; f++) {
        char path[PATH_SIZE];
        FileMap map = map_of(last_path(path, FILES[f]));
        char *good;
        size_t size = map.size;
        TINY_MUST(memory_allocate(&good, size + 1, 1, "a test", err));
        memcpy(good, map.data, size);
        good[size] = '}';
        file_unmap(&map);
        const size_t cuts[] = {0, 1, 8, size / 2, size - 2, size + 1};
        for (size_t c = 0; c < 6; c++) {
            scratch_write(path, good, cuts[c]);
            assert_refused(restore_plainly(&error), &error, FILES[f]);
        }
        assert_int_equal(unlink(path), 0);
        assert_int_not_equal(restore_plainly(&error), STATUS_OK);
        assert_non_null(strstr(error.message, FILES[f]));
        scratch_write(path, good, size);
        memory_free(good);
    }
    assert_int_equal(restore_plainly(&error), STATUS_OK);
}

static void moments_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    Error error;
    char path[PATH_SIZE];
    train_to(4);
    last_path(path, "training/optimizer.safetensors");
    FileMap map = map_of(path);
    char *bytes;
    size_t size = map.size;
    TINY_MUST(memory_allocate(&bytes, size, 1, "a test", err));
    memcpy(bytes, map.data, size);
    file_unmap(&map);
    memset(bytes + size - sizeof(real), 0xff, sizeof(real)); /* a NaN at the end */
    scratch_write(path, bytes, size);
    memory_free(bytes);
    assert_refused(restore_plainly(&error), &error, "optimizer.safetensors");
}

static void no_checkpoint_is_refused(void **state)
{
    (void)state;
    Error error;
    assert_refused(restore_plainly(&error), &error, fixture.folder);
}

/* ---- runs in one folder ------------------------------------------------------------- */

static void a_new_run_takes_the_place_of_the_old_one(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    TrainOptions options = tiny_options(&fixture);
    TinyHooks hooks = tiny_hooks();
    Error error;
    train_to(9);
    hooks.plant_at = 1; /* ends before its first checkpoint */
    hooks.error = &error;
    trainer_destroy(tiny_train(&fixture, &options, hooks, STATUS_NUMERIC, NULL));
    assert_false(file_exists(scratch_path(path, fixture.folder, "last")));
    assert_false(file_exists(scratch_path(path, fixture.folder, "best")));
    assert_true(scratch_holds(scratch_path(path, fixture.folder, "metrics.jsonl"), ""));
}

static void two_runs_cannot_share_a_folder(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    int lock;
    Error error;
    TinyHooks hooks = tiny_hooks();
    hooks.error = &error;
    train_to(3);
    int64_t before = step_of("last");
    TINY_MUST(folder_lock(&lock, fixture.folder, err));
    trainer_destroy(tiny_train(&fixture, &options, hooks, STATUS_USAGE, NULL));
    assert_non_null(strstr(error.message, fixture.folder));
    assert_int_equal(step_of("last"), before);
    folder_unlock(lock);
}

/* ---- the log ------------------------------------------------------------------------ */

/* Each line of a log is an object with the keys that others read; the steps rise, so none
 * is there twice. Returns how many lines there are. */
static int64_t check_log(const char *path, int64_t last_step)
{
    static const char *const KEYS[] = {"step",          "tokens",
                                       "loss",          "learning_rate",
                                       "gradient_norm", "tokens_per_second"};
    FileMap map = map_of(path);
    const char *text = (const char *)map.data;
    int64_t before = 0, lines = 0;
    for (size_t start = 0; start < map.size; lines++) {
        const char *end = memchr(text + start, '\n', map.size - start);
        assert_non_null(end);
        size_t length = (size_t)(end - text) - start;
        json_t *line;
        int64_t step = 0;
        TINY_MUST(json_read_text(&line, text + start, length, path, err));
        for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++)
            assert_true(json_is_number(json_object_get(line, KEYS[k])));
        TINY_MUST(json_get_int(&step, line, "step", 1, 1000, path, err));
        assert_true(step > before);
        bool evaluated = step % 4 == 0 || step == 11;
        assert_true(evaluated == json_has(line, "validation_nats"));
        assert_true(evaluated == json_has(line, "validation_nats_han"));
        if (evaluated) {
            json_t *layers = json_object_get(line, "layers");
            assert_int_equal(json_array_size(layers), 2);
            for (size_t l = 0; l < 2; l++) {
                json_t *layer = json_array_get(layers, l);
                assert_true(json_is_number(json_object_get(layer, "entropy")));
                assert_true(json_is_number(json_object_get(layer, "min_distance")));
            }
        }
        before = step;
        start += length + 1;
        json_decref(line);
    }
    assert_int_equal(before, last_step);
    file_unmap(&map);
    return lines;
}

static void the_log_has_no_step_twice(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    char log[PATH_SIZE], path[PATH_SIZE], last[PATH_SIZE];
    scratch_path(log, fixture.folder, "metrics.jsonl");
    scratch_path(last, fixture.folder, "last");
    train_to(7); /* the checkpoint holds the lines of steps 2, 4 and 6 */
    assert_int_equal(check_log(last_path(path, "metrics.jsonl"), 6), 3);
    FILE *stream = fopen(log, "ab"); /* what a kill -9 in steps 8 and 9 leaves */
    assert_non_null(stream);
    fputs("{\"step\":8,\"loss\":1}\n{\"step\":", stream);
    fclose(stream);
    trainer_destroy(tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, last));
    assert_int_equal(check_log(log, 11), 6);
    assert_same_files(log, last_path(path, "metrics.jsonl"));
}

/* ---- a full disk -------------------------------------------------------------------- */

#ifdef __linux__
/* In a mount namespace of its own: the run's folder on a file system with room for a few
 * checkpoints, which something else then fills. The run fails at its next checkpoint, the
 * one before still loads, and with room again the run goes on. */
static int fill_the_disk(void)
{
    static char block[4096];
    char path[PATH_SIZE];
    char last[PATH_SIZE];
    Error error = {0};
    omp_set_num_threads(1); /* a child of fork has no threads of OpenMP */
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", fixture.folder, "tmpfs", 0, "size=512k") != 0)
        return 77;
    TrainOptions options = tiny_options(&fixture);
    TrainData data = tiny_data(&fixture);
    Trainer *trainer;
    TinyHooks hooks = {.stop_at = 3};
    TrainHooks calls = {.context = &hooks,
                        .record = tiny_on_record,
                        .step = tiny_on_step,
                        .stop = tiny_on_stop};
    if (trainer_create(&trainer, &options, &data, &error) != STATUS_OK)
        return 1;
    hooks.trainer = trainer;
    if (trainer_run(trainer, &calls, &error) != STATUS_INTERRUPTED)
        return 2;
    FILE *filler = fopen(scratch_path(path, fixture.folder, "filler"), "wb");
    while (fwrite(block, 1, sizeof block, filler) == sizeof block &&
           fflush(filler) == 0)
        continue;
    fclose(filler);
    if (trainer_run(trainer, &calls, &error) != STATUS_IO)
        return 3;
    if (strstr(error.message, "No space left") == NULL)
        return 4;
    trainer_destroy(trainer);
    if (restore_plainly(&error) != STATUS_OK || step_of("last") != 3)
        return 5;
    if (unlink(path) != 0)
        return 6;
    if (trainer_create(&trainer, &options, &data, &error) != STATUS_OK)
        return 7;
    hooks = (TinyHooks){.trainer = trainer};
    scratch_path(last, fixture.folder, "last");
    if (trainer_restore(trainer, last, &error) != STATUS_OK ||
        trainer_run(trainer, &calls, &error) != STATUS_OK)
        return 8;
    trainer_destroy(trainer);
    return step_of("last") == 11 ? 0 : 9;
}
#endif

static void a_full_disk_leaves_the_checkpoint_before(void **state)
{
    (void)state;
#ifdef __linux__
    TINY_MUST(folder_create(fixture.folder, err));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(fill_the_disk());
    int result;
    waitpid(child, &result, 0);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(result), 0);
#else
    skip();
#endif
}

int main(void)
{
    blas_single_thread();
    omp_set_num_threads(1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, free_run)
    const struct CMUnitTest tests[] = {
        TEST(a_checkpoint_needs_nothing_outside_itself),
        TEST(best_stays_where_the_loss_was_smallest),
        TEST(the_vocabulary_is_that_of_the_start),
        TEST(other_data_are_refused),
        TEST(other_options_are_refused),
        TEST(each_key_of_the_state_is_needed),
        TEST(a_place_that_cannot_be_is_refused),
        TEST(damaged_files_are_refused),
        TEST(moments_that_are_not_finite_are_refused),
        TEST(no_checkpoint_is_refused),
        TEST(a_new_run_takes_the_place_of_the_old_one),
        TEST(two_runs_cannot_share_a_folder),
        TEST(the_log_has_no_step_twice),
        TEST(a_full_disk_leaves_the_checkpoint_before),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
