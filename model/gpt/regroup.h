/* From multi-head to grouped-query attention: the K and V heads of each new group are
 * averaged. Ainslie et al. 2023, arXiv:2305.13245, section 2.1; training goes on from there
 * with a few percent of the original steps ("uptraining", section 2.2).
 *
 *   W_K'[g] = (r W_K[r g] + ... + W_K[r g + r-1]) / r,   r = G / G',   likewise W_V and biases
 *
 * Query heads and everything else stay as they are: query head h read old group h / (H/G),
 * which lies in the new group h / (H/G'). G' = G changes nothing. Where the heads of a group
 * are equal (as after gpt_spread), the model computes the same function. */
#ifndef JUEJU_MODEL_GPT_REGROUP_H
#define JUEJU_MODEL_GPT_REGROUP_H

#include "model/gpt/gpt.h"

/* Makes *to (gpt_destroy when done) from `from` with kv_heads = G'. STATUS_USAGE: G' does not
 * divide G, MLA (it has no key/value heads to group), or heads were cut. */
Status gpt_regroup(Gpt *to, const Gpt *from, int64_t kv_heads, Error *err);

/* The way back, for comparison: each K and V head copied r = G' / G times, so that the result
 * computes the same with more heads. G divides G', G' divides H. */
Status gpt_spread(Gpt *to, const Gpt *from, int64_t kv_heads, Error *err);

#endif
