/* The encoder of an encoder–decoder: reads the source, a segment at a time and all of it at
 * once. Vaswani et al. 2017, section 3.1; with norms before the sublayers a last norm, as
 * Pegasus has it (Zhang et al. 2019, arXiv:1912.08777).
 *
 *   1  x = dropout(s W_E[id] + W_P[position])    the decoder's own tables
 *   2  for each of the Le blocks: x = block(x)   without a mask, model/gpt/block.h
 *   3  e = Norm(x)                               pre-norm; post-norm: e = x
 *
 * The gradient de that comes in is the sum over the cross-attentions of all L decoder
 * blocks. */
#ifndef JUEJU_MODEL_GPT_ENCODER_H
#define JUEJU_MODEL_GPT_ENCODER_H

#include "model/gpt/block.h"

typedef struct {
    real *
        *streams; /* (Le+1) the residual stream before each block and after the last */
    BlockSaved *blocks; /* (Le) */
    NormSaved norm;
    real *normed;   /* e (M, C), pre-norm */
    real *dencoded; /* de (M, C) */
    real *dstream;  /* (M, C) */
} EncoderWork;

/* For up to M source tokens. Nothing for a model without an encoder. */
void encoder_layout(EncoderWork *work, Arena *arena, const GptConfig *config,
                    int64_t M);

/* Returns e (M, C), which lives in work. */
const real *encoder_forward(const Gpt *gpt, EncoderWork *work,
                            const BlockScratch *scratch, const TokenBatch *source,
                            const GptDropout *dropout);

/* From work->dencoded, which is used up; adds to grads. */
void encoder_backward(const Gpt *gpt, const GptParams *grads, EncoderWork *work,
                      const BlockScratch *scratch, const TokenBatch *source,
                      const GptDropout *dropout);

#endif
