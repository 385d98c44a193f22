/* What a training step costs in matrix products, counted from the sizes. */
#ifndef JUEJU_TRAIN_BENCH_WORK_H
#define JUEJU_TRAIN_BENCH_WORK_H

#include "model/gpt/config.h"

/* Operations that a token costs in the forward pass, over all layers, in each kind of
 * product. The backward pass has twice as many. */
typedef struct {
    double qkv;    /* what makes queries, keys and values of x */
    double scores; /* and mixing; the keys that are seen only */
    double out;
    double up; /* with SwiGLU the gate, too */
    double down;
    double head;
} BenchWork;

BenchWork bench_work(const GptConfig *config);

#endif
