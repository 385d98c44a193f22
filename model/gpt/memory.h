/* Bytes of a model that is only described: its KV cache and its weights. Pure arithmetic on
 * sizes, every product and sum checked.
 *
 *   C width · L layers · H query heads · G key/value heads · D head size (Dk of keys, Dv of
 *   values) · R latent · r rope part · W window · T tokens · B batch · N cards · V vocabulary
 *
 * Numbers that a token leaves in the cache of one layer:
 *   MHA, GQA, MQA:  G (Dk + Dv)        MLA: R + r, one row for all heads          (a)
 * Numbers in the cache:  B  sum_layers min(T, W) (a),  W = infinity without a window   (b)
 * As MHA:                the same with H (Dk + Dv) in place of (a)                 (c)
 *
 * Tensor parallel over N cards: a card has H / N query heads and the KV heads that those
 * read. With N <= G that is G / N of them; beyond that KV heads are copied and the bytes a
 * card stop falling. The latent of MLA is read by all heads: every card has all of it.
 *
 * Sources: Vaswani et al. 2017 (MHA), Shazeer 2019 (MQA), Ainslie et al. 2023 (GQA),
 * DeepSeek-AI 2024 (MLA). */
#ifndef JUEJU_MODEL_GPT_MEMORY_H
#define JUEJU_MODEL_GPT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/error.h"

typedef enum { MEMORY_MHA, MEMORY_MQA, MEMORY_GQA, MEMORY_MLA } MemoryKind;

extern const char *const MEMORY_KIND_NAMES[]; /* "MHA", "MQA", "GQA", "MLA" */

enum { MEMORY_GROUPS = 64, MEMORY_SIZE_MAX = INT32_MAX, MEMORY_LAYERS_MAX = 1 << 16 };

/* Layers that are alike. For MLA, G is H and Dk, Dv are those of the expanded heads (both 0
 * when they are not known: then there is no MHA to compare with). */
typedef struct {
    int64_t count;
    int64_t query_heads, kv_heads; /* H, G */
    int64_t key_size, value_size;  /* Dk, Dv */
    int64_t window;                /* W; 0: sees all tokens */
    bool cached; /* false: keeps no keys and values (linear attention, or it reads those
                    of an earlier layer) */
} MemoryLayers;

/* What norms the queries and keys. */
typedef enum {
    QK_NORM_NONE,
    QK_NORM_HEAD,  /* one vector of D for all heads */
    QK_NORM_WIDTH, /* vectors of H D and of G D */
} QkNorm;

/* What the weights' number depends on besides the layers. */
typedef struct {
    bool known;         /* false: the rest says nothing */
    int64_t width;      /* C */
    int64_t vocab_size; /* V */
    int64_t
        embedded_width; /* of a token's row: C, or less with projections to and from C */
    int64_t positions;  /* rows of a learned position table; 0: none */
    bool tied;          /* the output head is the token embedding */
    bool head_bias;
    int64_t norm_vectors;             /* of C in a norm: 2 scale and shift, 1, 0 */
    int64_t layer_norms, other_norms; /* a layer; outside the layers */
    bool qkv_bias, out_bias;
    bool sinks; /* one learned number a query head */
    QkNorm qk_norm;
    int64_t qk_norm_vectors;
    int64_t query_rank, nope_size; /* MLA: latent of the queries (0: none), k_nope */
    int64_t indexer_heads;         /* of a sparse-attention indexer; 0: none */
    bool gated;                    /* the MLP has three matrices instead of two */
    bool mlp_bias;
    int64_t dense_layers, dense_width;
    int64_t expert_layers, experts, experts_used, expert_width;
    int64_t shared_width; /* of the experts that every token takes, together; 0: none */
    bool router_bias, shared_gate;
} MemoryWeights;

typedef struct {
    MemoryKind kind;
    int64_t layers;
    int64_t query_heads, kv_heads, head_size; /* of the layers that see all tokens */
    int64_t latent, rope_size;                /* R and r; 0 but for MLA */
    int64_t
        indexer_size; /* numbers that an indexer caches a token and layer; 0: none */
    bool cross_attention; /* every layer caches the source's keys and values as well */
    int64_t group_count;
    MemoryLayers groups[MEMORY_GROUPS];
    MemoryWeights weights;
} MemoryShape;

/* MHA for G = H, MQA for G = 1, GQA between. */
MemoryKind memory_kind(int64_t query_heads, int64_t kv_heads);

/* Adds `layer.count` layers to the group that is like them, or as a new group.
 * STATUS_INPUT when there is no room for another group. */
Status memory_add_layers(MemoryShape *shape, const MemoryLayers *layers, Error *err);

typedef struct {
    int64_t tokens, batch; /* 0 tokens: only bytes a token */
    int64_t cards;         /* N */
    int64_t bits;          /* of a cached number: 16, 8, 4 */
} MemoryUse;

/* Bytes. Of a card: the one that holds most. */
typedef struct {
    int64_t per_token;       /* what one token adds, windows not yet full */
    int64_t per_token_full;  /* what it adds when all windows are full */
    int64_t total;           /* (b) */
    int64_t total_unbounded; /* (b) as if no layer had a window */
    int64_t mha_per_token;   /* (c); 0: not known */
    int64_t mha_total;       /* (c) with windows; 0: not known */
    int64_t card_per_token, card_total;
    int64_t card_kv_heads;     /* 0 for MLA */
    int64_t indexer_per_token; /* beside the rest, in none of the sums */
    int64_t indexer_total;
    int64_t source_per_token; /* cross-attention: a token of the source */
    int64_t cached_layers, window_layers;
} MemoryCache;

/* STATUS_USAGE when N does not divide H, STATUS_INPUT when a count leaves int64_t. */
Status memory_cache(MemoryCache *out, const MemoryShape *shape, const MemoryUse *use,
                    Error *err);

/* Number of weights. `active`: those that one token meets (of a mixture of experts). */
typedef struct {
    int64_t embedding; /* tokens, positions, output head if it is not tied */
    int64_t attention, mlp, norms;
    int64_t total, active;
} MemoryParameters;

/* shape->weights.known is the caller's promise. STATUS_INPUT when a count leaves int64_t. */
Status memory_parameters(MemoryParameters *out, const MemoryShape *shape, Error *err);

/* ceil(count * bits / 8); STATUS_INPUT when that leaves int64_t. */
Status memory_bytes(int64_t *out, int64_t count, int64_t bits, Error *err);

#endif
