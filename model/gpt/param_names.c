#include "model/gpt/param_names.h"

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

/* Queries straight from the input: there is no "a" before the "b". */
static const char GPT2_Q[] = "attn.q.weight";
static const char LLAMA_Q[] = "self_attn.q_proj.weight";

/* The parts of a packed tensor. */
static const char *const QKV[3] = {"self_attn.q_proj", "self_attn.k_proj",
                                   "self_attn.v_proj"};

const char *param_prefix(Family family)
{
    return family == FAMILY_GPT2 ? "transformer." : "model.";
}

static void full_name(char name[64], Family family, int64_t layer, const char *own,
                      const char *end)
{
    const char *prefix = param_prefix(family);
    const char *blocks = family == FAMILY_GPT2 ? "h" : "layers";
    if (layer < 0)
        snprintf(name, 64, "%s%s%s", prefix, own, end);
    else
        snprintf(name, 64, "%s%s.%lld.%s%s", prefix, blocks, (long long)layer, own,
                 end);
}

void param_name(char name[64], const GptConfig *config, ParamRole role, int64_t layer)
{
    bool gpt2 = config->family == FAMILY_GPT2;
    if (role == ROLE_HEAD) {
        snprintf(name, 64, "%s", HEAD);
        return;
    }
    const char *own = gpt2 ? GPT2[role] : LLAMA[role];
    if (role == ROLE_Q_UP && config->q_rank == 0)
        own = gpt2 ? GPT2_Q : LLAMA_Q;
    full_name(name, config->family, layer, own, "");
}

int param_pieces(SavedPiece pieces[PARAM_PARTS], const ParamInfo *info,
                 const GptConfig *config)
{
    bool gpt2 = config->family == FAMILY_GPT2;
    bool transposed = !gpt2 && !info->is_vector && info->kind != PARAM_EMBEDDING;
    bool packed = info->role == ROLE_QKV || info->role == ROLE_QKV_BIAS;
    if (gpt2 || !packed) {
        pieces[0] = (SavedPiece){.cols = info->cols, .transposed = transposed};
        memcpy(pieces[0].name, info->name, sizeof info->name);
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        const ParamPart *part = &info->part[i];
        pieces[i] = (SavedPiece){.first = part->first,
                                 .cols = part->heads * part->width,
                                 .transposed = transposed};
        full_name(pieces[i].name, config->family, info->layer, QKV[i],
                  info->is_vector ? ".bias" : ".weight");
    }
    return 3;
}
