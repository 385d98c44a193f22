/* Vocabulary: how often characters stand in the training text, and which get a token. */
#ifndef JUEJU_DATA_VOCABULARY_H
#define JUEJU_DATA_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "data/tokenizer.h"
#include "model/base/error.h"

typedef struct {
    int64_t *counts; /* (CODE_POINTS) in all the text that was counted */
    int64_t *homes;  /* (CODE_POINTS) poems that have the character */
    int64_t *last;   /* (CODE_POINTS) the last such poem, counted from 1 */
} Vocabulary;

/* After an error it is still to be closed. */
Status vocabulary_open(Vocabulary *vocabulary, Error *err);
void vocabulary_close(Vocabulary *vocabulary);

/* Counts a text that is no poem, or (part of) a poem; parts of one poem in one run. */
void vocabulary_count(Vocabulary *vocabulary, const uint32_t *points, size_t length);
void vocabulary_count_poem(Vocabulary *vocabulary, const uint32_t *points,
                           size_t length, int64_t poem);

/* Forgets characters of fewer than `minimum` poems. A character of one poem alone tells
 * nothing about others, however often it stands there. */
void vocabulary_drop_rare(Vocabulary *vocabulary, int64_t minimum);

/* Builds the tokenizer of the characters with `minimum` counts and more; writes
 * tokenizer.json and variants.json into the folder. Errors are those of tokenizer_build. */
Status vocabulary_write(Tokenizer *tokenizer, const Vocabulary *vocabulary,
                        int64_t minimum, const char *folder, Error *err);

#endif
