#include "model/generate/kvcache.h"

#include <math.h>
#include <string.h>

#include "model/math/softmax.h"
#include "model/math/tile.h"
#include "model/math/vec.h"

void kvcache_layout(KvCache *cache, Arena *arena, const GptConfig *config, int64_t rows)
{
    cache->layers = config->layers;
    cache->heads = config->heads;
    cache->T = config->context;
    cache->D = config->head_size;
    cache->key_stride = tile_round(cache->T) + TILE_LANES;
    cache->value_stride = tile_round(cache->D);
    int64_t heads = rows * cache->layers * cache->heads;
    cache->keys = arena_reals(arena, heads * cache->D * cache->key_stride);
    cache->values = arena_reals(arena, heads * cache->T * cache->value_stride);
}

static real *head_keys(const KvCache *cache, int64_t row, int64_t layer, int64_t head)
{
    int64_t index = (row * cache->layers + layer) * cache->heads + head;
    return cache->keys + index * cache->D * cache->key_stride;
}

static real *head_values(const KvCache *cache, int64_t row, int64_t layer, int64_t head)
{
    int64_t index = (row * cache->layers + layer) * cache->heads + head;
    return cache->values + index * cache->T * cache->value_stride;
}

void kvcache_put(const KvCache *cache, int64_t row, int64_t layer, int64_t place,
                 const real *k, const real *v)
{
    int64_t D = cache->D;
    for (int64_t h = 0; h < cache->heads; h++) {
        real *keys = head_keys(cache, row, layer, h) + place;
        for (int64_t d = 0; d < D; d++)
            keys[d * cache->key_stride] = k[h * D + d];
        memcpy(head_values(cache, row, layer, h) + place * cache->value_stride,
               v + h * D, (size_t)D * sizeof(real));
    }
}

void kvcache_copy(const KvCache *cache, int64_t to, int64_t from, int64_t length)
{
    if (to == from)
        return;
    for (int64_t l = 0; l < cache->layers; l++) {
        for (int64_t h = 0; h < cache->heads; h++) {
            const real *keys = head_keys(cache, from, l, h);
            real *copied = head_keys(cache, to, l, h);
            for (int64_t d = 0; d < cache->D; d++)
                memcpy(copied + d * cache->key_stride, keys + d * cache->key_stride,
                       (size_t)length * sizeof(real));
            memcpy(head_values(cache, to, l, h), head_values(cache, from, l, h),
                   (size_t)(length * cache->value_stride) * sizeof(real));
        }
    }
}

int64_t kvcache_scratch(const KvCache *cache)
{
    return cache->key_stride + cache->value_stride;
}

void kvcache_attend(real *z, const KvCache *cache, int64_t row, int64_t layer,
                    int64_t length, const real *q, real *scratch)
{
    int64_t D = cache->D;
    real scale = (real)(1 / sqrt((double)D));
    real *scores = scratch;
    real *mixed = scratch + cache->key_stride;
    for (int64_t h = 0; h < cache->heads; h++) {
        /* s (1, length) = q (1, D) keys (D, length); the columns up to a whole vector
         * that come with it are never looked at */
        tile_matmul(scores, cache->key_stride, (TileStart){0}, q + h * D, D, 1,
                    head_keys(cache, row, layer, h), cache->key_stride, 1,
                    tile_round(length), D);
        vec_scale(scores, scale, length);
        softmax_forward(scores, length);
        /* z (1, D) = p (1, length) values (length, D) */
        tile_matmul(mixed, cache->value_stride, (TileStart){0}, scores, length, 1,
                    head_values(cache, row, layer, h), cache->value_stride, 1,
                    cache->value_stride, length);
        memcpy(z + h * D, mixed, (size_t)D * sizeof(real));
    }
}
