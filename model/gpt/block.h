/* One transformer block. x, y (N, C).
 *
 * Norms before the sublayers (pre-norm):    after them (post-norm, Vaswani et al. 2017):
 *   1  a = Norm_1(x)
 *   2  m = x + dropout(Attention(a))          2  s = x + dropout(Attention(x))
 *                                             1  m = Norm_1(s)
 *   5  c = Norm_X(m)
 *   6  u = m + dropout(Cross(c, e))           6  r = m + dropout(Cross(m, e))
 *                                             5  u = Norm_X(r)
 *   3  b = Norm_2(u)
 *   4  y = u + dropout(MLP(b))                4  t = u + dropout(MLP(u))
 *                                             3  y = Norm_2(t)
 *
 * 5 and 6 are a decoder's that has an encoder, whose output is e (M, C); else u = m. In an
 * encoder's block attention has no mask.
 *
 * Each sum sends its gradient down both ways unchanged. Pre-norm: du = dy + (through 4 and
 * 3), dm = du + (through 6 and 5), dx = dm + (through 2 and 1): the residual stream's
 * gradient is never scaled. */
#ifndef JUEJU_MODEL_GPT_BLOCK_H
#define JUEJU_MODEL_GPT_BLOCK_H

#include "model/base/memory.h"
#include "model/gpt/gpt.h"

typedef struct {
    NormSaved norm1;
    real *beside1;        /* a, or s (N, C) */
    HeadsSaved heads;     /* ATTENTION_HEADS */
    MlaSaved mla;         /* ATTENTION_MLA */
    real *middle;         /* m (N, C) */
    NormSaved cross_norm; /* ... with cross-attention, else NULLs */
    real *beside_cross;   /* c, or r (N, C) */
    CrossSaved cross;
    real *crossed; /* u (N, C); without cross-attention m itself */
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
    real *attention; /* heads_scratch, mla_scratch or cross_scratch */
} BlockScratch;

/* A pass through the blocks: what all of them look at. */
typedef struct {
    const Gpt *gpt;
    const BlockScratch *scratch;
    const TokenBatch *batch; /* the source in an encoder's blocks */
    const GptDropout *dropout;
    const real *encoded; /* e; NULL: no cross-attention */
    real *dencoded;      /* adds up de (M, C) in the backward pass */
} BlockPass;

void block_saved_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                        int64_t layer, int64_t N);
/* For up to N tokens, and N of the source. */
void block_scratch_layout(BlockScratch *scratch, Arena *arena, const GptConfig *config,
                          int64_t N);

void block_forward(real *y, const BlockSaved *saved, const real *x, int64_t layer,
                   const BlockPass *pass);

/* d (N, C) holds dy and becomes dx. Adds to dparams. */
void block_backward(real *d, const BlockParams *dparams, const BlockSaved *saved,
                    const real *x, int64_t layer, const BlockPass *pass);

/* Applies the dropout of a site: 0 the embedding, 1 + 2l and 2 + 2l the branches of 2 and 4
 * in block l (the encoder's numbered from L on), -1 the source's embedding, -2 - l the
 * branch of 6. */
void gpt_dropout_apply(real *x, const GptDropout *dropout, int64_t site, int64_t N,
                       int64_t C);

#endif
