/* Which tensor is updated how: Muon for the matrices of the blocks, AdamW for embeddings,
 * gains and biases; or AdamW for all. Decay on matrices and embeddings only. */
#ifndef JUEJU_TRAIN_OPTIMIZER_H
#define JUEJU_TRAIN_OPTIMIZER_H

#include "model/gpt/gpt.h"
#include "train/adamw.h"
#include "train/muon.h"

typedef enum { OPTIMIZER_MUON, OPTIMIZER_ADAMW } OptimizerKind;

extern const char *const OPTIMIZER_NAMES[]; /* "muon", "adamw", NULL */

typedef struct {
    OptimizerKind kind;
    double rate; /* AdamW's peak learning rate */
    double beta1, beta2, eps;
    double decay;     /* AdamW's, on embeddings (and matrices when it has them) */
    double muon_rate; /* Muon's peak learning rate */
    double muon_momentum;
    double muon_decay; /* Muon's, on its matrices */
} OptimizerOptions;

typedef struct {
    OptimizerOptions options;
    const Gpt *gpt;
    real *m, *v; /* flat buffers as gpt->values, owned; Muon keeps its momentum in m */
    real **scratch; /* (threads) for Muon; owned */
    int threads;
    int64_t updates; /* done so far */
} Optimizer;

Status optimizer_create(Optimizer *optimizer, const Gpt *gpt,
                        const OptimizerOptions *options, Error *err);
void optimizer_destroy(Optimizer *optimizer);

/* One update of gpt->values from grads; factor scales both peak rates (the schedule). */
void optimizer_update(Optimizer *optimizer, Gpt *gpt, const real *grads, double factor);

#endif
