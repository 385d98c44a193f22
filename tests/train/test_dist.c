/* Ranks that share a run: the same bits for any number of them, errors that reach them all. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/base/files.h"
#include "model/math/blas.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/tiny_run.h"
#include "train/evaluate.h"
#include "train/lanes.h"

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

/* ---- blocks ------------------------------------------------------------------------- */

static void blocks_cover_everything_once_and_evenly(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 9; ranks++) {
        for (int64_t count = 0; count < 40; count++) {
            Dist dist = {.ranks = ranks};
            assert_int_equal(dist_first(&dist, count, 0), 0);
            assert_int_equal(dist_first(&dist, count, ranks), count);
            for (int rank = 0; rank < ranks; rank++) {
                int64_t first = dist_first(&dist, count, rank);
                int64_t end = dist_first(&dist, count, rank + 1);
                assert_in_range(end - first, count / ranks,
                                (count + ranks - 1) / ranks);
                for (int64_t i = first; i < end; i++)
                    assert_int_equal(dist_owner(&dist, count, i), rank);
            }
        }
    }
}

enum { SHARED = 13 };

static void share_squares(Dist *dist, void *context)
{
    int64_t items[SHARED] = {0};
    for (int64_t i = dist_first(dist, SHARED, dist->rank);
         i < dist_first(dist, SHARED, dist->rank + 1); i++)
        items[i] = i * i + 1;
    dist_share(dist, items, SHARED, sizeof *items);
    for (int64_t i = 0; i < SHARED; i++)
        ((bool *)context)[dist->rank] &= items[i] == i * i + 1;
    ((bool *)context)[dist->rank] &= dist_hosts(dist) == (dist->ranks + 1) / 2;
    ((bool *)context)[dist->rank] &= dist_any(dist, dist->rank == dist->ranks - 1);
    ((bool *)context)[dist->rank] &= !dist_any(dist, false);
}

static void what_each_rank_fills_all_ranks_have(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= THREAD_RANKS_MOST; ranks++) {
        bool right[THREAD_RANKS_MOST];
        memset(right, 1, sizeof right);
        thread_ranks_run(ranks, share_squares, right);
        for (int r = 0; r < ranks; r++)
            assert_true(right[r]);
    }
}

/* ---- errors ------------------------------------------------------------------------- */

/* Ranks whose bit is set fail with STATUS_IO. */
typedef struct {
    unsigned failing;
    bool alike; /* with the same words */
    Status statuses[THREAD_RANKS_MOST];
    Error errors[THREAD_RANKS_MOST];
    bool agreed[THREAD_RANKS_MOST];
} Failures;

static void fail_some(Dist *dist, void *context)
{
    Failures *failures = context;
    Error *err = &failures->errors[dist->rank];
    Status status = STATUS_OK;
    if ((failures->failing >> dist->rank & 1) != 0)
        status = error_set(err, STATUS_IO, "disk %d is full",
                           failures->alike ? 0 : dist->rank);
    failures->statuses[dist->rank] = dist_agree(dist, status, err);
    failures->agreed[dist->rank] = dist->agreed;
}

static void an_error_on_some_ranks_is_the_lowest_ones_error_on_all(void **state)
{
    (void)state;
    for (unsigned failing = 0; failing < 16; failing++) {
        Failures failures = {.failing = failing};
        thread_ranks_run(4, fail_some, &failures);
        char expected[64];
        int lowest = 0;
        while (failing != 0 && (failing >> lowest & 1) == 0)
            lowest++;
        snprintf(expected, sizeof expected, "rank %d of 4 on host%d: disk %d is full",
                 lowest, lowest / 2, lowest);
        for (int r = 0; r < 4; r++) {
            assert_int_equal(failures.statuses[r], failing ? STATUS_IO : STATUS_OK);
            assert_int_equal(failures.agreed[r], failing != 0);
            assert_string_equal(failures.errors[r].message, failing ? expected : "");
        }
    }
}

static void an_error_that_is_everyones_names_no_rank(void **state)
{
    (void)state;
    Failures failures = {.failing = 7, .alike = true};
    thread_ranks_run(3, fail_some, &failures);
    for (int r = 0; r < 3; r++)
        assert_string_equal(failures.errors[r].message, "disk 0 is full");
}

static void compare_texts(Dist *dist, void *context)
{
    Failures *failures = context;
    failures->statuses[dist->rank] =
        dist_same(dist, "the soup", dist->rank == 2 ? "cold" : "hot", "heat it",
                  &failures->errors[dist->rank]);
}

static void a_difference_names_the_rank_and_both_values(void **state)
{
    (void)state;
    Failures failures = {0};
    thread_ranks_run(2, compare_texts, &failures);
    assert_int_equal(failures.statuses[0], STATUS_OK);
    assert_int_equal(failures.statuses[1], STATUS_OK);
    thread_ranks_run(4, compare_texts, &failures);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(failures.statuses[r], STATUS_INPUT);
        assert_string_equal(failures.errors[r].message,
                            "rank 2 of 4 on host1: the soup must be the same on all "
                            "ranks: expected hot as on rank 0, found cold; heat it");
    }
}

/* ---- lanes -------------------------------------------------------------------------- */

typedef struct {
    const Gpt *gpt;
    const RowBatch *batch;
    int64_t lanes;
    int threads;
    real *grads[THREAD_RANKS_MOST]; /* of each rank, owned */
    GptLoss losses[THREAD_RANKS_MOST];
    int64_t held[THREAD_RANKS_MOST]; /* gradient buffers that a rank has */
} Sums;

static void sum_lanes(Dist *dist, void *context)
{
    Sums *sums = context;
    Passes passes;
    Lanes lanes;
    const GptDropout dropout = {.p = 0.2, .key = 8};
    size_t bytes = sums->gpt->table.total * sizeof(real);
    real **grads = &sums->grads[dist->rank];
    omp_set_num_threads(sums->threads);
    TINY_MUST(passes_create(&passes, &sums->gpt->config, 2 * TINY_CONTEXT, err));
    TINY_MUST(lanes_create_part(&lanes, sums->gpt, &passes, sums->lanes, dist, err));
    TINY_MUST(memory_allocate(grads, 1, bytes, "a test", err));
    lanes_gradient(&lanes, sums->batch, &dropout); /* what it leaves must not add up */
    sums->losses[dist->rank] = lanes_gradient(&lanes, sums->batch, &dropout);
    memcpy(*grads, lanes.grads[lanes.first], bytes);
    for (int64_t i = 0; i < lanes.count; i++)
        sums->held[dist->rank] += lanes.grads[i] != NULL;
    lanes_destroy(&lanes);
    passes_destroy(&passes);
}

static void check_sums(const Sums *expected, int ranks)
{
    Sums sums = *expected;
    int64_t held = 0;
    memset(sums.grads, 0, sizeof sums.grads);
    memset(sums.held, 0, sizeof sums.held);
    sums.threads = 1 + ranks % 3;
    thread_ranks_run(ranks, sum_lanes, &sums);
    for (int r = 0; r < ranks; r++) {
        assert_memory_equal(sums.grads[r], expected->grads[0],
                            sums.gpt->table.total * sizeof(real));
        assert_memory_equal(&sums.losses[r].nats, &expected->losses[0].nats,
                            sizeof(double));
        assert_int_equal(sums.losses[r].targets, expected->losses[0].targets);
        held += sums.held[r];
        memory_free(sums.grads[r]);
    }
    assert_int_equal(held, sums.lanes); /* nobody holds another's lanes */
}

/* Ranks that divide the lanes and ranks that do not, down to a lane each; rows that some
 * lanes get none of. */
static void lanes_give_the_same_bits_for_any_number_of_ranks(void **state)
{
    (void)state;
    static const int64_t LANES[] = {1, 2, 4, 8, 16};
    Gpt gpt;
    BatchStream stream;
    RowBatch batch;
    BatchOptions options = {.row_tokens = TINY_CONTEXT, .seed = 3, .shuffle = true};
    tiny_model(&gpt, 1);
    TINY_MUST(batch_stream_open(&stream, &fixture.set.train.view,
                                &fixture.set.tokenizer, &options, err));
    TINY_MUST(batch_stream_next(&stream, 13, &batch, err));
    for (size_t i = 0; i < sizeof LANES / sizeof *LANES; i++) {
        Sums one = {.gpt = &gpt, .batch = &batch, .lanes = LANES[i], .threads = 2};
        thread_ranks_run(1, sum_lanes, &one);
        for (int ranks = 2; ranks <= LANES[i]; ranks++)
            check_sums(&one, ranks);
        memory_free(one.grads[0]);
    }
    batch_stream_close(&stream);
    gpt_destroy(&gpt);
}

static void more_ranks_than_lanes_are_refused(void **state)
{
    (void)state;
    Gpt gpt;
    Passes passes;
    Lanes lanes;
    Error err = {0};
    Dist dist = {.rank = 2, .ranks = 5};
    tiny_model(&gpt, 1);
    Status status = passes_create(&passes, &gpt.config, TINY_CONTEXT, &err);
    assert_int_equal(status, STATUS_OK);
    status = lanes_create_part(&lanes, &gpt, &passes, 4, &dist, &err);
    assert_int_equal(status, STATUS_USAGE);
    assert_non_null(strstr(err.message, "5 ranks cannot share 4 lanes: raise --lanes"));
    lanes_destroy(&lanes);
    passes_destroy(&passes);
    gpt_destroy(&gpt);
}

/* ---- the loss over a split ---------------------------------------------------------- */

typedef struct {
    const Gpt *gpt;
    Evaluation results[THREAD_RANKS_MOST];
} Evaluations;

static void evaluate_split(Dist *dist, void *context)
{
    Evaluations *evaluations = context;
    Passes passes;
    TINY_MUST(passes_create(&passes, &evaluations->gpt->config, 20, err));
    RowSet rows = rows_of_poems(&fixture.set.held_out.view);
    TINY_MUST(evaluate_rows(&evaluations->results[dist->rank], evaluations->gpt,
                            &passes, &rows, &fixture.set.tokenizer, dist, err));
    passes_destroy(&passes);
}

static void the_loss_has_the_same_bits_for_any_number_of_ranks(void **state)
{
    (void)state;
    Gpt gpt;
    tiny_model(&gpt, 4);
    Evaluations one = {.gpt = &gpt};
    thread_ranks_run(1, evaluate_split, &one);
    assert_true(evaluation_tokens(&one.results[0]) > 0);
    for (int ranks = 2; ranks <= THREAD_RANKS_MOST; ranks += ranks < 4 ? 1 : 4) {
        Evaluations more = {.gpt = &gpt};
        thread_ranks_run(ranks, evaluate_split, &more);
        for (int r = 0; r < ranks; r++)
            assert_memory_equal(&more.results[r], &one.results[0],
                                sizeof more.results[r]);
    }
    gpt_destroy(&gpt);
}

/* ---- runs --------------------------------------------------------------------------- */

/* A run that all ranks make together, and what may befall one of them. */
typedef struct {
    TrainOptions options;
    const char *checkpoint; /* to go on from; NULL: none */
    int unlike;             /* this rank has other data; -1: none does */
    int stops;              /* this rank is asked to stop after step stop_at */
    int64_t stop_at;        /* 0: never */
    int spoils;             /* this rank's weights change after step spoil_at */
    int64_t spoil_at;       /* 0: never */
    Trainer *trainers[THREAD_RANKS_MOST];
    Status statuses[THREAD_RANKS_MOST];
    Error errors[THREAD_RANKS_MOST];
    int64_t records[THREAD_RANKS_MOST], steps[THREAD_RANKS_MOST];
} Runs;

typedef struct {
    Runs *runs;
    const Dist *dist;
    Trainer *trainer;
} RankHooks;

static void on_record(void *context, const TrainRecord *record)
{
    const RankHooks *hooks = context;
    (void)record;
    hooks->runs->records[hooks->dist->rank]++;
}

static void on_step(void *context, const TrainRecord *record)
{
    const RankHooks *hooks = context;
    (void)record;
    hooks->runs->steps[hooks->dist->rank]++;
}

static bool on_stop(void *context)
{
    const RankHooks *hooks = context;
    const Runs *runs = hooks->runs;
    int64_t step = trainer_step(hooks->trainer);
    if (runs->spoil_at == step && runs->spoils == hooks->dist->rank)
        hooks->trainer->gpt.params.norm.gain[0] += (real)1e-3;
    return runs->stop_at == step && runs->stops == hooks->dist->rank;
}

static void run_rank(Dist *dist, void *context)
{
    Runs *runs = context;
    TrainOptions options = runs->options;
    TrainData data = tiny_data(&fixture);
    Error *err = &runs->errors[dist->rank];
    RankHooks hooks = {.runs = runs, .dist = dist};
    TrainHooks calls = {
        .context = &hooks, .record = on_record, .step = on_step, .stop = on_stop};
    options.dist = dist;
    if (runs->unlike == dist->rank)
        data.fingerprint = "fedcba9876543210";
    if (dist->rank > 0) /* the folder is rank 0's: nobody else may need it */
        options.folder = "/nowhere";
    Status status = trainer_create(&hooks.trainer, &options, &data, err);
    if (status == STATUS_OK && runs->checkpoint != NULL)
        status = trainer_restore(hooks.trainer,
                                 dist->rank == 0 ? runs->checkpoint : "/nowhere", err);
    if (status == STATUS_OK)
        status = trainer_run(hooks.trainer, &calls, err);
    runs->statuses[dist->rank] = status;
    runs->trainers[dist->rank] = hooks.trainer;
    /* As when its process has ended: the next one may have the folder. */
    if (hooks.trainer != NULL && hooks.trainer->lock >= 0) {
        folder_unlock(hooks.trainer->lock);
        hooks.trainer->lock = -1;
    }
}

static Runs new_runs(void)
{
    return (Runs){.options = tiny_options(&fixture), .unlike = -1};
}

static void free_trainers(Runs *runs, int ranks)
{
    for (int r = 0; r < ranks; r++)
        trainer_destroy(runs->trainers[r]);
}

static void assert_statuses(const Runs *runs, int ranks, Status status)
{
    for (int r = 0; r < ranks; r++) {
        if (runs->statuses[r] != status)
            fail_msg("rank %d: expected status %d, found %d: %s", r, (int)status,
                     (int)runs->statuses[r], runs->errors[r].message);
    }
}

static void assert_same_bits(const Trainer *a, const Trainer *b)
{
    size_t size = a->gpt.table.total * sizeof(real);
    assert_memory_equal(a->gpt.values, b->gpt.values, size);
    assert_memory_equal(a->optimizer.m, b->optimizer.m, size);
    assert_memory_equal(a->optimizer.v, b->optimizer.v, size);
    assert_int_equal(a->place.step, b->place.step);
    assert_int_equal(a->place.tokens, b->place.tokens);
    assert_int_equal(a->place.row, b->place.row);
    assert_memory_equal(&a->place.best_nats, &b->place.best_nats, sizeof(double));
    assert_memory_equal(&a->place.loss_sum, &b->place.loss_sum, sizeof(double));
}

static void a_run_has_the_same_bits_for_any_number_of_ranks(void **state)
{
    (void)state;
    Runs one = new_runs();
    thread_ranks_run(1, run_rank, &one);
    assert_statuses(&one, 1, STATUS_OK);
    for (int ranks = 2; ranks <= 4; ranks++) {
        Runs more = new_runs();
        thread_ranks_run(ranks, run_rank, &more);
        assert_statuses(&more, ranks, STATUS_OK);
        for (int r = 0; r < ranks; r++) {
            assert_same_bits(one.trainers[0], more.trainers[r]);
            assert_int_equal(more.records[r], r == 0 ? one.records[0] : 0);
            assert_int_equal(more.steps[r], r == 0 ? 11 : 0);
        }
        free_trainers(&more, ranks);
    }
    free_trainers(&one, 1);
}

/* Step 5 has no record, 6 has one, 8 an evaluation. */
static void a_stop_on_any_rank_stops_all_and_any_number_goes_on(void **state)
{
    (void)state;
    static const int64_t STOPS[] = {5, 6, 8};
    char last[PATH_SIZE];
    Runs whole = new_runs();
    thread_ranks_run(1, run_rank, &whole);
    for (int i = 0; i < 3; i++) {
        Runs first = new_runs();
        first.stops = i;
        first.stop_at = STOPS[i];
        thread_ranks_run(3, run_rank, &first);
        assert_statuses(&first, 3, STATUS_INTERRUPTED);
        for (int r = 0; r < 3; r++)
            assert_int_equal(trainer_step(first.trainers[r]), STOPS[i]);
        free_trainers(&first, 3);
        Runs second = new_runs();
        second.checkpoint = scratch_path(last, fixture.folder, "last");
        thread_ranks_run(1 + i, run_rank, &second);
        assert_statuses(&second, 1 + i, STATUS_OK);
        for (int r = 0; r < 1 + i; r++)
            assert_same_bits(whole.trainers[0], second.trainers[r]);
        free_trainers(&second, 1 + i);
    }
    free_trainers(&whole, 1);
}

static void other_data_on_a_rank_is_refused(void **state)
{
    (void)state;
    Runs runs = new_runs();
    runs.unlike = 1;
    thread_ranks_run(3, run_rank, &runs);
    assert_statuses(&runs, 3, STATUS_INPUT);
    for (int r = 0; r < 3; r++) {
        assert_null(runs.trainers[r]);
        assert_non_null(
            strstr(runs.errors[r].message, "rank 1 of 3 on host0: the training data"));
    }
}

/* As on a host whose processor rounds differently. */
static void weights_that_drift_apart_end_the_run(void **state)
{
    (void)state;
    Runs runs = new_runs();
    runs.spoils = 2;
    runs.spoil_at = 5;
    thread_ranks_run(3, run_rank, &runs);
    assert_statuses(&runs, 3, STATUS_NUMERIC);
    for (int r = 0; r < 3; r++) {
        assert_non_null(strstr(runs.errors[r].message,
                               "rank 2 of 3 on host1: step 8: the weights are not"));
        assert_int_equal(trainer_step(runs.trainers[r]), 8);
    }
    free_trainers(&runs, 3);
}

static void a_folder_that_rank_0_cannot_make_is_an_error_on_all(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    Runs runs = new_runs();
    runs.options.folder = scratch_path(path, fixture.set_folder, "tokenizer.json");
    thread_ranks_run(2, run_rank, &runs);
    assert_true(runs.statuses[0] != STATUS_OK);
    assert_statuses(&runs, 2, runs.statuses[0]);
    assert_string_equal(runs.errors[0].message, runs.errors[1].message);
    assert_non_null(strstr(runs.errors[1].message, "rank 0 of 2"));
    free_trainers(&runs, 2);
}

/* ---- launchers ---------------------------------------------------------------------- */

static void copies_that_cannot_meet_are_refused(void **state)
{
    (void)state;
    Dist dist = dist_alone();
    Dist two = {.ranks = 2};
    static const char *const NAMES[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (int i = 0; i < 2; i++) {
        Error err = {0};
        unsetenv(NAMES[i]);
        assert_int_equal(dist_check_launcher(&dist, "so", &err), STATUS_OK);
        setenv(NAMES[i], "1", 1);
        assert_int_equal(dist_check_launcher(&dist, "so", &err), STATUS_OK);
        setenv(NAMES[i], "2", 1);
        assert_int_equal(dist_check_launcher(&dist, "so", &err), STATUS_USAGE);
        assert_non_null(strstr(err.message, NAMES[i]));
        assert_int_equal(dist_check_launcher(&two, "so", &err), STATUS_OK);
        unsetenv(NAMES[i]);
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_cover_everything_once_and_evenly),
        cmocka_unit_test(what_each_rank_fills_all_ranks_have),
        cmocka_unit_test(an_error_on_some_ranks_is_the_lowest_ones_error_on_all),
        cmocka_unit_test(an_error_that_is_everyones_names_no_rank),
        cmocka_unit_test(a_difference_names_the_rank_and_both_values),
        cmocka_unit_test(lanes_give_the_same_bits_for_any_number_of_ranks),
        cmocka_unit_test(more_ranks_than_lanes_are_refused),
        cmocka_unit_test(the_loss_has_the_same_bits_for_any_number_of_ranks),
        cmocka_unit_test(a_run_has_the_same_bits_for_any_number_of_ranks),
        cmocka_unit_test(a_stop_on_any_rank_stops_all_and_any_number_goes_on),
        cmocka_unit_test(other_data_on_a_rank_is_refused),
        cmocka_unit_test(weights_that_drift_apart_end_the_run),
        cmocka_unit_test(a_folder_that_rank_0_cannot_make_is_an_error_on_all),
        cmocka_unit_test(copies_that_cannot_meet_are_refused),
    };
    return cmocka_run_group_tests_name("dist", tests, make_run, free_run);
}
