/* One transformer block. x, y (N, C).
 *
 * Norms before the sublayers (pre-norm):    after them (post-norm, Vaswani et al. 2017):
 *   1  a = Norm_1(x)
 *   2  m = x + dropout(Attention(a))          2  s = x + dropout(Attention(x))
 *                                             1  m = Norm_1(s)
 *   3  b = Norm_2(m)
 *   4  y = m + dropout(MLP(b))                4  t = m + dropout(MLP(m))
 *                                             3  y = Norm_2(t)
 *
 * Each sum sends its gradient down both ways unchanged. Pre-norm: dm = dy + (through 4 and
 * 3), dx = dm + (through 2 and 1): the residual stream's gradient is never scaled. */
#ifndef JUEJU_MODEL_GPT_BLOCK_H
#define JUEJU_MODEL_GPT_BLOCK_H

#include "model/base/memory.h"
#include "model/gpt/gpt.h"

typedef struct {
    NormSaved norm1;
    real *beside1;    /* a, or s (N, C) */
    HeadsSaved heads; /* ATTENTION_HEADS */
    MlaSaved mla;     /* ATTENTION_MLA */
    real *middle;     /* m (N, C) */
    NormSaved norm2;
    real *beside2;      /* b, or t (N, C) */
    MlpSaved mlp;       /* MLP_GELU */
    SwigluSaved swiglu; /* MLP_SWIGLU */
} BlockSaved;

/* What all blocks of a pass share. */
typedef struct {
    real *wide;      /* (N, the widest of (H + 2G) D and F, or with SwiGLU 2F) */
    real *narrow;    /* (N, max(C, H D)) */
    real *narrow2;   /* (N, C) */
    real *attention; /* heads_scratch or mla_scratch */
} BlockScratch;

void block_saved_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                        int64_t layer, int64_t N);
void block_scratch_layout(BlockScratch *scratch, Arena *arena, const GptConfig *config,
                          int64_t N);

void block_forward(real *y, const BlockSaved *saved, const real *x, const Gpt *gpt,
                   int64_t layer, const BlockScratch *scratch, const TokenBatch *batch,
                   const GptDropout *dropout);

/* d (N, C) holds dy and becomes dx. Adds to dparams. */
void block_backward(real *d, const BlockParams *dparams, const BlockSaved *saved,
                    const real *x, const Gpt *gpt, int64_t layer,
                    const BlockScratch *scratch, const TokenBatch *batch,
                    const GptDropout *dropout);

/* Applies the dropout of a site: 0 the embedding, 1 + 2l and 2 + 2l the two branches of
 * block l. */
void gpt_dropout_apply(real *x, const GptDropout *dropout, int64_t site, int64_t N,
                       int64_t C);

#endif
