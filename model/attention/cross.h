/* Cross-attention: queries from the decoder, keys and values from the encoder. Vaswani et
 * al. 2017, section 3.2.3.
 *
 *   1  Q = x W_Q + b_Q                       (N, H D)     x (N, C) of the decoder
 *   2  [K V] = s W_KV + b_KV                 (M, 2 G D)   s (M, C): the encoder's output
 *   3  z_h = softmax(scale Q_h K_g^T) V_g    segment by segment: decoder segment i sees
 *                                            all tokens of encoder segment i
 *   4  y = [z_1 ... z_H] W_O + b_O
 *
 * No mask and no positions: the encoder's output has them. */
#ifndef JUEJU_MODEL_ATTENTION_CROSS_H
#define JUEJU_MODEL_ATTENTION_CROSS_H

#include "model/attention/heads.h"

typedef struct {
    LinearParams q;   /* (C, H D) */
    LinearParams kv;  /* (C, 2 G D): K heads, then V heads */
    LinearParams out; /* (H D, C) */
} CrossParams;

typedef struct {
    real *q;      /* (N, H D) */
    real *kv;     /* (M, 2 G D) */
    real *mixed;  /* z (N, H D) */
    real *logsum; /* (H, N) */
} CrossSaved;

int64_t cross_scratch(int64_t longest, int64_t longest_source, const HeadsShape *shape);

/* batch and source have the same number of segments; of both only the sizes are read. */
void cross_forward(real *y, const CrossSaved *saved, const real *x, const real *s,
                   const CrossParams *params, real *scratch, const TokenBatch *batch,
                   const TokenBatch *source, const HeadsShape *shape);

/* Writes dx, adds to ds (M, C) and to dparams. dq (N, H D), dkv (M, 2 G D), dmixed
 * (N, H D): scratch. */
void cross_backward(real *dx, real *ds, const CrossParams *dparams, const real *dy,
                    const CrossSaved *saved, const real *x, const real *s,
                    const CrossParams *params, real *dq, real *dkv, real *dmixed,
                    real *scratch, const TokenBatch *batch, const TokenBatch *source,
                    const HeadsShape *shape);

#endif
