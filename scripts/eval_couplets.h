/* jueju eval of a model of couplets: second lines for the first lines of a split, beside the
 * true ones (train/couplet_score.h). */
#ifndef JUEJU_SCRIPTS_EVAL_COUPLETS_H
#define JUEJU_SCRIPTS_EVAL_COUPLETS_H

#include <jansson.h>

#include "train/couplet_score.h"

typedef struct {
    double temperature; /* of the drawn lines */
    uint64_t seed;
    CoupletScore truth, greedy,
        drawn; /* true lines; the likeliest character each time */
} CoupletReport;

/* Fills the scores; temperature and seed are given. Lines are as long as the first ones;
 * otherwise the model is free, to repeat characters too. */
Status eval_couplets(CoupletReport *report, const Gpt *gpt, const Tokenizer *tokenizer,
                     const PairSet *set, Error *err);

void eval_couplets_print(const CoupletReport *report);

/* {"temperature": ..., "true": {...}, "greedy": {...}, "drawn": {...}}, a new reference, or
 * NULL without memory. */
json_t *eval_couplets_json(const CoupletReport *report);

#endif
