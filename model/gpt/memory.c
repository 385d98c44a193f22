#include "model/gpt/memory.h"

#include <stddef.h>

const char *const MEMORY_KIND_NAMES[] = {"MHA", "MQA", "GQA", "MLA"};

/* A count that knows whether it ever left int64_t; from there on it stays too large. */
typedef struct {
    int64_t value;
    bool too_large;
} Count;

static Count count(int64_t value)
{
    return (Count){value, false};
}

static Count plus(Count a, Count b)
{
    Count sum = {0, a.too_large || b.too_large};
    sum.too_large |= __builtin_add_overflow(a.value, b.value, &sum.value);
    return sum;
}

static Count times(Count a, int64_t factor)
{
    Count product = {0, a.too_large};
    product.too_large |= __builtin_mul_overflow(a.value, factor, &product.value);
    return product;
}

/* A matrix, with a number for each column where it has a bias. */
static Count matrix(int64_t rows, int64_t columns, bool bias)
{
    Count weights = times(count(rows), columns);
    return bias ? plus(weights, count(columns)) : weights;
}

static Count bytes(Count numbers, int64_t bits)
{
    Count sum = plus(times(numbers, bits), count(7));
    sum.value /= 8;
    return sum;
}

static Status settle(int64_t *out, Count number, const char *what, Error *err)
{
    if (number.too_large)
        return error_set(err, STATUS_INPUT, "%s: too large for 64 bits", what);
    *out = number.value;
    return STATUS_OK;
}

/* ---- layers ------------------------------------------------------------------------- */

MemoryKind memory_kind(int64_t query_heads, int64_t kv_heads)
{
    if (kv_heads == query_heads)
        return MEMORY_MHA;
    return kv_heads == 1 ? MEMORY_MQA : MEMORY_GQA;
}

static bool alike(const MemoryLayers *a, const MemoryLayers *b)
{
    return a->query_heads == b->query_heads && a->kv_heads == b->kv_heads &&
           a->key_size == b->key_size && a->value_size == b->value_size &&
           a->window == b->window && a->cached == b->cached;
}

Status memory_add_layers(MemoryShape *shape, const MemoryLayers *layers, Error *err)
{
    int64_t i = 0;
    while (i < shape->group_count && !alike(&shape->groups[i], layers))
        i++;
    if (i == MEMORY_GROUPS)
        return error_set(err, STATUS_INPUT, "more than %d kinds of layers in one model",
                         MEMORY_GROUPS);
    if (i == shape->group_count) {
        shape->groups[shape->group_count++] = *layers;
        return STATUS_OK;
    }
    shape->groups[i].count += layers->count;
    return STATUS_OK;
}

/* ---- the cache ---------------------------------------------------------------------- */

/* KV heads that the H / N query heads of a card read, on the card that reads most: query
 * head j reads KV head floor(j / (H / G)). */
static int64_t card_heads(const MemoryLayers *layers, int64_t cards)
{
    int64_t queries = layers->query_heads / cards;
    int64_t group = layers->query_heads / layers->kv_heads;
    int64_t most = 0;
    for (int64_t card = 0; card < cards; card++) {
        int64_t first = card * queries / group;
        int64_t last = ((card + 1) * queries - 1) / group;
        if (last - first + 1 > most)
            most = last - first + 1;
    }
    return most;
}

static Status check_cards(const MemoryShape *shape, int64_t cards, Error *err)
{
    for (int64_t i = 0; i < shape->group_count; i++) {
        int64_t heads = shape->groups[i].query_heads;
        if (shape->groups[i].cached && heads % cards != 0)
            return error_set(err, STATUS_USAGE,
                             "%lld query heads cannot be shared out evenly to %lld "
                             "cards (a head is never cut)",
                             (long long)heads, (long long)cards);
    }
    return STATUS_OK;
}

/* min(T, W) B: rows of the cache of one layer. */
static Count rows(const MemoryUse *use, int64_t window)
{
    int64_t kept = window > 0 && window < use->tokens ? window : use->tokens;
    return times(count(kept), use->batch);
}

typedef struct {
    Count per_token, per_token_full, total, total_unbounded, mha_per_token, mha_total,
        card_per_token, card_total, indexer_per_token, indexer_total;
} Sums;

static void add(Count *sum, Count numbers, Count factor)
{
    Count product = times(numbers, factor.value);
    product.too_large |= factor.too_large;
    *sum = plus(*sum, product);
}

static void add_group(Sums *sums, MemoryCache *out, const MemoryShape *shape,
                      const MemoryLayers *layers, const MemoryUse *use)
{
    bool latent = shape->kind == MEMORY_MLA;
    int64_t head = layers->key_size + layers->value_size;
    int64_t on_card = latent ? 0 : card_heads(layers, use->cards);
    Count cached = latent ? plus(count(shape->latent), count(shape->rope_size))
                          : times(count(layers->kv_heads), head);
    Count held = latent ? cached : times(count(on_card), head);
    Count as_mha = times(count(layers->query_heads), head);

    cached = times(cached, layers->count);
    held = times(held, layers->count);
    as_mha = times(as_mha, layers->count);
    Count indexer = times(count(shape->indexer_size), layers->count);
    Count kept = rows(use, layers->window);
    add(&sums->per_token, cached, count(1));
    if (layers->window == 0)
        add(&sums->per_token_full, cached, count(1));
    add(&sums->total, cached, kept);
    add(&sums->total_unbounded, cached, rows(use, 0));
    add(&sums->mha_per_token, as_mha, count(1));
    add(&sums->mha_total, as_mha, kept);
    add(&sums->card_per_token, held, count(1));
    add(&sums->card_total, held, kept);
    add(&sums->indexer_per_token, indexer, count(1));
    add(&sums->indexer_total, indexer, rows(use, 0));

    out->cached_layers += layers->count;
    out->window_layers += layers->window > 0 ? layers->count : 0;
    if (on_card > out->card_kv_heads)
        out->card_kv_heads = on_card;
}

Status memory_cache(MemoryCache *out, const MemoryShape *shape, const MemoryUse *use,
                    Error *err)
{
    *out = (MemoryCache){0};
    TRY(check_cards(shape, use->cards, err));
    Sums sums = {0};
    for (int64_t i = 0; i < shape->group_count; i++)
        if (shape->groups[i].cached)
            add_group(&sums, out, shape, &shape->groups[i], use);

    const struct {
        int64_t *bytes;
        const Count *numbers;
    } results[] = {
        {&out->per_token, &sums.per_token},
        {&out->per_token_full, &sums.per_token_full},
        {&out->total, &sums.total},
        {&out->total_unbounded, &sums.total_unbounded},
        {&out->mha_per_token, &sums.mha_per_token},
        {&out->mha_total, &sums.mha_total},
        {&out->card_per_token, &sums.card_per_token},
        {&out->card_total, &sums.card_total},
        {&out->indexer_per_token, &sums.indexer_per_token},
        {&out->indexer_total, &sums.indexer_total},
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        TRY(settle(results[i].bytes, bytes(*results[i].numbers, use->bits),
                   "the KV cache", err));
    out->source_per_token = shape->cross_attention ? out->per_token : 0;
    return STATUS_OK;
}

/* ---- weights ------------------------------------------------------------------------ */

static Count norms_of_qk(const MemoryShape *shape, const MemoryLayers *layers)
{
    const MemoryWeights *weights = &shape->weights;
    Count size = count(0);
    if (weights->qk_norm == QK_NORM_HEAD)
        size = times(count(layers->key_size), 2);
    if (weights->qk_norm == QK_NORM_WIDTH)
        size = plus(times(count(layers->query_heads), layers->key_size),
                    times(count(layers->kv_heads), layers->key_size));
    if (shape->kind == MEMORY_MLA) /* RMSNorm on both latents */
        size = plus(count(weights->query_rank), count(shape->latent));
    else
        size = times(size, weights->qk_norm_vectors);
    if (weights->indexer_heads > 0) /* LayerNorm on the indexer's key */
        size = plus(size, times(count(shape->indexer_size), 2));
    return size;
}

/* W_Q, W_K, W_V, W_O. */
static Count projections(const MemoryWeights *weights, const MemoryLayers *layers)
{
    int64_t width = weights->width;
    Count queries = times(count(layers->query_heads), layers->key_size);
    Count keys = times(count(layers->kv_heads), layers->key_size);
    Count values = times(count(layers->kv_heads), layers->value_size);
    Count mixed = times(count(layers->query_heads), layers->value_size);
    Count packed = plus(queries, plus(keys, values));
    Count sum = plus(times(packed, width), times(mixed, width));
    if (weights->qkv_bias)
        sum = plus(sum, packed);
    if (weights->out_bias)
        sum = plus(sum, count(width));
    if (weights->sinks)
        sum = plus(sum, count(layers->query_heads));
    return sum;
}

/* MLA: x W_DQ -> W_UQ, x W_DKV -> W_UK, W_UV, then W_O. Biases stand on the way down and
 * out. */
static Count latent_projections(const MemoryShape *shape, const MemoryLayers *layers)
{
    const MemoryWeights *weights = &shape->weights;
    int64_t width = weights->width, rank = weights->query_rank;
    Count queries = times(count(layers->query_heads), layers->key_size);
    Count up =
        times(count(layers->query_heads), weights->nope_size + layers->value_size);
    Count mixed = times(count(layers->query_heads), layers->value_size);
    Count sum = rank > 0
                    ? plus(matrix(width, rank, weights->qkv_bias), times(queries, rank))
                    : times(queries, width);
    sum = plus(sum, matrix(width, shape->latent + shape->rope_size, weights->qkv_bias));
    sum = plus(sum, times(up, shape->latent));
    sum = plus(sum, times(mixed, width));
    if (weights->out_bias)
        sum = plus(sum, count(width));
    if (weights->indexer_heads > 0) {
        Count index = times(count(weights->indexer_heads), shape->indexer_size);
        sum = plus(sum, times(index, rank > 0 ? rank : width));
        sum = plus(sum, times(count(width), shape->indexer_size));
        sum = plus(sum, times(count(width), weights->indexer_heads));
    }
    return sum;
}

static Count mlp(const MemoryWeights *weights, int64_t mlp_width, bool bias)
{
    int64_t up = weights->gated ? 2 : 1;
    Count sum = times(times(count(weights->width), mlp_width), up + 1);
    if (bias)
        sum = plus(sum, plus(times(count(mlp_width), up), count(weights->width)));
    return sum;
}

/* `experts` of them, of which a token meets experts or experts_used. */
static Count mixture(const MemoryWeights *weights, int64_t experts)
{
    Count router = matrix(weights->width, weights->experts, weights->router_bias);
    Count sum = times(mlp(weights, weights->expert_width, weights->mlp_bias), experts);
    if (weights->shared_width > 0)
        sum = plus(sum, mlp(weights, weights->shared_width, false));
    if (weights->shared_gate)
        sum = plus(sum, count(weights->width));
    return plus(sum, router);
}

static Count embeddings(const MemoryWeights *weights)
{
    Count table = times(count(weights->vocab_size), weights->embedded_width);
    Count sum = weights->tied ? table : times(table, 2);
    sum = plus(sum, times(count(weights->positions), weights->width));
    if (weights->embedded_width != weights->width)
        sum =
            plus(sum, times(times(count(weights->embedded_width), weights->width), 2));
    return weights->head_bias ? plus(sum, count(weights->vocab_size)) : sum;
}

Status memory_parameters(MemoryParameters *out, const MemoryShape *shape, Error *err)
{
    const MemoryWeights *weights = &shape->weights;
    Count norm = times(count(weights->width), weights->norm_vectors);
    Count norms = times(norm, weights->other_norms);
    norms = plus(norms, times(times(norm, weights->layer_norms), shape->layers));
    Count attention = count(0);
    for (int64_t i = 0; i < shape->group_count; i++) {
        const MemoryLayers *layers = &shape->groups[i];
        Count one = shape->kind == MEMORY_MLA ? latent_projections(shape, layers)
                                              : projections(weights, layers);
        attention = plus(attention, times(one, layers->count));
        norms = plus(norms, times(norms_of_qk(shape, layers), layers->count));
    }
    Count dense = times(mlp(weights, weights->dense_width, weights->mlp_bias),
                        weights->dense_layers);
    Count sparse = times(mixture(weights, weights->experts), weights->expert_layers);
    Count met = times(mixture(weights, weights->experts_used), weights->expert_layers);
    Count embedding = embeddings(weights);
    Count shared = plus(plus(embedding, attention), plus(norms, dense));

    TRY(settle(&out->embedding, embedding, "the embedding", err));
    TRY(settle(&out->attention, attention, "the attention's weights", err));
    TRY(settle(&out->mlp, plus(dense, sparse), "the MLP's weights", err));
    TRY(settle(&out->norms, norms, "the norms' weights", err));
    TRY(settle(&out->total, plus(shared, sparse), "the weights", err));
    return settle(&out->active, plus(shared, met), "the weights", err);
}

Status memory_bytes(int64_t *out, int64_t numbers, int64_t bits, Error *err)
{
    return settle(out, bytes(count(numbers), bits), "the weights", err);
}
