/* The kinds of work of a training step and the arrays that they run on. */
#ifndef JUEJU_TRAIN_BENCH_KINDS_H
#define JUEJU_TRAIN_BENCH_KINDS_H

#include "model/gpt/gpt.h"
#include "train/bench_work.h"

/* Sizes of the attention: a packed row is Q (H D), K (G D), V (G E), for MLA as expanded. */
typedef struct {
    int64_t H, G, D, E;
    int64_t packed;
} HeadSizes;

/* One thread's arrays for a pass of N tokens; filled with small numbers. */
typedef struct {
    const Gpt *gpt;
    const GptParams *params;
    GptParams grads;
    Arena arena;
    real *flat; /* what grads is a view of */
    int64_t N, C, F, V, T;
    HeadSizes heads;
    TokenBatch batch;
    int32_t *ids, *targets, *places;
    int64_t *starts;
    real *narrow, *narrow2, *narrow3;   /* (N, max(C, H E)) */
    real *wide, *wide2, *wide3, *wide4; /* (N, the widest of all rows) */
    real *logsum, *scratch, *logits;
    NormSaved norm;
} PhaseWork;

typedef struct {
    const char *name;
    void (*run)(PhaseWork *);
    bool per_layer; /* run is one layer's work, not all layers' */
    WorkKind work;  /* its operations are */
    double times;   /* these so many times; 0: not counted */
} PhaseKind;

enum { PHASE_KINDS = 14 };
extern const PhaseKind PHASES[PHASE_KINDS];

#endif
