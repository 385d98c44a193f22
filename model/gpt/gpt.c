#include "model/gpt/gpt.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/attention/core.h"
#include "model/gpt/encoder.h"
#include "model/layers/crossentropy.h"
#include "model/layers/embedding.h"
#include "model/layers/position.h"
#include "model/layers/rope.h"
#include "model/math/blas.h"

struct GptWork {
    Arena arena;
    int64_t max_tokens;
    real **streams; /* (L+1) the residual stream before each block and after the last */
    BlockSaved *blocks; /* (L) */
    BlockScratch scratch;
    EncoderWork encoder;
    const real *encoded; /* e of the last forward pass; NULL: no encoder */
    NormSaved norm;
    real *normed;  /* f (N, C) */
    real *dstream; /* (N, C) */
    real *logits;  /* crossentropy_scratch */
};

static const GptDropout NO_DROPOUT = {0};

/* Deepseek's latents have a norm whose eps no config names: Hugging Face's default. */
static const double LATENT_EPS = 1e-6;

/* ---- the model ---------------------------------------------------------------------- */

/* Channels of a head that RoPE turns. */
static int64_t turned_channels(const GptConfig *config)
{
    return config->attention == ATTENTION_MLA ? config->rope_size : config->head_size;
}

static bool has_cut_heads(const GptConfig *config)
{
    for (int64_t l = 0; l < gpt_blocks(config); l++) {
        if (config->removed[l] != 0)
            return true;
    }
    return false;
}

static Status create_groups(GptTables *tables, const GptConfig *config, Error *err)
{
    int64_t H = config->heads;
    TRY(memory_allocate(&tables->groups, (size_t)(gpt_blocks(config) * H),
                        sizeof *tables->groups, "the groups of heads", err));
    for (int64_t l = 0; l < gpt_blocks(config); l++) {
        for (int64_t i = 0; i < gpt_layer_heads(config, l); i++)
            tables->groups[l * H + i] = (uint16_t)gpt_layer_group(config, l, i);
    }
    return STATUS_OK;
}

static Status create_tables(GptTables *tables, const GptConfig *config, Error *err)
{
    int64_t T = config->context;
    if (config->position == POSITION_ROPE) {
        int64_t D = turned_channels(config);
        TRY(memory_allocate(&tables->rope, (size_t)(T * D), sizeof(real),
                            "the table of rotations", err));
        rope_table(tables->rope, config->rope_theta, T, D);
    }
    if (config->position == POSITION_SINUSOIDAL) {
        TRY(memory_allocate(&tables->sinusoids, (size_t)(T * config->width),
                            sizeof(real), "the table of positions", err));
        position_sinusoidal(tables->sinusoids, T, config->width);
    }
    if (config->attention == ATTENTION_HEADS && has_cut_heads(config))
        TRY(create_groups(tables, config, err));
    return STATUS_OK;
}

static Status create_all(Gpt *gpt, Error *err)
{
    const GptConfig *config = &gpt->config;
    TRY(param_table_create(&gpt->table, config, err));
    TRY(memory_allocate(&gpt->values, gpt->table.total, sizeof(real),
                        "the model's weights", err));
    TRY(gpt_params_create(&gpt->params, &gpt->table, config, gpt->values, err));
    return create_tables(&gpt->tables, config, err);
}

Status gpt_create(Gpt *gpt, const GptConfig *config, Error *err)
{
    *gpt = (Gpt){0};
    TRY(gpt_config_check(config, err));
    gpt->config = *config;
    Status status = create_all(gpt, err);
    if (status != STATUS_OK)
        gpt_destroy(gpt);
    return status;
}

void gpt_destroy(Gpt *gpt)
{
    memory_free(gpt->tables.rope);
    memory_free(gpt->tables.sinusoids);
    memory_free(gpt->tables.groups);
    gpt_params_destroy(&gpt->params);
    memory_free(gpt->values);
    param_table_destroy(&gpt->table);
    *gpt = (Gpt){0};
}

static real score_scale(const GptConfig *config)
{
    return config->scaled_scores ? (real)(1 / sqrt((double)gpt_score_size(config))) : 1;
}

HeadsShape gpt_heads_shape(const GptConfig *config, const GptTables *tables,
                           int64_t layer)
{
    HeadsShape shape = {.C = config->width,
                        .H = gpt_layer_heads(config, layer),
                        .G = gpt_layer_kv_heads(config, layer),
                        .D = config->head_size,
                        .scale = score_scale(config),
                        .causal = layer < config->layers,
                        .window = gpt_layer_window(config, layer)};
    if (tables != NULL) {
        shape.rope = tables->rope;
        if (tables->groups != NULL)
            shape.groups = tables->groups + layer * config->heads;
    }
    return shape;
}

HeadsShape gpt_cross_shape(const GptConfig *config)
{
    return (HeadsShape){.C = config->width,
                        .H = config->heads,
                        .G = config->kv_heads,
                        .D = config->head_size,
                        .scale = score_scale(config)};
}

MlaShape gpt_mla_shape(const GptConfig *config, const GptTables *tables, int64_t layer)
{
    return (MlaShape){.C = config->width,
                      .H = gpt_layer_heads(config, layer),
                      .Rq = config->q_rank,
                      .R = config->kv_rank,
                      .P = config->nope_size,
                      .O = config->rope_size,
                      .E = config->value_size,
                      .scale = score_scale(config),
                      .window = gpt_layer_window(config, layer),
                      .norm_eps = LATENT_EPS,
                      .rope = tables != NULL ? tables->rope : NULL};
}

real gpt_embedding_scale(const GptConfig *config)
{
    return config->scaled_embedding ? (real)sqrt((double)config->width) : 1;
}

const real *gpt_positions(const Gpt *gpt)
{
    return gpt->tables.sinusoids != NULL ? gpt->tables.sinusoids
                                         : gpt->params.positions;
}

/* ---- the work of a pass ------------------------------------------------------------- */

static void layout(GptWork *work, Arena *arena, const GptConfig *config, int64_t N)
{
    int64_t C = config->width;
    int64_t L = config->layers;
    GptWork unused = {0};
    bool counting = arena->base == NULL;
    GptWork *to = counting ? &unused : work;
    to->streams = arena_take(arena, (size_t)(L + 1), sizeof *to->streams);
    to->blocks = arena_take(arena, (size_t)L, sizeof *to->blocks);
    for (int64_t l = 0; l <= L; l++) {
        real *stream = arena_reals(arena, N * C);
        if (!counting)
            to->streams[l] = stream;
    }
    for (int64_t l = 0; l < L; l++) {
        BlockSaved saved;
        block_saved_layout(&saved, arena, config, l, N);
        if (!counting)
            to->blocks[l] = saved;
    }
    block_scratch_layout(&to->scratch, arena, config, N);
    encoder_layout(&to->encoder, arena, config, N);
    to->norm =
        (NormSaved){.mean = arena_reals(arena, N), .inverse = arena_reals(arena, N)};
    to->normed = arena_reals(arena, N * C);
    to->dstream = arena_reals(arena, N * C);
    to->logits = arena_reals(arena, crossentropy_scratch(N, C, config->vocab_size));
}

size_t gpt_work_bytes(const GptConfig *config, int64_t max_tokens)
{
    Arena counting = {0};
    layout(NULL, &counting, config, max_tokens);
    return counting.used;
}

Status gpt_work_create(GptWork **work, const GptConfig *config, int64_t max_tokens,
                       Error *err)
{
    *work = NULL;
    GptWork *made;
    TRY(memory_allocate(&made, 1, sizeof *made, "the working memory", err));
    Status status = arena_create(&made->arena, gpt_work_bytes(config, max_tokens),
                                 "the activations", err);
    if (status != STATUS_OK) {
        memory_free(made);
        return status;
    }
    layout(made, &made->arena, config, max_tokens);
    made->max_tokens = max_tokens;
    *work = made;
    return STATUS_OK;
}

void gpt_work_destroy(GptWork *work)
{
    if (work == NULL)
        return;
    arena_destroy(&work->arena);
    memory_free(work);
}

/* Of the decoder's blocks. */
static BlockPass decoder_pass(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                              const GptDropout *dropout)
{
    return (BlockPass){.gpt = gpt,
                       .scratch = &work->scratch,
                       .batch = batch,
                       .dropout = dropout,
                       .encoded = work->encoded,
                       .dencoded = work->encoder.dencoded};
}

/* Steps 0 to 3; returns f. */
static const real *forward(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                           const GptDropout *dropout)
{
    const GptConfig *config = &gpt->config;
    const GptParams *params = &gpt->params;
    int64_t N = batch->tokens;
    int64_t C = config->width;
    const TokenBatch *source = batch->source;
    assert(N <= work->max_tokens);
    assert((source != NULL) == (config->encoder_layers > 0));
    /* 0 */
    work->encoded = NULL;
    if (source != NULL) {
        assert(source->tokens <= work->max_tokens);
        work->encoded =
            encoder_forward(gpt, &work->encoder, &work->scratch, source, dropout);
    }
    BlockPass pass = decoder_pass(gpt, work, batch, dropout);
    /* 1 */
    embedding_forward(work->streams[0], params->tokens, gpt_embedding_scale(config),
                      gpt_positions(gpt), batch->ids, batch->positions, N, C);
    gpt_dropout_apply(work->streams[0], dropout, 0, N, C);
    /* 2 */
    for (int64_t l = 0; l < config->layers; l++)
        block_forward(work->streams[l + 1], &work->blocks[l], work->streams[l], l,
                      &pass);
    /* 3 */
    const real *x = work->streams[config->layers];
    if (config->norm_place == NORM_AFTER)
        return x;
    norm_forward(config->norm, work->normed, &work->norm, x, &params->norm,
                 config->norm_eps, N, C);
    return work->normed;
}

static int64_t count_targets(const TokenBatch *batch)
{
    int64_t count = 0;
    for (int64_t n = 0; n < batch->tokens; n++)
        count += batch->targets[n] >= 0;
    return count;
}

GptLoss gpt_train_pass(const Gpt *gpt, const GptParams *grads, GptWork *work,
                       const TokenBatch *batch, real scale, const GptDropout *dropout)
{
    const GptConfig *config = &gpt->config;
    const GptParams *params = &gpt->params;
    int64_t N = batch->tokens;
    int64_t C = config->width;
    int64_t L = config->layers;
    const real *f = forward(gpt, work, batch, dropout);
    /* 4, forward and backward in one: the logits of a block of rows are held only once */
    real *d = work->dstream;
    bool normed = config->norm_place == NORM_BEFORE;
    real *df = normed ? work->scratch.narrow : d;
    double nats =
        crossentropy_head(df, grads->head, NULL, f, params->head, batch->targets, scale,
                          work->logits, N, C, config->vocab_size);
    /* 3  f = Norm(x) */
    if (normed) {
        memset(d, 0, (size_t)(N * C) * sizeof(real));
        norm_backward_add(config->norm, d, &grads->norm, df, &work->norm,
                          work->streams[L], &params->norm, N, C);
    }
    /* 2  x = block(x, e) */
    BlockPass pass = decoder_pass(gpt, work, batch, dropout);
    if (batch->source != NULL)
        memset(pass.dencoded, 0, (size_t)(batch->source->tokens * C) * sizeof(real));
    for (int64_t l = L - 1; l >= 0; l--)
        block_backward(d, &grads->blocks[l], &work->blocks[l], work->streams[l], l,
                       &pass);
    /* 1  x = dropout(s W_E[id] + W_P[position]) */
    gpt_dropout_apply(d, dropout, 0, N, C);
    embedding_backward(grads->tokens, gpt_embedding_scale(config), grads->positions, d,
                       batch->ids, batch->positions, N, C);
    /* 0  e = encoder(source) */
    if (batch->source != NULL)
        encoder_backward(gpt, grads, &work->encoder, &work->scratch, batch->source,
                         dropout);
    return (GptLoss){.nats = nats, .targets = count_targets(batch)};
}

GptLoss gpt_loss(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                 real *token_nats)
{
    const real *f = forward(gpt, work, batch, &NO_DROPOUT);
    double nats = crossentropy_head(NULL, NULL, token_nats, f, gpt->params.head,
                                    batch->targets, 0, work->logits, batch->tokens,
                                    gpt->config.width, gpt->config.vocab_size);
    return (GptLoss){.nats = nats, .targets = count_targets(batch)};
}

void gpt_logits(const Gpt *gpt, GptWork *work, const TokenBatch *batch, real *logits)
{
    int64_t C = gpt->config.width;
    int64_t V = gpt->config.vocab_size;
    const real *f = forward(gpt, work, batch, &NO_DROPOUT);
    matmul(PLAIN, TRANSPOSED, batch->tokens, V, C, 1, f, C, gpt->params.head, C, 0,
           logits, V);
}

void gpt_last_logits(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                     real *logits)
{
    int64_t C = gpt->config.width;
    int64_t V = gpt->config.vocab_size;
    const real *f = forward(gpt, work, batch, &NO_DROPOUT);
    real *last = work->scratch.narrow;
    for (int64_t s = 0; s < batch->segments; s++)
        memcpy(last + s * C, f + (batch->starts[s + 1] - 1) * C,
               (size_t)C * sizeof(real));
    matmul(PLAIN, TRANSPOSED, batch->segments, V, C, 1, last, C, gpt->params.head, C, 0,
           logits, V);
}

/* Where one head's queries, keys and values begin in what the forward pass saved, and how
 * its rows lie; D, stride_z and the segment are the same for both kinds. */
typedef struct {
    const real *q, *k, *v;
    AttentionShape shape;
} HeadRows;

static HeadRows heads_rows(const HeadsSaved *saved, const HeadsShape *shape,
                           int64_t head, int64_t start)
{
    int64_t D = shape->D;
    int64_t width = heads_qkv_width(shape);
    int64_t group = heads_group(shape, head);
    const real *row = saved->qkv + start * width;
    return (HeadRows){.q = row + head * D,
                      .k = row + (shape->H + group) * D,
                      .v = row + (shape->H + shape->G + group) * D,
                      .shape = {.D = D,
                                .E = D,
                                .stride_q = width,
                                .stride_k = width,
                                .stride_v = width,
                                .stride_z = D,
                                .scale = shape->scale,
                                .window = shape->window}};
}

static HeadRows mla_rows(const MlaSaved *saved, const MlaShape *shape, int64_t head,
                         int64_t start)
{
    int64_t D = shape->P + shape->O;
    int64_t both = shape->P + shape->E;
    int64_t stride = shape->H * D;
    int64_t stride_v = shape->H * both;
    return (HeadRows){.q = saved->queries + start * stride + head * D,
                      .k = saved->keys + start * stride + head * D,
                      .v = saved->expanded + start * stride_v + head * both + shape->P,
                      .shape = {.D = D,
                                .E = shape->E,
                                .stride_q = stride,
                                .stride_k = stride,
                                .stride_v = stride_v,
                                .stride_z = shape->E,
                                .scale = shape->scale,
                                .window = shape->window}};
}

void gpt_attention_map(const Gpt *gpt, const GptWork *work, const TokenBatch *batch,
                       int64_t layer, int64_t head, int64_t segment, real *weights,
                       real *mixed)
{
    const BlockSaved *saved = &work->blocks[layer];
    int64_t start = batch->starts[segment];
    HeadRows rows;
    if (gpt->config.attention == ATTENTION_MLA) {
        MlaShape shape = gpt_mla_shape(&gpt->config, &gpt->tables, layer);
        rows = mla_rows(&saved->mla, &shape, head, start);
    } else {
        HeadsShape shape = gpt_heads_shape(&gpt->config, &gpt->tables, layer);
        rows = heads_rows(&saved->heads, &shape, head, start);
    }
    rows.shape.n = rows.shape.m = batch->starts[segment + 1] - start;
    rows.shape.causal = true;
    attention_plain_forward(mixed, weights, rows.q, rows.k, rows.v, &rows.shape);
}

const real *gpt_stream(const GptWork *work, int64_t layer)
{
    return work->streams[layer];
}
