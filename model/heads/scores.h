/* Scores: how far a head follows a pattern, and what would follow it by chance.
 *
 *   score    = mean over rows i with M_i not empty of  sum_{j in M_i} p_ij         0 ... 1
 *   uniform  = the same mean of  |M_i| / (i+1): a head that looks everywhere evenly
 *   shuffled = what a head reaches that does not mean the pattern:
 *     a pattern that reads the text: the same maps against the same text with its tokens
 *       dealt anew (<bos> stays), mean over several deals. Habits of place stay, meaning
 *       goes;
 *     a pattern of places alone: the weights of every row dealt anew over its keys. The
 *       mean over all deals is `uniform`, exactly; given is uniform + 3 standard errors,
 *       with the variance of drawing m = |M_i| of N = i+1 weights without putting back,
 *         m (N-m)/(N-1) (sum_j p_ij^2 / N - 1/N^2)
 *   excess   = (score - b) / (1 - b),  b = max(uniform, shuffled):    1 perfect, <= 0 none
 *
 * A row's weights are taken to sum to 1. A NaN in a map gives NaN. */
#ifndef JUEJU_MODEL_HEADS_SCORES_H
#define JUEJU_MODEL_HEADS_SCORES_H

#include "model/base/real.h"
#include "model/base/rng.h"
#include "model/heads/patterns.h"

typedef struct {
    double value, uniform, variance; /* sums over `rows` */
    double shuffled;                 /* sum over `shuffled_rows` */
    int64_t rows, shuffled_rows;
} ScoreSum;

/* Adds one map (n, n) against one mask (n, n) of model/heads/patterns.h. */
void score_add(ScoreSum *sum, const real *map, const uint8_t *mask, int64_t n);

/* Adds the map against the mask of the text dealt anew. */
void score_add_shuffled(ScoreSum *sum, const real *map, const uint8_t *mask, int64_t n);

typedef struct {
    double value, uniform, shuffled; /* 0 where there were no rows */
    double excess;
    int64_t rows;
} Score;

Score score_finish(const ScoreSum *sum, Pattern pattern);

/* Deals the tokens anew: out is text's, in another order; arrays of out are the caller's,
 * (n) each. Token 0 stays when it is KIND_START. */
void head_text_shuffle(int32_t *ids, uint8_t *kinds, int32_t *rarity,
                       const HeadText *text, Rng *rng);

/* ---- of a map alone ------------------------------------------------------------------ */

enum { OFFSETS = 16 };
#define SATURATED_WEIGHT 0.99

/* The offset profile: profile_o = mean over rows i >= max(o, 1) of p_{i,i-o}, o = 0 .. 15;
 * uniform: of 1/(i+1). Saturation: the share of rows i >= 1 with a weight over 0.99. */
typedef struct {
    double offsets[OFFSETS], uniform[OFFSETS]; /* sums */
    int64_t offset_rows[OFFSETS];
    int64_t saturated, rows;
} ProfileSum;

void profile_add(ProfileSum *sum, const real *map, int64_t n);

#endif
