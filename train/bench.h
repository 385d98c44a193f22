/* How fast a training step is, and how near to what this machine can do.
 *
 * A step is forward, backward, clipping and update over B rows of T random tokens with the
 * plain causal mask. Two limits are measured in turn with the steps, on as many threads: the
 * peak rate of fused multiply-adds, and the best rate of a large matrix product.
 *
 * Operations of a step, per token, counting a multiply-add as two and the causal half only:
 *   forward      2 L (4 C^2 + 2 C F) + 2 C V  in matrix products,
 *                2 L C (T + 1)                in scores and mixing
 *   all          3 x forward: each product has two more in the backward pass.
 * That is the default model; bench_work.h counts the others in the same way.
 * Norms, softmax, GELU and the optimizer are not counted. */
#ifndef JUEJU_TRAIN_BENCH_H
#define JUEJU_TRAIN_BENCH_H

#include "train/optimizer.h"

typedef struct {
    GptConfig config; /* vocab_size included */
    int64_t rows;     /* B */
    int64_t lanes, pass_tokens;
    int64_t steps;   /* timed ones, after one that is not */
    int64_t repeats; /* of each phase; 0: no phases */
    OptimizerOptions optimizer;
    uint64_t seed;
} BenchOptions;

/* One kind of work of a step, run on its own by all threads at once. */
typedef struct {
    const char *name;  /* "qkv forward" */
    int64_t calls;     /* in a step, over all lanes */
    double seconds;    /* of all calls of a step on these threads, median */
    double operations; /* of all calls; 0: not counted */
} BenchPhase;

enum { BENCH_PHASES = 32 };

typedef struct {
    int threads;
    int64_t tokens;             /* of a step */
    double operations;          /* per token */
    double median, best, worst; /* tokens a second over the steps */
    double peak;    /* multiply-adds, operations a second on these threads */
    double product; /* of the best large matrix product, likewise */
    double loss;    /* of the last step: something was computed */
    int phase_count;
    BenchPhase phases[BENCH_PHASES];
} BenchReport;

Status bench_run(BenchReport *report, const BenchOptions *options, Error *err);

/* Writes what another program needs to check us: into folder the model before the first
 * step (config.json, model.safetensors) and step.safetensors with "ids" and "targets"
 * (B, T), "loss" (1) and the gradient of the mean loss by every tensor under its name. */
Status bench_dump(const BenchOptions *options, const char *folder, Error *err);

double bench_operations(const GptConfig *config);

#endif
