/* Training runs: the same bits however they are run, learning, and what stops them. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

/* ---- the same bits ------------------------------------------------------------------ */

static void assert_same_bits(const Trainer *a, const Trainer *b)
{
    size_t size = a->gpt.table.total * sizeof(real);
    assert_memory_equal(a->gpt.values, b->gpt.values, size);
    assert_memory_equal(a->optimizer.m, b->optimizer.m, size);
    assert_memory_equal(a->optimizer.v, b->optimizer.v, size);
    assert_int_equal(a->optimizer.updates, b->optimizer.updates);
    assert_int_equal(a->place.step, b->place.step);
    assert_int_equal(a->place.tokens, b->place.tokens);
    assert_int_equal(a->place.epoch, b->place.epoch);
    assert_int_equal(a->place.row, b->place.row);
    assert_int_equal(a->place.best_step, b->place.best_step);
    assert_memory_equal(&a->place.best_nats, &b->place.best_nats, sizeof(double));
    assert_memory_equal(&a->place.loss_sum, &b->place.loss_sum, sizeof(double));
    assert_int_equal(a->place.loss_steps, b->place.loss_steps);
}

static void a_run_has_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    omp_set_num_threads(1);
    Trainer *one = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    for (int threads = 2; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        Trainer *more = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
        assert_same_bits(one, more);
        trainer_destroy(more);
    }
    trainer_destroy(one);
}

/* Stopped after step k, saved, loaded into a new trainer and run to the end. Steps 4 and 8
 * are evaluations, 2, 6 and 10 records, the others neither; epochs begin in between. */
static void check_resumes(OptimizerKind kind)
{
    TrainOptions options = tiny_options(&fixture);
    options.optimizer.kind = kind;
    Trainer *whole = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    assert_true(whole->place.epoch > 0);
    static const int64_t STOPS[] = {1, 4, 6, 7, 10};
    for (size_t i = 0; i < sizeof STOPS / sizeof *STOPS; i++) {
        int64_t k = STOPS[i];
        TinyHooks hooks = tiny_hooks();
        char last[PATH_SIZE];
        hooks.stop_at = k;
        omp_set_num_threads(1 + (int)(k % 2)); /* threads may differ, too */
        Trainer *first =
            tiny_train(&fixture, &options, hooks, STATUS_INTERRUPTED, NULL);
        assert_int_equal(trainer_step(first), k);
        trainer_destroy(first);
        Trainer *second = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK,
                                     scratch_path(last, options.folder, "last"));
        assert_same_bits(whole, second);
        trainer_destroy(second);
    }
    trainer_destroy(whole);
}

static void a_stopped_run_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    check_resumes(OPTIMIZER_MUON);
}

static void so_does_one_with_adamw(void **state)
{
    (void)state;
    check_resumes(OPTIMIZER_ADAMW);
}

static void the_seed_matters(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    Trainer *a = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    options.seed++;
    Trainer *b = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    assert_memory_not_equal(a->gpt.values, b->gpt.values,
                            a->gpt.table.total * sizeof(real));
    trainer_destroy(b);
    trainer_destroy(a);
}

/* ---- learning ----------------------------------------------------------------------- */

/* Three poems by heart: all that is left is which of them it is, ln 3 a poem. */
static void check_learns(OptimizerKind kind)
{
    TrainOptions options = tiny_options(&fixture);
    options.optimizer.kind = kind;
    options.optimizer.decay = options.optimizer.muon_decay = 0;
    options.optimizer.rate = 1e-2;
    options.model.dropout = 0;
    options.keep_form = options.keep_title = options.keep_author = 0;
    options.model.context = 40;
    options.pass_tokens = 80;
    options.batch_tokens = 120;
    options.steps = 150;
    options.eval_every = 75;
    TinyRun few = fixture;
    few.set.train.view.poems = 3;
    few.set.train.view.tokens = (int64_t)few.set.train.offsets[3];
    few.set.held_out.view = few.set.train.view;
    Trainer *trainer = tiny_train(&few, &options, tiny_hooks(), STATUS_OK, NULL);
    assert_true(trainer_best_nats(trainer) < 0.1);
    trainer_destroy(trainer);
}

static void muon_learns_poems_by_heart(void **state)
{
    (void)state;
    check_learns(OPTIMIZER_MUON);
}

static void adamw_learns_poems_by_heart(void **state)
{
    (void)state;
    check_learns(OPTIMIZER_ADAMW);
}

/* ---- records ------------------------------------------------------------------------ */

static void records_tell_what_happened(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    TinyHooks hooks = tiny_hooks();
    int64_t records = 0, evaluations = 0, steps = 0;
    hooks.records = &records;
    hooks.evaluations = &evaluations;
    hooks.steps = &steps;
    Trainer *trainer = tiny_train(&fixture, &options, hooks, STATUS_OK, NULL);
    assert_int_equal(steps, 11);
    assert_int_equal(records, 6);     /* 2 4 6 8 10 11 */
    assert_int_equal(evaluations, 3); /* 4 8 11 */
    assert_int_equal(trainer_step(trainer), 11);
    assert_true(trainer_best_step(trainer) > 0);
    assert_true(isfinite(trainer_best_nats(trainer)) != 0);
    assert_true(trainer_seconds(trainer) > 0);
    trainer_destroy(trainer);
}

/* ---- what stops a run --------------------------------------------------------------- */

/* The run's last checkpoint loads into a new trainer and stands at `step`. */
static void assert_last_loads(const TrainOptions *options, int64_t step)
{
    char last[PATH_SIZE];
    Trainer *trainer;
    TrainData data = tiny_data(&fixture);
    TINY_MUST(trainer_create(&trainer, options, &data, err));
    TINY_MUST(
        trainer_restore(trainer, scratch_path(last, options->folder, "last"), err));
    assert_int_equal(trainer_step(trainer), step);
    trainer_destroy(trainer);
}

/* A NaN that gets into a weight after step 5 is met in step 6; one of step 8 in that step's
 * evaluation. The message names step and tensor, and the checkpoint before is there. */
static void a_nan_stops_the_run_and_is_traced(void **state)
{
    (void)state;
    static const struct {
        int64_t plant, told, saved;
    } CASES[] = {{5, 6, 4}, {8, 8, 4}, {9, 10, 8}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        TrainOptions options = tiny_options(&fixture);
        TinyHooks hooks = tiny_hooks();
        Error err;
        char step[32];
        hooks.plant_at = CASES[i].plant;
        hooks.error = &err;
        trainer_destroy(tiny_train(&fixture, &options, hooks, STATUS_NUMERIC, NULL));
        snprintf(step, sizeof step, "step %d:", (int)CASES[i].told);
        assert_non_null(strstr(err.message, step));
        assert_non_null(strstr(err.message, "transformer.h.1.mlp.c_fc.weight"));
        assert_last_loads(&options, CASES[i].saved);
    }
}

/* A weight that the loss does not depend on must not reach a checkpoint either. */
static void a_nan_that_no_loss_shows_is_not_saved(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    TinyHooks hooks = tiny_hooks();
    Error err;
    hooks.plant_at = 9;
    hooks.stop_at = 9; /* saved before anything is computed with it */
    hooks.error = &err;
    trainer_destroy(tiny_train(&fixture, &options, hooks, STATUS_NUMERIC, NULL));
    assert_non_null(strstr(err.message, "step 9:"));
    assert_non_null(strstr(err.message, "transformer.h.1.mlp.c_fc.weight"));
    assert_last_loads(&options, 8);
}

static void a_ridiculous_learning_rate_stops_the_run(void **state)
{
    (void)state;
    for (int kind = OPTIMIZER_MUON; kind <= OPTIMIZER_ADAMW; kind++) {
        TrainOptions options = tiny_options(&fixture);
        TinyHooks hooks = tiny_hooks();
        Error err;
        options.optimizer.kind = (OptimizerKind)kind;
        options.optimizer.rate = options.optimizer.muon_rate = 1e4;
        options.steps = 200;
        options.warmup = 0;
        options.final_rate = 1;
        hooks.error = &err;
        trainer_destroy(tiny_train(&fixture, &options, hooks, STATUS_NUMERIC, NULL));
        assert_non_null(strstr(err.message, "step "));
        assert_non_null(strstr(err.message, "transformer."));
        assert_non_null(strstr(err.message, "learning rate was 10000"));
    }
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    TrainData data = tiny_data(&fixture);
    for (int i = 0; i < 9; i++) {
        TrainOptions options = tiny_options(&fixture);
        Trainer *trainer;
        Error err = {0};
        switch (i) {
        case 0:
            options.steps = 0;
            break;
        case 1:
            options.eval_every = 0;
            break;
        case 2:
            options.log_every = -1;
            break;
        case 3:
            options.batch_tokens = TINY_CONTEXT - 1;
            break;
        case 4:
            options.lanes = 3;
            break;
        case 5:
            options.lanes = 0;
            break;
        case 6:
            options.lanes = 512;
            break;
        case 7:
            options.model.heads = 3;
            break;
        default:
            options.model.dropout = 1;
            break;
        }
        assert_int_equal(trainer_create(&trainer, &options, &data, &err), STATUS_USAGE);
        assert_null(trainer);
        assert_true(strlen(err.message) > 0);
    }
}

static void a_set_without_its_files_is_refused_at_once(void **state)
{
    (void)state;
    TrainOptions options = tiny_options(&fixture);
    TrainData data = tiny_data(&fixture);
    Trainer *trainer;
    Error err;
    data.folder = options.folder; /* not there */
    assert_int_not_equal(trainer_create(&trainer, &options, &data, &err), STATUS_OK);
    assert_non_null(strstr(err.message, "tokenizer.json"));
    assert_null(trainer);
}

int main(void)
{
    blas_single_thread();
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, free_run)
    const struct CMUnitTest tests[] = {
        TEST(a_run_has_the_same_bits_for_any_number_of_threads),
        TEST(a_stopped_run_goes_on_with_the_same_bits),
        TEST(so_does_one_with_adamw),
        TEST(the_seed_matters),
        TEST(muon_learns_poems_by_heart),
        TEST(adamw_learns_poems_by_heart),
        TEST(records_tell_what_happened),
        TEST(a_nan_stops_the_run_and_is_traced),
        TEST(a_nan_that_no_loss_shows_is_not_saved),
        TEST(a_ridiculous_learning_rate_stops_the_run),
        TEST(options_out_of_range_are_refused),
        TEST(a_set_without_its_files_is_refused_at_once),
    };
    return cmocka_run_group_tests_name("trainer", tests, NULL, NULL);
}
