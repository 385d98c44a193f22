/* What a family's code does where its config.json is silent: defaults of missing fields,
 * which layers have windows, and how its blocks are built (for counting weights). */
#ifndef JUEJU_MODEL_GPT_HF_FAMILIES_H
#define JUEJU_MODEL_GPT_HF_FAMILIES_H

#include "model/gpt/memory.h"

/* A field that is true or false, and what holds without it. No field: always that. */
typedef struct {
    const char *field;
    bool otherwise;
} HfSwitch;

typedef enum {
    HF_WINDOWS_UNKNOWN, /* sliding_window may stand there, nobody knows for which layers */
    HF_WINDOWS_NONE,    /* the family's code has none */
    HF_WINDOWS_ALL,
    HF_WINDOWS_PATTERN, /* every pattern-th layer sees all, the others have a window */
    HF_WINDOWS_LATE,    /* layers from max_window_layers on */
    HF_WINDOWS_CHUNKS,  /* no_rope_layers: 1 sees its chunk, 0 all */
} HfWindows;

typedef enum {
    HF_MLP_UNKNOWN, /* weights of this family cannot be counted */
    HF_MLP_DENSE,
    HF_MLP_MIXTRAL,  /* every layer a mixture, experts of intermediate_size */
    HF_MLP_QWEN,     /* decoder_sparse_step, mlp_only_layers, moe_intermediate_size */
    HF_MLP_DEEPSEEK, /* first_k_dense_replace, n_routed_experts, n_shared_experts */
    HF_MLP_LLAMA4,   /* interleave_moe_layer_step, one shared expert */
} HfMlp;

typedef enum {
    HF_POSITIONS_NONE, /* rotary, ALiBi */
    HF_POSITIONS_LEARNED,
    HF_POSITIONS_OPT, /* two rows more */
    HF_POSITIONS_MPT, /* learned unless attn_config.alibi */
} HfPositions;

typedef struct {
    const char *model_type;
    /* Of a missing field; 0: none. kv_heads counts for a missing field, not for null. */
    int64_t heads, kv_heads, head_size, vocab_size, window, pattern;
    /* Blocks. */
    int64_t norm_vectors, layer_norms, other_norms, qk_norm_vectors;
    HfSwitch final_norm; /* the last of other_norms */
    HfSwitch qkv_bias, out_bias, mlp_bias, tied, qk_normed;
    HfWindows windows;
    HfMlp mlp;
    HfPositions positions;
    QkNorm qk_norm;
    bool gated, head_bias, sinks, router_bias, shared_gate, falcon;
    /* Switches that are missing. */
    bool windows_off; /* use_sliding_window is then false */
    bool multi_query;
    bool new_decoder;             /* new_decoder_architecture */
    bool multi_query_over_groups; /* multi_query wins over num_kv_heads */
} HfFamily;

/* Never NULL: for an unknown name a row that knows nothing, with model_type NULL. */
const HfFamily *hf_family(const char *model_type);

#endif
