/* One transformer block, norms before the sublayers (pre-norm). x, y (N, C).
 *
 *   1  a = LayerNorm_1(x)
 *   2  m = x + dropout(Attention(a))
 *   3  b = LayerNorm_2(m)
 *   4  y = m + dropout(MLP(b))
 *
 * Each sum sends its gradient down both ways unchanged: dm = dy + (through 3 and 4),
 * dx = dm + (through 1 and 2). */
#ifndef JUEJU_MODEL_GPT_BLOCK_H
#define JUEJU_MODEL_GPT_BLOCK_H

#include "model/base/memory.h"
#include "model/gpt/gpt.h"

typedef struct {
    LayerNormSaved norm1;
    real *normed1; /* a (N, C) */
    HeadsSaved heads;
    real *middle; /* m (N, C) */
    LayerNormSaved norm2;
    real *normed2; /* b (N, C) */
    MlpSaved mlp;
} BlockSaved;

/* What all blocks of a pass share. */
typedef struct {
    real *wide;      /* (N, max(3C, F)) */
    real *narrow;    /* (N, C) */
    real *narrow2;   /* (N, C) */
    real *attention; /* heads_scratch */
} BlockScratch;

void block_saved_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                        int64_t N);
void block_scratch_layout(BlockScratch *scratch, Arena *arena, const GptConfig *config,
                          int64_t N);

void block_forward(real *y, const BlockSaved *saved, const real *x,
                   const BlockParams *params, const BlockScratch *scratch,
                   const TokenBatch *batch, const GptConfig *config, int64_t layer,
                   const GptDropout *dropout);

/* d (N, C) holds dy and becomes dx. Adds to dparams. */
void block_backward(real *d, const BlockParams *dparams, const BlockSaved *saved,
                    const real *x, const BlockParams *params,
                    const BlockScratch *scratch, const TokenBatch *batch,
                    const GptConfig *config, int64_t layer, const GptDropout *dropout);

/* Applies the dropout of a site: 0 the embedding, 1 + 2l and 2 + 2l the two branches of
 * block l. */
void gpt_dropout_apply(real *x, const GptDropout *dropout, int64_t site, int64_t N,
                       int64_t C);

#endif
