/* What to call a head: by its scores, or not at all.
 *
 * A role is named only when the excess of its score over the better of its two baselines
 * (uniform and shuffled attention, model/heads/scores.h) reaches the role's threshold, on
 * at least ROLE_ROWS rows. Of several the one that is farthest over its threshold (excess /
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
    ROLE_UNCLEAR,
    ROLE_SELF,
    ROLE_PREVIOUS,
    ROLE_NEAR,
    ROLE_START,
    ROLE_MARKS,
    ROLE_LINE,
    ROLE_LINE_NEXT,
    ROLE_DUPLICATE,
    ROLE_RARE,
    ROLE_INDUCTION,
    ROLE_COUNT
} Role;

extern const char
    *const ROLE_NAMES[ROLE_COUNT]; /* "unclear", "self", "line-next", ... */

enum { ROLE_ROWS = 20 };

/* The excess that names a role, and the pattern whose score it is. */
double role_threshold(Role role);
Pattern role_pattern(Role role);

/* scores[PATTERN_COUNT] on poems; `repeats` is the induction score on random repeats. */
Role role_of(const Score *scores, const Score *repeats);

#endif
