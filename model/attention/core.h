/* Scaled dot-product attention of one head over one segment. Vaswani et al. 2017.
 *
 *   s_ij = scale q_i . k_j  for the keys j that query i may see               (a)
 *   p_ij = exp(s_ij - l_i),  l_i = log sum_j exp s_ij                        (b)
 *   z_i  = sum_j p_ij v_j                                                    (c)
 *   q (n, D)   k (m, D)   v (m, E)   z (n, E)
 *
 * Which keys query i sees: all m (an encoder, cross-attention); or, causal, with n = m,
 * keys 0 .. i; or, causal with a window W, keys max(0, i - W + 1) .. i.
 *
 * Backward. From (c): dv_j = sum_i p_ij dz_i and dp_ij = dz_i . v_j. Through the softmax:
 * ds_ij = p_ij (dp_ij - sum_m p_im dp_im), and that sum is dz_i . z_i, so it needs no row of
 * p. From (a): dq and dk.
 *   dv_j = sum_i p_ij dz_i                                                   (d)
 *   ds_ij = p_ij (dz_i . v_j - dz_i . z_i)                                   (e)
 *   dq_i = scale sum_j ds_ij k_j,   dk_j = scale sum_i ds_ij q_i             (f)
 * Identities: sum_j ds_ij = 0; sum dq q = sum dk k (both are sum ds s); sum_j dv_j = sum_i dz_i.
 *
 * attention_* is the fast path: a few vectors of queries at a time against the keys that
 * they may see and no others, so that with a window the cost grows with n W; p is formed
 * again in the backward pass from l (flash attention, arXiv:2205.14135). attention_plain_*
 * is the same as two loops over i and j, with p kept: slower, and what the fast path is
 * tested against. */
#ifndef JUEJU_MODEL_ATTENTION_CORE_H
#define JUEJU_MODEL_ATTENTION_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/real.h"

/* Sizes, and how far apart the rows of one head lie in the packed arrays. Gradients have the
 * strides of what they are the gradient of. */
typedef struct {
    int64_t n, m; /* queries, keys */
    int64_t D, E; /* channels of a query and key, of a value */
    int64_t stride_q, stride_k, stride_v, stride_z;
    real scale;     /* usually 1 / sqrt(D) */
    bool causal;    /* needs n = m */
    int64_t window; /* with causal: how many keys a query sees at most; 0: no limit */
} AttentionShape;

/* Whether dk and dv are written or added to: query heads that share a key and value head
 * add up. dq is always written. */
typedef enum { KEYS_WRITE, KEYS_ADD } KeyGradients;

/* Reals of scratch, 64-byte aligned, for either pass over segments of up to n queries and m
 * keys. */
int64_t attention_scratch(int64_t n, int64_t m, int64_t D, int64_t E);

/* logsum (n) takes l. */
void attention_forward(real *z, real *logsum, const real *q, const real *k,
                       const real *v, real *scratch, const AttentionShape *shape);

void attention_backward(real *dq, real *dk, real *dv, KeyGradients keys, const real *dz,
                        const real *z, const real *logsum, const real *q, const real *k,
                        const real *v, real *scratch, const AttentionShape *shape);

/* weights: (n, m), row i holds p_ij, zeros where query i does not look. */
void attention_plain_forward(real *z, real *weights, const real *q, const real *k,
                             const real *v, const AttentionShape *shape);
void attention_plain_backward(real *dq, real *dk, real *dv, KeyGradients keys,
                              const real *dz, const real *weights, const real *q,
                              const real *k, const real *v,
                              const AttentionShape *shape);

#endif
