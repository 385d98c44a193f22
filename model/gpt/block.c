#include "model/gpt/block.h"

#include <string.h>

#include "model/base/rng.h"
#include "model/layers/dropout.h"
#include "model/math/vec.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- memory ------------------------------------------------------------------------- */

static NormSaved norm_layout(Arena *arena, const GptConfig *config, int64_t N)
{
    bool centred = config->norm == NORM_LAYER;
    return (NormSaved){.mean = centred ? arena_reals(arena, N) : NULL,
                       .inverse = arena_reals(arena, N)};
}

static void attention_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                             int64_t layer, int64_t N)
{
    if (config->attention == ATTENTION_MLA) {
        MlaShape shape = gpt_mla_shape(config, NULL, layer);
        if (shape.H == 0)
            return;
        real *memory = arena_reals(arena, mla_saved_reals(&shape, N));
        if (memory != NULL)
            mla_saved_divide(&saved->mla, memory, &shape, N);
        return;
    }
    HeadsShape shape = gpt_heads_shape(config, NULL, layer);
    saved->heads = (HeadsSaved){.qkv = arena_reals(arena, N * heads_qkv_width(&shape)),
                                .mixed = arena_reals(arena, N * shape.H * shape.D),
                                .logsum = arena_reals(arena, shape.H * N)};
}

static void mlp_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                       int64_t N)
{
    int64_t F = config->mlp_width;
    if (config->mlp == MLP_SWIGLU)
        saved->swiglu = (SwigluSaved){.gate = arena_reals(arena, N * F),
                                      .up = arena_reals(arena, N * F),
                                      .act = arena_reals(arena, N * F)};
    else
        saved->mlp = (MlpSaved){.pre = arena_reals(arena, N * F),
                                .act = arena_reals(arena, N * F)};
}

void block_saved_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                        int64_t layer, int64_t N)
{
    int64_t C = config->width;
    *saved = (BlockSaved){0};
    saved->norm1 = norm_layout(arena, config, N);
    saved->beside1 = arena_reals(arena, N * C);
    attention_layout(saved, arena, config, layer, N);
    saved->middle = arena_reals(arena, N * C);
    saved->norm2 = norm_layout(arena, config, N);
    saved->beside2 = arena_reals(arena, N * C);
    mlp_layout(saved, arena, config, N);
}

void block_scratch_layout(BlockScratch *scratch, Arena *arena, const GptConfig *config,
                          int64_t N)
{
    int64_t C = config->width;
    int64_t longest = config->context < N ? config->context : N;
    int64_t wide =
        config->mlp == MLP_SWIGLU ? 2 * config->mlp_width : config->mlp_width;
    int64_t narrow = C;
    int64_t attention = 0;
    for (int64_t layer = 0; layer < config->layers; layer++) {
        if (config->attention == ATTENTION_MLA) {
            MlaShape shape = gpt_mla_shape(config, NULL, layer);
            if (shape.H > 0)
                attention = larger(attention, mla_scratch(N, longest, &shape));
            continue;
        }
        HeadsShape shape = gpt_heads_shape(config, NULL, layer);
        wide = larger(wide, heads_qkv_width(&shape));
        narrow = larger(narrow, shape.H * shape.D);
        attention = larger(attention, heads_scratch(longest, &shape));
    }
    *scratch = (BlockScratch){
        .wide = arena_reals(arena, N * wide),
        .narrow = arena_reals(arena, N * narrow),
        .narrow2 = arena_reals(arena, N * C),
        .attention = arena_reals(arena, attention),
    };
}

void gpt_dropout_apply(real *x, const GptDropout *dropout, int64_t site, int64_t N,
                       int64_t C)
{
    dropout_apply(x, dropout->p, rng_hash(dropout->key, (uint64_t)site),
                  dropout->first_token, N, C);
}

/* ---- forward ------------------------------------------------------------------------ */

/* All that the steps of a block look at. */
typedef struct {
    const GptConfig *config;
    const GptTables *tables;
    const BlockParams *params;
    const BlockSaved *saved;
    const BlockScratch *scratch;
    const TokenBatch *batch;
    int64_t layer;
} Here;

static Here here(const Gpt *gpt, int64_t layer, const BlockSaved *saved,
                 const BlockScratch *scratch, const TokenBatch *batch)
{
    return (Here){.config = &gpt->config,
                  .tables = &gpt->tables,
                  .params = &gpt->params.blocks[layer],
                  .saved = saved,
                  .scratch = scratch,
                  .batch = batch,
                  .layer = layer};
}

static void attention_forward_any(real *y, const real *x, const Here *at)
{
    const GptConfig *config = at->config;
    if (config->attention == ATTENTION_HEADS) {
        HeadsShape shape = gpt_heads_shape(config, at->tables, at->layer);
        heads_forward(y, &at->saved->heads, x, &at->params->attention,
                      at->scratch->attention, at->batch, &shape);
        return;
    }
    MlaShape shape = gpt_mla_shape(config, at->tables, at->layer);
    if (shape.H > 0)
        mla_forward(y, &at->saved->mla, x, &at->params->mla, at->scratch->attention,
                    at->batch, &shape);
    else /* all heads cut: nothing is added */
        memset(y, 0, (size_t)(at->batch->tokens * config->width) * sizeof(real));
}

static void mlp_forward_any(real *y, const real *x, const Here *at)
{
    const GptConfig *config = at->config;
    int64_t N = at->batch->tokens;
    if (config->mlp == MLP_SWIGLU)
        swiglu_forward(y, &at->saved->swiglu, x, &at->params->swiglu, N, config->width,
                       config->mlp_width);
    else
        mlp_forward(y, &at->saved->mlp, x, &at->params->mlp, N, config->width,
                    config->mlp_width);
}

static void norm(real *y, const NormSaved *saved, const real *x,
                 const NormParams *params, const Here *at)
{
    norm_forward(at->config->norm, y, saved, x, params, at->config->norm_eps,
                 at->batch->tokens, at->config->width);
}

void block_forward(real *y, const BlockSaved *saved, const real *x, const Gpt *gpt,
                   int64_t layer, const BlockScratch *scratch, const TokenBatch *batch,
                   const GptDropout *dropout)
{
    Here at = here(gpt, layer, saved, scratch, batch);
    const BlockParams *params = at.params;
    int64_t N = batch->tokens;
    int64_t C = gpt->config.width;
    bool before = gpt->config.norm_place == NORM_BEFORE;
    real *middle = saved->middle;
    if (before)
        norm(saved->beside1, &saved->norm1, x, &params->norm1, &at); /* 1 */
    real *sum = before ? middle : saved->beside1;
    attention_forward_any(sum, before ? saved->beside1 : x, &at); /* 2 */
    gpt_dropout_apply(sum, dropout, 1 + 2 * layer, N, C);
    vec_add(sum, x, N * C);
    if (!before)
        norm(middle, &saved->norm1, sum, &params->norm1, &at); /* 1 */

    if (before)
        norm(saved->beside2, &saved->norm2, middle, &params->norm2, &at); /* 3 */
    sum = before ? y : saved->beside2;
    mlp_forward_any(sum, before ? saved->beside2 : middle, &at); /* 4 */
    gpt_dropout_apply(sum, dropout, 2 + 2 * layer, N, C);
    vec_add(sum, middle, N * C);
    if (!before)
        norm(y, &saved->norm2, sum, &params->norm2, &at); /* 3 */
}

/* ---- backward ----------------------------------------------------------------------- */

/* The gradient that enters a branch: d itself, or a copy with the branch's dropout. */
static const real *branch_gradient(real *copy, const real *d, const GptDropout *dropout,
                                   int64_t site, int64_t N, int64_t C)
{
    if (dropout->p <= 0)
        return d;
    memcpy(copy, d, (size_t)(N * C) * sizeof(real));
    gpt_dropout_apply(copy, dropout, site, N, C);
    return copy;
}

static void attention_backward_any(real *dx, const BlockParams *dparams, const real *dy,
                                   const real *x, const Here *at)
{
    const GptConfig *config = at->config;
    const BlockScratch *scratch = at->scratch;
    if (config->attention == ATTENTION_HEADS) {
        HeadsShape shape = gpt_heads_shape(config, at->tables, at->layer);
        heads_backward(dx, &dparams->attention, dy, &at->saved->heads, x,
                       &at->params->attention, scratch->wide, dx, scratch->attention,
                       at->batch, &shape);
        return;
    }
    MlaShape shape = gpt_mla_shape(config, at->tables, at->layer);
    if (shape.H > 0)
        mla_backward(dx, &dparams->mla, dy, &at->saved->mla, x, &at->params->mla,
                     scratch->attention, at->batch, &shape);
    else
        memset(dx, 0, (size_t)(at->batch->tokens * config->width) * sizeof(real));
}

static void mlp_backward_any(real *dx, const BlockParams *dparams, const real *dy,
                             const real *x, const Here *at)
{
    const GptConfig *config = at->config;
    int64_t N = at->batch->tokens;
    if (config->mlp == MLP_SWIGLU)
        swiglu_backward(dx, &dparams->swiglu, dy, &at->saved->swiglu, x,
                        &at->params->swiglu, at->scratch->wide, N, config->width,
                        config->mlp_width);
    else
        mlp_backward(dx, &dparams->mlp, dy, &at->saved->mlp, x, &at->params->mlp,
                     at->scratch->wide, N, config->width, config->mlp_width);
}

/* Adds to d what comes back through a norm of x. */
static void norm_back(real *d, const NormParams *dparams, const real *dy,
                      const NormSaved *saved, const real *x, const NormParams *params,
                      const Here *at)
{
    norm_backward_add(at->config->norm, d, dparams, dy, saved, x, params,
                      at->batch->tokens, at->config->width);
}

/* The same where nothing passes by: d holds the norm's dy and becomes its dx. */
static void norm_back_in_place(real *d, const NormParams *dparams,
                               const NormSaved *saved, const real *x,
                               const NormParams *params, const Here *at)
{
    size_t bytes = (size_t)(at->batch->tokens * at->config->width) * sizeof(real);
    memcpy(at->scratch->narrow, d, bytes);
    memset(d, 0, bytes);
    norm_back(d, dparams, at->scratch->narrow, saved, x, params, at);
}

void block_backward(real *d, const BlockParams *dparams, const BlockSaved *saved,
                    const real *x, const Gpt *gpt, int64_t layer,
                    const BlockScratch *scratch, const TokenBatch *batch,
                    const GptDropout *dropout)
{
    Here at = here(gpt, layer, saved, scratch, batch);
    const BlockParams *params = at.params;
    int64_t N = batch->tokens;
    int64_t C = gpt->config.width;
    bool before = gpt->config.norm_place == NORM_BEFORE;
    real *dbranch = scratch->narrow;
    const real *dout;
    /* 3  y = Norm_2(t): d becomes dt */
    if (!before)
        norm_back_in_place(d, &dparams->norm2, &saved->norm2, saved->beside2,
                           &params->norm2, &at);
    /* 4  y = m + dropout(MLP(b)), t = m + dropout(MLP(m)): d stays as the part of dm that
     * passes by */
    dout = branch_gradient(scratch->narrow2, d, dropout, 2 + 2 * layer, N, C);
    mlp_backward_any(dbranch, dparams, dout, before ? saved->beside2 : saved->middle,
                     &at);
    /* 3  b = Norm_2(m): d becomes dm */
    if (before)
        norm_back(d, &dparams->norm2, dbranch, &saved->norm2, saved->middle,
                  &params->norm2, &at);
    else
        vec_add(d, dbranch, N * C);

    /* 1  m = Norm_1(s): d becomes ds */
    if (!before)
        norm_back_in_place(d, &dparams->norm1, &saved->norm1, saved->beside1,
                           &params->norm1, &at);
    /* 2  m = x + dropout(Attention(a)), s = x + dropout(Attention(x)) */
    dout = branch_gradient(scratch->narrow2, d, dropout, 1 + 2 * layer, N, C);
    attention_backward_any(dbranch, dparams, dout, before ? saved->beside1 : x, &at);
    /* 1  a = Norm_1(x): d becomes dx */
    if (before)
        norm_back(d, &dparams->norm1, dbranch, &saved->norm1, x, &params->norm1, &at);
    else
        vec_add(d, dbranch, N * C);
}
