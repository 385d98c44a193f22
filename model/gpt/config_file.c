#include "model/gpt/config_file.h"

#include <string.h>

#include "model/base/files.h"
#include "model/base/json.h"
#include "model/base/real.h"

/* Raised when a folder of this version could not be read rightly by the version before. */
enum { FORMAT = 1 };

/* object[key] = value, whose reference is taken over. */
static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
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

static json_t *config_object(const GptConfig *config, const ModelTokens *tokens)
{
    json_t *object = json_object();
    set(object, "model_type", json_string("gpt2"));
    set(object, "architectures", json_pack("[s]", "GPT2LMHeadModel"));
    set(object, "vocab_size", json_integer(config->vocab_size));
    set(object, "n_positions", json_integer(config->context));
    set(object, "n_ctx", json_integer(config->context));
    set(object, "n_embd", json_integer(config->width));
    set(object, "n_layer", json_integer(config->layers));
    set(object, "n_head", json_integer(config->heads));
    set(object, "n_inner", json_integer(config->mlp_width));
    set(object, "activation_function", json_string("gelu_new"));
    set(object, "layer_norm_epsilon", json_real(config->norm_eps));
    set(object, "embd_pdrop", json_real(config->dropout));
    set(object, "resid_pdrop", json_real(config->dropout));
    set(object, "attn_pdrop", json_real(0));
    set(object, "tie_word_embeddings", json_true());
    set(object, "bos_token_id", token_id(tokens->bos));
    set(object, "eos_token_id", token_id(tokens->eos));
    set(object, "torch_dtype", json_string(sizeof(real) == 8 ? "float64" : "float32"));
    set(object, "jueju", json_pack("{s:i}", "format", FORMAT));
    return object;
}

static json_t *generation_object(const GptConfig *config, const ModelTokens *tokens)
{
    json_t *object = json_object();
    set(object, "bos_token_id", token_id(tokens->bos));
    set(object, "eos_token_id", token_id(tokens->eos));
    set(object, "do_sample", json_true());
    set(object, "max_length", json_integer(config->context));
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
    set(object, "model_max_length", json_integer(config->context));
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

/* ---- reading ------------------------------------------------------------------------ */

static Status expect_text(const json_t *object, const char *key, const char *expected,
                          const char *path, Error *err)
{
    const char *text;
    TRY(json_get_text(&text, object, key, path, err));
    if (strcmp(text, expected) != 0)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": expected \"%s\", found \"%.80s\"", path, key,
                         expected, text);
    return STATUS_OK;
}

/* A switch that may be missing but not have the other value. */
static Status expect_bool(const json_t *object, const char *key, bool expected,
                          const char *path, Error *err)
{
    bool value = expected;
    if (json_has(object, key))
        TRY(json_get_bool(&value, object, key, path, err));
    if (value != expected)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": this model only knows %s, found %s", path, key,
                         expected ? "true" : "false", value ? "true" : "false");
    return STATUS_OK;
}

static Status read_kind(const json_t *object, const char *path, Error *err)
{
    TRY(expect_text(object, "model_type", "gpt2", path, err));
    const char *activation = "gelu_new";
    if (json_has(object, "activation_function"))
        TRY(json_get_text(&activation, object, "activation_function", path, err));
    if (strcmp(activation, "gelu_new") != 0 &&
        strcmp(activation, "gelu_pytorch_tanh") != 0) /* the same under another name */
        return error_set(err, STATUS_INPUT,
                         "%s: \"activation_function\": expected \"gelu_new\", found "
                         "\"%.80s\"",
                         path, activation);
    TRY(expect_bool(object, "tie_word_embeddings", true, path, err));
    TRY(expect_bool(object, "scale_attn_weights", true, path, err));
    TRY(expect_bool(object, "scale_attn_by_inverse_layer_idx", false, path, err));
    TRY(expect_bool(object, "add_cross_attention", false, path, err));
    if (!json_has(object, "jueju"))
        return STATUS_OK;
    const json_t *own;
    int64_t format;
    TRY(json_get_object(&own, object, "jueju", path, err));
    TRY(json_get_int(&format, own, "format", 1, INT64_MAX, path, err));
    if (format > FORMAT)
        return error_set(
            err, STATUS_INPUT,
            "%s: \"format\": written by a newer jueju (%lld; this one reads "
            "up to %d)",
            path, (long long)format, FORMAT);
    return STATUS_OK;
}

static Status read_sizes(GptConfig *config, const json_t *object, const char *path,
                         Error *err)
{
    const struct {
        const char *key;
        int64_t *value;
    } sizes[] = {
        {"vocab_size", &config->vocab_size}, {"n_positions", &config->context},
        {"n_embd", &config->width},          {"n_layer", &config->layers},
        {"n_head", &config->heads},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        TRY(json_get_int(sizes[i].value, object, sizes[i].key, 1, INT32_MAX, path,
                         err));
    int64_t context = config->context;
    if (json_has(object, "n_ctx")) /* an older name of the same size */
        TRY(json_get_int(&context, object, "n_ctx", 1, INT32_MAX, path, err));
    if (context != config->context)
        return error_set(err, STATUS_INPUT,
                         "%s: \"n_ctx\" is %lld, but \"n_positions\" is %lld", path,
                         (long long)context, (long long)config->context);
    config->mlp_width = 0;
    if (json_has(object, "n_inner"))
        TRY(json_get_int(&config->mlp_width, object, "n_inner", 1, INT32_MAX, path,
                         err));
    config->norm_eps = 1e-5;
    if (json_has(object, "layer_norm_epsilon"))
        TRY(json_get_real(&config->norm_eps, object, "layer_norm_epsilon", 0, 1, path,
                          err));
    config->dropout = 0;
    if (json_has(object, "resid_pdrop"))
        TRY(json_get_real(&config->dropout, object, "resid_pdrop", 0, 1, path, err));
    gpt_config_fill(config);
    if (gpt_config_check(config, err) != STATUS_OK) {
        error_context(err, "%s", path);
        if (err != NULL)
            err->status = STATUS_INPUT;
        return STATUS_INPUT;
    }
    return STATUS_OK;
}

static Status read_token(int64_t *id, const json_t *object, const char *key,
                         int64_t vocabulary, const char *path, Error *err)
{
    *id = -1;
    if (!json_has(object, key))
        return STATUS_OK;
    return json_get_int(id, object, key, 0, vocabulary - 1, path, err);
}

static Status read_all(GptConfig *config, ModelTokens *tokens, const json_t *object,
                       const char *path, Error *err)
{
    TRY(read_kind(object, path, err));
    TRY(read_sizes(config, object, path, err));
    int64_t vocabulary = config->vocab_size;
    TRY(read_token(&tokens->bos, object, "bos_token_id", vocabulary, path, err));
    return read_token(&tokens->eos, object, "eos_token_id", vocabulary, path, err);
}

Status config_file_load(GptConfig *config, ModelTokens *tokens, const char *folder,
                        Error *err)
{
    char path[PATH_SIZE];
    json_t *object;
    *config = gpt_config_open(FAMILY_GPT2);
    *tokens = (ModelTokens){.bos = -1, .eos = -1};
    TRY(path_join(path, folder, "config.json", err));
    TRY(json_read_file(&object, path, err));
    Status status = read_all(config, tokens, object, path, err);
    json_decref(object);
    return status;
}
