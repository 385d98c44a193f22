/* Folded texts: what is compared when two poems are looked at for being the same.
 *
 * Variants get one form (script_fold), only characters stay (letters, marks, digits of any
 * script: in the corpora that is Han only), and marks cut the text into clauses; spaces
 * within a line do not. U+FFFD counts as a character: it stands for <unk>. */
#ifndef JUEJU_DATA_FOLD_H
#define JUEJU_DATA_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "data/poem.h"
#include "model/base/error.h"

/* Shorter clauses (滿江紅, 君不見) say nothing about kinship. */
enum { CLAUSE_MINIMUM = 4 };

typedef struct {
    uint32_t *points; /* all folded texts, one behind the other */
    Text *texts;      /* (count) of each poem */
    Text *clauses;    /* of CLAUSE_MINIMUM or more characters, in order of the poems */
    size_t clause_count, clause_capacity;
    size_t *first; /* (count + 1) poem i has clauses first[i] .. first[i+1]-1 */
    size_t count;
} Folded;

/* Folds `count` bodies, ranges of points. After an error there is nothing to free. */
Status folded_build(Folded *folded, const uint32_t *points, const Text *bodies,
                    size_t count, Error *err);
void folded_free(Folded *folded);

/* Order of two folded texts by code point, the shorter first: <0, 0, >0. */
int folded_compare(const Folded *folded, Text a, Text b);

#endif
