#include "model/generate/decode_pass.h"

#include <string.h>

#include "model/generate/attend.h"
#include "model/layers/gelu.h"
#include "model/layers/rmsnorm.h"
#include "model/layers/rope.h"
#include "model/math/vec.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- what lies where in a row of `wide` --------------------------------------------- */

/* With heads: [Q K V]. An MLP: GELU u, then a; SwiGLU u, g, then a in u's place. MLA: */
typedef struct {
    int64_t cq;      /* (Rq) query latent */
    int64_t queries; /* (H, P + O), room for whole blocks of heads */
    int64_t kv;      /* [ckv k_rope] */
    int64_t latents; /* absorbed: a (H, latent_stride), then sum_j p_j c_j */
    int64_t latent_stride;
    int64_t width; /* of all */
} MlaRow;

static MlaRow mla_row(const MlaShape *shape, bool absorbed)
{
    MlaRow row = {.cq = 0, .latent_stride = panels_round(shape->R)};
    int64_t heads = attend_round(shape->H);
    row.queries = panels_round(shape->Rq);
    row.kv = row.queries + panels_round(heads * (shape->P + shape->O));
    row.latents = row.kv + panels_round(shape->R + shape->O);
    row.width = row.latents + (absorbed ? heads * row.latent_stride : 0);
    return row;
}

static int64_t attention_width(const Gpt *gpt, int64_t layer, MlaForm form)
{
    const GptConfig *config = &gpt->config;
    if (config->attention == ATTENTION_MLA) {
        MlaShape shape = gpt_mla_shape(config, NULL, layer);
        return mla_row(&shape, form == MLA_ABSORBED).width;
    }
    HeadsShape shape = gpt_heads_shape(config, NULL, layer);
    return panels_round(heads_qkv_width(&shape));
}

void decode_pass_layout(DecodePass *pass, Arena *arena, MlaForm form, int64_t capacity)
{
    const GptConfig *config = &pass->gpt->config;
    int64_t F = panels_round(config->mlp_width);
    int64_t wide = config->mlp == MLP_SWIGLU ? 2 * F : F;
    int64_t narrow = config->width;
    for (int64_t l = 0; l < config->layers; l++) {
        /* With MLA, a head's product fills a whole panel from its first column on. */
        int64_t more = config->attention == ATTENTION_MLA ? PANEL : 0;
        narrow =
            larger(narrow, gpt_layer_heads(config, l) * gpt_value_size(config) + more);
        wide = larger(wide, attention_width(pass->gpt, l, form));
    }
    pass->capacity = capacity;
    pass->narrow_stride = panels_round(narrow);
    pass->wide_stride = wide;
    size_t count = (size_t)capacity;
    pass->rows = arena_take(arena, count, sizeof *pass->rows);
    pass->ids = arena_take(arena, count, sizeof *pass->ids);
    pass->places = arena_take(arena, count, sizeof *pass->places);
    pass->x = arena_reals(arena, capacity * pass->narrow_stride);
    pass->beside = arena_reals(arena, capacity * pass->narrow_stride);
    pass->wide = arena_reals(arena, capacity * pass->wide_stride);
}

int64_t decode_pass_scratch(const DecodePass *pass, MlaForm form)
{
    const GptConfig *config = &pass->gpt->config;
    bool expanded = config->attention == ATTENTION_MLA && form == MLA_EXPANDED;
    return attend_scratch(pass->cache,
                          expanded ? config->nope_size + config->value_size : 0);
}

/* ---- the steps ---------------------------------------------------------------------- */

/* Row by row, because rows lie narrow_stride apart. */
static void norm_rows(real *y, const real *x, const NormParams *params,
                      const DecodePass *pass, int64_t first, int64_t last)
{
    const GptConfig *config = &pass->gpt->config;
    real mean, inverse;
    NormSaved unused = {.mean = &mean, .inverse = &inverse};
    for (int64_t i = first; i < last; i++)
        norm_forward(config->norm, y + i * pass->narrow_stride, &unused,
                     x + i * pass->narrow_stride, params, config->norm_eps, 1,
                     config->width);
}

/* In place, of rows of `wide`. */
static void norm_latents(real *latent, real *gain, const MlaShape *shape,
                         int64_t stride, int64_t N, int64_t width)
{
    real inverse;
    for (int64_t i = 0; i < N; i++)
        rmsnorm_forward(latent + i * stride, stride, &(RmsNormSaved){&inverse},
                        latent + i * stride, stride, &(RmsNormParams){gain},
                        shape->norm_eps, 1, width);
}

/* How many of the tokens from i on go into the cache before the first of them looks back: all
 * of them, for what comes behind a token is not seen. But a ring has no room for it: there, a
 * token stands in the place of one that those before it in the same row still see. */
static int64_t stored_together(const DecodePass *pass, int64_t layer, int64_t i,
                               int64_t last)
{
    if (pass->cache->layers[layer].shape.slots == pass->gpt->config.context)
        return last - i;
    int64_t count = 1;
    while (i + count < last && pass->rows[i + count] != pass->rows[i + count - 1])
        count++;
    return count;
}

static AttendPast past_of(const DecodePass *pass, int64_t layer, int64_t i)
{
    return (AttendPast){pass->cache, pass->rows[i], layer, pass->places[i] + 1};
}

/* 3 of heads.h for tokens first .. last-1. */
static void mix_heads(const DecodePass *pass, int64_t layer, int64_t first,
                      int64_t last, real *scratch)
{
    const HeadsShape *shape = &pass->weights->layers[layer].heads;
    int64_t keys = shape->H * shape->D, values = keys + shape->G * shape->D;
    int64_t end = first;
    for (int64_t i = first; i < last; i = end) {
        end = i + stored_together(pass, layer, i, last);
        for (int64_t j = i; j < end; j++) {
            const real *qkv = pass->wide + j * pass->wide_stride;
            kvcache_put(pass->cache, pass->rows[j], layer, pass->places[j], qkv + keys,
                        qkv + values);
        }
        for (int64_t j = i; j < end; j++) {
            AttendPast past = past_of(pass, layer, j);
            attend_heads(pass->beside + j * pass->narrow_stride,
                         pass->wide + j * pass->wide_stride, &past, shape, scratch);
        }
    }
}

/* x += heads. */
static void attention_heads(const DecodePass *pass, int64_t layer, const real *in,
                            int64_t first, int64_t last, real *scratch)
{
    const DecodeLayer *weights = &pass->weights->layers[layer];
    const HeadsShape *shape = &weights->heads;
    int64_t narrow = pass->narrow_stride, wide = pass->wide_stride;
    int64_t N = last - first, D = shape->D;
    real *qkv = pass->wide + first * wide;
    real *mixed = pass->beside + first * narrow;
    panels_write(qkv, wide, in + first * narrow, narrow, &weights->qkv, N); /* 1 */
    if (shape->rope != NULL)                                                /* 2 */
        rope_apply(qkv, wide, shape->H + shape->G, D, pass->places + first, shape->rope,
                   ROPE_HALVES, ROPE_FORWARD, N, D);
    mix_heads(pass, layer, first, last, scratch); /* 3 */
    panels_add(pass->x + first * narrow, narrow, mixed, narrow, &weights->out,
               N); /* 4 */
}

/* 5 and 6 of mla.h for tokens first .. last-1. */
static void mix_latents(const DecodePass *pass, int64_t layer, int64_t first,
                        int64_t last, real *scratch)
{
    const DecodeLayer *weights = &pass->weights->layers[layer];
    const LinearParams *up = &pass->gpt->params.blocks[layer].mla.kv_up;
    bool absorbed = weights->keys != NULL;
    MlaRow at = mla_row(&weights->mla, absorbed);
    int64_t end = first;
    for (int64_t i = first; i < last; i = end) {
        end = i + stored_together(pass, layer, i, last);
        for (int64_t j = i; j < end; j++)
            kvcache_put(pass->cache, pass->rows[j], layer, pass->places[j],
                        pass->wide + j * pass->wide_stride + at.kv, NULL);
        for (int64_t j = i; j < end; j++) {
            AttendPast past = past_of(pass, layer, j);
            real *row = pass->wide + j * pass->wide_stride;
            if (absorbed)
                attend_latent(row + at.latents, at.latent_stride, row + at.queries,
                              &past, &weights->mla, scratch);
            else
                attend_expanded(pass->beside + j * pass->narrow_stride,
                                row + at.queries, &past, up, &weights->mla, scratch);
        }
    }
}

/* x += MLA. */
static void attention_mla(const DecodePass *pass, int64_t layer, const real *in,
                          int64_t first, int64_t last, real *scratch)
{
    const DecodeLayer *weights = &pass->weights->layers[layer];
    const MlaParams *params = &pass->gpt->params.blocks[layer].mla;
    const MlaShape *shape = &weights->mla;
    if (shape->H == 0)
        return;
    bool absorbed = weights->keys != NULL;
    MlaRow at = mla_row(shape, absorbed);
    int64_t narrow = pass->narrow_stride, wide = pass->wide_stride;
    int64_t N = last - first, H = shape->H, R = shape->R, O = shape->O;
    int64_t D = shape->P + O, E = shape->E;
    const int32_t *places = pass->places + first;
    real *row = pass->wide + first * wide;
    real *queries = row + at.queries, *kv = row + at.kv, *latents = row + at.latents;
    real *mixed = pass->beside + first * narrow;
    in += first * narrow;
    if (shape->Rq > 0) { /* 1, 2 */
        panels_write(row + at.cq, wide, in, narrow, &weights->q_down, N);
        norm_latents(row + at.cq, params->q_norm, shape, wide, N, shape->Rq);
        panels_write(queries, wide, row + at.cq, wide, &weights->q_up, N);
    } else {
        panels_write(queries, wide, in, narrow, &weights->q_up, N);
    }
    panels_write(kv, wide, in, narrow, &weights->kv_down, N); /* 3 */
    if (shape->rope != NULL) {
        rope_apply(queries + shape->P, wide, H, D, places, shape->rope, ROPE_PAIRS,
                   ROPE_FORWARD, N, O);
        rope_apply(kv + R, wide, 1, O, places, shape->rope, ROPE_PAIRS, ROPE_FORWARD, N,
                   O);
    }
    norm_latents(kv, params->kv_norm, shape, wide, N, R); /* 4 */
    for (int64_t h = 0; absorbed && h < H; h++)           /* a = q_nope W_UK^T */
        panels_write(latents + h * at.latent_stride, wide, queries + h * D, wide,
                     &weights->keys[h], N);
    mix_latents(pass, layer, first, last, scratch); /* 5, 6 */
    for (int64_t h = 0; absorbed && h < H; h++)     /* z = (sum_j p_j c_j) W_UV */
        panels_write(mixed + h * E, narrow, latents + h * at.latent_stride, wide,
                     &weights->values[h], N);
    panels_add(pass->x + first * narrow, narrow, mixed, narrow, &weights->out,
               N); /* 7 */
}

/* x += MLP, numbered as in mlp.h and swiglu.h. */
static void mlp(const DecodePass *pass, int64_t layer, const real *in, int64_t first,
                int64_t last)
{
    const DecodeLayer *weights = &pass->weights->layers[layer];
    int64_t narrow = pass->narrow_stride, wide = pass->wide_stride;
    int64_t N = last - first, F = pass->gpt->config.mlp_width;
    real *u = pass->wide + first * wide;
    in += first * narrow;
    panels_write(u, wide, in, narrow, &weights->up, N);
    if (pass->gpt->config.mlp == MLP_SWIGLU) {
        real *g = u + panels_round(F);
        panels_write(g, wide, in, narrow, &weights->gate, N);
        for (int64_t i = 0; i < N; i++) /* 3 */
            swiglu_gate_forward(u + i * wide, g + i * wide, u + i * wide, F);
    } else {
        for (int64_t i = 0; i < N; i++) /* 2 */
            gelu_forward(u + i * wide, u + i * wide, F);
    }
    panels_add(pass->x + first * narrow, narrow, u, wide, &weights->down, N);
}

/* ---- the pass ----------------------------------------------------------------------- */

static void embed(const DecodePass *pass, int64_t first, int64_t last)
{
    const real *positions = gpt_positions(pass->gpt);
    int64_t C = pass->gpt->config.width;
    for (int64_t i = first; i < last; i++) {
        real *x = pass->x + i * pass->narrow_stride;
        memcpy(x, pass->gpt->params.tokens + pass->ids[i] * C,
               (size_t)C * sizeof(real));
        if (positions != NULL)
            vec_add(x, positions + pass->places[i] * C, C);
    }
}

/* x = Norm(x), by way of `beside`. */
static void norm_stream(const DecodePass *pass, const NormParams *params, int64_t first,
                        int64_t last)
{
    norm_rows(pass->beside, pass->x, params, pass, first, last);
    for (int64_t i = first; i < last; i++)
        memcpy(pass->x + i * pass->narrow_stride,
               pass->beside + i * pass->narrow_stride,
               (size_t)pass->gpt->config.width * sizeof(real));
}

void decode_pass_run(const DecodePass *pass, int64_t first, int64_t last, real *scratch)
{
    const GptConfig *config = &pass->gpt->config;
    const GptParams *params = &pass->gpt->params;
    bool before = config->norm_place == NORM_BEFORE;
    const real *in = before ? pass->beside : pass->x;
    embed(pass, first, last);
    for (int64_t l = 0; l < config->layers; l++) {
        const BlockParams *block = &params->blocks[l];
        if (before)
            norm_rows(pass->beside, pass->x, &block->norm1, pass, first, last); /* 1 */
        if (config->attention == ATTENTION_MLA)                                 /* 2 */
            attention_mla(pass, l, in, first, last, scratch);
        else
            attention_heads(pass, l, in, first, last, scratch);
        if (before)
            norm_rows(pass->beside, pass->x, &block->norm2, pass, first, last); /* 3 */
        else
            norm_stream(pass, &block->norm1, first, last); /* 1 */
        mlp(pass, l, in, first, last);                     /* 4 */
        if (!before)
            norm_stream(pass, &block->norm2, first, last); /* 3 */
    }
    if (before)
        norm_rows(pass->beside, pass->x, &params->norm, pass, first, last);
}

const real *decode_pass_output(const DecodePass *pass, int64_t i)
{
    bool before = pass->gpt->config.norm_place == NORM_BEFORE;
    return (before ? pass->beside : pass->x) + i * pass->narrow_stride;
}
