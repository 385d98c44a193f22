/* What a training step does once for all tokens: the lanes' gradients zeroed and added, the
 * norm clipped, the weights updated. */
#ifndef JUEJU_TRAIN_BENCH_UPDATE_H
#define JUEJU_TRAIN_BENCH_UPDATE_H

#include "train/bench.h"
#include "train/lanes.h"

/* Adds these phases to the report, medians of `repeats` runs. gpt's weights change. */
Status bench_update(BenchReport *report, Gpt *gpt, Lanes *lanes,
                    const BenchOptions *options, Error *err);

#endif
