#include "model/gpt/block.h"

#include <math.h>
#include <string.h>

#include "model/base/rng.h"
#include "model/layers/dropout.h"
#include "model/math/vec.h"

static HeadsShape heads_shape(const GptConfig *config)
{
    int64_t D = gpt_head_size(config);
    return (HeadsShape){.C = config->width,
                        .H = config->heads,
                        .G = config->heads,
                        .D = D,
                        .scale = (real)(1 / sqrt((double)D)),
                        .causal = true};
}

void block_saved_layout(BlockSaved *saved, Arena *arena, const GptConfig *config,
                        int64_t N)
{
    int64_t C = config->width;
    *saved = (BlockSaved){
        .norm1 = {.mean = arena_reals(arena, N), .inverse = arena_reals(arena, N)},
        .normed1 = arena_reals(arena, N * C),
        .heads = {.qkv = arena_reals(arena, N * 3 * C),
                  .mixed = arena_reals(arena, N * C),
                  .logsum = arena_reals(arena, config->heads * N)},
        .middle = arena_reals(arena, N * C),
        .norm2 = {.mean = arena_reals(arena, N), .inverse = arena_reals(arena, N)},
        .normed2 = arena_reals(arena, N * C),
        .mlp = {.pre = arena_reals(arena, N * config->mlp_width),
                .act = arena_reals(arena, N * config->mlp_width)},
    };
}

void block_scratch_layout(BlockScratch *scratch, Arena *arena, const GptConfig *config,
                          int64_t N)
{
    int64_t C = config->width;
    int64_t wide = config->mlp_width > 3 * C ? config->mlp_width : 3 * C;
    int64_t longest = config->context < N ? config->context : N;
    HeadsShape shape = heads_shape(config);
    *scratch = (BlockScratch){
        .wide = arena_reals(arena, N * wide),
        .narrow = arena_reals(arena, N * C),
        .narrow2 = arena_reals(arena, N * C),
        .attention = arena_reals(arena, heads_scratch(longest, &shape)),
    };
}

void gpt_dropout_apply(real *x, const GptDropout *dropout, int64_t site, int64_t N,
                       int64_t C)
{
    dropout_apply(x, dropout->p, rng_hash(dropout->key, (uint64_t)site),
                  dropout->first_token, N, C);
}

void block_forward(real *y, const BlockSaved *saved, const real *x,
                   const BlockParams *params, const BlockScratch *scratch,
                   const TokenBatch *batch, const GptConfig *config, int64_t layer,
                   const GptDropout *dropout)
{
    int64_t N = batch->tokens;
    int64_t C = config->width;
    HeadsShape shape = heads_shape(config);
    /* 1 */
    layernorm_forward(saved->normed1, &saved->norm1, x, &params->norm1,
                      config->norm_eps, N, C);
    /* 2 */
    heads_forward(saved->middle, &saved->heads, saved->normed1, &params->attention,
                  scratch->attention, batch, &shape);
    gpt_dropout_apply(saved->middle, dropout, 1 + 2 * layer, N, C);
    vec_add(saved->middle, x, N * C);
    /* 3 */
    layernorm_forward(saved->normed2, &saved->norm2, saved->middle, &params->norm2,
                      config->norm_eps, N, C);
    /* 4 */
    mlp_forward(y, &saved->mlp, saved->normed2, &params->mlp, N, C, config->mlp_width);
    gpt_dropout_apply(y, dropout, 2 + 2 * layer, N, C);
    vec_add(y, saved->middle, N * C);
}

/* The gradient that enters a branch: dy itself, or a copy with the branch's dropout. */
static const real *branch_gradient(real *copy, const real *d, const GptDropout *dropout,
                                   int64_t site, int64_t N, int64_t C)
{
    if (dropout->p <= 0)
        return d;
    memcpy(copy, d, (size_t)(N * C) * sizeof(real));
    gpt_dropout_apply(copy, dropout, site, N, C);
    return copy;
}

void block_backward(real *d, const BlockParams *dparams, const BlockSaved *saved,
                    const real *x, const BlockParams *params,
                    const BlockScratch *scratch, const TokenBatch *batch,
                    const GptConfig *config, int64_t layer, const GptDropout *dropout)
{
    int64_t N = batch->tokens;
    int64_t C = config->width;
    HeadsShape shape = heads_shape(config);
    real *dnormed = scratch->narrow;
    /* 4  y = m + dropout(MLP(b)): d stays as the part of dm that passes by */
    const real *dbranch =
        branch_gradient(scratch->narrow2, d, dropout, 2 + 2 * layer, N, C);
    mlp_backward(dnormed, &dparams->mlp, dbranch, &saved->mlp, saved->normed2,
                 &params->mlp, scratch->wide, N, C, config->mlp_width);
    /* 3  b = LayerNorm_2(m): d becomes dm */
    layernorm_backward_add(d, &dparams->norm2, dnormed, &saved->norm2, saved->middle,
                           &params->norm2, N, C);
    /* 2  m = x + dropout(Attention(a)) */
    dbranch = branch_gradient(scratch->narrow2, d, dropout, 1 + 2 * layer, N, C);
    heads_backward(dnormed, &dparams->attention, dbranch, &saved->heads, saved->normed1,
                   &params->attention, scratch->wide, dnormed, scratch->attention,
                   batch, &shape);
    /* 1  a = LayerNorm_1(x): d becomes dx */
    layernorm_backward_add(d, &dparams->norm1, dnormed, &saved->norm1, x,
                           &params->norm1, N, C);
}
