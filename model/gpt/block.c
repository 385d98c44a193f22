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

static void cross_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                         int64_t N)
{
    int64_t C = config->width;
    HeadsShape shape = gpt_cross_shape(config);
    int64_t H = shape.H, G = shape.G, D = shape.D;
    saved->cross_norm = norm_layout(arena, config, N);
    saved->beside_cross = arena_reals(arena, N * C);
    saved->cross = (CrossSaved){.q = arena_reals(arena, N * H * D),
                                .kv = arena_reals(arena, N * 2 * G * D),
                                .mixed = arena_reals(arena, N * H * D),
                                .logsum = arena_reals(arena, H * N)};
    saved->crossed = arena_reals(arena, N * C);
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
    saved->middle = saved->crossed = arena_reals(arena, N * C);
    if (gpt_layer_crosses(config, layer))
        cross_layout(saved, arena, config, N);
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
    for (int64_t layer = 0; layer < gpt_blocks(config); layer++) {
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
    if (config->encoder_layers > 0) {
        HeadsShape shape = gpt_cross_shape(config);
        wide = larger(wide, heads_qkv_width(&shape));
        narrow = larger(narrow, shape.H * shape.D);
        attention = larger(attention, cross_scratch(longest, longest, &shape));
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

static Here here(const BlockSaved *saved, int64_t layer, const BlockPass *pass)
{
    return (Here){.config = &pass->gpt->config,
                  .tables = &pass->gpt->tables,
                  .params = &pass->gpt->params.blocks[layer],
                  .saved = saved,
                  .scratch = pass->scratch,
                  .batch = pass->batch,
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

/* 5 and 6: u from m. */
static void cross_sublayer(const BlockPass *pass, const Here *at)
{
    const BlockSaved *saved = at->saved;
    const BlockParams *params = at->params;
    int64_t N = at->batch->tokens;
    int64_t C = at->config->width;
    bool before = at->config->norm_place == NORM_BEFORE;
    HeadsShape shape = gpt_cross_shape(at->config);
    if (before)
        norm(saved->beside_cross, &saved->cross_norm, saved->middle,
             &params->cross_norm, at); /* 5 */
    real *sum = before ? saved->crossed : saved->beside_cross;
    cross_forward(sum, &saved->cross, before ? saved->beside_cross : saved->middle,
                  pass->encoded, &params->cross, at->scratch->attention, at->batch,
                  at->batch->source, &shape); /* 6 */
    gpt_dropout_apply(sum, pass->dropout, -2 - at->layer, N, C);
    vec_add(sum, saved->middle, N * C);
    if (!before)
        norm(saved->crossed, &saved->cross_norm, sum, &params->cross_norm, at); /* 5 */
}

void block_forward(real *y, const BlockSaved *saved, const real *x, int64_t layer,
                   const BlockPass *pass)
{
    Here at = here(saved, layer, pass);
    const BlockParams *params = at.params;
    int64_t N = at.batch->tokens;
    int64_t C = at.config->width;
    bool before = at.config->norm_place == NORM_BEFORE;
    real *middle = saved->middle;
    if (before)
        norm(saved->beside1, &saved->norm1, x, &params->norm1, &at); /* 1 */
    real *sum = before ? middle : saved->beside1;
    attention_forward_any(sum, before ? saved->beside1 : x, &at); /* 2 */
    gpt_dropout_apply(sum, pass->dropout, 1 + 2 * layer, N, C);
    vec_add(sum, x, N * C);
    if (!before)
        norm(middle, &saved->norm1, sum, &params->norm1, &at); /* 1 */

    if (pass->encoded != NULL)
        cross_sublayer(pass, &at); /* 5, 6 */

    const real *crossed = saved->crossed;
    if (before)
        norm(saved->beside2, &saved->norm2, crossed, &params->norm2, &at); /* 3 */
    sum = before ? y : saved->beside2;
    mlp_forward_any(sum, before ? saved->beside2 : crossed, &at); /* 4 */
    gpt_dropout_apply(sum, pass->dropout, 2 + 2 * layer, N, C);
    vec_add(sum, crossed, N * C);
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

/* 6 and 5: d holds du and becomes dm. */
static void cross_sublayer_back(real *d, const BlockParams *dparams,
                                const BlockPass *pass, const Here *at)
{
    const BlockSaved *saved = at->saved;
    const BlockParams *params = at->params;
    int64_t N = at->batch->tokens;
    int64_t C = at->config->width;
    bool before = at->config->norm_place == NORM_BEFORE;
    HeadsShape shape = gpt_cross_shape(at->config);
    real *dbranch = at->scratch->narrow;
    real *dq = at->scratch->wide; /* (N, H D), then dkv (M, 2 G D) */
    /* 5  u = Norm_X(r): d becomes dr */
    if (!before)
        norm_back_in_place(d, &dparams->cross_norm, &saved->cross_norm,
                           saved->beside_cross, &params->cross_norm, at);
    /* 6  u = m + dropout(Cross(c, e)), r = m + dropout(Cross(m, e)) */
    const real *dout =
        branch_gradient(at->scratch->narrow2, d, pass->dropout, -2 - at->layer, N, C);
    cross_backward(dbranch, pass->dencoded, &dparams->cross, dout, &saved->cross,
                   before ? saved->beside_cross : saved->middle, pass->encoded,
                   &params->cross, dq, dq + N * shape.H * shape.D, dbranch,
                   at->scratch->attention, at->batch, at->batch->source, &shape);
    /* 5  c = Norm_X(m): d becomes dm */
    if (before)
        norm_back(d, &dparams->cross_norm, dbranch, &saved->cross_norm, saved->middle,
                  &params->cross_norm, at);
    else
        vec_add(d, dbranch, N * C);
}

void block_backward(real *d, const BlockParams *dparams, const BlockSaved *saved,
                    const real *x, int64_t layer, const BlockPass *pass)
{
    Here at = here(saved, layer, pass);
    const BlockParams *params = at.params;
    const BlockScratch *scratch = pass->scratch;
    const real *crossed = saved->crossed;
    int64_t N = at.batch->tokens;
    int64_t C = at.config->width;
    bool before = at.config->norm_place == NORM_BEFORE;
    real *dbranch = scratch->narrow;
    const real *dout;
    /* 3  y = Norm_2(t): d becomes dt */
    if (!before)
        norm_back_in_place(d, &dparams->norm2, &saved->norm2, saved->beside2,
                           &params->norm2, &at);
    /* 4  y = u + dropout(MLP(b)), t = u + dropout(MLP(u)): d stays as the part of du that
     * passes by */
    dout = branch_gradient(scratch->narrow2, d, pass->dropout, 2 + 2 * layer, N, C);
    mlp_backward_any(dbranch, dparams, dout, before ? saved->beside2 : crossed, &at);
    /* 3  b = Norm_2(u): d becomes du */
    if (before)
        norm_back(d, &dparams->norm2, dbranch, &saved->norm2, crossed, &params->norm2,
                  &at);
    else
        vec_add(d, dbranch, N * C);

    /* 6, 5: d becomes dm */
    if (pass->encoded != NULL)
        cross_sublayer_back(d, dparams, pass, &at);

    /* 1  m = Norm_1(s): d becomes ds */
    if (!before)
        norm_back_in_place(d, &dparams->norm1, &saved->norm1, saved->beside1,
                           &params->norm1, &at);
    /* 2  m = x + dropout(Attention(a)), s = x + dropout(Attention(x)) */
    dout = branch_gradient(scratch->narrow2, d, pass->dropout, 1 + 2 * layer, N, C);
    attention_backward_any(dbranch, dparams, dout, before ? saved->beside1 : x, &at);
    /* 1  a = Norm_1(x): d becomes dx */
    if (before)
        norm_back(d, &dparams->norm1, dbranch, &saved->norm1, x, &params->norm1, &at);
    else
        vec_add(d, dbranch, N * C);
}
