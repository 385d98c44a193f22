/* Self-attention of several heads: MHA, GQA and MQA in one. Vaswani et al. 2017
 * (arXiv:1706.03762, section 3.2), Shazeer 2019 (MQA, arXiv:1911.02150), Ainslie et al. 2023
 * (GQA, arXiv:2305.13245).
 *
 *   1  [Q K V] = x W_QKV + b_QKV          one product for all heads, (N, (H + 2G) D)
 *   2  Q, K turned by their positions     RoPE, if there is a table
 *   3  z_h = softmax(scale Q_h K_g^T + mask) V_g,  g = g(h)      per segment and head
 *   4  y = [z_1 ... z_H] W_O + b_O
 *
 * Query head h owns columns hD .. hD+D-1 of W_Q and rows hD .. hD+D-1 of W_O; key/value head
 * g columns gD .. gD+D-1 of W_K and of W_V. Query head h reads g(h) = h / (H/G), rounded
 * down, or what `groups` says: with G = H that is multi-head, with G = 1 multi-query
 * attention. K_g and V_g are read where they are; nothing is copied H/G times. Their
 * gradients are the sums over the query heads that read them.
 *
 * heads_plain_* is the readable reference: every query head gets a copy of its Q, K and V
 * (K and V are so repeated H/G times) and goes through attention_plain_* alone. */
#ifndef JUEJU_MODEL_ATTENTION_HEADS_H
#define JUEJU_MODEL_ATTENTION_HEADS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/base/batch.h"
#include "model/layers/linear.h"

typedef struct {
    int64_t C;      /* width of x and y */
    int64_t H;      /* query heads; 0 is a layer whose heads were all cut: y = b_O */
    int64_t G;      /* key and value heads */
    int64_t D;      /* channels of a head; H D need not be C */
    real scale;     /* of the scores, usually 1 / sqrt(D) */
    bool causal;    /* else every token of a segment sees all others (an encoder) */
    int64_t window; /* with causal: tokens seen, itself included; 0: all */
    const uint16_t
        *groups;      /* (H) the key/value head that each query head reads; NULL: by
                               the formula, and G divides H */
    const real *rope; /* table (T, D) of model/layers/rope.h, halves; NULL: none */
} HeadsShape;

typedef struct {
    LinearParams qkv; /* (C, (H + 2G) D) */
    LinearParams out; /* (H D, C) */
} HeadsParams;

/* Saved: no attention weights. Each row's log-sum-exp is enough to form them again in the
 * backward pass (Dao et al. 2022, arXiv:2205.14135), so memory grows with N, not N^2. */
typedef struct {
    real *qkv;    /* (N, (H + 2G) D), Q and K as turned */
    real *mixed;  /* z (N, H D) */
    real *logsum; /* (H, N) */
} HeadsSaved;

/* The key/value head that query head h reads. */
int64_t heads_group(const HeadsShape *shape, int64_t h);

/* Reals in a row of qkv. */
int64_t heads_qkv_width(const HeadsShape *shape);

/* Reals of scratch that the two passes need for segments of up to `longest` tokens. */
int64_t heads_scratch(int64_t longest, const HeadsShape *shape);

/* y (N, C) from x (N, C). */
void heads_forward(real *y, const HeadsSaved *saved, const real *x,
                   const HeadsParams *params, real *scratch, const TokenBatch *batch,
                   const HeadsShape *shape);

/* Writes dx, adds to dparams. dqkv: scratch of (N, (H + 2G) D); dmixed: scratch of
 * (N, H D), which may be dx if it has room: it is used up before dx is written. */
void heads_backward(real *dx, const HeadsParams *dparams, const real *dy,
                    const HeadsSaved *saved, const real *x, const HeadsParams *params,
                    real *dqkv, real *dmixed, real *scratch, const TokenBatch *batch,
                    const HeadsShape *shape);

/* The reference. Backward forms all that it needs from x again. */
int64_t heads_plain_scratch(int64_t N, int64_t longest, const HeadsShape *shape);
void heads_plain_forward(real *y, const real *x, const HeadsParams *params,
                         real *scratch, const TokenBatch *batch,
                         const HeadsShape *shape);
/* Writes dx, adds to dparams. */
void heads_plain_backward(real *dx, const HeadsParams *dparams, const real *dy,
                          const real *x, const HeadsParams *params, real *scratch,
                          const TokenBatch *batch, const HeadsShape *shape);

#endif
