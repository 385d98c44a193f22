/* The weights of a model in the order in which decoding reads them: every product of a block
 * in panels (model/generate/panels.h).
 *
 * Of MLA's W_UKV the absorbed form needs, for each head,
 *     keys    W_UK^T (P, R)      a = q_nope W_UK^T
 *     values  W_UV (R, E)        z = (sum_j p_j c_j) W_UV
 * while the expanded form reads W_UKV where it is. */
#ifndef JUEJU_MODEL_GENERATE_DECODE_WEIGHTS_H
#define JUEJU_MODEL_GENERATE_DECODE_WEIGHTS_H

#include "model/generate/panels.h"
#include "model/gpt/gpt.h"

/* How MLA is decoded: model/generate/attend.h. */
typedef enum { MLA_ABSORBED, MLA_EXPANDED } MlaForm;

/* What a model has no use for stays empty. */
typedef struct {
    HeadsShape heads; /* ATTENTION_HEADS */
    Panels qkv;
    MlaShape mla; /* ATTENTION_MLA */
    Panels q_down, q_up, kv_down;
    Panels *keys, *values; /* (H) each, MLA_ABSORBED */
    Panels out;
    Panels up, gate, down; /* gate with MLP_SWIGLU */
} DecodeLayer;

typedef struct {
    DecodeLayer *layers; /* (L) */
    Panels head;         /* W_H^T (C, V) */
} DecodeWeights;

/* Takes memory from the arena (which may only count). */
void decode_weights_layout(DecodeWeights *weights, Arena *arena, const Gpt *gpt,
                           MlaForm form);

/* Copies the model's weights. */
void decode_weights_pack(const DecodeWeights *weights, const Gpt *gpt);

#endif
