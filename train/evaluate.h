/* The loss that is reported everywhere: mean nats per body token over a WHOLE split.
 *
 * Body tokens are characters, punctuation and <eos>, nothing before or at <bos>; fields
 * are left out; of pairs, the lower line and its <eos>. Han-only nats leave out punctuation and <eos> too, so that models with
 * different layouts can be compared. Perplexity is exp(nats). */
#ifndef JUEJU_TRAIN_EVALUATE_H
#define JUEJU_TRAIN_EVALUATE_H

#include "data/pack.h"
#include "data/tokenizer.h"
#include "train/dist.h"
#include "train/passes.h"
#include "train/rows.h"

typedef enum { LOSS_HAN, LOSS_MARK, LOSS_END, LOSS_OTHER, LOSS_CLASSES } LossClass;

extern const char *const LOSS_CLASS_NAMES[LOSS_CLASSES]; /* "han", "mark", ... */

typedef struct {
    double nats[LOSS_CLASSES]; /* sums */
    int64_t tokens[LOSS_CLASSES];
} Evaluation;

double evaluation_nats(const Evaluation *evaluation); /* mean over all tokens */
double evaluation_class_nats(const Evaluation *evaluation, LossClass kind);
int64_t evaluation_tokens(const Evaluation *evaluation);

/* Deterministic: the same bits for any number of threads. <unk> counts as Han, which it
 * nearly always stands for. row_tokens is T. STATUS_NUMERIC when the loss is not finite. */
Status evaluate(Evaluation *out, const Gpt *gpt, Passes *passes, const PoemSet *set,
                const Tokenizer *tokenizer, Error *err);

/* The same of poems or pairs, and the same result on every rank, each having done its part of the passes. A pass does not
 * know who runs it, and their losses are added in one order, so the bits are those of one
 * rank. An error on one rank is an error on all. */
Status evaluate_rows(Evaluation *out, const Gpt *gpt, Passes *passes, const RowSet *set,
                     const Tokenizer *tokenizer, Dist *dist, Error *err);

#endif
