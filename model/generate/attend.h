/* Attention of one new token over the tokens that its row holds: one query a head.
 *
 *   s_j = scale q . k_j,   p = softmax(s),   z = sum_j p_j v_j
 *
 * over the slots j of the cache that are in use (all of them are seen: kvcache.h). Query
 * heads that share a key head go through one product, up to four at a time, so that its keys
 * and values are read once for them.
 *
 * Of MLA (model/attention/mla.h: sizes, weights) there are two forms, for the cache holds
 * c_j = ckv and r_j = k_rope only. W_UK (R, P) and W_UV (R, E) are a head's columns of W_UKV:
 *
 *   expanded   k_j = c_j W_UK, v_j = c_j W_UV for all j, then
 *              s_j = scale (q_nope . k_j + q_rope . r_j),   z = sum_j p_j v_j
 *   absorbed   a = q_nope W_UK^T (R), then
 *              s_j = scale (a . c_j + q_rope . r_j),   z = (sum_j p_j c_j) W_UV
 *
 * They differ in the order of the sums only. For n tokens in the cache a head takes about
 * n R (P + E) multiplications in the first, n (2 R + O) + R (P + E) in the second.
 *
 * Every element is one sum in a fixed order, however many heads or tokens go together. */
#ifndef JUEJU_MODEL_GENERATE_ATTEND_H
#define JUEJU_MODEL_GENERATE_ATTEND_H

#include "model/attention/heads.h"
#include "model/attention/mla.h"
#include "model/generate/kvcache.h"

/* Query heads are worked on in blocks of so many; arrays of heads that say so must have room
 * for whole blocks. What the heads past H hold or get has no meaning. */
enum { ATTEND_HEADS = 4 };

static inline int64_t attend_round(int64_t heads)
{
    return (heads + ATTEND_HEADS - 1) / ATTEND_HEADS * ATTEND_HEADS;
}

/* What a query sees: the first `length` > 0 tokens of a row in one layer, or its window. */
typedef struct {
    const KvCache *cache;
    int64_t row, layer, length;
} AttendPast;

/* Reals of scratch, 64-byte aligned, for any layer of the cache. expanded: P + E of MLA in
 * the expanded form, else 0. */
int64_t attend_scratch(const KvCache *cache, int64_t expanded);

/* z (H, D) of heads that have keys and values of their own. q (H, D), with two readable
 * heads behind it, as in [Q K V]. */
void attend_heads(real *z, const real *q, const AttendPast *past,
                  const HeadsShape *shape, real *scratch);

/* z (H, E) with MLA, expanded. queries (H, P + O); up: W_UKV. */
void attend_expanded(real *z, const real *queries, const AttendPast *past,
                     const LinearParams *up, const MlaShape *shape, real *scratch);

/* MLA, absorbed, what is between the products with W_UK and W_UV: latents holds a, its heads
 * `stride` apart, and takes sum_j p_j c_j. queries (H, P + O), of which only q_rope is
 * read. Both have room for attend_round(H) heads. */
void attend_latent(real *latents, int64_t stride, const real *queries,
                   const AttendPast *past, const MlaShape *shape, real *scratch);

#endif
