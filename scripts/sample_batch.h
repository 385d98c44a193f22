/* Many poems at once: up to SAMPLE_ROWS are written side by side, one decoder step for all.
 *
 * A poem that has ended makes room for the next, so rows are never idle before the last
 * poems. Poems come out in order; no poem is begun more than SAMPLE_WINDOW ahead of the
 * first that is not out yet, so memory is bounded however many are asked for.
 *
 * Poem i of seed s is the only poem of seed s + i: the same characters and the same bits
 * whatever stands beside it and however many threads work. */
#ifndef JUEJU_SCRIPTS_SAMPLE_BATCH_H
#define JUEJU_SCRIPTS_SAMPLE_BATCH_H

#include "scripts/sample_poem.h"

enum { SAMPLE_ROWS = 64, SAMPLE_WINDOW = 256 };

typedef struct {
    void *context;
    /* A whole poem, in order. A status that is not STATUS_OK ends the run with it. */
    Status (*poem)(void *context, int64_t index, const Poem *poem, Error *err);
    /* After every token of a run of one poem, and once before the first; may be NULL. */
    void (*token)(void *context, const Poem *poem);
    bool (*stop)(void *context); /* asked between steps; may be NULL */
} SampleHooks;

/* Writes `poems` > 0 poems. STATUS_INTERRUPTED after hooks->stop; STATUS_NUMERIC when the
 * model's weights are damaged; STATUS_MEMORY. */
Status sample_batch(const SamplePlan *plan, int64_t poems, uint64_t seed,
                    const SampleHooks *hooks, Error *err);

#endif
