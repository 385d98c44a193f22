#include "model/gpt/config_type.h"

const ModelTypeInfo MODEL_TYPE_INFOS[MODEL_TYPES] = {
    [TYPE_GPT2] = {"gpt2", "GPT2LMHeadModel", FAMILY_GPT2, false},
    [TYPE_LLAMA] = {"llama", "LlamaForCausalLM", FAMILY_LLAMA, false},
    [TYPE_MISTRAL] = {"mistral", "MistralForCausalLM", FAMILY_LLAMA, false},
    [TYPE_MINISTRAL] = {"ministral", "MinistralForCausalLM", FAMILY_LLAMA, false},
    [TYPE_DEEPSEEK] = {"deepseek_v3", "DeepseekV3ForCausalLM", FAMILY_DEEPSEEK, false},
    [TYPE_OWN_GPT2] = {"jueju-gpt2", "JuejuForCausalLM", FAMILY_GPT2, true},
    [TYPE_OWN_LLAMA] = {"jueju-llama", "JuejuForCausalLM", FAMILY_LLAMA, true},
    [TYPE_OWN_DEEPSEEK] = {"jueju-deepseek", "JuejuForCausalLM", FAMILY_DEEPSEEK, true},
};

/* Layers that see a window, and the fewest heads that are left in a layer. */
typedef struct {
    int64_t sliding, fewest_heads;
} Layers;

static Layers look_at_layers(const GptConfig *config)
{
    Layers layers = {.fewest_heads = config->heads};
    for (int64_t l = 0; l < config->layers; l++) {
        int64_t left = gpt_layer_heads(config, l);
        layers.sliding += config->sliding[l];
        layers.fewest_heads = left < layers.fewest_heads ? left : layers.fewest_heads;
    }
    return layers;
}

static ModelType gpt2_type(const GptConfig *config, Layers layers)
{
    bool same = config->norm == NORM_LAYER && config->norm_place == NORM_BEFORE &&
                config->position == POSITION_LEARNED && config->mlp == MLP_GELU &&
                config->attention == ATTENTION_HEADS && config->biases &&
                config->kv_heads == config->heads &&
                config->heads * config->head_size == config->width &&
                layers.sliding == 0 && layers.fewest_heads > 0;
    return same ? TYPE_GPT2 : TYPE_OWN_GPT2;
}

/* What llama and deepseek have in common. */
static bool is_modern(const GptConfig *config, Layers layers)
{
    return config->norm == NORM_RMS && config->norm_place == NORM_BEFORE &&
           config->position == POSITION_ROPE && config->mlp == MLP_SWIGLU &&
           config->scaled_scores && layers.fewest_heads == config->heads;
}

static ModelType llama_type(const GptConfig *config, Layers layers)
{
    if (!is_modern(config, layers) || config->attention != ATTENTION_HEADS)
        return TYPE_OWN_LLAMA;
    if (layers.sliding ==
        0) /* LlamaConfig wants H to divide C even where it need not */
        return config->width % config->heads == 0 ? TYPE_LLAMA : TYPE_OWN_LLAMA;
    if (config->biases)
        return TYPE_OWN_LLAMA;
    return layers.sliding == config->layers ? TYPE_MISTRAL : TYPE_MINISTRAL;
}

static ModelType deepseek_type(const GptConfig *config, Layers layers)
{
    bool same = is_modern(config, layers) && config->attention == ATTENTION_MLA &&
                layers.sliding == 0;
    return same ? TYPE_DEEPSEEK : TYPE_OWN_DEEPSEEK;
}

ModelType config_type(const GptConfig *config)
{
    Layers layers = look_at_layers(config);
    if (config->family == FAMILY_GPT2)
        return gpt2_type(config, layers);
    if (config->family == FAMILY_LLAMA)
        return llama_type(config, layers);
    return deepseek_type(config, layers);
}
