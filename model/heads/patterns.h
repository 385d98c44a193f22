/* Patterns: where a head of some kind would look.
 *
 * A pattern is for every query i of a text the set M_i of keys j <= i that it names. How far
 * a head follows it is the weight that falls on the set, a mean over the rows that have one
 * (model/heads/scores.h). Row 0 has one choice only and never counts.
 *
 *   name        M_i                                                        rows that count
 *   self        i                                                          i >= 1
 *   previous    i-1                                                        i >= 1
 *   near        i-1, i-2, i-3                                              i >= 1
 *   start       0, when token 0 is <bos>                                   i >= 1
 *   marks       punctuation                                                a mark in sight
 *   sink        start or marks                                             one of them
 *   line        same place in the line before                              there is one
 *   line-next   the place in the line before of what is to be written now  there is one
 *   duplicate   the same character earlier                                 there is one
 *   induction   what followed the same character earlier: A B ... A -> B   there is one
 *   rare        the rarest character so far                                two characters
 *
 * A line is a run of tokens between marks; place counts from its first token. line-next: at
 * place p of a line the place p+1 of the line before. Duplicates and induction are about
 * characters: after a comma comes a line in any case. A A names nothing for induction (what
 * followed is the query itself).
 *
 * Sources: previous and delimiters Clark et al. 2019 (arXiv:1906.04341); start as the place
 * for attention that has nothing to do Xiao et al. 2023 (arXiv:2309.17453); rare Voita et
 * al. 2019 (arXiv:1905.09418); duplicate and induction Olsson et al. 2022
 * (arXiv:2209.11895). The two of the line are for verse. */
#ifndef JUEJU_MODEL_HEADS_PATTERNS_H
#define JUEJU_MODEL_HEADS_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    PATTERN_SELF,
    PATTERN_PREVIOUS,
    PATTERN_NEAR,
    PATTERN_START,
    PATTERN_MARKS,
    PATTERN_SINK,
    PATTERN_LINE,
    PATTERN_LINE_NEXT,
    PATTERN_DUPLICATE,
    PATTERN_INDUCTION,
    PATTERN_RARE,
    PATTERN_COUNT
} Pattern;

extern const char *const PATTERN_NAMES[PATTERN_COUNT]; /* "self", "line_next", ... */

enum { PATTERN_NEAR_REACH = 3 };

typedef enum {
    KIND_START,     /* <bos> */
    KIND_MARK,      /* punctuation, or the end of a line */
    KIND_CHARACTER, /* one that the model knows */
    KIND_OTHER,     /* neither: an unknown character stands for many */
} TokenKind;

/* A text as patterns see it; arrays of n. */
typedef struct {
    int64_t n;
    const int32_t *ids;   /* equal ids are equal characters */
    const uint8_t *kinds; /* TokenKind */
    const int32_t
        *rarity; /* larger is rarer: place in the order of falling frequency */
} HeadText;

/* Whether the pattern depends on what stands where, and not on places alone. */
bool pattern_reads_text(Pattern pattern);

/* mask (n, n), 1 where j is in M_i, else 0; row 0 is empty. */
void pattern_mask(uint8_t *mask, Pattern pattern, const HeadText *text);

#endif
