#include "model/generate/decode.h"

#include <assert.h>
#include <omp.h>

#include "model/generate/decode_pass.h"

enum {
    PREFILL_TOKENS = 64, /* tokens of a prompt that are worked on at a time */
    ROW_BLOCK = 4,       /* rows that panels_rows never pads: threads share out these */
    ROWS_TO_SHARE = 8,   /* fewer rows stay with one thread (see decoder_step) */
};

struct Decoder {
    const Gpt *gpt;
    DecoderOptions options; /* threads > 0 */

    Arena arena;
    DecodeWeights weights;
    KvCache cache;
    DecodePass pass;
    int64_t *lengths; /* (rows) */
    real *logits;     /* (capacity, head.stride) */
    real *scratch;    /* (threads, scratch_stride) */
    int64_t scratch_stride;
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void lay_out_cache(Decoder *d)
{
    KvShape shapes[GPT_LAYERS_MAX];
    int64_t L = d->gpt->config.layers;
    for (int64_t l = 0; l < L; l++)
        shapes[l] = kvcache_shape(&d->gpt->config, l);
    kvcache_layout(&d->cache, &d->arena, shapes, L, d->options.rows);
}

/* All memory but the struct itself. Sizes cannot overflow: gpt_config_check bounds them,
 * and the number of rows is the program's own choice. */
static void lay_out(Decoder *d)
{
    int64_t rows = d->options.rows;
    int64_t longest = d->gpt->config.context < PREFILL_TOKENS ? d->gpt->config.context
                                                              : (int64_t)PREFILL_TOKENS;
    int64_t capacity = (larger(rows, longest) + ROW_BLOCK - 1) / ROW_BLOCK * ROW_BLOCK;
    d->arena.used = 0;
    decode_weights_layout(&d->weights, &d->arena, d->gpt, d->options.mla);
    lay_out_cache(d);
    d->pass.gpt = d->gpt;
    d->pass.weights = &d->weights;
    d->pass.cache = &d->cache;
    decode_pass_layout(&d->pass, &d->arena, d->options.mla, capacity);
    d->lengths = arena_take(&d->arena, (size_t)rows, sizeof *d->lengths);
    d->logits = arena_reals(&d->arena, capacity * d->weights.head.stride);
    d->scratch_stride = decode_pass_scratch(&d->pass, d->options.mla);
    d->scratch = arena_reals(&d->arena, d->options.threads * d->scratch_stride);
}

Status decoder_create(Decoder **decoder, const Gpt *gpt, const DecoderOptions *options,
                      Error *err)
{
    assert(options->rows > 0);
    Decoder *d;
    *decoder = NULL;
    if (gpt->config.encoder_layers > 0)
        return error_set(err, STATUS_USAGE,
                         "decoding with a cache knows models without an encoder only; "
                         "this one (family %s) has an encoder of %lld blocks",
                         FAMILY_NAMES[gpt->config.family],
                         (long long)gpt->config.encoder_layers);
    TRY(memory_allocate(&d, 1, sizeof *d, "a decoder", err));
    d->gpt = gpt;
    d->options = *options;
    if (d->options.threads <= 0)
        d->options.threads = omp_get_max_threads();
    lay_out(d);
    Status status = arena_create(&d->arena, d->arena.used, "the decoder's cache", err);
    if (status != STATUS_OK) {
        memory_free(d);
        return status;
    }
    lay_out(d);
    decode_weights_pack(&d->weights, gpt);
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
    return decoder->logits + i * decoder->weights.head.stride;
}

KvBytes decoder_cache_bytes(const Decoder *decoder)
{
    return kvcache_row_bytes(&decoder->cache);
}

/* Token i of the pass, the next of its row. */
static void take(Decoder *d, int64_t i, int64_t row, int32_t id)
{
    assert(row >= 0 && row < d->options.rows);
    assert(id >= 0 && id < d->gpt->config.vocab_size);
    assert(d->lengths[row] < d->gpt->config.context);
    d->pass.rows[i] = (int32_t)row;
    d->pass.ids[i] = id;
    d->pass.places[i] = (int32_t)d->lengths[row]++;
}

/* One panel of the logits of tokens first .. first+count-1, as 0 .. count-1. */
static void head_panel(Decoder *d, int64_t panel, int64_t first, int64_t count)
{
    panels_write_one(d->logits, d->weights.head.stride,
                     decode_pass_output(&d->pass, first), d->pass.narrow_stride,
                     &d->weights.head, panel, count);
}

void decoder_prefill(Decoder *d, int64_t row, const int32_t *ids, int64_t count)
{
    assert(count > 0);
    int64_t N = 0;
    for (int64_t done = 0; done < count; done += N) {
        N = count - done < d->pass.capacity ? count - done : d->pass.capacity;
        for (int64_t i = 0; i < N; i++)
            take(d, i, row, ids[done + i]);
        decode_pass_run(&d->pass, 0, N, d->scratch);
    }
    for (int64_t panel = 0; panel < d->weights.head.stride / PANEL; panel++)
        head_panel(d, panel, N - 1, 1);
}

void decoder_step(Decoder *d, const int32_t *rows, const int32_t *ids, int64_t count)
{
    assert(count <= d->pass.capacity);
    for (int64_t i = 0; i < count; i++)
        take(d, i, rows[i], ids[i]);
    /* The blocks are shared out by rows, so that no thread waits for another; the head,
     * half of the work, by columns, so that each thread reads only its part of it. For
     * few rows two threads win a third at best, and lose nearly everything when another
     * process has one of the processors: the barriers then take a time slice each. */
    int64_t blocks = (count + ROW_BLOCK - 1) / ROW_BLOCK;
#pragma omp parallel num_threads((int)d->options.threads) if (count >= ROWS_TO_SHARE)
    {
        int64_t threads = omp_get_num_threads();
        int64_t thread = omp_get_thread_num();
        int64_t first = thread * blocks / threads * ROW_BLOCK;
        int64_t last = (thread + 1) * blocks / threads * ROW_BLOCK;
        last = last < count ? last : count;
        if (first < last)
            decode_pass_run(&d->pass, first, last,
                            d->scratch + thread * d->scratch_stride);
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < d->weights.head.stride / PANEL; panel++)
            head_panel(d, panel, 0, count);
    }
}
