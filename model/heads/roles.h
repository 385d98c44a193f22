/* What to call a head: by its scores, or not at all.
 *
 * A role is named only when the excess of its score over the better of its two baselines
 * (uniform and shuffled attention, model/heads/scores.h) reaches the role's threshold, on
 * at least HEAD_ROLE_ROWS rows. Of several the one that is farthest over its threshold (excess /
 * threshold) counts. Else the head is "unclear", which is most often the truth.
 *
 *   role        score        threshold      role        score        threshold
 *   self        self         0.4            line        line         0.15
 *   previous    previous     0.4            line-next   line_next    0.15
 *   near        near         0.6            duplicate   duplicate    0.15
 *   start       start        0.5            rare        rare         0.15
 *   marks       marks        0.4            induction   induction    0.15 on random
 *                                            repeats
 *
 * Induction is judged on random sequences said twice, where no habit of the language can
 * stand in for it (Olsson et al. 2022). The thresholds are a convention: they are stated so
 * that a reader can disagree. `near` needs more, as it takes in `previous`; what names one
 * key far back, and not the same offset each time, needs less. */
#ifndef JUEJU_MODEL_HEADS_ROLES_H
#define JUEJU_MODEL_HEADS_ROLES_H

#include "model/heads/scores.h"

typedef enum {
    HEAD_ROLE_UNCLEAR,
    HEAD_ROLE_SELF,
    HEAD_ROLE_PREVIOUS,
    HEAD_ROLE_NEAR,
    HEAD_ROLE_START,
    HEAD_ROLE_MARKS,
    HEAD_ROLE_LINE,
    HEAD_ROLE_LINE_NEXT,
    HEAD_ROLE_DUPLICATE,
    HEAD_ROLE_RARE,
    HEAD_ROLE_INDUCTION,
    HEAD_ROLE_COUNT
} HeadRole;

extern const char
    *const HEAD_ROLE_NAMES[HEAD_ROLE_COUNT]; /* "unclear", "self", "line-next", ... */

enum { HEAD_ROLE_ROWS = 20 };

/* The excess that names a role, and the pattern whose score it is. */
double role_threshold(HeadRole role);
Pattern role_pattern(HeadRole role);

/* scores[PATTERN_COUNT] on poems; `repeats` is the induction score on random repeats. */
HeadRole role_of(const Score *scores, const Score *repeats);

#endif
