#include "model/gpt/encoder.h"

#include <string.h>

#include "model/layers/embedding.h"

enum { SOURCE_SITE = -1 }; /* of gpt_dropout_apply */

void encoder_layout(EncoderWork *work, Arena *arena, const GptConfig *config, int64_t M)
{
    int64_t C = config->width;
    int64_t Le = config->encoder_layers;
    bool counting = arena->base == NULL;
    *work = (EncoderWork){0};
    if (Le == 0)
        return;
    work->streams = arena_take(arena, (size_t)(Le + 1), sizeof *work->streams);
    work->blocks = arena_take(arena, (size_t)Le, sizeof *work->blocks);
    for (int64_t l = 0; l <= Le; l++) {
        real *stream = arena_reals(arena, M * C);
        if (!counting)
            work->streams[l] = stream;
    }
    for (int64_t l = 0; l < Le; l++) {
        BlockSaved saved;
        block_saved_layout(&saved, arena, config, config->layers + l, M);
        if (!counting)
            work->blocks[l] = saved;
    }
    work->norm =
        (NormSaved){.mean = arena_reals(arena, M), .inverse = arena_reals(arena, M)};
    work->normed = arena_reals(arena, M * C);
    work->dencoded = arena_reals(arena, M * C);
    work->dstream = arena_reals(arena, M * C);
}

/* Tokens of the source have numbers of their own in the step. */
static GptDropout source_dropout(const GptDropout *dropout)
{
    GptDropout own = *dropout;
    own.first_token = dropout->first_source;
    return own;
}

const real *encoder_forward(const Gpt *gpt, EncoderWork *work,
                            const BlockScratch *scratch, const TokenBatch *source,
                            const GptDropout *dropout)
{
    const GptConfig *config = &gpt->config;
    int64_t M = source->tokens;
    int64_t C = config->width;
    int64_t L = config->layers;
    int64_t Le = config->encoder_layers;
    GptDropout own = source_dropout(dropout);
    BlockPass pass = {.gpt = gpt, .scratch = scratch, .batch = source, .dropout = &own};
    /* 1 */
    embedding_forward(work->streams[0], gpt->params.tokens, gpt_embedding_scale(config),
                      gpt_positions(gpt), source->ids, source->positions, M, C);
    gpt_dropout_apply(work->streams[0], &own, SOURCE_SITE, M, C);
    /* 2 */
    for (int64_t l = 0; l < Le; l++)
        block_forward(work->streams[l + 1], &work->blocks[l], work->streams[l], L + l,
                      &pass);
    /* 3 */
    if (config->norm_place == NORM_AFTER)
        return work->streams[Le];
    norm_forward(config->norm, work->normed, &work->norm, work->streams[Le],
                 &gpt->params.encoder_norm, config->norm_eps, M, C);
    return work->normed;
}

void encoder_backward(const Gpt *gpt, const GptParams *grads, EncoderWork *work,
                      const BlockScratch *scratch, const TokenBatch *source,
                      const GptDropout *dropout)
{
    const GptConfig *config = &gpt->config;
    int64_t M = source->tokens;
    int64_t C = config->width;
    int64_t L = config->layers;
    int64_t Le = config->encoder_layers;
    GptDropout own = source_dropout(dropout);
    BlockPass pass = {.gpt = gpt, .scratch = scratch, .batch = source, .dropout = &own};
    real *d = work->dencoded;
    /* 3  e = Norm(x) */
    if (config->norm_place == NORM_BEFORE) {
        d = work->dstream;
        memset(d, 0, (size_t)(M * C) * sizeof(real));
        norm_backward_add(config->norm, d, &grads->encoder_norm, work->dencoded,
                          &work->norm, work->streams[Le], &gpt->params.encoder_norm, M,
                          C);
    }
    /* 2  x = block(x) */
    for (int64_t l = Le - 1; l >= 0; l--)
        block_backward(d, &grads->blocks[L + l], &work->blocks[l], work->streams[l],
                       L + l, &pass);
    /* 1  x = dropout(s W_E[id] + W_P[position]) */
    gpt_dropout_apply(d, &own, SOURCE_SITE, M, C);
    embedding_backward(grads->tokens, gpt_embedding_scale(config), grads->positions, d,
                       source->ids, source->positions, M, C);
}
