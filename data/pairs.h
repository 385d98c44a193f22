/* Pairs: couplets of poems of four or eight equal lines as (upper line, lower line).
 *
 * 五絕 and 七絕 have the couplets 0 and 1, 五律 and 七律 0 to 3, of which 1 and 2 (頷聯,
 * 頸聯) must be parallel by the rules of the form. A pair set is a folder like a poem set
 * (data/prepared.h), where a sequence is
 *     <bos>upper lower<eos>
 * without marks, both lines of 5 or of 7 characters, so the upper line is the first half
 * of the body; and *.pairs, uint32 little-endian, one origin (below) a pair.
 *
 * Pairs go where their poem goes (data/split.h), and no line stands in two parts: how they
 * are cut and chosen is in data/pair_cut.h. */
#ifndef JUEJU_DATA_PAIRS_H
#define JUEJU_DATA_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/form.h"
#include "data/tones.h"

enum {
    PAIR_LONGEST = 7, /* characters of a line */
    PAIR_COUPLETS = 4,
    PAIR_POEMS_MAXIMUM = (1 << 29) - 1,
};

typedef enum {
    PAIRS_NONE,     /* no pairs: whole poems */
    PAIRS_PARALLEL, /* couplets 1 and 2 of 五律 and 七律 */
    PAIRS_ALL,      /* every couplet of the four forms */
} PairChoice;

/* Why a couplet is no pair of the set. */
typedef enum {
    PAIR_UNCHOSEN,       /* not one of PAIRS_PARALLEL */
    PAIR_MARKED,         /* 、 within a line */
    PAIR_FOREIGN,        /* a character that is not Han */
    PAIR_DUPLICATE,      /* both lines equal to those of another pair */
    PAIR_LINE_ELSEWHERE, /* held out, and a line of it stands in an earlier part */
    PAIR_REASONS
} PairReason;

const char *pair_reason_name(PairReason reason); /* "duplicate", for stats.json */

/* Where the couplets of a set went:
 *     sum of places = sum of dropped + sum of kept. */
typedef struct {
    int64_t poems;       /* of the four forms, without duplicates */
    int64_t other_poems; /* of any other */
    int64_t dropped[PAIR_REASONS];
    int64_t places[FORM_COUNT][PAIR_COUPLETS];  /* couplets of the poems */
    int64_t kept[FORM_COUNT][PAIR_COUPLETS];    /* pairs of the set */
    ToneTally tones[FORM_COUNT][PAIR_COUPLETS]; /* of them */
} PairCounts;

/* The pairs of a part. Sequence i is ids[offsets[i] .. offsets[i+1]-1]. Usually mapped from a
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

int pair_couplets(Form form); /* how many couplets a poem of the form has: 2 or 4 */
Form pair_form(int64_t length, bool regulated);
uint32_t pair_origin_pack(int64_t poem, bool regulated, int couplet);
PairOrigin pair_origin(const PairSet *set, int64_t pair);

/* Whether the rules of the form ask for parallel lines there. */
bool pair_couplet_parallel(Form form, int couplet);

#endif
