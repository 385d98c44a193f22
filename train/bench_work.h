/* What a training step costs in matrix products, counted from the sizes. */
#ifndef JUEJU_TRAIN_BENCH_WORK_H
#define JUEJU_TRAIN_BENCH_WORK_H

#include "model/gpt/config.h"

typedef enum {
    WORK_QKV,    /* what makes queries, keys and values of x */
    WORK_SCORES, /* and mixing; the keys that are seen only */
    WORK_OUT,
    WORK_UP, /* with SwiGLU the gate, too */
    WORK_DOWN,
    WORK_HEAD,
    WORK_KINDS
} WorkKind;

/* Operations that a token costs in the forward pass, over all layers, in each kind of
 * product. The backward pass has twice as many. */
typedef struct {
    double of[WORK_KINDS];
} BenchWork;

BenchWork bench_work(const GptConfig *config);

#endif
