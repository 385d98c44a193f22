#include "model/generate/decode_weights.h"

/* ---- memory ------------------------------------------------------------------------- */

static Panels *layout_heads(Arena *arena, int64_t H, int64_t in, int64_t out)
{
    Panels *panels = arena_take(arena, (size_t)H, sizeof *panels);
    for (int64_t h = 0; h < H; h++) {
        Panels counted;
        panels_layout(panels != NULL ? &panels[h] : &counted, arena, in, out);
    }
    return panels;
}

static void layout_mla(DecodeLayer *layer, Arena *arena, MlaForm form)
{
    const MlaShape *shape = &layer->mla;
    int64_t C = shape->C, H = shape->H, R = shape->R, P = shape->P, E = shape->E;
    if (H == 0)
        return;
    if (shape->Rq > 0)
        panels_layout(&layer->q_down, arena, C, shape->Rq);
    panels_layout(&layer->q_up, arena, shape->Rq > 0 ? shape->Rq : C,
                  H * (P + shape->O));
    panels_layout(&layer->kv_down, arena, C, R + shape->O);
    if (form == MLA_ABSORBED) {
        layer->keys = layout_heads(arena, H, P, R);
        layer->values = layout_heads(arena, H, R, E);
    }
    panels_layout(&layer->out, arena, H * E, C);
}

static DecodeLayer layout_layer(Arena *arena, const Gpt *gpt, int64_t l, MlaForm form)
{
    const GptConfig *config = &gpt->config;
    int64_t C = config->width, F = config->mlp_width;
    DecodeLayer layer = {0};
    if (config->attention == ATTENTION_MLA) {
        layer.mla = gpt_mla_shape(config, &gpt->tables, l);
        layout_mla(&layer, arena, form);
    } else {
        layer.heads = gpt_heads_shape(config, &gpt->tables, l);
        panels_layout(&layer.qkv, arena, C, heads_qkv_width(&layer.heads));
        panels_layout(&layer.out, arena, layer.heads.H * layer.heads.D, C);
    }
    panels_layout(&layer.up, arena, C, F);
    if (config->mlp == MLP_SWIGLU)
        panels_layout(&layer.gate, arena, C, F);
    panels_layout(&layer.down, arena, F, C);
    return layer;
}

void decode_weights_layout(DecodeWeights *weights, Arena *arena, const Gpt *gpt,
                           MlaForm form)
{
    const GptConfig *config = &gpt->config;
    weights->layers =
        arena_take(arena, (size_t)config->layers, sizeof *weights->layers);
    for (int64_t l = 0; l < config->layers; l++) {
        DecodeLayer layer = layout_layer(arena, gpt, l, form);
        if (weights->layers != NULL)
            weights->layers[l] = layer;
    }
    panels_layout(&weights->head, arena, config->width, config->vocab_size);
}

/* ---- copying ------------------------------------------------------------------------ */

static void pack(const Panels *panels, const LinearParams *params)
{
    panels_pack(panels, params->weight, panels->out, params->bias);
}

static void pack_mla(const DecodeLayer *layer, const MlaParams *params)
{
    const MlaShape *shape = &layer->mla;
    if (shape->H == 0)
        return;
    if (shape->Rq > 0)
        pack(&layer->q_down, &params->q_down);
    pack(&layer->q_up, &params->q_up);
    pack(&layer->kv_down, &params->kv_down);
    int64_t across = shape->P + shape->E;
    for (int64_t h = 0; layer->keys != NULL && h < shape->H; h++) {
        const real *keys = params->kv_up.weight + h * across;
        panels_pack_transposed(&layer->keys[h], keys, shape->H * across);
        panels_pack(&layer->values[h], keys + shape->P, shape->H * across, NULL);
    }
    pack(&layer->out, &params->out);
}

static void pack_layer(const DecodeLayer *layer, const BlockParams *params,
                       const GptConfig *config)
{
    if (config->attention == ATTENTION_MLA) {
        pack_mla(layer, &params->mla);
    } else {
        pack(&layer->qkv, &params->attention.qkv);
        pack(&layer->out, &params->attention.out);
    }
    if (config->mlp == MLP_SWIGLU) {
        pack(&layer->up, &params->swiglu.up);
        pack(&layer->gate, &params->swiglu.gate);
        pack(&layer->down, &params->swiglu.down);
    } else {
        pack(&layer->up, &params->mlp.up);
        pack(&layer->down, &params->mlp.down);
    }
}

void decode_weights_pack(const DecodeWeights *weights, const Gpt *gpt)
{
    const GptConfig *config = &gpt->config;
    for (int64_t l = 0; l < config->layers; l++)
        pack_layer(&weights->layers[l], &gpt->params.blocks[l], config);
    panels_pack_transposed(&weights->head, gpt->params.head, config->width);
}
