/* Split: training, validation and test without twins across them.
 *
 * Texts are compared folded (data/fold.h). Two poems are near-duplicates when
 *     (a) their folded texts are equal, or
 *     (b) they share at least 2 different clauses of 4 or more characters, and these have
 *         together at least half as many characters as the shorter folded text.
 * Connected components of that relation are clusters (most have one poem). A cluster goes
 * to one part, drawn by a hash of its smallest folded text: < 0.025 validation, < 0.05
 * test. So the result depends on the poems alone, not on their order. Of equal folded
 * texts only the first poem stays.
 *
 * data/twins.h proves the result by another, simpler search over what was written. */
#ifndef JUEJU_DATA_SPLIT_H
#define JUEJU_DATA_SPLIT_H

#include <stdint.h>

#include "data/poem.h"
#include "model/base/error.h"

typedef enum {
    PART_TRAIN,
    PART_VALIDATION,
    PART_TEST,
    PART_COUNT,
    PART_DUPLICATE = PART_COUNT, /* dropped: its folded text is there already */
} Part;

const char *part_name(Part part); /* "train" "val" "test" */

typedef struct {
    uint8_t *parts; /* (poems) Part of each poem */
    int64_t poems[PART_COUNT + 1];
    int64_t clusters;  /* of two or more poems, with those that are dropped */
    int64_t clustered; /* poems in them */
    int64_t steps;     /* what the search cost (data/cluster.h) */
} Split;

/* seed 0 is the reference split, others give other hashes. When there are three clusters or
 * more no part stays empty: the cluster next to the part's share moves there. With fewer,
 * all is training. STATUS_IO: the tables of variants can't be read. */
Status split_poems(Split *split, const PoemList *poems, uint64_t seed, Error *err);
void split_free(Split *split);

#endif
