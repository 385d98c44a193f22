#include "train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/base/files.h"
#include "model/base/json.h"
#include "model/base/safetensors.h"
#include "model/gpt/weights.h"
#include "train/faults.h"
#include "train/trainer_state.h"

static const char *const COPIED[CHECKPOINT_COPIED] = {"tokenizer.json",
                                                      "variants.json"};

/* ---- saving ------------------------------------------------------------------------- */

Status checkpoint_map(Trainer *trainer, Error *err)
{
    char path[PATH_SIZE];
    for (int i = 0; i < CHECKPOINT_COPIED; i++) {
        TRY(path_join(path, trainer->data.folder, COPIED[i], err));
        TRY(file_map(&trainer->copied[i], path, err));
    }
    return STATUS_OK;
}

void checkpoint_unmap(Trainer *trainer)
{
    for (int i = 0; i < CHECKPOINT_COPIED; i++)
        file_unmap(&trainer->copied[i]);
}

/* Names of the moments: "m." or "v." before the tensor's own name. */
typedef char MomentName[80];

static Status write_moments(const Trainer *trainer, const char *path, Error *err)
{
    const ParamTable *table = &trainer->gpt.table;
    size_t count = 2 * (size_t)table->count;
    Tensor *tensors;
    MomentName *names;
    TRY(memory_allocate(&tensors, count, sizeof *tensors, "the optimizer's file", err));
    Status status =
        memory_allocate(&names, count, sizeof *names, "the optimizer's file", err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const ParamInfo *info = &table->items[i / 2];
        const real *buffer = i % 2 == 0 ? trainer->optimizer.m : trainer->optimizer.v;
        int64_t shape[2] = {info->rows, info->cols};
        snprintf(names[i], sizeof names[i], "%s.%s", i % 2 == 0 ? "m" : "v",
                 info->name);
        tensors[i] = tensor_of_reals(names[i], buffer + info->offset, 2, shape);
    }
    if (status == STATUS_OK)
        status = safetensors_write(path, tensors, count, NULL, 0, err);
    memory_free(names);
    memory_free(tensors);
    return status;
}

static Status write_state(const Trainer *trainer, const char *path, Error *err)
{
    const TrainPlace *place = &trainer->place;
    json_t *state = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:f, s:I, s:f, s:I, s:s, s:s}",
        "step", (json_int_t)place->step, "steps", (json_int_t)trainer->options.steps,
        "tokens", (json_int_t)place->tokens, "epoch", (json_int_t)place->epoch, "row",
        (json_int_t)place->row, "updates", (json_int_t)trainer->optimizer.updates,
        "best_nats",
        isfinite(place->best_nats) ? json_real(place->best_nats) : json_null(),
        "best_step", (json_int_t)place->best_step, "loss_sum", place->loss_sum,
        "loss_steps", (json_int_t)place->loss_steps, "seconds", place->seconds, "seed",
        (json_int_t)trainer->options.seed, "data", trainer->data.fingerprint, "set",
        trainer->data.folder);
    if (state == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for the state", path);
    if (trainer->options.recipe != NULL)
        json_object_set_new(state, "options", json_deep_copy(trainer->options.recipe));
    Status status = json_write_file(path, state, err);
    json_decref(state);
    return status;
}

ModelTokens checkpoint_tokens(bool stream)
{
    if (stream)
        return (ModelTokens){.bos = -1, .eos = -1};
    return (ModelTokens){.bos = TOKEN_BOS,
                         .eos = TOKEN_EOS,
                         .bos_text = tokenizer_special_name(TOKEN_BOS),
                         .eos_text = tokenizer_special_name(TOKEN_EOS),
                         .unk_text = tokenizer_special_name(TOKEN_UNK)};
}

static Status fill_folder(const Trainer *trainer, const char *folder, Error *err)
{
    char path[PATH_SIZE];
    ModelTokens tokens = checkpoint_tokens(trainer->data.train->stream);
    TRY(weights_save(&trainer->gpt, &tokens, folder, err));
    for (int i = 0; i < CHECKPOINT_COPIED; i++) {
        const FileMap *map = &trainer->copied[i];
        TRY(path_join(path, folder, COPIED[i], err));
        TRY(file_write(path, map->data, map->size, err));
    }
    TRY(path_join(path, folder, "metrics.jsonl", err));
    TRY(metrics_write(&trainer->metrics, path, err));
    TRY(path_join(path, folder, "training", err));
    TRY(folder_create(path, err));
    TRY(path_join(path, folder, "training/optimizer.safetensors", err));
    TRY(write_moments(trainer, path, err));
    TRY(path_join(path, folder, "training/state.json", err));
    return write_state(trainer, path, err);
}

Status checkpoint_save(const Trainer *trainer, const char *name, Error *err)
{
    char path[PATH_SIZE];
    FolderWriter writer;
    TRY(faults_check_weights(&trainer->gpt, trainer->place.step, err));
    TRY(path_join(path, trainer->options.folder, name, err));
    TRY(folder_writer_open(&writer, path, err));
    Status status = fill_folder(trainer, writer.temporary, err);
    if (status == STATUS_OK)
        return folder_writer_commit(&writer, err);
    folder_writer_abort(&writer);
    return error_context(err, "the checkpoint %s was not saved", path);
}

/* ---- loading ------------------------------------------------------------------------ */

static Status read_weights(Trainer *trainer, const char *folder, Error *err)
{
    Gpt loaded;
    ModelTokens tokens;
    TRY(weights_load(&loaded, &tokens, folder, err));
    bool same = gpt_config_equal(&loaded.config, &trainer->gpt.config);
    if (same)
        memcpy(trainer->gpt.values, loaded.values, loaded.table.total * sizeof(real));
    gpt_destroy(&loaded);
    if (!same)
        return error_set(err, STATUS_INPUT,
                         "%s: the model's sizes are not those of this run", folder);
    return STATUS_OK;
}

static Status read_moments(Trainer *trainer, const char *path, Error *err)
{
    SafeTensors file;
    TRY(safetensors_open(&file, path, err));
    const ParamTable *table = &trainer->gpt.table;
    Status status = STATUS_OK;
    for (int64_t i = 0; status == STATUS_OK && i < 2 * table->count; i++) {
        const ParamInfo *info = &table->items[i / 2];
        real *buffer = i % 2 == 0 ? trainer->optimizer.m : trainer->optimizer.v;
        int64_t shape[2] = {info->rows, info->cols};
        MomentName name;
        snprintf(name, sizeof name, "%s.%s", i % 2 == 0 ? "m" : "v", info->name);
        status = safetensors_read_real(buffer + info->offset, &file, name, 2, shape,
                                       true, err);
    }
    safetensors_close(&file);
    return status;
}

static Status read_place(Trainer *trainer, const json_t *state, const char *path,
                         Error *err)
{
    TrainPlace *place = &trainer->place;
    int64_t epoch;
    int64_t seed;
    int64_t steps;
    const char *data;
    TRY(json_get_text(&data, state, "data", path, err));
    if (strcmp(data, trainer->data.fingerprint) != 0)
        return error_set(
            err, STATUS_INPUT,
            "%s: the run was trained on other data (fingerprint %s, but %s "
            "has %s); prepare the same set again, or start a new run",
            path, data, trainer->data.folder, trainer->data.fingerprint);
    TRY(json_get_int(&seed, state, "seed", 0, INT64_MAX, path, err));
    if ((uint64_t)seed != trainer->options.seed)
        return error_set(err, STATUS_INPUT, "%s: the run has seed %lld, not %llu", path,
                         (long long)seed, (unsigned long long)trainer->options.seed);
    TRY(json_get_int(&steps, state, "steps", 1, INT64_MAX, path, err));
    if (steps != trainer->options.steps) /* the learning rates depend on it */
        return error_set(err, STATUS_INPUT, "%s: the run has %lld steps, not %lld",
                         path, (long long)steps, (long long)trainer->options.steps);
    TRY(json_get_int(&place->step, state, "step", 1, steps, path, err));
    TRY(json_get_int(&place->tokens, state, "tokens", 0, INT64_MAX, path, err));
    TRY(json_get_int(&epoch, state, "epoch", 0, INT64_MAX, path, err));
    TRY(json_get_int(&place->row, state, "row", 0, INT64_MAX, path, err));
    TRY(json_get_int(&trainer->optimizer.updates, state, "updates", place->step,
                     place->step, path, err));
    TRY(json_get_int(&place->best_step, state, "best_step", 0, INT64_MAX, path, err));
    TRY(json_get_int(&place->loss_steps, state, "loss_steps", 0, INT64_MAX, path, err));
    TRY(json_get_real(&place->loss_sum, state, "loss_sum", -HUGE_VAL, HUGE_VAL, path,
                      err));
    TRY(json_get_real(&place->seconds, state, "seconds", 0, HUGE_VAL, path, err));
    place->epoch = (uint64_t)epoch;
    place->best_nats = INFINITY; /* null in the file: no evaluation yet */
    if (!json_is_null(json_object_get(state, "best_nats")))
        TRY(json_get_real(&place->best_nats, state, "best_nats", 0, HUGE_VAL, path,
                          err));
    return STATUS_OK;
}

static Status read_state(json_t **state, char path[PATH_SIZE], const char *folder,
                         Error *err)
{
    char found[PATH_SIZE];
    TRY(folder_resolve(found, folder, err));
    TRY(path_join(path, found, "training/state.json", err));
    return json_read_file(state, path, err);
}

Status checkpoint_restore(Trainer *trainer, const char *folder, Error *err)
{
    char found[PATH_SIZE];
    char path[PATH_SIZE];
    json_t *state;
    TRY(folder_resolve(found, folder, err));
    TRY(read_state(&state, path, folder, err));
    Status status = read_place(trainer, state, path, err);
    json_decref(state);
    TRY(status);
    TRY(read_weights(trainer, found, err));
    TRY(path_join(path, found, "training/optimizer.safetensors", err));
    TRY(read_moments(trainer, path, err));
    TRY(path_join(path, found, "metrics.jsonl", err));
    return metrics_read(&trainer->metrics, path, err);
}

static Status check_vocabulary(const Trainer *trainer, const char *folder, Error *err)
{
    char path[PATH_SIZE];
    Tokenizer theirs;
    const Tokenizer *ours = trainer->data.tokenizer;
    TRY(path_join(path, folder, COPIED[0], err));
    TRY(tokenizer_load(&theirs, path, err));
    bool same = tokenizer_equal(&theirs, ours);
    int size = (int)theirs.size;
    tokenizer_free(&theirs);
    if (!same)
        return error_set(err, STATUS_INPUT,
                         "%s: the vocabulary (%d tokens) is not that of the set %s (%d "
                         "tokens): train on the set that the model was made with",
                         path, size, trainer->data.folder, (int)ours->size);
    return STATUS_OK;
}

Status checkpoint_start(Trainer *trainer, const char *folder, Error *err)
{
    char found[PATH_SIZE];
    TRY(folder_resolve(found, folder, err));
    TRY(check_vocabulary(trainer, found, err));
    return read_weights(trainer, found, err);
}

Status checkpoint_recipe(json_t **recipe, const char *folder, Error *err)
{
    char path[PATH_SIZE];
    json_t *state;
    const json_t *options;
    TRY(read_state(&state, path, folder, err));
    Status status = json_get_object(&options, state, "options", path, err);
    *recipe = status == STATUS_OK ? json_deep_copy(options) : NULL;
    json_decref(state);
    return status;
}

Status checkpoint_set(char path[PATH_SIZE], const char *folder, Error *err)
{
    char where[PATH_SIZE];
    json_t *state;
    const char *set;
    TRY(path_join(where, folder, "origin.json", err));
    if (file_exists(where))
        TRY(json_read_file(&state, where, err));
    else
        TRY(read_state(&state, where, folder, err));
    Status status = json_get_text(&set, state, "set", where, err);
    if (status == STATUS_OK)
        snprintf(path, PATH_SIZE, "%s", set);
    json_decref(state);
    return status;
}
