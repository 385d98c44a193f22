/* Multi-head latent attention with decoupled RoPE. DeepSeek-V2, arXiv:2405.04434, section
 * 2.1; the sizes' names as in DeepSeek-V3's config.
 *
 *   1  cq = RMSNorm(x W_DQ)                  (N, Rq)         query latent; Rq = 0: cq = x
 *   2  [q_nope q_rope]_h = cq W_UQ           (N, H (P + O))  per head; q_rope is turned
 *   3  [c k_rope] = x W_DKV                  (N, R + O)      k_rope is turned, shared
 *   4  ckv = RMSNorm(c)                      (N, R)
 *   5  [k_nope v]_h = ckv W_UKV              (N, H (P + E))  per head
 *   6  z_h = softmax(scale ([q_nope q_rope]_h . [k_nope k_rope]_h + mask)) v_h
 *   7  y = [z_1 ... z_H] W_O                 W_O (H E, C)
 *
 * P: qk_nope_head_dim, O: qk_rope_head_dim (even), E: v_head_dim, R: kv_lora_rank, Rq:
 * q_lora_rank; scale is 1 / sqrt(P + O). Training runs on expanded keys and values (step 5).
 * What a decoder must keep of a token is [ckv k_rope], R + O numbers a layer: the expanded
 * keys need not be formed, since
 *   q_nope . k_nope = (q_nope W_UK^T) . ckv  and  z_h = (sum_j p_ij ckv_j) W_UV     (a)
 * with W_UK and W_UV the head's columns of W_UKV (absorbed decoding, model/generate). A
 * rope on k_nope would stand between the two factors: hence the separate rope part. */
#ifndef JUEJU_MODEL_ATTENTION_MLA_H
#define JUEJU_MODEL_ATTENTION_MLA_H

#include <stddef.h>

#include "model/base/batch.h"
#include "model/layers/linear.h"

typedef struct {
    int64_t C, H;
    int64_t Rq;       /* q_lora_rank, 0: queries straight from x */
    int64_t R;        /* kv_lora_rank */
    int64_t P;        /* qk_nope_head_dim */
    int64_t O;        /* qk_rope_head_dim, even; 0: no positions here */
    int64_t E;        /* v_head_dim */
    real scale;       /* of the scores, usually 1 / sqrt(P + O) */
    int64_t window;   /* tokens seen, itself included; 0: all */
    double norm_eps;  /* of the latents' RMSNorm */
    const real *rope; /* table (T, O) of model/layers/rope.h, pairs; NULL: no turning */
} MlaShape;

/* As DeepSeek's, without biases: each `bias` is NULL. */
typedef struct {
    LinearParams q_down;  /* W_DQ (C, Rq); unused with Rq = 0 */
    real *q_norm;         /* (Rq) gain */
    LinearParams q_up;    /* W_UQ (Rq or C, H (P + O)): a head's P nope, then O rope */
    LinearParams kv_down; /* W_DKV (C, R + O) */
    real *kv_norm;        /* (R) gain */
    LinearParams kv_up; /* W_UKV (R, H (P + E)): a head's P of keys, then E of values */
    LinearParams out;   /* W_O (H E, C) */
} MlaParams;

typedef struct {
    real *q_latent;   /* x W_DQ (N, Rq) */
    real *q_inverse;  /* (N) of its norm */
    real *q_normed;   /* cq (N, Rq) */
    real *queries;    /* (N, H (P + O)), rope part as turned */
    real *kv_latent;  /* [c k_rope] (N, R + O), k_rope as turned */
    real *kv_inverse; /* (N) */
    real *kv_normed;  /* ckv (N, R) */
    real *expanded;   /* (N, H (P + E)) */
    real *keys;       /* (N, H (P + O)): k_nope and the shared k_rope side by side */
    real *mixed;      /* z (N, H E) */
    real *logsum;     /* (H, N) */
} MlaSaved;

/* Reals of all that MlaSaved points to, each part rounded up to whole vectors. */
int64_t mla_saved_reals(const MlaShape *shape, int64_t N);

/* Gives each part its place in `memory`, 64-byte aligned; NULL, as an arena that only counts
 * has it, gives NULLs. */
void mla_saved_divide(MlaSaved *saved, real *memory, const MlaShape *shape, int64_t N);

/* Reals of scratch, 64-byte aligned, for both passes over N tokens in segments of up to
 * `longest`. */
int64_t mla_scratch(int64_t N, int64_t longest, const MlaShape *shape);

void mla_forward(real *y, const MlaSaved *saved, const real *x, const MlaParams *params,
                 real *scratch, const TokenBatch *batch, const MlaShape *shape);

/* Writes dx, adds to dparams. dx must not be dy. */
void mla_backward(real *dx, const MlaParams *dparams, const real *dy,
                  const MlaSaved *saved, const real *x, const MlaParams *params,
                  real *scratch, const TokenBatch *batch, const MlaShape *shape);

/* The forward pass by its equations, one head after the other with products of its own: the
 * readable reference. */
int64_t mla_plain_scratch(int64_t longest, const MlaShape *shape);
void mla_plain_forward(real *y, const real *x, const MlaParams *params, real *scratch,
                       const TokenBatch *batch, const MlaShape *shape);

#endif
