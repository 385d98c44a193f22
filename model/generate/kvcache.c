#include "model/generate/kvcache.h"

#include <string.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

KvShape kvcache_shape(const GptConfig *config, int64_t layer)
{
    int64_t window = gpt_layer_window(config, layer);
    int64_t G = gpt_layer_kv_heads(config, layer);
    bool latent = config->attention == ATTENTION_MLA;
    return (KvShape){
        .slots = window > 0 && window < config->context ? window : config->context,
        .heads = latent ? G > 0 : G,
        .key_channels =
            latent ? config->kv_rank + config->rope_size : config->head_size,
        .value_channels = latent ? 0 : config->head_size,
    };
}

void kvcache_layout(KvCache *cache, Arena *arena, const KvShape *shapes, int64_t layers,
                    int64_t rows)
{
    cache->rows = rows;
    cache->layers_count = layers;
    cache->layers = arena_take(arena, (size_t)layers, sizeof *cache->layers);
    cache->most_panels = cache->widest_value = cache->stride = 0;
    for (int64_t l = 0; l < layers; l++) {
        const KvShape *shape = &shapes[l];
        KvLayer layer = {
            .shape = *shape,
            .key_size = kvcache_panels(shape->slots) * KV_PANEL * shape->key_channels,
            .value_stride = tile_round(shape->value_channels),
            .offset = cache->stride,
        };
        layer.value_size = shape->slots * layer.value_stride;
        int64_t panels = kvcache_panels(shape->slots);
        cache->most_panels = larger(cache->most_panels, panels);
        cache->widest_value = larger(cache->widest_value, layer.value_stride);
        cache->stride += shape->heads * (layer.key_size + layer.value_size);
        if (cache->layers != NULL)
            cache->layers[l] = layer;
    }
    cache->memory = arena_reals(arena, rows * cache->stride);
}

int64_t kvcache_token_numbers(const KvShape *shape)
{
    return shape->heads * (shape->key_channels + shape->value_channels);
}

size_t kvcache_bytes(const GptConfig *config, int64_t tokens)
{
    int64_t numbers = 0;
    for (int64_t l = 0; l < config->layers; l++) {
        KvShape shape = kvcache_shape(config, l);
        int64_t held = tokens < shape.slots ? tokens : shape.slots;
        numbers += held * kvcache_token_numbers(&shape);
    }
    return (size_t)numbers * sizeof(real);
}

KvBytes kvcache_row_bytes(const KvCache *cache)
{
    int64_t numbers = 0;
    for (int64_t l = 0; l < cache->layers_count; l++) {
        const KvShape *shape = &cache->layers[l].shape;
        numbers += shape->slots * kvcache_token_numbers(shape);
    }
    return (KvBytes){
        .numbers = (size_t)numbers * sizeof(real),
        .padding = (size_t)(cache->stride - numbers) * sizeof(real),
    };
}

void kvcache_put(const KvCache *cache, int64_t row, int64_t layer, int64_t place,
                 const real *k, const real *v)
{
    const KvLayer *l = &cache->layers[layer];
    int64_t K = l->shape.key_channels;
    int64_t V = l->shape.value_channels;
    int64_t slot = place % l->shape.slots;
    int64_t lane = slot % KV_PANEL;
    for (int64_t h = 0; h < l->shape.heads; h++) {
        real *panel =
            kvcache_keys(cache, row, layer, h) + slot / KV_PANEL * KV_PANEL * K;
        /* The first token of a panel clears it: sums run over whole panels, and nothing that
         * an earlier sequence left behind may be in them. */
        if (lane == 0 && place < l->shape.slots)
            memset(panel, 0, (size_t)(KV_PANEL * K) * sizeof(real));
        for (int64_t c = 0; c < K; c++)
            panel[c * KV_PANEL + lane] = k[h * K + c];
        if (V > 0)
            memcpy(kvcache_values(cache, row, layer, h) + slot * l->value_stride,
                   v + h * V, (size_t)V * sizeof(real));
    }
}

void kvcache_copy(const KvCache *cache, int64_t to, int64_t from, int64_t length)
{
    if (to == from)
        return;
    for (int64_t layer = 0; layer < cache->layers_count; layer++) {
        const KvLayer *l = &cache->layers[layer];
        int64_t used = kvcache_used(cache, layer, length);
        int64_t keys = kvcache_panels(used) * KV_PANEL * l->shape.key_channels;
        for (int64_t h = 0; h < l->shape.heads; h++) {
            memcpy(kvcache_keys(cache, to, layer, h),
                   kvcache_keys(cache, from, layer, h), (size_t)keys * sizeof(real));
            memcpy(kvcache_values(cache, to, layer, h),
                   kvcache_values(cache, from, layer, h),
                   (size_t)(used * l->value_stride) * sizeof(real));
        }
    }
}
