/* One pass over N tokens of any rows: embedding, blocks, final norm. What gpt_logits does for
 * whole sequences, with keys and values in the cache.
 *
 * Steps have the numbers of model/gpt/block.h, heads.h and mla.h in model/attention, and
 * mlp.h and swiglu.h in model/layers. */
#ifndef JUEJU_MODEL_GENERATE_DECODE_PASS_H
#define JUEJU_MODEL_GENERATE_DECODE_PASS_H

#include "model/generate/decode_weights.h"
#include "model/generate/kvcache.h"

typedef struct {
    const Gpt *gpt;
    const DecodeWeights *weights;
    const KvCache *cache;
    int64_t capacity; /* tokens at most, a multiple of 4: see panels_rows */

    /* (capacity) each: a token's row, id and place in its row. Tokens of one row follow one
     * another in the order of their places. */
    int32_t *rows, *ids, *places;

    int64_t narrow_stride, wide_stride;
    real *x; /* (capacity, narrow_stride) the residual stream */
    real
        *beside; /* (capacity, narrow_stride) normed input, then what the heads mixed */
    real *wide;  /* (capacity, wide_stride) of a sublayer: see decode_pass.c */
} DecodePass;

/* Takes memory from the arena (which may only count). gpt, weights and cache are set
 * already; weights and cache need not have memory yet. */
void decode_pass_layout(DecodePass *pass, Arena *arena, MlaForm form, int64_t capacity);

/* Reals of scratch of each thread, 64-byte aligned. */
int64_t decode_pass_scratch(const DecodePass *pass, MlaForm form);

/* Tokens first .. last-1 of the pass, from the embedding to what the head reads. Calls for
 * different rows may run side by side; a call writes up to whole blocks of four tokens. */
void decode_pass_run(const DecodePass *pass, int64_t first, int64_t last,
                     real *scratch);

/* What the head reads of token i: (C), rows narrow_stride apart. */
const real *decode_pass_output(const DecodePass *pass, int64_t i);

#endif
