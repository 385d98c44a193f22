/* Cutting couplets out of split poems, and what keeps the parts apart.
 *
 * A poem of one of the four forms gives a pair for each chosen couplet whose lines are Han
 * characters alone. Of all of these:
 *   (a) pairs that are equal, folded (data/fold.h), in both lines: one stays, of the
 *       earliest part (training before validation before test), there the first;
 *   (b) a pair goes when one of its lines, folded, stands in a pair of an earlier part, as
 *       upper or as lower line: poems of different clusters may share a single line.
 * So no line of a held-out pair is ever seen in training. */
#ifndef JUEJU_DATA_PAIR_CUT_H
#define JUEJU_DATA_PAIR_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "data/pairs.h"
#include "data/poem.h"
#include "data/split.h"
#include "model/base/error.h"

typedef struct {
    Text upper, lower; /* ranges of the poems' points */
    uint32_t origin;   /* data/pairs.h */
    uint32_t poem;     /* index into the poems */
    uint8_t part;
} Pair;

typedef struct {
    Pair *items; /* in order of the poems and their couplets; all parts */
    size_t count, capacity;
    PairCounts counts;
} PairList;

/* parts: (poems) Part of each poem, or PART_DUPLICATE. *list must be {0}; after an error it
 * is still to be freed. choice is not PAIRS_NONE. STATUS_INPUT: more poems in a part than
 * origins can number. STATUS_IO: the tables of variants can't be read. */
Status pairs_cut(PairList *list, const PoemList *poems, const uint8_t *parts,
                 PairChoice choice, Error *err);
void pair_list_free(PairList *list);

#endif
