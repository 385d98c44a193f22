/* Multi-head causal self-attention. Vaswani et al. 2017, arXiv:1706.03762, section 3.2.
 *
 *   1  [Q K V] = x W_QKV + b_QKV          one product for all heads, (N, 3C)
 *   2  z_h = softmax(Q_h K_h^T / sqrt(D) + mask) V_h       per segment and head
 *   3  y = [z_1 ... z_H] W_O + b_O
 *
 * Head h owns columns hD .. hD+D-1 of W_Q, W_K, W_V and rows hD .. hD+D-1 of W_O. The mask
 * lets token i of a segment see tokens 0 .. i of the same segment. */
#ifndef JUEJU_MODEL_ATTENTION_HEADS_H
#define JUEJU_MODEL_ATTENTION_HEADS_H

#include <stddef.h>

#include "model/base/batch.h"
#include "model/layers/linear.h"

typedef struct {
    LinearParams qkv; /* (C, 3C) */
    LinearParams out; /* (C, C) */
} HeadsParams;

/* Saved: no attention weights. Each row's log-sum-exp is enough to form them again in the
 * backward pass (Dao et al. 2022, arXiv:2205.14135), so memory grows with N, not N^2. */
typedef struct {
    real *qkv;    /* (N, 3C) */
    real *mixed;  /* z (N, C) */
    real *logsum; /* (H, N) */
} HeadsSaved;

/* Reals of scratch that the two passes need for segments of up to `longest` tokens. */
int64_t heads_scratch(int64_t longest, int64_t H, int64_t D);

/* y (N, C) from x (N, C). */
void heads_forward(real *y, const HeadsSaved *saved, const real *x,
                   const HeadsParams *params, real *scratch, const TokenBatch *batch,
                   int64_t H, int64_t D);

/* Writes dx, adds to dparams. dqkv: scratch of (N, 3C); dmixed: scratch of
 * (N, C), which may be dx: it is used up before dx is written. */
void heads_backward(real *dx, const HeadsParams *dparams, const real *dy,
                    const HeadsSaved *saved, const real *x, const HeadsParams *params,
                    real *dqkv, real *dmixed, real *scratch, const TokenBatch *batch,
                    int64_t H, int64_t D);

#endif
