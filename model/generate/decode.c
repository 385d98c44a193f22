#include "model/generate/decode.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

#include "model/generate/kvcache.h"
#include "model/generate/panels.h"
#include "model/layers/gelu.h"
#include "model/math/vec.h"

enum {
    PREFILL_TOKENS = 64, /* tokens of a prompt that are worked on at a time */
    ROW_BLOCK = 4,       /* rows that panels_rows never pads: threads share out these */
    ROWS_TO_SHARE = 8,   /* fewer rows stay with one thread (see decoder_step) */
};

typedef struct {
    Panels qkv, out, up, down;
} BlockPanels;

struct Decoder {
    const Gpt *gpt;
    int threads;
    int64_t rows;
    int64_t capacity; /* tokens in one pass, a multiple of ROW_BLOCK */

    Arena arena;
    BlockPanels *blocks; /* (L) */
    Panels head;         /* W_E^T (C, V) */
    KvCache cache;
    int64_t *lengths; /* (rows) */

    /* One pass over N <= capacity tokens. */
    int32_t *token_rows; /* (capacity) */
    int32_t *token_ids;
    int64_t *places;
    int64_t narrow_stride, wide_stride;
    real *x; /* (capacity, narrow_stride) the residual stream */
    real
        *normed; /* (capacity, narrow_stride) normed input, then what the heads mixed */
    real *wide;  /* (capacity, wide_stride) queries, keys and values, then the MLP */
    real *logits;  /* (capacity, head.stride) */
    real *scratch; /* (threads, scratch_stride) */
    int64_t scratch_stride;
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* All memory but the struct itself. Sizes cannot overflow: gpt_config_check bounds them,
 * and the number of rows is the program's own choice. */
static void lay_out(Decoder *d)
{
    const GptConfig *config = &d->gpt->config;
    int64_t C = config->width;
    int64_t F = config->mlp_width;
    d->arena.used = 0;
    BlockPanels *blocks = arena_take(&d->arena, (size_t)config->layers, sizeof *blocks);
    d->blocks = blocks;
    for (int64_t l = 0; l < config->layers; l++) {
        BlockPanels counted = {0};
        BlockPanels *block = blocks != NULL ? &blocks[l] : &counted;
        panels_layout(&block->qkv, &d->arena, C, 3 * C);
        panels_layout(&block->out, &d->arena, C, C);
        panels_layout(&block->up, &d->arena, C, F);
        panels_layout(&block->down, &d->arena, F, C);
    }
    panels_layout(&d->head, &d->arena, C, config->vocab_size);
    kvcache_layout(&d->cache, &d->arena, config, d->rows);
    size_t capacity = (size_t)d->capacity;
    d->lengths = arena_take(&d->arena, (size_t)d->rows, sizeof *d->lengths);
    d->token_rows = arena_take(&d->arena, capacity, sizeof *d->token_rows);
    d->token_ids = arena_take(&d->arena, capacity, sizeof *d->token_ids);
    d->places = arena_take(&d->arena, capacity, sizeof *d->places);
    d->narrow_stride = panels_round(C);
    d->wide_stride = panels_round(larger(3 * C, F));
    d->x = arena_reals(&d->arena, d->capacity * d->narrow_stride);
    d->normed = arena_reals(&d->arena, d->capacity * d->narrow_stride);
    d->wide = arena_reals(&d->arena, d->capacity * d->wide_stride);
    d->logits = arena_reals(&d->arena, d->capacity * d->head.stride);
    d->scratch_stride = kvcache_scratch(&d->cache);
    d->scratch = arena_reals(&d->arena, d->threads * d->scratch_stride);
}

/* What the passes below are written for. */
static bool is_plain(const GptConfig *config)
{
    bool whole = config->window == 0;
    for (int64_t l = 0; l < config->layers; l++)
        whole = whole && config->removed[l] == 0;
    return whole && config->norm == NORM_LAYER && config->norm_place == NORM_BEFORE &&
           config->position == POSITION_LEARNED && config->mlp == MLP_GELU &&
           config->attention == ATTENTION_HEADS && config->biases &&
           config->kv_heads == config->heads && config->scaled_scores &&
           config->heads * config->head_size == config->width;
}

Status decoder_create(Decoder **decoder, const Gpt *gpt, int64_t rows, int64_t threads,
                      Error *err)
{
    assert(rows > 0);
    Decoder *d;
    *decoder = NULL;
    if (!is_plain(&gpt->config))
        return error_set(err, STATUS_USAGE,
                         "decoding knows models of family gpt2 without other switches "
                         "only");
    TRY(memory_allocate(&d, 1, sizeof *d, "a decoder", err));
    d->gpt = gpt;
    d->threads = threads > 0 ? (int)threads : omp_get_max_threads();
    d->rows = rows;
    int64_t longest = gpt->config.context < PREFILL_TOKENS ? gpt->config.context
                                                           : (int64_t)PREFILL_TOKENS;
    d->capacity = (larger(rows, longest) + ROW_BLOCK - 1) / ROW_BLOCK * ROW_BLOCK;
    lay_out(d);
    Status status = arena_create(&d->arena, d->arena.used, "the decoder's cache", err);
    if (status != STATUS_OK) {
        memory_free(d);
        return status;
    }
    lay_out(d);
    for (int64_t l = 0; l < gpt->config.layers; l++) {
        const BlockParams *block = &gpt->params.blocks[l];
        panels_pack(&d->blocks[l].qkv, &block->attention.qkv);
        panels_pack(&d->blocks[l].out, &block->attention.out);
        panels_pack(&d->blocks[l].up, &block->mlp.up);
        panels_pack(&d->blocks[l].down, &block->mlp.down);
    }
    panels_pack_transposed(&d->head, gpt->params.head);
    *decoder = d;
    return STATUS_OK;
}

void decoder_destroy(Decoder *decoder)
{
    if (decoder == NULL)
        return;
    arena_destroy(&decoder->arena);
    memory_free(decoder);
}

int64_t decoder_length(const Decoder *decoder, int64_t row)
{
    return decoder->lengths[row];
}

void decoder_clear(Decoder *decoder, int64_t row)
{
    decoder->lengths[row] = 0;
}

void decoder_copy(Decoder *decoder, int64_t to, int64_t from)
{
    kvcache_copy(&decoder->cache, to, from, decoder->lengths[from]);
    decoder->lengths[to] = decoder->lengths[from];
}

const real *decoder_logits(const Decoder *decoder, int64_t i)
{
    return decoder->logits + i * decoder->head.stride;
}

/* Row by row, because rows lie narrow_stride apart. */
static void norm_rows(const Decoder *d, const LayerNormParams *norm, int64_t first,
                      int64_t last)
{
    real mean, inverse;
    LayerNormSaved unused = {.mean = &mean, .inverse = &inverse};
    for (int64_t i = first; i < last; i++)
        layernorm_forward(d->normed + i * d->narrow_stride, &unused,
                          d->x + i * d->narrow_stride, norm, d->gpt->config.norm_eps, 1,
                          d->gpt->config.width);
}

/* x += Attention(LayerNorm_1(x)), numbered as in model/attention/heads.h. All keys and
 * values go into the cache before the first query, so tokens of one prompt see each other;
 * what lies behind a token's own place is not looked at. */
static void attention(const Decoder *d, int64_t layer, int64_t first, int64_t last,
                      real *scratch)
{
    int64_t C = d->gpt->config.width;
    const BlockPanels *block = &d->blocks[layer];
    real *normed = d->normed + first * d->narrow_stride;
    real *wide = d->wide + first * d->wide_stride;
    norm_rows(d, &d->gpt->params.blocks[layer].norm1, first, last);
    panels_write(wide, d->wide_stride, normed, d->narrow_stride, &block->qkv,
                 last - first); /* 1 */
    for (int64_t i = first; i < last; i++) {
        const real *qkv = d->wide + i * d->wide_stride;
        kvcache_put(&d->cache, d->token_rows[i], layer, d->places[i], qkv + C,
                    qkv + 2 * C);
    }
    for (int64_t i = first; i < last; i++)
        kvcache_attend(d->normed + i * d->narrow_stride, &d->cache, d->token_rows[i],
                       layer, d->places[i] + 1, d->wide + i * d->wide_stride,
                       scratch); /* 2 */
    panels_add(d->x + first * d->narrow_stride, d->narrow_stride, normed,
               d->narrow_stride, &block->out, last - first); /* 3 */
}

/* x += MLP(LayerNorm_2(x)), numbered as in model/layers/mlp.h. */
static void mlp(const Decoder *d, int64_t layer, int64_t first, int64_t last)
{
    const BlockPanels *block = &d->blocks[layer];
    real *wide = d->wide + first * d->wide_stride;
    norm_rows(d, &d->gpt->params.blocks[layer].norm2, first, last);
    panels_write(wide, d->wide_stride, d->normed + first * d->narrow_stride,
                 d->narrow_stride, &block->up, last - first); /* 1 */
    for (int64_t i = 0; i < last - first; i++)                /* 2 */
        gelu_forward(wide + i * d->wide_stride, wide + i * d->wide_stride,
                     d->gpt->config.mlp_width);
    panels_add(d->x + first * d->narrow_stride, d->narrow_stride, wide, d->wide_stride,
               &block->down, last - first); /* 3 */
}

/* Tokens first .. last-1 of the pass from the embedding to the final norm. */
static void run_rows(const Decoder *d, int64_t first, int64_t last, real *scratch)
{
    const GptParams *params = &d->gpt->params;
    int64_t C = d->gpt->config.width;
    for (int64_t i = first; i < last; i++) {
        real *x = d->x + i * d->narrow_stride;
        memcpy(x, params->tokens + d->token_ids[i] * C, (size_t)C * sizeof(real));
        vec_add(x, params->positions + d->places[i] * C, C);
    }
    for (int64_t l = 0; l < d->gpt->config.layers; l++) {
        attention(d, l, first, last, scratch);
        mlp(d, l, first, last);
    }
    norm_rows(d, &params->norm, first, last);
}

void decoder_prefill(Decoder *d, int64_t row, const int32_t *ids, int64_t count)
{
    assert(row >= 0 && row < d->rows && count > 0);
    assert(d->lengths[row] + count <= d->gpt->config.context);
    int64_t N = 0;
    for (int64_t done = 0; done < count; done += N) {
        N = count - done < d->capacity ? count - done : d->capacity;
        for (int64_t i = 0; i < N; i++) {
            assert(ids[done + i] >= 0 && ids[done + i] < d->gpt->config.vocab_size);
            d->token_rows[i] = (int32_t)row;
            d->token_ids[i] = ids[done + i];
            d->places[i] = d->lengths[row]++;
        }
        run_rows(d, 0, N, d->scratch);
    }
    const real *last = d->normed + (N - 1) * d->narrow_stride;
    for (int64_t panel = 0; panel < d->head.stride / PANEL; panel++)
        panels_write_one(d->logits, d->head.stride, last, d->narrow_stride, &d->head,
                         panel, 1);
}

void decoder_step(Decoder *d, const int32_t *rows, const int32_t *ids, int64_t count)
{
    assert(count <= d->capacity);
    for (int64_t i = 0; i < count; i++) {
        assert(rows[i] >= 0 && rows[i] < d->rows);
        assert(ids[i] >= 0 && ids[i] < d->gpt->config.vocab_size);
        assert(d->lengths[rows[i]] < d->gpt->config.context);
        d->token_rows[i] = rows[i];
        d->token_ids[i] = ids[i];
        d->places[i] = d->lengths[rows[i]]++;
    }
    /* The blocks are shared out by rows, so that no thread waits for another; the head,
     * half of the work, by columns, so that each thread reads only its part of it. For
     * few rows two threads win a third at best, and lose nearly everything when another
     * process has one of the processors: the barriers then take a time slice each. */
    int64_t blocks = (count + ROW_BLOCK - 1) / ROW_BLOCK;
#pragma omp parallel num_threads(d->threads) if (count >= ROWS_TO_SHARE)
    {
        int64_t threads = omp_get_num_threads();
        int64_t thread = omp_get_thread_num();
        int64_t first = thread * blocks / threads * ROW_BLOCK;
        int64_t last = (thread + 1) * blocks / threads * ROW_BLOCK;
        last = last < count ? last : count;
        if (first < last)
            run_rows(d, first, last, d->scratch + thread * d->scratch_stride);
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < d->head.stride / PANEL; panel++)
            panels_write_one(d->logits, d->head.stride, d->normed, d->narrow_stride,
                             &d->head, panel, count);
    }
}
