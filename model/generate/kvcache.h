/* Keys and values of the tokens that a sequence has so far, so that a new token costs one
 * query instead of a pass over the whole sequence. One cache holds `rows` sequences.
 *
 * What a layer keeps of a token depends on its kind:
 *     MHA, GQA, MQA   G keys and G values of D channels, the keys as turned by their place
 *     MLA             [ckv k_rope]: R + O numbers in all (model/attention/mla.h)
 *     no heads left   nothing
 * A layer that sees all tokens has T slots; one with a window W has min(W, T), used as a
 * ring: place p stands in slot p mod slots, where it replaces the token that has just left
 * the window. So whatever stands in the ring is seen, and the order of the slots, in which
 * sums are formed, depends on p only.
 *
 * Of each row, layer and head:
 *     keys     panels of KV_PANEL slots, each (channels, KV_PANEL): a panel's scores are
 *              sums over the channels of q_d times a whole row of the panel
 *     values   (slots, value_stride), as they are: the output is a sum over slots
 * With MLA the one "key head" has R + O channels, and its first R are the values too.
 *
 * What the mathematics asks for is in `numbers`; the rest of the memory is alignment: slots
 * are rounded up to whole panels and values to whole vectors. */
#ifndef JUEJU_MODEL_GENERATE_KVCACHE_H
#define JUEJU_MODEL_GENERATE_KVCACHE_H

#include <stdint.h>

#include "model/base/memory.h"
#include "model/gpt/config.h"
#include "model/math/tile.h"

enum { KV_PANEL = 2 * TILE_LANES };

/* What one layer keeps. */
typedef struct {
    int64_t slots;          /* tokens at most; > 0 */
    int64_t heads;          /* key heads: G, 1 with MLA; 0: nothing is kept */
    int64_t key_channels;   /* D, or R + O */
    int64_t value_channels; /* D; 0 with MLA: values are not kept apart */
} KvShape;

typedef struct {
    KvShape shape;
    int64_t key_size;     /* reals of one head's keys */
    int64_t value_stride; /* value_channels rounded up to whole vectors */
    int64_t value_size;   /* reals of one head's values */
    int64_t offset;       /* of the layer in a row's memory: keys, then values */
} KvLayer;

typedef struct {
    int64_t rows, layers_count;
    KvLayer *layers;      /* (layers_count) */
    int64_t most_panels;  /* of a head in any layer */
    int64_t widest_value; /* value_stride of any layer */
    int64_t stride;       /* reals of a row */
    real *memory;         /* (rows, stride) */
} KvCache;

/* What a layer of a checked model keeps. */
KvShape kvcache_shape(const GptConfig *config, int64_t layer);

/* Takes memory for `rows` sequences from the arena (which may only count); the memory must
 * be zeroed. shapes (layers). */
void kvcache_layout(KvCache *cache, Arena *arena, const KvShape *shapes, int64_t layers,
                    int64_t rows);

/* Numbers that a layer keeps of one token: 2 G D, or R + O. */
int64_t kvcache_token_numbers(const KvShape *shape);

/* Bytes that a row of `tokens` tokens needs: for each layer the numbers of min(tokens, slots)
 * tokens. With tokens = 1 these are the bytes a token. The config is checked. */
size_t kvcache_bytes(const GptConfig *config, int64_t tokens);

/* Bytes of one row, counted from what was laid out: room for numbers, and alignment. */
typedef struct {
    size_t numbers, padding;
} KvBytes;
KvBytes kvcache_row_bytes(const KvCache *cache);

/* Stores a token at its place in a layer: k (heads, key_channels), v (heads,
 * value_channels). Places of a row come in rising order. */
void kvcache_put(const KvCache *cache, int64_t row, int64_t layer, int64_t place,
                 const real *k, const real *v);

/* Gives row `to` the first `length` positions of row `from`, which holds no more. */
void kvcache_copy(const KvCache *cache, int64_t to, int64_t from, int64_t length);

/* Slots in use of a layer once a row holds `length` tokens. */
static inline int64_t kvcache_used(const KvCache *cache, int64_t layer, int64_t length)
{
    int64_t slots = cache->layers[layer].shape.slots;
    return length < slots ? length : slots;
}

/* Panels that `slots` slots begin. */
static inline int64_t kvcache_panels(int64_t slots)
{
    return (slots + KV_PANEL - 1) / KV_PANEL;
}

/* The first panel of a head's keys, and its values. */
static inline real *kvcache_keys(const KvCache *cache, int64_t row, int64_t layer,
                                 int64_t head)
{
    const KvLayer *l = &cache->layers[layer];
    return cache->memory + row * cache->stride + l->offset + head * l->key_size;
}

static inline real *kvcache_values(const KvCache *cache, int64_t row, int64_t layer,
                                   int64_t head)
{
    const KvLayer *l = &cache->layers[layer];
    return cache->memory + row * cache->stride + l->offset +
           l->shape.heads * l->key_size + head * l->value_size;
}

#endif
