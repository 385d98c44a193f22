/* Tones of Middle Chinese as verse counts them: level 平, or oblique 仄 (上 去 入).
 *
 * From the readings of the 廣韻 (tones_table.c; data/README.md says how it is made). A
 * character with readings of both kinds is TONE_BOTH and fits either. */
#ifndef JUEJU_DATA_TONES_H
#define JUEJU_DATA_TONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TONE_UNKNOWN = 0,
    TONE_LEVEL = 1,
    TONE_OBLIQUE = 2,
    TONE_BOTH = TONE_LEVEL | TONE_OBLIQUE,
} Tone;

/* Of one character in traditional script; TONE_UNKNOWN for anything else. */
Tone tone_find(uint32_t point);

/* Whether one can be level while the other is oblique. TONE_UNKNOWN is opposite to
 * nothing. */
bool tones_opposite(Tone a, Tone b);

/* ---- opposition in couplets: at the places 2, 4 (6), counted from 1 ------------------ */

enum { TONE_PLACES = 3 };

/* A running count over pairs of lines; zero it to start. */
typedef struct {
    int64_t pairs;
    int64_t opposite;  /* pairs with opposite tones at each of their places */
    int64_t undecided; /* no two tones clash, but one at these places is unknown */
    int64_t
        known[TONE_PLACES]; /* pairs whose two tones at place 2, 4, 6 are known ... */
    int64_t
        opposite_at[TONE_PLACES]; /* ... and of them those that are opposite there */
} ToneTally;

/* Adds a pair of lines of `length` code points each; places behind their end are left out
 * (7: 2, 4, 6; 5: 2, 4). Lines of different lengths can't be compared: not a pair. */
void tone_tally_add(ToneTally *tally, const uint32_t *upper, const uint32_t *lower,
                    size_t length);

/* Adds the counts of another tally. */
void tone_tally_join(ToneTally *tally, const ToneTally *other);

/* opposite / (pairs - undecided), 0 when there are none. */
double tone_tally_share(const ToneTally *tally);

#endif
