#include "model/heads/roles.h"

const char *const ROLE_NAMES[ROLE_COUNT] = {
    "unclear", "self",      "previous",  "near", "start",     "marks",
    "line",    "line-next", "duplicate", "rare", "induction",
};

typedef struct {
    Pattern pattern;
    double threshold;
} Rule;

static const Rule RULES[ROLE_COUNT] = {
    [ROLE_UNCLEAR] = {PATTERN_COUNT, 0},
    [ROLE_SELF] = {PATTERN_SELF, 0.4},
    [ROLE_PREVIOUS] = {PATTERN_PREVIOUS, 0.4},
    [ROLE_NEAR] = {PATTERN_NEAR, 0.6},
    [ROLE_START] = {PATTERN_START, 0.5},
    [ROLE_MARKS] = {PATTERN_MARKS, 0.4},
    [ROLE_LINE] = {PATTERN_LINE, 0.15},
    [ROLE_LINE_NEXT] = {PATTERN_LINE_NEXT, 0.15},
    [ROLE_DUPLICATE] = {PATTERN_DUPLICATE, 0.15},
    [ROLE_RARE] = {PATTERN_RARE, 0.15},
    [ROLE_INDUCTION] = {PATTERN_INDUCTION, 0.15},
};

double role_threshold(Role role)
{
    return RULES[role].threshold;
}

Pattern role_pattern(Role role)
{
    return RULES[role].pattern;
}

Role role_of(const Score *scores, const Score *repeats)
{
    Role best = ROLE_UNCLEAR;
    double best_ratio = 1;
    for (int role = ROLE_UNCLEAR + 1; role < ROLE_COUNT; role++) {
        const Score *score =
            role == ROLE_INDUCTION ? repeats : &scores[RULES[role].pattern];
        double ratio = score->excess / RULES[role].threshold;
        bool better = best == ROLE_UNCLEAR ? ratio >= 1 : ratio > best_ratio;
        if (score->rows >= ROLE_ROWS && better) { /* a NaN is never better */
            best = (Role)role;
            best_ratio = ratio;
        }
    }
    return best;
}
