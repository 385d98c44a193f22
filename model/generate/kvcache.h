/* Keys and values of the tokens that a sequence has so far, so that a new token costs one
 * query instead of a pass over the whole sequence. One cache holds `rows` sequences.
 *
 * Of each row, layer and head:
 *     keys    (D, key_stride)     transposed: the scores of one query against all
 *                                 positions are a sum over d of q_d times a whole row
 *     values  (T, value_stride)   as they are: the output is a sum over positions
 * Both products then run along contiguous memory whatever D is. Strides are whole vectors;
 * the keys' has one vector to spare, since rows a power of two apart would crowd into few
 * sets of the processor's cache. */
#ifndef JUEJU_MODEL_GENERATE_KVCACHE_H
#define JUEJU_MODEL_GENERATE_KVCACHE_H

#include <stdint.h>

#include "model/base/memory.h"
#include "model/gpt/config.h"

typedef struct {
    int64_t layers, heads, T, D;
    int64_t key_stride;   /* T rounded up to whole vectors, and one vector more */
    int64_t value_stride; /* D rounded up to whole vectors */
    real *keys;           /* (rows, L, H, D, key_stride) */
    real *values;         /* (rows, L, H, T, value_stride) */
} KvCache;

/* Takes memory for `rows` sequences of up to T tokens from the arena (which may only
 * count); the memory must be zeroed. */
void kvcache_layout(KvCache *cache, Arena *arena, const GptConfig *config,
                    int64_t rows);

/* Stores k and v (C), all heads side by side, as position `place` of a row. */
void kvcache_put(const KvCache *cache, int64_t row, int64_t layer, int64_t place,
                 const real *k, const real *v);

/* Gives row `to` the first `length` positions of row `from`. */
void kvcache_copy(const KvCache *cache, int64_t to, int64_t from, int64_t length);

/* Attention of one query over positions 0 .. length-1 of a row, length > 0:
 *     s_j = q . k_j / sqrt(D),   z = sum_j softmax(s)_j v_j
 * for every head; q and z (C). scratch: kvcache_scratch reals, 64-byte aligned. */
void kvcache_attend(real *z, const KvCache *cache, int64_t row, int64_t layer,
                    int64_t length, const real *q, real *scratch);
int64_t kvcache_scratch(const KvCache *cache);

#endif
