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

/* Adds a record as a line and rewrites or appends to path. */
Status metrics_append(Metrics *metrics, const TrainRecord *record, const char *path,
                      Error *err);

/* Takes the text of a checkpoint's metrics.jsonl and makes the run's file equal to it. */
Status metrics_restore(Metrics *metrics, const char *from, const char *path,
                       Error *err);

#endif
