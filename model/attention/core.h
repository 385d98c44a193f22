/* Scaled dot-product attention of one head over one segment, causal. Vaswani et al. 2017.
 *
 *   s_ij = q_i . k_j / sqrt(D)  for j <= i                                   (a)
 *   p_ij = exp(s_ij - l_i),  l_i = log sum_j exp s_ij                        (b)
 *   z_i  = sum_j p_ij v_j                                                    (c)
 *   q, k, v, z (n, D)
 *
 * Backward. From (c): dv_j = sum_i p_ij dz_i and dp_ij = dz_i . v_j. Through the softmax:
 * ds_ij = p_ij (dp_ij - sum_m p_im dp_im), and that sum is dz_i . z_i, so it needs no row of
 * p. From (a): dq and dk.
 *   dv_j = sum_i p_ij dz_i                                                   (d)
 *   ds_ij = p_ij (dz_i . v_j - dz_i . z_i)                                   (e)
 *   dq_i = sum_j ds_ij k_j / sqrt(D),   dk_j = sum_i ds_ij q_i / sqrt(D)     (f)
 * Identities: sum_j ds_ij = 0; sum dq q = sum dk k (both are sum ds s); sum_j dv_j = sum_i dz_i.
 *
 * attention_* is the fast path: sixteen queries at a time against the keys that they may
 * see, p formed again in the backward pass from l (flash attention, arXiv:2205.14135).
 * attention_plain_* is the same as two loops over i and j, with p kept in a triangle:
 * slower, and what the fast path is tested against. */
#ifndef JUEJU_MODEL_ATTENTION_CORE_H
#define JUEJU_MODEL_ATTENTION_CORE_H

#include <stdint.h>

#include "model/base/real.h"

/* Where a head's rows lie in the packed arrays: q, k, v (and their gradients) have `stride`
 * reals from row to row, z and dz have `stride_z`. */
typedef struct {
    int64_t n; /* tokens of the segment */
    int64_t D;
    int64_t stride;
    int64_t stride_z;
} AttentionShape;

/* Reals of scratch, 64-byte aligned, for either pass over segments of up to n tokens. */
int64_t attention_scratch(int64_t n, int64_t D);

void attention_forward(real *z, real *logsum, const real *q, const real *k,
                       const real *v, real *scratch, const AttentionShape *shape);

/* Writes dq, dk, dv. */
void attention_backward(real *dq, real *dk, real *dv, const real *dz, const real *z,
                        const real *logsum, const real *q, const real *k, const real *v,
                        real *scratch, const AttentionShape *shape);

/* weights: (n, n), row i holds p_i0 .. p_ii, then zeros. */
void attention_plain_forward(real *z, real *weights, const real *q, const real *k,
                             const real *v, const AttentionShape *shape);
void attention_plain_backward(real *dq, real *dk, real *dv, const real *dz,
                              const real *weights, const real *q, const real *k,
                              const real *v, const AttentionShape *shape);

#endif
