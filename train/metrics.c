#include "train/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/files.h"
#include "model/base/memory.h"

void metrics_free(Metrics *metrics)
{
    memory_free(metrics->text);
    *metrics = (Metrics){0};
}

static Status add_text(Metrics *metrics, const void *text, size_t size, Error *err)
{
    TRY(memory_reserve(&metrics->text, &metrics->capacity, metrics->used + size, 1,
                       "metrics.jsonl", err));
    if (size > 0) /* nothing yet: text is NULL */
        memcpy(metrics->text + metrics->used, text, size);
    metrics->used += size;
    return STATUS_OK;
}

static json_t *layers_to_json(const TrainRecord *record)
{
    json_t *layers = json_array();
    for (int64_t l = 0; l < record->layer_count; l++)
        json_array_append_new(
            layers, json_pack("{s:f, s:f}", "entropy", record->layers[l].entropy,
                              "min_distance", record->layers[l].min_distance));
    return layers;
}

static json_t *record_to_json(const TrainRecord *record)
{
    json_t *line = json_pack(
        "{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "step",
        (json_int_t)record->step, "tokens", (json_int_t)record->tokens, "epochs",
        record->epochs, "loss", record->loss, "learning_rate", record->rate,
        "muon_learning_rate", record->muon_rate, "gradient_norm", record->gradient_norm,
        "tokens_per_second", record->tokens_per_second, "seconds", record->seconds);
    if (line != NULL && record->evaluated) {
        const Evaluation *validation = &record->validation;
        json_object_set_new(line, "validation_nats",
                            json_real(evaluation_nats(validation)));
        json_object_set_new(line, "validation_nats_han",
                            json_real(evaluation_class_nats(validation, LOSS_HAN)));
        json_object_set_new(line, "layers", layers_to_json(record));
    }
    return line;
}

Status metrics_append(Metrics *metrics, const TrainRecord *record, const char *path,
                      Error *err)
{
    json_t *line = record_to_json(record);
    char *text = line == NULL ? NULL
                              : json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER |
                                                     JSON_REAL_PRECISION(9));
    json_decref(line);
    if (text == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for a line", path);
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the NUL */
    size_t start = metrics->used;
    Status status = add_text(metrics, text, length + 1, err);
    free(text);
    TRY(status);
    FILE *file = fopen(path, "ab");
    if (file == NULL)
        return error_errno(err, "%s", path);
    bool written = fwrite(metrics->text + start, 1, length + 1, file) == length + 1;
    if (fclose(file) != 0 || !written)
        return error_errno(err, "%s", path);
    return STATUS_OK;
}

Status metrics_read(Metrics *metrics, const char *path, Error *err)
{
    FileMap map;
    TRY(file_map(&map, path, err));
    metrics->used = 0;
    Status status = add_text(metrics, map.data, map.size, err);
    file_unmap(&map);
    return status;
}

Status metrics_write(const Metrics *metrics, const char *path, Error *err)
{
    return file_write(path, metrics->text != NULL ? metrics->text : "", metrics->used,
                      err);
}
