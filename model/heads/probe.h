/* A cheap look at every layer's heads, for the training log. */
#ifndef JUEJU_MODEL_HEADS_PROBE_H
#define JUEJU_MODEL_HEADS_PROBE_H

#include "model/gpt/gpt.h"

/* Means over the rows of all segments. With nothing to tell (a single head; no segment of
 * two tokens) both are 1, which is no sign of collapse. */
typedef struct {
    double entropy;      /* mean over heads, model/heads/entropy.h */
    double min_distance; /* of the closest pair of heads, model/heads/similarity.h */
} LayerProbe;

/* Runs the batch through the model and fills layers[L]. Deterministic. */
Status heads_probe(LayerProbe *layers, const Gpt *gpt, GptWork *work,
                   const TokenBatch *batch, Error *err);

#endif
