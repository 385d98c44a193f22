/* Working memory for passes over pieces of a batch, one set a thread: shared by the training
 * step (train/lanes.h), the evaluation and the probe, which never run at the same time. */
#ifndef JUEJU_TRAIN_PASSES_H
#define JUEJU_TRAIN_PASSES_H

#include "data/batch.h"
#include "model/gpt/gpt.h"

typedef struct {
    int64_t tokens;     /* at most so many in one pass, and as many of its source */
    int threads;        /* as many as OpenMP had when this was made */
    GptWork **works;    /* (threads) owned */
    BatchSlice *slices; /* (threads) room for a pass's part of a batch */
    real **nats;        /* (threads) each (tokens): losses of a pass */
} Passes;

/* tokens must hold the longest row (row_set_longest, at most the model's context). */
Status passes_create(Passes *passes, const GptConfig *config, int64_t tokens,
                     Error *err);
void passes_destroy(Passes *passes);

/* How many rows from `first` on (before `end`) fit a pass together; one always does. */
int64_t passes_rows(const Passes *passes, const RowBatch *batch, int64_t first,
                    int64_t end);

#endif
