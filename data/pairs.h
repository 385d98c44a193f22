/* Couplets: from poems of four or eight equal lines to pairs (upper line, lower line).
 *
 * 五絕 and 七絕 have the couplets 0 and 1, 五律 and 七律 0 to 3, of which 1 and 2 (頷聯,
 * 頸聯) must be parallel by the rules of the form. A pair set is a folder like a poem set
 * (data/prepared.h), where a sequence is
 *     <bos>upper lower<eos>
 * without marks, both lines of 5 or of 7 characters, so the upper line is the first half
 * of the body; and *.pairs, uint32 little-endian, one origin (below) a pair.
 *
 * Pairs go where their poem goes (data/split.h). That is by poems; of single lines:
 *   - of pairs that are equal when folded (data/fold.h) one stays, a training one if any;
 *   - a held-out pair whose upper or lower line is such a line of a training pair goes. */
#ifndef JUEJU_DATA_PAIRS_H
#define JUEJU_DATA_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/form.h"
#include "data/poem.h"
#include "model/base/error.h"

enum { PAIR_LONGEST = 7, PAIR_COUPLETS = 4 };

typedef enum {
    PAIRS_NONE,     /* no pairs: whole poems */
    PAIRS_PARALLEL, /* couplets 1 and 2 of 五律 and 七律 */
    PAIRS_ALL,      /* every couplet of the four forms */
} PairChoice;

/* Why a couplet, or a whole poem, gives no pair. */
typedef enum {
    PAIR_OTHER_FORM,    /* poems, not couplets: none of the four forms */
    PAIR_UNCHOSEN,      /* not one of PAIRS_PARALLEL */
    PAIR_MARKED,        /* 、 within a line */
    PAIR_FOREIGN,       /* a character that is not Han */
    PAIR_DUPLICATE,     /* equal to another pair */
    PAIR_LINE_IN_TRAIN, /* held out, with a line that is in training */
    PAIR_REASONS
} PairReason;

const char *pair_reason_name(PairReason reason); /* "duplicate", for stats.json */

/* A pair of a part. Sequence i is ids[offsets[i] .. offsets[i+1]-1]. Usually mapped from a
 * prepared set, which has checked it. */
typedef struct {
    const uint16_t *ids;
    const uint64_t *offsets; /* (pairs + 1) */
    const uint32_t *origins; /* (pairs) */
    int64_t pairs;
    int64_t tokens;
} PairSet;

/* The two lines of a pair as ids of the set: `length` each, 5 or 7. */
typedef struct {
    const uint16_t *upper, *lower;
    int64_t length;
} PairLines;

PairLines pair_lines(const PairSet *set, int64_t pair);

/* Where a pair is from: poem * 8 + regulated * 4 + couplet. `poem` is the number that the
 * poem has in the same part of the poem set with the same sources and seed; regulated: 律,
 * else 絕. */
typedef struct {
    int64_t poem;
    Form form; /* FORM_WUJUE, FORM_QIJUE, FORM_WULU or FORM_QILU */
    int couplet;
} PairOrigin;

PairOrigin pair_origin(const PairSet *set, int64_t pair);
bool pair_origin_parallel(const PairOrigin *origin); /* couplet 1 or 2 of a 律詩 */

#endif
