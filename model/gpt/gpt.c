#include "model/gpt/gpt.h"

#include <assert.h>
#include <string.h>

#include "model/attention/core.h"
#include "model/gpt/block.h"
#include "model/layers/crossentropy.h"
#include "model/layers/embedding.h"
#include "model/math/blas.h"

struct GptWork {
    Arena arena;
    int64_t max_tokens;
    real **streams; /* (L+1) the residual stream before each block and after the last */
    BlockSaved *blocks; /* (L) */
    BlockScratch scratch;
    LayerNormSaved norm;
    real *normed;  /* f (N, C) */
    real *dstream; /* (N, C) */
    real *logits;  /* crossentropy_scratch */
};

static const GptDropout NO_DROPOUT = {0};

Status gpt_create(Gpt *gpt, const GptConfig *config, Error *err)
{
    *gpt = (Gpt){0};
    TRY(gpt_config_check(config, err));
    gpt->config = *config;
    Status status = param_table_create(&gpt->table, config, err);
    if (status == STATUS_OK)
        status = memory_allocate(&gpt->values, gpt->table.total, sizeof(real),
                                 "the model's weights", err);
    if (status == STATUS_OK)
        status = gpt_params_create(&gpt->params, &gpt->table, config, gpt->values, err);
    if (status != STATUS_OK)
        gpt_destroy(gpt);
    return status;
}

void gpt_destroy(Gpt *gpt)
{
    gpt_params_destroy(&gpt->params);
    memory_free(gpt->values);
    param_table_destroy(&gpt->table);
    *gpt = (Gpt){0};
}

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
        block_saved_layout(&saved, arena, config, N);
        if (!counting)
            to->blocks[l] = saved;
    }
    block_scratch_layout(&to->scratch, arena, config, N);
    to->norm = (LayerNormSaved){.mean = arena_reals(arena, N),
                                .inverse = arena_reals(arena, N)};
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

/* Steps 1 to 3: leaves f in work->normed. */
static void forward(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                    const GptDropout *dropout)
{
    const GptConfig *config = &gpt->config;
    const GptParams *params = &gpt->params;
    int64_t N = batch->tokens;
    int64_t C = config->width;
    assert(N <= work->max_tokens);
    /* 1 */
    embedding_forward(work->streams[0], params->tokens, params->positions, batch->ids,
                      batch->positions, N, C);
    gpt_dropout_apply(work->streams[0], dropout, 0, N, C);
    /* 2 */
    for (int64_t l = 0; l < config->layers; l++)
        block_forward(work->streams[l + 1], &work->blocks[l], work->streams[l],
                      &params->blocks[l], &work->scratch, batch, config, l, dropout);
    /* 3 */
    layernorm_forward(work->normed, &work->norm, work->streams[config->layers],
                      &params->norm, config->norm_eps, N, C);
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
    forward(gpt, work, batch, dropout);
    /* 4, forward and backward in one: the logits of a block of rows are held only once */
    real *df = work->scratch.narrow;
    double nats = crossentropy_head(df, grads->tokens, NULL, work->normed,
                                    params->tokens, batch->targets, scale, work->logits,
                                    N, C, config->vocab_size);
    /* 3  f = LayerNorm(x) */
    real *d = work->dstream;
    memset(d, 0, (size_t)(N * C) * sizeof(real));
    layernorm_backward_add(d, &grads->norm, df, &work->norm, work->streams[L],
                           &params->norm, N, C);
    /* 2  x = block(x) */
    for (int64_t l = L - 1; l >= 0; l--)
        block_backward(d, &grads->blocks[l], &work->blocks[l], work->streams[l],
                       &params->blocks[l], &work->scratch, batch, config, l, dropout);
    /* 1  x = dropout(W_E[id] + W_P[position]) */
    gpt_dropout_apply(d, dropout, 0, N, C);
    embedding_backward(grads->tokens, grads->positions, d, batch->ids, batch->positions,
                       N, C);
    return (GptLoss){.nats = nats, .targets = count_targets(batch)};
}

GptLoss gpt_loss(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                 real *token_nats)
{
    forward(gpt, work, batch, &NO_DROPOUT);
    double nats = crossentropy_head(
        NULL, NULL, token_nats, work->normed, gpt->params.tokens, batch->targets, 0,
        work->logits, batch->tokens, gpt->config.width, gpt->config.vocab_size);
    return (GptLoss){.nats = nats, .targets = count_targets(batch)};
}

void gpt_logits(const Gpt *gpt, GptWork *work, const TokenBatch *batch, real *logits)
{
    int64_t C = gpt->config.width;
    int64_t V = gpt->config.vocab_size;
    forward(gpt, work, batch, &NO_DROPOUT);
    matmul(PLAIN, TRANSPOSED, batch->tokens, V, C, 1, work->normed, C,
           gpt->params.tokens, C, 0, logits, V);
}

void gpt_attention_map(const Gpt *gpt, const GptWork *work, const TokenBatch *batch,
                       int64_t layer, int64_t head, int64_t segment, real *weights,
                       real *mixed)
{
    int64_t C = gpt->config.width;
    int64_t D = gpt_head_size(&gpt->config);
    int64_t start = batch->starts[segment];
    AttentionShape shape = {.n = batch->starts[segment + 1] - start,
                            .D = D,
                            .stride = 3 * C,
                            .stride_z = D};
    const real *q = work->blocks[layer].heads.qkv + start * 3 * C + head * D;
    attention_plain_forward(mixed, weights, q, q + C, q + 2 * C, &shape);
}

const real *gpt_stream(const GptWork *work, int64_t layer)
{
    return work->streams[layer];
}
