/* What tests of attention layers share: parameters, and batches of segments. */
#ifndef JUEJU_TESTS_MODEL_ATTENTION_CASE_H
#define JUEJU_TESTS_MODEL_ATTENTION_CASE_H

#include "model/base/batch.h"
#include "model/layers/linear.h"
#include "tests/model/numeric.h"

/* Streams name and name + 1. */
static inline LinearParams pool_linear(Pool *pool, int64_t in, int64_t out,
                                       double deviation, uint64_t name)
{
    return (LinearParams){pool_random(pool, in * out, deviation, name),
                          pool_random(pool, out, deviation, name + 1)};
}

enum { CASE_TOKENS = 256 };

/* Segments, with a token's place in its own as position. */
typedef struct {
    TokenBatch batch;
    int32_t positions[CASE_TOKENS];
} Segments;

/* `to` must stay where it is. */
static inline void make_segments(Segments *to, const int64_t *starts, int64_t segments)
{
    assert_true(starts[segments] <= CASE_TOKENS);
    for (int64_t s = 0; s < segments; s++) {
        for (int64_t i = starts[s]; i < starts[s + 1]; i++)
            to->positions[i] = (int32_t)(i - starts[s]);
    }
    to->batch = (TokenBatch){.tokens = starts[segments],
                             .segments = segments,
                             .positions = to->positions,
                             .starts = starts};
}

static inline int64_t longest_segment(const TokenBatch *batch)
{
    int64_t longest = 0;
    for (int64_t s = 0; s < batch->segments; s++) {
        int64_t n = batch->starts[s + 1] - batch->starts[s];
        longest = n > longest ? n : longest;
    }
    return longest;
}

#endif
