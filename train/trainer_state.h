/* What the parts of the trainer share: trainer.c runs it, checkpoint.c saves and loads it,
 * trainer_ranks.c keeps its ranks alike. */
#ifndef JUEJU_TRAIN_TRAINER_STATE_H
#define JUEJU_TRAIN_TRAINER_STATE_H

#include "model/base/files.h"
#include "train/checkpoint.h"
#include "train/lanes.h"
#include "train/metrics.h"
#include "train/rows.h"
#include "train/trainer.h"

/* The place of a run, all that a resume needs besides weights and moments. */
typedef struct {
    int64_t step;
    int64_t tokens;
    uint64_t epoch; /* of the stream of rows */
    int64_t row;
    double best_nats;
    int64_t best_step;
    double loss_sum; /* of the steps since the last record */
    int64_t loss_steps;
    double seconds;
} TrainPlace;

struct Trainer {
    TrainOptions options;
    TrainData data;
    Dist *dist; /* the options', or `alone` */
    Dist alone;
    Gpt gpt;
    Optimizer optimizer;
    Passes passes;
    Lanes lanes;
    RowStream stream;
    int64_t step_rows;                 /* of a step's batch */
    Metrics metrics;                   /* rank 0's; the others leave it empty */
    FileMap copied[CHECKPOINT_COPIED]; /* files of the set that checkpoints repeat */
    LayerProbe *layers;                /* (L) */
    RowBatch probe;                    /* the first validation rows */
    RowStream probe_stream;
    int lock; /* on the run's folder while it runs; -1: none */
    TrainPlace place;
    double record_seconds; /* place.seconds at the last record */
    int64_t record_tokens;
};

#endif
