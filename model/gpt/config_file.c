#include "model/gpt/config_file.h"

#include <stdio.h>

#include "model/base/files.h"
#include "model/base/json.h"
#include "model/base/real.h"
#include "model/gpt/config_type.h"

/* object[key] = value, whose reference is taken over. */
static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void set_int(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *token_id(int64_t id)
{
    return id < 0 ? json_null() : json_integer(id);
}

static Status write_object(json_t *object, const char *folder, const char *name,
                           Error *err)
{
    char path[PATH_SIZE];
    Status status = path_join(path, folder, name, err);
    if (status == STATUS_OK)
        status = json_write_file(path, object, err);
    json_decref(object);
    return status;
}

/* ---- config.json -------------------------------------------------------------------- */

static void set_gpt2_sizes(json_t *object, const GptConfig *config)
{
    set_int(object, "n_positions", config->context);
    set_int(object, "n_ctx", config->context);
    set_int(object, "n_embd", config->width);
    set_int(object, "n_layer", config->layers);
    set_int(object, "n_head", config->heads);
    set_int(object, "n_inner", config->mlp_width);
    set(object, "activation_function",
        json_string(config->mlp == MLP_SWIGLU ? "silu" : "gelu_new"));
    set(object, "layer_norm_epsilon", json_real(config->norm_eps));
    set(object, "embd_pdrop", json_real(config->dropout));
    set(object, "resid_pdrop", json_real(config->dropout));
    set(object, "attn_pdrop", json_real(0));
    if (!config->scaled_scores)
        set(object, "scale_attn_weights", json_false());
}

static void set_llama_sizes(json_t *object, const GptConfig *config, ModelType type)
{
    set_int(object, "max_position_embeddings", config->context);
    set_int(object, "hidden_size", config->width);
    set_int(object, "num_hidden_layers", config->layers);
    set_int(object, "num_attention_heads", config->heads);
    set_int(object, "intermediate_size", config->mlp_width);
    set(object, "hidden_act",
        json_string(config->mlp == MLP_SWIGLU ? "silu" : "gelu_pytorch_tanh"));
    set(object, "rms_norm_eps", json_real(config->norm_eps));
    set(object, "attention_bias", json_boolean(config->biases));
    if (type != TYPE_DEEPSEEK)
        set(object, "mlp_bias", json_boolean(config->biases));
    set(object, "attention_dropout", json_real(0));
}

static void set_mla_sizes(json_t *object, const GptConfig *config)
{
    set(object, "q_lora_rank",
        config->q_rank > 0 ? json_integer(config->q_rank) : json_null());
    set_int(object, "kv_lora_rank", config->kv_rank);
    set_int(object, "qk_nope_head_dim", config->nope_size);
    set_int(object, "qk_rope_head_dim", config->rope_size);
    set_int(object, "v_head_dim", config->value_size);
    set(object, "rope_interleave", json_true());
}

/* No layer has experts: each of the first L is dense. */
static void set_dense(json_t *object, const GptConfig *config)
{
    set_int(object, "first_k_dense_replace", config->layers);
    set(object, "n_routed_experts", json_null());
    set(object, "n_shared_experts", json_null());
}

static void set_attention(json_t *object, const GptConfig *config)
{
    bool gpt2 = config->family == FAMILY_GPT2;
    bool packed = config->heads * config->head_size == config->width;
    if (!gpt2 || config->kv_heads != config->heads)
        set_int(object, "num_key_value_heads", config->kv_heads);
    if (config->attention == ATTENTION_MLA)
        set_mla_sizes(object, config);
    else if (!gpt2 || !packed)
        set_int(object, "head_dim", config->head_size);
    if (config->position == POSITION_ROPE)
        set(object, "rope_theta", json_real(config->rope_theta));
}

static void set_windows(json_t *object, const GptConfig *config, ModelType type)
{
    if (config->window == 0)
        return;
    set_int(object, "sliding_window", config->window);
    if (type == TYPE_MISTRAL)
        return;
    json_t *kinds = json_array();
    for (int64_t l = 0; l < config->layers; l++)
        json_array_append_new(
            kinds,
            json_string(config->sliding[l] ? "sliding_attention" : "full_attention"));
    set(object, "layer_types", kinds);
}

static void set_pruned_heads(json_t *object, const GptConfig *config)
{
    json_t *layers = json_object();
    for (int64_t l = 0; l < config->layers; l++) {
        char key[24];
        json_t *heads = json_array();
        for (int64_t h = 0; h < config->heads && h < GPT_PRUNED_HEADS_MAX; h++) {
            if (config->removed[l] >> h & 1)
                json_array_append_new(heads, json_integer(h));
        }
        snprintf(key, sizeof key, "%lld", (long long)l);
        if (json_array_size(heads) > 0)
            set(layers, key, heads);
        else
            json_decref(heads);
    }
    if (json_object_size(layers) > 0)
        set(object, "pruned_heads", layers);
    else
        json_decref(layers);
}

/* What the class has no field for: of a class of others only what changes no result. */
static json_t *own_object(const GptConfig *config, ModelType type)
{
    bool gpt2 = config->family == FAMILY_GPT2;
    json_t *own = json_object();
    set_int(own, "format", CONFIG_FORMAT);
    if (MODEL_TYPE_INFOS[type].own) {
        set(own, "norm", json_string(NORM_NAMES[config->norm]));
        set(own, "norm_place", json_string(NORM_PLACE_NAMES[config->norm_place]));
        set(own, "positions", json_string(POSITION_NAMES[config->position]));
        set(own, "mlp", json_string(MLP_NAMES[config->mlp]));
        set(own, "attention", json_string(ATTENTION_NAMES[config->attention]));
        if (gpt2)
            set(own, "biases", json_boolean(config->biases));
        else
            set(own, "scaled_scores", json_boolean(config->scaled_scores));
    }
    if (!gpt2 && config->dropout > 0)
        set(own, "dropout", json_real(config->dropout));
    if (!config->scaled_residual)
        set(own, "scaled_residual", json_false());
    return own;
}

static json_t *config_object(const GptConfig *config, const ModelTokens *tokens)
{
    ModelType type = config_type(config);
    const ModelTypeInfo *info = &MODEL_TYPE_INFOS[type];
    json_t *object = json_object();
    set(object, "model_type", json_string(info->name));
    set(object, "architectures", json_pack("[s]", info->architecture));
    set_int(object, "vocab_size", config->vocab_size);
    if (config->family == FAMILY_GPT2)
        set_gpt2_sizes(object, config);
    else
        set_llama_sizes(object, config, type);
    set_attention(object, config);
    if (type == TYPE_DEEPSEEK)
        set_dense(object, config);
    set_windows(object, config, type);
    set_pruned_heads(object, config);
    set(object, "tie_word_embeddings", json_boolean(config->tied));
    set(object, "bos_token_id", token_id(tokens->bos));
    set(object, "eos_token_id", token_id(tokens->eos));
    set(object, "torch_dtype", json_string(sizeof(real) == 8 ? "float64" : "float32"));
    set(object, "jueju", own_object(config, type));
    return object;
}

/* ---- the files beside it ------------------------------------------------------------ */

static json_t *generation_object(const GptConfig *config, const ModelTokens *tokens)
{
    json_t *object = json_object();
    set(object, "bos_token_id", token_id(tokens->bos));
    set(object, "eos_token_id", token_id(tokens->eos));
    set(object, "do_sample", json_true());
    set_int(object, "max_length", config->context);
    return object;
}

static json_t *tokenizer_object(const GptConfig *config, const ModelTokens *tokens)
{
    json_t *object = json_object();
    set(object, "tokenizer_class", json_string("PreTrainedTokenizerFast"));
    set(object, "bos_token", json_string(tokens->bos_text));
    set(object, "eos_token", json_string(tokens->eos_text));
    set(object, "unk_token", json_string(tokens->unk_text));
    set(object, "clean_up_tokenization_spaces", json_false());
    set_int(object, "model_max_length", config->context);
    return object;
}

Status config_file_save(const GptConfig *config, const ModelTokens *tokens,
                        const char *folder, Error *err)
{
    TRY(write_object(config_object(config, tokens), folder, "config.json", err));
    TRY(write_object(generation_object(config, tokens), folder,
                     "generation_config.json", err));
    if (tokens->bos_text == NULL || tokens->eos_text == NULL ||
        tokens->unk_text == NULL)
        return STATUS_OK;
    return write_object(tokenizer_object(config, tokens), folder,
                        "tokenizer_config.json", err);
}
