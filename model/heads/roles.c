#include "model/heads/roles.h"

const char *const HEAD_ROLE_NAMES[HEAD_ROLE_COUNT] = {
    "unclear", "self",      "previous",  "near", "start",     "marks",
    "line",    "line-next", "duplicate", "rare", "induction",
};

typedef struct {
    Pattern pattern;
    double threshold;
} Rule;

static const Rule RULES[HEAD_ROLE_COUNT] = {
    [HEAD_ROLE_UNCLEAR] = {PATTERN_COUNT, 0},
    [HEAD_ROLE_SELF] = {PATTERN_SELF, 0.4},
    [HEAD_ROLE_PREVIOUS] = {PATTERN_PREVIOUS, 0.4},
    [HEAD_ROLE_NEAR] = {PATTERN_NEAR, 0.6},
    [HEAD_ROLE_START] = {PATTERN_START, 0.5},
    [HEAD_ROLE_MARKS] = {PATTERN_MARKS, 0.4},
    [HEAD_ROLE_LINE] = {PATTERN_LINE, 0.15},
    [HEAD_ROLE_LINE_NEXT] = {PATTERN_LINE_NEXT, 0.15},
    [HEAD_ROLE_DUPLICATE] = {PATTERN_DUPLICATE, 0.15},
    [HEAD_ROLE_RARE] = {PATTERN_RARE, 0.15},
    [HEAD_ROLE_INDUCTION] = {PATTERN_INDUCTION, 0.15},
};

double role_threshold(HeadRole role)
{
    return RULES[role].threshold;
}

Pattern role_pattern(HeadRole role)
{
    return RULES[role].pattern;
}

HeadRole role_of(const Score *scores, const Score *repeats)
{
    HeadRole best = HEAD_ROLE_UNCLEAR;
    double best_ratio = 1;
    for (int role = HEAD_ROLE_UNCLEAR + 1; role < HEAD_ROLE_COUNT; role++) {
        const Score *score =
            role == HEAD_ROLE_INDUCTION ? repeats : &scores[RULES[role].pattern];
        double ratio = score->excess / RULES[role].threshold;
        bool better = best == HEAD_ROLE_UNCLEAR ? ratio >= 1 : ratio > best_ratio;
        if (score->rows >= HEAD_ROLE_ROWS && better) { /* a NaN is never better */
            best = (HeadRole)role;
            best_ratio = ratio;
        }
    }
    return best;
}
