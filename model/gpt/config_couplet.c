#include "model/gpt/config_couplet.h"

#include "model/base/json.h"

static void set_int(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

void config_couplet_set(json_t *object, const GptConfig *config)
{
    bool gated = config->mlp == MLP_SWIGLU;
    set_int(object, "max_position_embeddings", config->context);
    set_int(object, "d_model", config->width);
    set_int(object, "encoder_layers", config->encoder_layers);
    set_int(object, "num_hidden_layers", config->encoder_layers);
    set_int(object, "decoder_layers", config->layers);
    set_int(object, "encoder_attention_heads", config->heads);
    set_int(object, "decoder_attention_heads", config->heads);
    set_int(object, "encoder_ffn_dim", config->mlp_width);
    set_int(object, "decoder_ffn_dim", config->mlp_width);
    json_object_set_new(object, "activation_function",
                        json_string(gated ? "silu" : "gelu_new"));
    json_object_set_new(object, "dropout", json_real(config->dropout));
    json_object_set_new(object, "attention_dropout", json_real(0));
    json_object_set_new(object, "activation_dropout", json_real(0));
    json_object_set_new(object, "scale_embedding",
                        json_boolean(config->scaled_embedding));
    json_object_set_new(object, "is_encoder_decoder", json_true());
}

void config_couplet_set_tokens(json_t *object, const ModelTokens *tokens)
{
    set_int(object, "decoder_start_token_id", tokens->bos);
    set_int(object, "pad_token_id", tokens->eos); /* behind the end: never looked at */
    json_object_set_new(object, "forced_eos_token_id", json_null());
}

static Status read_size(int64_t *value, const json_t *object, const char *key,
                        const char *path, Error *err)
{
    return json_get_int(value, object, key, 1, INT32_MAX, path, err);
}

/* A size that both stacks have. */
static Status read_both(int64_t *value, const json_t *object, const char *decoder,
                        const char *encoder, const char *path, Error *err)
{
    int64_t other;
    TRY(read_size(value, object, decoder, path, err));
    TRY(read_size(&other, object, encoder, path, err));
    if (other != *value)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\" is %lld, but \"%s\" is %lld: this model has the "
                         "same in both",
                         path, encoder, (long long)other, decoder, (long long)*value);
    return STATUS_OK;
}

Status config_couplet_read(GptConfig *config, const json_t *object, const char *path,
                           Error *err)
{
    TRY(read_size(&config->context, object, "max_position_embeddings", path, err));
    TRY(read_size(&config->width, object, "d_model", path, err));
    TRY(read_size(&config->layers, object, "decoder_layers", path, err));
    TRY(read_size(&config->encoder_layers, object, "encoder_layers", path, err));
    TRY(read_both(&config->heads, object, "decoder_attention_heads",
                  "encoder_attention_heads", path, err));
    TRY(read_both(&config->mlp_width, object, "decoder_ffn_dim", "encoder_ffn_dim",
                  path, err));
    if (json_has(object, "dropout"))
        TRY(json_get_real(&config->dropout, object, "dropout", 0, 1, path, err));
    if (json_has(object, "scale_embedding"))
        return json_get_bool(&config->scaled_embedding, object, "scale_embedding", path,
                             err);
    config->scaled_embedding = false; /* the class's default */
    return STATUS_OK;
}
