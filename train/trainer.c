#include "train/trainer.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>

#include "model/base/files.h"
#include "model/base/rng.h"
#include "train/checkpoint.h"
#include "train/clip.h"
#include "train/faults.h"
#include "train/schedule.h"
#include "train/trainer_ranks.h"
#include "train/trainer_state.h"

/* Names of the run's random streams; weights use streams 0 .. of the seed itself. */
static const uint64_t STREAM_BATCHES = UINT64_C(0x6261746368);
static const uint64_t STREAM_DROPOUT = UINT64_C(0x64726F70);

static Status check_positive(const char *name, int64_t value, Error *err)
{
    if (value < 1)
        return error_set(err, STATUS_USAGE, "%s must be at least 1, but it is %lld",
                         name, (long long)value);
    return STATUS_OK;
}

static Status check_options(const TrainOptions *options, Error *err)
{
    TRY(check_positive("the number of steps", options->steps, err));
    TRY(check_positive("the steps between evaluations", options->eval_every, err));
    TRY(check_positive("the steps between records", options->log_every, err));
    int64_t lanes = options->lanes;
    if (lanes < 1 || lanes > LANES_MAXIMUM || (lanes & (lanes - 1)) != 0)
        return error_set(err, STATUS_USAGE,
                         "the number of lanes must be a power of two up to %d, but it "
                         "is %lld",
                         LANES_MAXIMUM, (long long)lanes);
    return STATUS_OK;
}

static RowSet training_set(const Trainer *trainer)
{
    const TrainData *data = &trainer->data;
    return (RowSet){.poems = data->train, .pairs = data->train_pairs};
}

static RowSet validation_set(const Trainer *trainer)
{
    const TrainData *data = &trainer->data;
    return (RowSet){.poems = data->validation, .pairs = data->validation_pairs};
}

static Status check_set(const Trainer *trainer, Error *err)
{
    const TrainOptions *options = &trainer->options;
    RowSet train = training_set(trainer);
    RowSet validation = validation_set(trainer);
    int64_t longest = row_set_longest(&train, &options->model);
    Status status = row_set_check(&train, &options->model, err);
    if (status != STATUS_OK)
        return error_context(err, "%s", trainer->data.folder);
    if (row_set_size(&validation) == 0)
        return error_set(err, STATUS_INPUT,
                         "%s has no validation poems, which training needs to choose "
                         "its best checkpoint: prepare a set of more different poems",
                         trainer->data.folder);
    if (options->batch_tokens < longest)
        return error_set(err, STATUS_USAGE,
                         "a step's batch of %lld tokens must hold a row of %lld tokens",
                         (long long)options->batch_tokens, (long long)longest);
    return STATUS_OK;
}

static Status open_streams(Trainer *trainer, Error *err)
{
    const TrainOptions *options = &trainer->options;
    const TrainData *data = &trainer->data;
    RowSet train = training_set(trainer);
    RowSet validation = validation_set(trainer);
    int64_t longest = row_set_longest(&train, &options->model);
    int32_t row_tokens = (int32_t)options->model.context;
    BatchOptions batches = {.row_tokens = row_tokens,
                            .seed = rng_hash(options->seed, STREAM_BATCHES),
                            .keep_form = options->keep_form,
                            .keep_title = options->keep_title,
                            .keep_author = options->keep_author,
                            .shuffle = true};
    TRY(row_stream_open(&trainer->stream, &train, data->tokenizer, &batches, err));
    trainer->step_rows = options->batch_tokens / longest;
    int64_t epoch_rows = row_stream_epoch_rows(&trainer->stream);
    if (trainer->step_rows > epoch_rows)
        return error_set(err, STATUS_USAGE,
                         "a step of %lld tokens has %lld rows of %lld, more than the "
                         "training split's %lld: take a smaller batch",
                         (long long)options->batch_tokens,
                         (long long)trainer->step_rows, (long long)longest,
                         (long long)epoch_rows);
    BatchOptions plain = {.row_tokens = row_tokens};
    TRY(row_stream_open(&trainer->probe_stream, &validation, data->tokenizer, &plain,
                        err));
    int64_t rows = trainer->passes.tokens / longest;
    return row_stream_range(&trainer->probe_stream, 0, rows, &trainer->probe, err);
}

static Status create_all(Trainer *trainer, Error *err)
{
    TrainOptions *options = &trainer->options;
    TRY(check_options(options, err));
    options->model.vocab_size = trainer->data.tokenizer->size;
    TRY(gpt_create(&trainer->gpt, &options->model, err));
    TRY(check_set(trainer, err));
    gpt_init(&trainer->gpt, options->init, options->seed);
    TRY(optimizer_create(&trainer->optimizer, &trainer->gpt, &options->optimizer, err));
    if (options->pass_tokens < options->model.context)
        options->pass_tokens = options->model.context;
    TRY(passes_create(&trainer->passes, &options->model, options->pass_tokens, err));
    TRY(lanes_create_part(&trainer->lanes, &trainer->gpt, &trainer->passes,
                          options->lanes, trainer->dist, err));
    TRY(memory_allocate(&trainer->layers, (size_t)options->model.layers,
                        sizeof *trainer->layers, "the probe", err));
    TRY(checkpoint_map(trainer, err));
    return open_streams(trainer, err);
}

Status trainer_create(Trainer **trainer, const TrainOptions *options,
                      const TrainData *data, Error *err)
{
    *trainer = NULL;
    Trainer *made;
    TRY(memory_allocate(&made, 1, sizeof *made, "the trainer", err));
    made->options = *options;
    made->data = *data;
    made->place.best_nats = INFINITY;
    made->lock = -1;
    made->alone = dist_alone();
    made->dist = options->dist != NULL ? options->dist : &made->alone;
    Status status = dist_agree(made->dist, create_all(made, err), err);
    if (status == STATUS_OK)
        status = ranks_check_start(made, err);
    if (status != STATUS_OK) {
        trainer_destroy(made);
        return status;
    }
    *trainer = made;
    return STATUS_OK;
}

void trainer_destroy(Trainer *trainer)
{
    if (trainer == NULL)
        return;
    if (trainer->lock >= 0)
        folder_unlock(trainer->lock);
    checkpoint_unmap(trainer);
    metrics_free(&trainer->metrics);
    row_stream_close(&trainer->probe_stream);
    row_stream_close(&trainer->stream);
    memory_free(trainer->layers);
    lanes_destroy(&trainer->lanes);
    passes_destroy(&trainer->passes);
    optimizer_destroy(&trainer->optimizer);
    gpt_destroy(&trainer->gpt);
    memory_free(trainer);
}

Status trainer_restore(Trainer *trainer, const char *checkpoint, Error *err)
{
    Status status = STATUS_OK;
    if (trainer->dist->rank == 0)
        status = checkpoint_restore(trainer, checkpoint, err);
    TRY(dist_agree(trainer->dist, status, err));
    ranks_take_state(trainer);
    trainer->record_seconds = trainer->place.seconds;
    trainer->record_tokens = trainer->place.tokens;
    status = row_stream_seek(&trainer->stream, trainer->place.epoch, trainer->place.row,
                             err);
    if (status != STATUS_OK)
        error_context(err, "%s", checkpoint);
    return dist_agree(trainer->dist, status, err);
}

Status trainer_start_from(Trainer *trainer, const char *checkpoint, Error *err)
{
    Status status = STATUS_OK;
    if (trainer->dist->rank == 0)
        status = checkpoint_start(trainer, checkpoint, err);
    TRY(dist_agree(trainer->dist, status, err));
    ranks_take_state(trainer);
    return STATUS_OK;
}

/* One step: gradient, clipping, update. Fills the record's figures of this step. Ranks part
 * ways only before the gradient: behind it all of them compute with the same numbers. */
static Status step(Trainer *trainer, TrainRecord *record, Error *err)
{
    const TrainOptions *options = &trainer->options;
    TrainPlace *place = &trainer->place;
    double began = omp_get_wtime();
    RowBatch batch;
    TRY(dist_agree(trainer->dist,
                   row_stream_next(&trainer->stream, trainer->step_rows, &batch, err),
                   err));
    uint64_t key =
        rng_hash(rng_hash(options->seed, STREAM_DROPOUT), (uint64_t)place->step);
    GptDropout dropout = {.p = options->model.dropout, .key = key};
    GptLoss loss = lanes_gradient(&trainer->lanes, &batch, &dropout);
    real *grads = trainer->lanes.grads[trainer->lanes.first];
    record->gradient_norm =
        clip_global_norm(grads, trainer->gpt.table.total, options->clip);
    double factor = schedule_factor(place->step, options->steps, options->warmup,
                                    options->final_rate);
    record->rate = options->optimizer.rate * factor;
    record->muon_rate = options->optimizer.kind == OPTIMIZER_MUON
                            ? options->optimizer.muon_rate * factor
                            : 0;
    double mean = loss.targets > 0 ? loss.nats / (double)loss.targets : 0;
    if (!isfinite(mean) || !isfinite(record->gradient_norm))
        return faults_explain(&trainer->gpt, grads, mean, record->gradient_norm,
                              place->step + 1, record->rate, err);
    optimizer_update(&trainer->optimizer, &trainer->gpt, grads, factor);
    place->step++;
    place->tokens += batch.batch.tokens;
    if (batch.batch.source != NULL)
        place->tokens += batch.batch.source->tokens;
    place->epoch = row_stream_epoch(&trainer->stream);
    place->row = row_stream_row(&trainer->stream);
    place->loss_sum += mean;
    place->loss_steps++;
    place->seconds += omp_get_wtime() - began;
    return STATUS_OK;
}

static void fill_record(const Trainer *trainer, TrainRecord *record)
{
    const TrainPlace *place = &trainer->place;
    record->step = place->step;
    record->steps = trainer->options.steps;
    record->tokens = place->tokens;
    record->epochs =
        (double)place->epoch +
        (double)place->row / (double)row_stream_epoch_rows(&trainer->stream);
    record->loss = place->loss_sum / (double)place->loss_steps;
    double elapsed = place->seconds - trainer->record_seconds;
    record->tokens_per_second =
        elapsed > 0 ? (double)(place->tokens - trainer->record_tokens) / elapsed : 0;
    record->seconds = place->seconds;
    record->seconds_left =
        place->seconds / (double)place->step * (double)(record->steps - place->step);
}

static Status evaluate_now(Trainer *trainer, TrainRecord *record, Error *err)
{
    TrainPlace *place = &trainer->place;
    TRY(ranks_check_weights(trainer, err));
    RowSet validation = validation_set(trainer);
    Status status =
        evaluate_rows(&record->validation, &trainer->gpt, &trainer->passes, &validation,
                      trainer->data.tokenizer, trainer->dist, err);
    if (status == STATUS_NUMERIC) /* the update of this step went wrong */
        return faults_explain(&trainer->gpt, trainer->lanes.grads[trainer->lanes.first],
                              evaluation_nats(&record->validation),
                              record->gradient_norm, place->step, record->rate, err);
    TRY(status);
    record->evaluated = true;
    double nats = evaluation_nats(&record->validation);
    record->best = nats < place->best_nats;
    if (record->best) {
        place->best_nats = nats;
        place->best_step = place->step;
    }
    return STATUS_OK;
}

/* The heads and the log; rank 0 only. */
static Status write_record(Trainer *trainer, TrainRecord *record,
                           const TrainHooks *hooks, Error *err)
{
    char path[PATH_SIZE];
    if (record->evaluated) {
        TRY(heads_probe(trainer->layers, &trainer->gpt, trainer->passes.works[0],
                        &trainer->probe.batch, err));
        record->layers = trainer->layers;
        record->layer_count = trainer->options.model.layers;
    }
    TRY(path_join(path, trainer->options.folder, "metrics.jsonl", err));
    TRY(metrics_append(&trainer->metrics, record, path, err));
    hooks->record(hooks->context, record);
    return STATUS_OK;
}

static void begin_record(Trainer *trainer)
{
    trainer->place.loss_sum = 0;
    trainer->place.loss_steps = 0;
    trainer->record_seconds = trainer->place.seconds;
    trainer->record_tokens = trainer->place.tokens;
}

/* Rank 0 only. */
static Status save(const Trainer *trainer, bool best, Error *err)
{
    if (best)
        TRY(checkpoint_save(trainer, "best", err));
    return checkpoint_save(trainer, "last", err);
}

/* What follows a step: evaluation, log, the question whether to stop, checkpoints. Ranks
 * agree behind all that rank 0 does alone. */
static Status after_step(Trainer *trainer, TrainRecord *record, const TrainHooks *hooks,
                         Error *err)
{
    const TrainOptions *options = &trainer->options;
    Dist *dist = trainer->dist;
    bool first = dist->rank == 0;
    int64_t done = trainer->place.step;
    bool last = done == options->steps;
    bool evaluates = last || done % options->eval_every == 0;
    fill_record(trainer, record);
    if (first)
        hooks->step(hooks->context, record);
    if (evaluates)
        TRY(evaluate_now(trainer, record, err));
    if (evaluates || done % options->log_every == 0) {
        Status status = first ? write_record(trainer, record, hooks, err) : STATUS_OK;
        TRY(dist_agree(dist, status, err));
        begin_record(trainer);
    }
    bool stop = dist_any(dist, !last && hooks->stop(hooks->context));
    if (stop && !evaluates)
        TRY(ranks_check_weights(trainer, err));
    if (evaluates || stop) {
        Status status = first ? save(trainer, record->best, err) : STATUS_OK;
        TRY(dist_agree(dist, status, err));
    }
    if (stop)
        return error_set(err, STATUS_INTERRUPTED,
                         "stopped after step %lld, saved in %s/last", (long long)done,
                         options->folder);
    return STATUS_OK;
}

/* A new run takes the place of an old one as a whole: a checkpoint that stayed would be
 * taken for this run's when it is killed before its own first. `last` goes first, since
 * without it there is no run to go on with. */
static Status remove_old_run(const char *folder, Error *err)
{
    static const char *const NAMES[] = {"last", "last.old", "best", "best.old"};
    char path[PATH_SIZE];
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        TRY(path_join(path, folder, NAMES[i], err));
        TRY(folder_remove(path, err));
    }
    return STATUS_OK;
}

static Status start_folder(Trainer *trainer, Error *err)
{
    char path[PATH_SIZE];
    const char *folder = trainer->options.folder;
    TRY(folder_create(folder, err));
    if (trainer->lock < 0)
        TRY(folder_lock(&trainer->lock, folder, err));
    if (trainer->place.step == 0)
        TRY(remove_old_run(folder, err));
    TRY(path_join(path, folder, "metrics.jsonl", err));
    return metrics_write(&trainer->metrics, path, err);
}

static Status run_steps(Trainer *trainer, const TrainHooks *hooks, Error *err)
{
    while (trainer->place.step < trainer->options.steps) {
        TrainRecord record = {0};
        TRY(dist_agree(trainer->dist, step(trainer, &record, err), err));
        TRY(after_step(trainer, &record, hooks, err));
    }
    return STATUS_OK;
}

Status trainer_run(Trainer *trainer, const TrainHooks *hooks, Error *err)
{
    Status status = STATUS_OK;
    if (trainer->dist->rank == 0)
        status = start_folder(trainer, err);
    TRY(dist_agree(trainer->dist, status, err));
    TRY(ranks_check_weights(trainer, err));
    return dist_agree(trainer->dist, run_steps(trainer, hooks, err), err);
}

const Gpt *trainer_model(const Trainer *trainer)
{
    return &trainer->gpt;
}

double trainer_best_nats(const Trainer *trainer)
{
    return trainer->place.best_nats;
}

int64_t trainer_best_step(const Trainer *trainer)
{
    return trainer->place.best_step;
}

int64_t trainer_step(const Trainer *trainer)
{
    return trainer->place.step;
}

double trainer_seconds(const Trainer *trainer)
{
    return trainer->place.seconds;
}
