/* What lower lines are like beside the true ones: how many have opposite tones, repeat a
 * character of their upper line, are the true line itself. */
#ifndef JUEJU_TRAIN_COUPLET_SCORE_H
#define JUEJU_TRAIN_COUPLET_SCORE_H

#include "data/pairs.h"
#include "train/couplet_write.h"

/* A running count over pairs; zero it to start. */
typedef struct {
    ToneTally tones;   /* opposite at the places 2, 4 (6): data/tones.h */
    int64_t repeating; /* pairs whose lower line has a character of the upper */
    int64_t exact;     /* whose lower line is the true one */
} CoupletScore;

/* Three lines of `length` ids; a score of true lines has lower = truth. */
void couplet_score_add(CoupletScore *score, const Tokenizer *tokenizer,
                       const int32_t *upper, const int32_t *lower, const int32_t *truth,
                       int64_t length);

/* Lower lines written for the upper lines of a set, scored; pair i draws from the random
 * stream (seed, i). Runs on all of OpenMP's threads, with the same result for any number. */
Status couplet_score_model(CoupletScore *score, const Gpt *gpt,
                           const Tokenizer *tokenizer, const PairSet *set,
                           const CoupletSettings *settings, uint64_t seed, Error *err);

/* The set's own lower lines. */
CoupletScore couplet_score_truth(const Tokenizer *tokenizer, const PairSet *set);

#endif
