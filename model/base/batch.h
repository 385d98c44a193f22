/* TokenBatch: what a model is trained or evaluated on, handed from data/ to model/.
 *
 * Whole poems, one behind the other without padding. Attention stays inside a segment
 * (the poem mask), so a batch of several short poems and a batch of one long text are the
 * same to the model. Rows of T tokens are a matter of packing: data/pack fills a row with
 * segments, and the empty rest of a row is never computed.
 *
 * A batch for an encoder and a decoder has a source: segment s of the source is what the
 * encoder reads for segment s of the batch. */
#ifndef JUEJU_MODEL_BASE_BATCH_H
#define JUEJU_MODEL_BASE_BATCH_H

#include <stdint.h>

enum { TARGET_NONE = -1 };

typedef struct TokenBatch TokenBatch;
struct TokenBatch {
    int64_t tokens;           /* N */
    int64_t segments;         /* S */
    const int32_t *ids;       /* (N) input token */
    const int32_t *targets;   /* (N) token to predict, or TARGET_NONE: no loss here */
    const int32_t *positions; /* (N) place in the segment, from 0 */
    const int64_t *starts;    /* (S+1) segment s is tokens starts[s] .. starts[s+1]-1 */
    const TokenBatch *source; /* S segments of their own lengths, without targets; NULL:
                                 a decoder alone */
};

#endif
