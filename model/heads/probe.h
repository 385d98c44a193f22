/* A cheap look at every layer's heads, for the training log. */
#ifndef JUEJU_MODEL_HEADS_PROBE_H
#define JUEJU_MODEL_HEADS_PROBE_H

#include "model/gpt/gpt.h"

typedef struct {
    double entropy; /* mean over heads, model/heads/entropy.h */
    double
        min_distance; /* smallest over pairs of heads, model/heads/similarity.h; 1 for
                            a single head */
} LayerProbe;

/* Runs the batch through the model and fills layers[L]. Deterministic. */
Status heads_probe(LayerProbe *layers, const Gpt *gpt, GptWork *work,
                   const TokenBatch *batch, Error *err);

#endif
