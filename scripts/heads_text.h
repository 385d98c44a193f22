/* Texts for jueju heads: the one that is shown, the probe set, random repeats. */
#ifndef JUEJU_SCRIPTS_HEADS_TEXT_H
#define JUEJU_SCRIPTS_HEADS_TEXT_H

#include "data/pack.h"
#include "model/heads/study.h"
#include "scripts/checkpoint_open.h"
#include "scripts/sample_prompt.h"

/* A text as the model reads it. */
typedef struct {
    HeadText text; /* points to the arrays below */
    int32_t *ids, *rarity;
    uint8_t *kinds;
    size_t ids_capacity, rarity_capacity, kinds_capacity;
} ShownText;

void shown_text_free(ShownText *shown);

/* <bos> (not with a model of running text) and the prompt. STATUS_USAGE: nothing is left of
 * the prompt, or it is longer than the model's context. */
Status shown_text_set(ShownText *shown, const PromptText *prompt, const char *option,
                      const Checkpoint *checkpoint, Error *err);

/* What the diagnostics were taken over, for reports. */
typedef struct {
    const char *set; /* path of the set, NULL: the shown text alone */
    int64_t poems;   /* of the probe set, or windows of a running text */
    int64_t repeats; /* random sequences said twice */
} ProbeInfo;

/* Adds up to `poems` validation poems to the study, evenly spread over the split: <bos> and
 * the body, no fields, cut to the context. Of a running text windows of the context's
 * length. `from` is the set's tokenizer: the checkpoint's own may be another.
 * STATUS_INPUT: the split is empty. */
Status probe_add_poems(Study *study, ProbeInfo *info, const PoemSet *set,
                       const Tokenizer *from, const Checkpoint *checkpoint,
                       int64_t poems, Error *err);

/* Adds random sequences of different characters, each said twice: <bos> s s. Characters are
 * drawn from the thousand most frequent. With a context of under 5 tokens none. */
Status probe_add_repeats(Study *study, ProbeInfo *info, const Checkpoint *checkpoint,
                         uint64_t seed, Error *err);

#endif
