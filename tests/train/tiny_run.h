/* Runs on the tiny set: eleven steps with dropout, fields that come and go, records every
 * 2 steps and evaluations every 4. Include after cmocka.h. */
#ifndef JUEJU_TESTS_TRAIN_TINY_RUN_H
#define JUEJU_TESTS_TRAIN_TINY_RUN_H

#include "tests/train/tiny_set.h"
#include "train/trainer_state.h"

typedef struct {
    char root[PATH_SIZE]; /* scratch: root/set and root/run */
    char set_folder[PATH_SIZE], folder[PATH_SIZE];
    TinySet set;
    const PairSet *train_pairs, *held_out_pairs; /* NULL: poems */
} TinyRun;

static inline void tiny_run_create(TinyRun *run)
{
    scratch_create(run->root);
    scratch_path(run->set_folder, run->root, "set");
    scratch_path(run->folder, run->root, "run");
    tiny_set_create(&run->set, run->set_folder);
}

static inline void tiny_run_free(TinyRun *run)
{
    tiny_set_free(&run->set);
    scratch_remove(run->root);
}

static inline TrainOptions tiny_options(const TinyRun *run)
{
    TrainOptions options = {.model = tiny_config(),
                            .init = INIT_XAVIER_PER_HEAD,
                            .optimizer = {.kind = OPTIMIZER_MUON,
                                          .rate = 3e-3,
                                          .beta1 = 0.9,
                                          .beta2 = 0.95,
                                          .eps = 1e-8,
                                          .decay = 0.1,
                                          .muon_rate = 0.02,
                                          .muon_momentum = 0.95,
                                          .muon_decay = 0.1},
                            .steps = 11,
                            .warmup = 3,
                            .final_rate = 0.1,
                            .clip = 1,
                            .batch_tokens = 7 * TINY_CONTEXT,
                            .pass_tokens = 2 * TINY_CONTEXT,
                            .lanes = 4,
                            .keep_form = 0.5,
                            .keep_title = 0.5,
                            .keep_author = 0.5,
                            .eval_every = 4,
                            .log_every = 2,
                            .seed = 7,
                            .folder = run->folder};
    options.model.dropout = 0.1;
    return options;
}

static inline TrainData tiny_data(const TinyRun *run)
{
    return (TrainData){.train = &run->set.train.view,
                       .validation = &run->set.held_out.view,
                       .train_pairs = run->train_pairs,
                       .validation_pairs = run->held_out_pairs,
                       .tokenizer = &run->set.tokenizer,
                       .folder = run->set_folder,
                       .fingerprint = "0123456789abcdef"};
}

/* What happens during a run; counts where pointers are set. */
typedef struct {
    int64_t stop_at;  /* asks to stop after this step; 0: never */
    int64_t plant_at; /* puts a NaN into a weight after this step; 0: never */
    int64_t spoil_at; /* makes the model much worse after this step; 0: never */
    int64_t *records, *evaluations, *steps;
    Error *error; /* takes the error that ended the run */
    Trainer *trainer;
} TinyHooks;

static inline TinyHooks tiny_hooks(void)
{
    return (TinyHooks){0};
}

static inline void tiny_on_record(void *context, const TrainRecord *record)
{
    const TinyHooks *hooks = context;
    if (hooks->records != NULL)
        ++*hooks->records;
    if (hooks->evaluations != NULL)
        *hooks->evaluations += record->evaluated;
}

static inline void tiny_on_step(void *context, const TrainRecord *record)
{
    const TinyHooks *hooks = context;
    if (hooks->steps != NULL)
        ++*hooks->steps;
    if (record->step == hooks->plant_at)
        hooks->trainer->gpt.params.blocks[1].mlp.up.weight[5] = (real)NAN;
    if (record->step == hooks->spoil_at)
        hooks->trainer->gpt.params.norm.gain[0] = 1000;
}

static inline bool tiny_on_stop(void *context)
{
    const TinyHooks *hooks = context;
    return hooks->stop_at > 0 && hooks->trainer->place.step == hooks->stop_at;
}

/* A new trainer, restored from a checkpoint unless that is NULL, run until it ends with
 * `expected`. The caller destroys it. */
static inline Trainer *tiny_train(const TinyRun *run, const TrainOptions *options,
                                  TinyHooks hooks, Status expected,
                                  const char *checkpoint)
{
    Trainer *trainer;
    Error err = {0};
    TrainData data = tiny_data(run);
    Status status = trainer_create(&trainer, options, &data, &err);
    if (status == STATUS_OK && checkpoint != NULL)
        status = trainer_restore(trainer, checkpoint, &err);
    hooks.trainer = trainer;
    TrainHooks calls = {.context = &hooks,
                        .record = tiny_on_record,
                        .step = tiny_on_step,
                        .stop = tiny_on_stop};
    if (status == STATUS_OK)
        status = trainer_run(trainer, &calls, &err);
    if (status != expected)
        fail_msg("expected status %d, found %d: %s", (int)expected, (int)status,
                 err.message);
    if (hooks.error != NULL)
        *hooks.error = err;
    /* As when its process has ended: the next one may have the folder. */
    if (trainer != NULL && trainer->lock >= 0) {
        folder_unlock(trainer->lock);
        trainer->lock = -1;
    }
    return trainer;
}

#endif
