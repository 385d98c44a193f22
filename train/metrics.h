/* metrics.jsonl: one JSON object a record, kept in memory as text and appended to the run's
 * file, so that a checkpoint holds the log up to its own step. */
#ifndef JUEJU_TRAIN_METRICS_H
#define JUEJU_TRAIN_METRICS_H

#include "train/trainer.h"

typedef struct {
    char *text; /* all lines so far, owned */
    size_t used, capacity;
} Metrics;

void metrics_free(Metrics *metrics);

/* Adds a record as a line, here and at the end of the file at path. */
Status metrics_append(Metrics *metrics, const TrainRecord *record, const char *path,
                      Error *err);

/* Takes the text of a checkpoint's metrics.jsonl. */
Status metrics_read(Metrics *metrics, const char *path, Error *err);

/* Makes the file at path equal to the lines so far. */
Status metrics_write(const Metrics *metrics, const char *path, Error *err);

#endif
