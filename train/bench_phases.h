/* The kinds of work of a training step, each run on its own with the step's shapes. */
#ifndef JUEJU_TRAIN_BENCH_PHASES_H
#define JUEJU_TRAIN_BENCH_PHASES_H

#include "train/bench.h"

/* Fills report->phases. tokens: of one pass; passes: of a step, over all lanes. */
Status bench_phases(BenchReport *report, const Gpt *gpt, const BenchOptions *options,
                    int64_t tokens, int64_t passes, Error *err);

#endif
