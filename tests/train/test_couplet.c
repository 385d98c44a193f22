/* Runs on pairs of lines: the same bits however they are run, learning to look across, second
 * lines and their scores. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/clean.h"
#include "model/gpt/weights.h"
#include "model/math/blas.h"
#include "tests/train/tiny_pairs.h"
#include "tests/train/tiny_run.h"
#include "train/couplet_score.h"

static TinyRun fixture;
static TinyPairs train, held_out;

static int make_run(void **state)
{
    (void)state;
    tiny_run_create(&fixture);
    tiny_pairs(&train, 40, 1);
    tiny_pairs(&held_out, 9, 2);
    fixture.train_pairs = &train.view;
    fixture.held_out_pairs = &held_out.view;
    return 0;
}

static int free_run(void **state)
{
    (void)state;
    tiny_run_free(&fixture);
    return 0;
}

static TrainOptions pair_options(void)
{
    TrainOptions options = tiny_options(&fixture);
    options.model = tiny_couplet_config();
    options.model.dropout = 0.1;
    options.batch_tokens = 13 * 8; /* 13 pairs: epochs begin inside batches */
    options.pass_tokens = 20;      /* two or three pairs */
    return options;
}

/* ---- the same bits ------------------------------------------------------------------ */

static void assert_same_bits(const Trainer *a, const Trainer *b)
{
    size_t size = a->gpt.table.total * sizeof(real);
    assert_memory_equal(a->gpt.values, b->gpt.values, size);
    assert_memory_equal(a->optimizer.m, b->optimizer.m, size);
    assert_memory_equal(a->optimizer.v, b->optimizer.v, size);
    assert_int_equal(a->place.tokens, b->place.tokens);
    assert_int_equal(a->place.epoch, b->place.epoch);
    assert_int_equal(a->place.row, b->place.row);
    assert_memory_equal(&a->place.best_nats, &b->place.best_nats, sizeof(double));
    assert_memory_equal(&a->place.loss_sum, &b->place.loss_sum, sizeof(double));
}

static void a_run_has_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    TrainOptions options = pair_options();
    omp_set_num_threads(1);
    Trainer *one = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    assert_true(one->place.epoch >= 3); /* 11 steps of 13 pairs, 40 an epoch */
    for (int threads = 2; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        Trainer *more = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
        assert_same_bits(one, more);
        trainer_destroy(more);
    }
    trainer_destroy(one);
}

static void a_stopped_run_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    TrainOptions options = pair_options();
    static const int64_t STOPS[] = {1, 3, 4, 7, 10};
    Trainer *whole = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    for (size_t i = 0; i < sizeof STOPS / sizeof *STOPS; i++) {
        TinyHooks hooks = tiny_hooks();
        char last[PATH_SIZE];
        hooks.stop_at = STOPS[i];
        omp_set_num_threads(1 + (int)(STOPS[i] % 2));
        Trainer *first =
            tiny_train(&fixture, &options, hooks, STATUS_INTERRUPTED, NULL);
        trainer_destroy(first);
        Trainer *second = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK,
                                     scratch_path(last, options.folder, "last"));
        assert_same_bits(whole, second);
        trainer_destroy(second);
    }
    trainer_destroy(whole);
}

static void how_many_pairs_a_pass_takes_does_not_matter(void **state)
{
    (void)state;
    TrainOptions options = pair_options();
    Trainer *few = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    options.pass_tokens = 1000;
    Trainer *many = tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
    assert_near(trainer_best_nats(few), trainer_best_nats(many), 1e-4);
    trainer_destroy(many);
    trainer_destroy(few);
}

/* ---- learning ----------------------------------------------------------------------- */

/* Without the upper line a character costs about ln 19; the held-out pairs share no line
 * with the others, so knowing them by heart does not help. */
static Trainer *train_to_the_end(void)
{
    tiny_pairs(&train, TINY_PAIRS, 1);
    TrainOptions options = pair_options();
    options.model.dropout = 0;
    options.optimizer.rate = 1e-2;
    options.optimizer.decay = options.optimizer.muon_decay = 0;
    options.model.width = 32;
    options.model.head_size = 16;
    options.model.mlp_width = 64;
    options.steps = 200;
    options.eval_every = 100;
    options.batch_tokens = 20 * 8;
    return tiny_train(&fixture, &options, tiny_hooks(), STATUS_OK, NULL);
}

static void a_model_learns_to_answer_lines_that_it_has_not_read(void **state)
{
    (void)state;
    Trainer *trainer = train_to_the_end();
    assert_true(trainer_best_nats(trainer) < 0.5);
    trainer_destroy(trainer);
}

static void sets_of_the_other_kind_are_refused(void **state)
{
    (void)state;
    Trainer *trainer;
    Error err;
    TrainOptions options = pair_options();
    TrainData data = tiny_data(&fixture);
    options.model.context = 7; /* too short for a line of 7 and its end */
    assert_int_equal(trainer_create(&trainer, &options, &data, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "at least 8"));
    options = tiny_options(&fixture); /* gpt2 */
    assert_int_equal(trainer_create(&trainer, &options, &data, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "family couplet"));
    options = pair_options();
    data.train_pairs = data.validation_pairs = NULL;
    assert_int_equal(trainer_create(&trainer, &options, &data, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "set of pairs"));
    data = tiny_data(&fixture);
    options.batch_tokens = 7;
    assert_int_equal(trainer_create(&trainer, &options, &data, &err), STATUS_USAGE);
    assert_null(trainer);
}

/* ---- second lines ------------------------------------------------------------------- */

/* Of a model with random weights, which would end anywhere and say anything. */
static void random_couplets(Gpt *gpt)
{
    GptConfig config = tiny_couplet_config();
    TINY_MUST(gpt_create(gpt, &config, err));
    Rng rng = rng_stream(3, 0);
    for (size_t i = 0; i < gpt->table.total; i++)
        gpt->values[i] = (real)(0.5 * rng_normal(&rng));
}

static CoupletSettings settings(double temperature, bool repeats)
{
    return (CoupletSettings){
        .sampler = {.temperature = temperature, .top_p = 1, .repetition_penalty = 1},
        .repeats = repeats};
}

static bool is_in(const int32_t *line, int64_t length, int32_t id)
{
    for (int64_t i = 0; i < length; i++) {
        if (line[i] == id)
            return true;
    }
    return false;
}

/* 200 lines of all lengths at three temperatures, with upper characters that repeat. */
static void a_second_line_is_as_long_as_the_first_and_repeats_nothing(void **state)
{
    (void)state;
    Gpt gpt;
    CoupletWriter *writer;
    random_couplets(&gpt);
    TINY_MUST(couplet_writer_create(&writer, &gpt, &fixture.set.tokenizer, err));
    int64_t repeats = 0;
    for (int64_t i = 0; i < 200; i++) {
        static const double TEMPERATURES[] = {0, 1, 3};
        int64_t n = 1 + i % couplet_longest(&gpt);
        int32_t upper[12], lower[12];
        double nats;
        Rng rng = rng_stream(11, (uint64_t)i);
        for (int64_t c = 0; c < n; c++)
            upper[c] =
                c % 4 == 3 && i % 2 == 0 ? upper[c - 2] : (int32_t)tiny_han(&rng);
        for (int free = 0; free < 2; free++) {
            for (int64_t c = 0; c < 12; c++)
                lower[c] = -1;
            CoupletSettings how = settings(TEMPERATURES[i % 3], free);
            if (n > 8 && !free)
                continue; /* 19 characters are too few for two such lines */
            TINY_MUST(couplet_write(writer, lower, &nats, upper, n, &how, &rng, err));
            assert_true(nats > 0);
            for (int64_t c = 0; c < n; c++) {
                uint32_t point = tokenizer_code_point(&fixture.set.tokenizer, lower[c]);
                assert_true(clean_is_han(point));
                repeats += free && is_in(upper, n, lower[c]);
                assert_false(!free && is_in(upper, n, lower[c]));
                for (int64_t d = 0; d < c; d++)
                    assert_true(free || lower[c] != lower[d] || upper[c] == upper[d]);
            }
            for (int64_t c = n; c < 12; c++)
                assert_int_equal(lower[c], -1);
        }
    }
    assert_true(repeats > 0); /* so there was something to ban */
    couplet_writer_destroy(writer);
    gpt_destroy(&gpt);
}

/* The nats of a greedy line are what the loss says of it. */
static void nats_are_those_of_the_loss(void **state)
{
    (void)state;
    Gpt gpt;
    CoupletWriter *writer;
    GptWork *work;
    random_couplets(&gpt);
    TINY_MUST(couplet_writer_create(&writer, &gpt, &fixture.set.tokenizer, err));
    TINY_MUST(gpt_work_create(&work, &gpt.config, 12, err));
    int32_t source_ids[6] = {8, 9, 10, 11, 12, TOKEN_EOS}, lower[5];
    int32_t ids[6] = {TOKEN_BOS}, targets[6], places[6] = {0, 1, 2, 3, 4, 5};
    const int64_t starts[2] = {0, 5}, source_starts[2] = {0, 6};
    double nats;
    Rng rng = rng_stream(1, 0);
    CoupletSettings how = settings(1, true);
    TINY_MUST(couplet_write(writer, lower, &nats, source_ids, 5, &how, &rng, err));
    for (int i = 0; i < 5; i++)
        ids[i + 1] = targets[i] = lower[i];
    TokenBatch source = {.tokens = 6,
                         .segments = 1,
                         .ids = source_ids,
                         .positions = places,
                         .starts = source_starts};
    TokenBatch batch = {.tokens = 5,
                        .segments = 1,
                        .ids = ids,
                        .targets = targets,
                        .positions = places,
                        .starts = starts,
                        .source = &source};
    GptLoss loss = gpt_loss(&gpt, work, &batch, NULL);
    assert_near(nats, loss.nats / 5, 1e-4);
    gpt_work_destroy(work);
    couplet_writer_destroy(writer);
    gpt_destroy(&gpt);
}

/* ---- scores ------------------------------------------------------------------------- */

static void a_learned_rule_is_scored_as_exact(void **state)
{
    (void)state;
    Trainer *trainer = train_to_the_end();
    CoupletScore score, again;
    CoupletSettings greedy = settings(0, true);
    const Tokenizer *tokenizer = &fixture.set.tokenizer;
    omp_set_num_threads(1);
    TINY_MUST(couplet_score_model(&score, trainer_model(trainer), tokenizer,
                                  &held_out.view, &greedy, 1, err));
    assert_int_equal(score.tones.pairs, 9);
    assert_true(score.exact >= 5);
    omp_set_num_threads(3);
    CoupletSettings drawn = settings(1, true);
    TINY_MUST(couplet_score_model(&score, trainer_model(trainer), tokenizer,
                                  &held_out.view, &drawn, 1, err));
    omp_set_num_threads(1);
    TINY_MUST(couplet_score_model(&again, trainer_model(trainer), tokenizer,
                                  &held_out.view, &drawn, 1, err));
    assert_memory_equal(&score, &again, sizeof score);
    trainer_destroy(trainer);
}

static void scores_count_what_they_say(void **state)
{
    (void)state;
    const Tokenizer *tokenizer = &fixture.set.tokenizer;
    int32_t id[6];
    /* level: 山 天 人; oblique: 水 月 地 */
    static const uint32_t POINTS[6] = {U'山', U'天', U'人', U'水', U'月', U'地'};
    for (int i = 0; i < 6; i++)
        id[i] = tokenizer_id(tokenizer, POINTS[i]);
    const int32_t upper[5] = {id[0], id[1], id[2], id[3], id[1]};
    const int32_t answer[5] = {id[4], id[5], id[4], id[2], id[4]}; /* has 人 again */
    const int32_t same[5] = {id[4], id[1], id[5], id[5], id[4]};   /* has 天 at 2 */
    const int32_t apart[5] = {id[4], id[5], id[5], TOKEN_UNK, id[4]};
    CoupletScore score = {0};
    couplet_score_add(&score, tokenizer, upper, answer, same, 5);
    assert_int_equal(score.tones.opposite, 1);
    assert_int_equal(score.repeating, 1);
    assert_int_equal(score.exact, 0);
    couplet_score_add(&score, tokenizer, upper, same, same, 5);
    assert_int_equal(score.tones.opposite, 1);
    assert_int_equal(score.repeating, 2);
    assert_int_equal(score.exact, 1);
    couplet_score_add(&score, tokenizer, upper, apart, same, 5);
    assert_int_equal(score.tones.undecided, 1);
    assert_int_equal(score.repeating, 2);
    CoupletScore truth = couplet_score_truth(tokenizer, &held_out.view);
    assert_int_equal(truth.exact, held_out.view.pairs);
    assert_int_equal(truth.tones.pairs, held_out.view.pairs);
}

int main(void)
{
    blas_single_thread();
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, free_run)
    const struct CMUnitTest tests[] = {
        TEST(a_run_has_the_same_bits_for_any_number_of_threads),
        TEST(a_stopped_run_goes_on_with_the_same_bits),
        TEST(how_many_pairs_a_pass_takes_does_not_matter),
        TEST(a_model_learns_to_answer_lines_that_it_has_not_read),
        TEST(sets_of_the_other_kind_are_refused),
        TEST(a_second_line_is_as_long_as_the_first_and_repeats_nothing),
        TEST(nats_are_those_of_the_loss),
        TEST(a_learned_rule_is_scored_as_exact),
        TEST(scores_count_what_they_say),
    };
    return cmocka_run_group_tests_name("couplet", tests, NULL, NULL);
}
