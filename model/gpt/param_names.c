#include "model/gpt/param_names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char HEAD[] = "lm_head.weight"; /* has no prefix */

static const char *const GPT2[PARAM_ROLES] = {
    [ROLE_TOKENS] = "wte.weight",         [ROLE_POSITIONS] = "wpe.weight",
    [ROLE_NORM1_GAIN] = "ln_1.weight",    [ROLE_NORM1_BIAS] = "ln_1.bias",
    [ROLE_QKV] = "attn.c_attn.weight",    [ROLE_QKV_BIAS] = "attn.c_attn.bias",
    [ROLE_OUT] = "attn.c_proj.weight",    [ROLE_OUT_BIAS] = "attn.c_proj.bias",
    [ROLE_NORM2_GAIN] = "ln_2.weight",    [ROLE_NORM2_BIAS] = "ln_2.bias",
    [ROLE_UP] = "mlp.c_fc.weight",        [ROLE_UP_BIAS] = "mlp.c_fc.bias",
    [ROLE_DOWN] = "mlp.c_proj.weight",    [ROLE_DOWN_BIAS] = "mlp.c_proj.bias",
    [ROLE_GATE] = "mlp.c_gate.weight",    [ROLE_GATE_BIAS] = "mlp.c_gate.bias",
    [ROLE_Q_DOWN] = "attn.q_a.weight",    [ROLE_Q_NORM] = "attn.ln_q.weight",
    [ROLE_Q_UP] = "attn.q_b.weight",      [ROLE_KV_DOWN] = "attn.kv_a.weight",
    [ROLE_KV_NORM] = "attn.ln_kv.weight", [ROLE_KV_UP] = "attn.kv_b.weight",
    [ROLE_NORM_GAIN] = "ln_f.weight",     [ROLE_NORM_BIAS] = "ln_f.bias",
};

static const char *const LLAMA[PARAM_ROLES] = {
    [ROLE_TOKENS] = "embed_tokens.weight",
    [ROLE_POSITIONS] = "embed_positions.weight",
    [ROLE_NORM1_GAIN] = "input_layernorm.weight",
    [ROLE_NORM1_BIAS] = "input_layernorm.bias",
    [ROLE_QKV] = "self_attn.qkv_proj.weight",
    [ROLE_QKV_BIAS] = "self_attn.qkv_proj.bias",
    [ROLE_OUT] = "self_attn.o_proj.weight",
    [ROLE_OUT_BIAS] = "self_attn.o_proj.bias",
    [ROLE_NORM2_GAIN] = "post_attention_layernorm.weight",
    [ROLE_NORM2_BIAS] = "post_attention_layernorm.bias",
    [ROLE_UP] = "mlp.up_proj.weight",
    [ROLE_UP_BIAS] = "mlp.up_proj.bias",
    [ROLE_DOWN] = "mlp.down_proj.weight",
    [ROLE_DOWN_BIAS] = "mlp.down_proj.bias",
    [ROLE_GATE] = "mlp.gate_proj.weight",
    [ROLE_GATE_BIAS] = "mlp.gate_proj.bias",
    [ROLE_Q_DOWN] = "self_attn.q_a_proj.weight",
    [ROLE_Q_NORM] = "self_attn.q_a_layernorm.weight",
    [ROLE_Q_UP] = "self_attn.q_b_proj.weight",
    [ROLE_KV_DOWN] = "self_attn.kv_a_proj_with_mqa.weight",
    [ROLE_KV_NORM] = "self_attn.kv_a_layernorm.weight",
    [ROLE_KV_UP] = "self_attn.kv_b_proj.weight",
    [ROLE_NORM_GAIN] = "norm.weight",
    [ROLE_NORM_BIAS] = "norm.bias",
};

/* In blocks behind "encoder.layers.N." or "decoder.layers.N.". */
static const char *const COUPLET[PARAM_ROLES] = {
    [ROLE_TOKENS] = "shared.weight",
    [ROLE_POSITIONS] = "embed_positions.weight",
    [ROLE_NORM1_GAIN] = "self_attn_layer_norm.weight",
    [ROLE_NORM1_BIAS] = "self_attn_layer_norm.bias",
    [ROLE_QKV] = "self_attn.qkv_proj.weight",
    [ROLE_QKV_BIAS] = "self_attn.qkv_proj.bias",
    [ROLE_OUT] = "self_attn.out_proj.weight",
    [ROLE_OUT_BIAS] = "self_attn.out_proj.bias",
    [ROLE_CROSS_NORM_GAIN] = "encoder_attn_layer_norm.weight",
    [ROLE_CROSS_NORM_BIAS] = "encoder_attn_layer_norm.bias",
    [ROLE_CROSS_Q] = "encoder_attn.q_proj.weight",
    [ROLE_CROSS_Q_BIAS] = "encoder_attn.q_proj.bias",
    [ROLE_CROSS_KV] = "encoder_attn.kv_proj.weight",
    [ROLE_CROSS_KV_BIAS] = "encoder_attn.kv_proj.bias",
    [ROLE_CROSS_OUT] = "encoder_attn.out_proj.weight",
    [ROLE_CROSS_OUT_BIAS] = "encoder_attn.out_proj.bias",
    [ROLE_NORM2_GAIN] = "final_layer_norm.weight",
    [ROLE_NORM2_BIAS] = "final_layer_norm.bias",
    [ROLE_UP] = "fc1.weight",
    [ROLE_UP_BIAS] = "fc1.bias",
    [ROLE_DOWN] = "fc2.weight",
    [ROLE_DOWN_BIAS] = "fc2.bias",
    [ROLE_GATE] = "fc_gate.weight",
    [ROLE_GATE_BIAS] = "fc_gate.bias",
    [ROLE_ENCODER_NORM_GAIN] = "encoder.layer_norm.weight",
    [ROLE_ENCODER_NORM_BIAS] = "encoder.layer_norm.bias",
    [ROLE_NORM_GAIN] = "decoder.layer_norm.weight",
    [ROLE_NORM_BIAS] = "decoder.layer_norm.bias",
};

/* Queries straight from the input: there is no "a" before the "b". */
static const char GPT2_Q[] = "attn.q.weight";
static const char LLAMA_Q[] = "self_attn.q_proj.weight";

/* The parts of a packed tensor. */
static const char *const QKV[PARAM_PARTS] = {"self_attn.q_proj", "self_attn.k_proj",
                                             "self_attn.v_proj"};
static const char *const CROSS_KV[PARAM_PARTS] = {"encoder_attn.k_proj",
                                                  "encoder_attn.v_proj"};

const char *param_prefix(Family family)
{
    return family == FAMILY_GPT2 ? "transformer." : "model.";
}

/* The list that a block stands in. */
static const char *list_name(const GptConfig *config, int64_t layer)
{
    if (config->family == FAMILY_COUPLET)
        return layer < config->layers ? "decoder.layers" : "encoder.layers";
    return config->family == FAMILY_GPT2 ? "h" : "layers";
}

static void full_name(char name[64], const GptConfig *config, int64_t layer,
                      const char *own, const char *end)
{
    const char *prefix = param_prefix(config->family);
    int64_t place = layer < config->layers ? layer : layer - config->layers;
    if (layer < 0)
        snprintf(name, 64, "%s%s%s", prefix, own, end);
    else
        snprintf(name, 64, "%s%s.%lld.%s%s", prefix, list_name(config, layer),
                 (long long)place, own, end);
}

static const char *own_name(const GptConfig *config, ParamRole role)
{
    switch (config->family) {
    case FAMILY_GPT2:
        return role == ROLE_Q_UP && config->q_rank == 0 ? GPT2_Q : GPT2[role];
    case FAMILY_COUPLET:
        return COUPLET[role];
    case FAMILY_LLAMA:
    case FAMILY_DEEPSEEK:
        break;
    }
    return role == ROLE_Q_UP && config->q_rank == 0 ? LLAMA_Q : LLAMA[role];
}

void param_name(char name[64], const GptConfig *config, ParamRole role, int64_t layer)
{
    if (role == ROLE_HEAD)
        snprintf(name, 64, "%s", HEAD);
    else
        full_name(name, config, layer, own_name(config, role), "");
}

/* The names of the parts that the family saves apart, or NULL. */
static const char *const *part_names(ParamRole role)
{
    if (role == ROLE_QKV || role == ROLE_QKV_BIAS)
        return QKV;
    return role == ROLE_CROSS_KV || role == ROLE_CROSS_KV_BIAS ? CROSS_KV : NULL;
}

int param_pieces(SavedPiece pieces[PARAM_PARTS], const ParamInfo *info,
                 const GptConfig *config)
{
    bool gpt2 = config->family == FAMILY_GPT2;
    bool transposed = !gpt2 && !info->is_vector && info->kind != PARAM_EMBEDDING;
    const char *const *names = gpt2 ? NULL : part_names(info->role);
    if (names == NULL) {
        pieces[0] = (SavedPiece){.cols = info->cols, .transposed = transposed};
        memcpy(pieces[0].name, info->name, sizeof info->name);
        return 1;
    }
    assert(info->parts <= PARAM_PARTS);
    for (int i = 0; i < info->parts && names[i] != NULL; i++) {
        const ParamPart *part = &info->part[i];
        pieces[i] = (SavedPiece){.first = part->first,
                                 .cols = part->heads * part->width,
                                 .transposed = transposed};
        full_name(pieces[i].name, config, info->layer, names[i],
                  info->is_vector ? ".bias" : ".weight");
    }
    return info->parts;
}
