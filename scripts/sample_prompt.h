/* What a user typed for a poem, as the model reads it and as it is printed.
 *
 *   - UTF-8 strictly, NFC; control characters are refused
 *   - spaces, line breaks and invisible characters leave (a poem has none)
 *   - half-width punctuation becomes full-width: , . ? ! ; : to ，。？！；：
 *   - characters become the corpus' own variants (data/variants.h)
 *   - a character that the model does not know is <unk> to it and stays itself in print
 * A model of running text reads its prompt as it is. What was changed and what is unknown
 * is said in a line each. */
#ifndef JUEJU_SCRIPTS_SAMPLE_PROMPT_H
#define JUEJU_SCRIPTS_SAMPLE_PROMPT_H

#include <stdio.h>

#include "scripts/checkpoint_open.h"

typedef struct {
    uint32_t *points; /* (count) as printed */
    int32_t *ids;     /* (count) as the model reads it */
    size_t count;
    size_t points_capacity, ids_capacity;
} PromptText;

/* text: NULL is as good as "". `option` names it in notes and errors ("--prompt").
 * STATUS_USAGE: invalid UTF-8 (with the offset), a control character. */
Status prompt_text_prepare(PromptText *out, const char *text, const char *option,
                           const Checkpoint *checkpoint, FILE *notes, Error *err);
void prompt_text_free(PromptText *text);

/* 。？！ where a line of print ends. */
bool prompt_ends_line(uint32_t point);

/* These and ，；： where a clause ends, the line that an acrostic counts. */
bool prompt_ends_clause(uint32_t point);

#endif
