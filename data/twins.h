/* Twins: proof that a prepared set's split has no near-duplicates across its parts.
 *
 * Works on what was written: it decodes the .bin files, folds the bodies (data/fold.h) and
 * compares every held-out poem with every poem it shares a clause with, by the definition
 * in data/split.h. No clusters, no filter: only an index of clauses. Characters that are
 * <unk> to the set count as one character, so a doubtful pair is a twin. */
#ifndef JUEJU_DATA_TWINS_H
#define JUEJU_DATA_TWINS_H

#include <stdint.h>

#include "data/prepared.h"
#include "data/split.h"
#include "model/base/error.h"

typedef struct {
    int64_t held_out;        /* poems of validation and test */
    int64_t in_train;        /* of them: with a near-duplicate in train */
    int64_t test;            /* poems of test */
    int64_t in_validation;   /* of them: with a near-duplicate in validation */
    Part example_part;       /* when in_train > 0: the first such poem ... */
    int64_t example;         /* ... its number in its part */
    int64_t example_partner; /* and the number of its twin in train */
} TwinReport;

/* STATUS_USAGE for a stream set: a running text is cut once, there is nothing to prove. */
Status twins_find(TwinReport *report, const PreparedSet *set, Error *err);

#endif
