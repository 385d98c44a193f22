/* A training run: steps, evaluations, log records, checkpoints, and going on after a stop.
 *
 *     TRY(trainer_create(&trainer, &options, &data, err));
 *     if (resume) TRY(trainer_restore(trainer, "checkpoints/tang/last", err));
 *     TRY(trainer_run(trainer, &hooks, err));
 *     trainer_destroy(trainer);
 *
 * A run is a function of its options, its seed and its data: the same bits for any number
 * of threads and ranks, and whether or not it was stopped and restored on the way.
 *
 * With several ranks (train/dist.h) all of them make these calls with the same options and
 * data, and each returns the same status. Only rank 0 touches the run's folder and is told
 * of steps and records; a stop asked for on any rank stops all. */
#ifndef JUEJU_TRAIN_TRAINER_H
#define JUEJU_TRAIN_TRAINER_H

#include <jansson.h>

#include "data/batch.h"
#include "model/gpt/init.h"
#include "model/heads/probe.h"
#include "train/dist.h"
#include "train/evaluate.h"
#include "train/optimizer.h"

typedef struct {
    GptConfig model; /* vocab_size is set from the data */
    InitKind init;
    OptimizerOptions optimizer;
    int64_t steps;
    int64_t warmup;       /* steps until the peak rate */
    double final_rate;    /* share of the peak rate at the end */
    double clip;          /* limit of the global gradient norm; 0: none */
    int64_t batch_tokens; /* a step's rows x T, rounded down to whole rows; a row of a
                             pair set counts as its longest line and <bos> */
    int64_t pass_tokens;  /* of one forward and backward pass: memory; at least T. The
                             result is the same but for rounding */
    int64_t lanes;        /* train/lanes.h */
    double keep_form, keep_title, keep_author; /* how often a field stays */
    int64_t eval_every; /* steps between evaluations, each with a checkpoint */
    int64_t log_every;  /* steps between records */
    uint64_t seed;
    const char *folder; /* of the run: FOLDER/best, FOLDER/last, FOLDER/metrics.jsonl */
    const json_t
        *recipe; /* options as the caller names them, saved for a resume; may be
                             NULL */
    Dist *dist;  /* the ranks that share the run, borrowed; NULL: this one alone */
} TrainOptions;

/* Borrowed by the trainer. */
typedef struct {
    const PoemSet *train;
    const PoemSet *validation;
    const PairSet *train_pairs,
        *validation_pairs; /* of a pair set: the same sequences as
                                                      pairs, for a model with an encoder;
                                                      NULL: poems */
    const Tokenizer *tokenizer;
    const char *folder; /* of the set: its tokenizer.json and variants.json, as they are
                           when the trainer is made, go into each checkpoint */
    const char *fingerprint; /* of the training data: a resume must find the same */
} TrainData;

/* One line of the log. */
typedef struct {
    int64_t step, steps; /* done, of */
    int64_t tokens;      /* inputs seen since the start, those of sources too */
    double epochs;       /* passes over the training split */
    double loss;         /* mean over the steps since the last record, nats a target */
    double rate, muon_rate;   /* of the last step */
    double gradient_norm;     /* of the last step, before clipping */
    double tokens_per_second; /* since the last record, evaluation left out */
    double seconds;           /* of training since the start, over all sessions */
    double seconds_left;      /* estimate */
    bool evaluated;           /* the rest is only set when this is */
    Evaluation validation;
    const LayerProbe *layers; /* (L) */
    int64_t layer_count;
    bool best; /* the smallest validation loss so far */
} TrainRecord;

typedef struct {
    void *context;
    void (*record)(void *context, const TrainRecord *record);
    void (*step)(void *context, const TrainRecord *record); /* after each step: a bar */
    bool (*stop)(void *context); /* asked after each step: true ends the run, saved */
} TrainHooks;

typedef struct Trainer Trainer;

/* Weights initialised, nothing written yet. STATUS_USAGE for options out of range;
 * STATUS_INPUT when ranks have different data. */
Status trainer_create(Trainer **trainer, const TrainOptions *options,
                      const TrainData *data, Error *err);
void trainer_destroy(Trainer *trainer);

/* Takes weights, optimizer and place from a checkpoint folder of the same options and
 * data; only rank 0 reads it. STATUS_INPUT, with the trainer unusable, when they do not
 * fit. */
Status trainer_restore(Trainer *trainer, const char *checkpoint, Error *err);

/* The weights of a model that was trained, cut or regrouped before, instead of random ones:
 * call it on a new trainer whose options have that checkpoint's config. Optimizer and
 * schedule start anew. STATUS_INPUT, with the trainer unusable, when sizes or vocabulary
 * are not those of the trainer's model and data. */
Status trainer_start_from(Trainer *trainer, const char *checkpoint, Error *err);

/* Runs to the end. A run that was not restored first removes FOLDER/last, FOLDER/best and
 * FOLDER/metrics.jsonl of an earlier one. All three hooks must be there. STATUS_INTERRUPTED after hooks->stop (with FOLDER/last saved);
 * STATUS_NUMERIC when a loss or gradient is not finite: the message says where it came
 * from, and the checkpoints on disk are those of before. */
Status trainer_run(Trainer *trainer, const TrainHooks *hooks, Error *err);

const Gpt *trainer_model(const Trainer *trainer);
double trainer_best_nats(const Trainer *trainer); /* infinite before an evaluation */
int64_t trainer_best_step(const Trainer *trainer);
int64_t trainer_step(const Trainer *trainer);
double trainer_seconds(const Trainer *trainer);

#endif
