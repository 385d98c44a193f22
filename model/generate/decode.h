/* Decoding with a cache: `rows` sequences of one model, each with its own length.
 *
 *     DecoderOptions options = {.rows = 64};
 *     TRY(decoder_create(&decoder, gpt, &options, err));
 *     decoder_prefill(decoder, 0, prompt, prompt_length);      a whole prompt at once
 *     decoder_copy(decoder, 1, 0);                             rows with the same prompt
 *     ...
 *     decoder_step(decoder, rows, ids, count);                 one token for some rows
 *     logits = decoder_logits(decoder, i);                     what follows token i
 *     ...
 *     decoder_destroy(decoder);
 *
 * A step names the rows that take part, so a sequence that has ended simply is not named
 * any more, and its row can be cleared for the next one.
 *
 * The numbers of a row depend on its own tokens only: not on the other rows, not on the
 * number of threads, not on whether the tokens came one by one or in one prefill. They have
 * the same bits every time (model/generate/panels.h says why). */
#ifndef JUEJU_MODEL_GENERATE_DECODE_H
#define JUEJU_MODEL_GENERATE_DECODE_H

#include <stdint.h>

#include "model/generate/decode_weights.h"
#include "model/generate/kvcache.h"

typedef struct Decoder Decoder;

typedef struct {
    int64_t rows;    /* sequences, > 0 */
    int64_t threads; /* 0: as many as OpenMP gives */
    MlaForm mla;     /* how MLA is decoded: the same logits but for rounding */
} DecoderOptions;

/* The decoder copies the weights of the blocks and of the head into its own order (as much
 * memory as the model), and looks at the rest where it is: gpt must outlive it and stay as
 * it is. STATUS_USAGE for a model with an encoder, STATUS_MEMORY. */
Status decoder_create(Decoder **decoder, const Gpt *gpt, const DecoderOptions *options,
                      Error *err);
void decoder_destroy(Decoder *decoder); /* NULL is fine */

/* Tokens that a row holds: 0 .. T. */
int64_t decoder_length(const Decoder *decoder, int64_t row);
void decoder_clear(Decoder *decoder, int64_t row);

/* Row `to` becomes a copy of row `from`. */
void decoder_copy(Decoder *decoder, int64_t to, int64_t from);

/* Appends count > 0 tokens to a row: length + count <= T, ids within 0 .. V-1. After it
 * decoder_logits(decoder, 0) belongs to the last of them. */
void decoder_prefill(Decoder *decoder, int64_t row, const int32_t *ids, int64_t count);

/* Appends ids[i] to rows[i], i < count. No row twice, each with room for a token. After it
 * decoder_logits(decoder, i) belongs to ids[i]. */
void decoder_step(Decoder *decoder, const int32_t *rows, const int32_t *ids,
                  int64_t count);

/* What a row takes in the cache when it is full. */
KvBytes decoder_cache_bytes(const Decoder *decoder);

/* (V) logits of the token that comes next; valid until the next step or prefill. */
const real *decoder_logits(const Decoder *decoder, int64_t i);

#endif
