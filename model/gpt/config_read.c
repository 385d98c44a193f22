/* config_file_load: config.json as others write it, too. What is missing has the value that
 * Hugging Face's class of that model_type gives it. */
#include <string.h>

#include "model/base/files.h"
#include "model/base/json.h"
#include "model/gpt/config_file.h"
#include "model/gpt/config_type.h"

/* What the functions below read from and fill. */
typedef struct {
    const json_t *object; /* the file */
    const json_t *own;    /* its "jueju", or NULL */
    const char *path;
    ModelType type;
    GptConfig *config;
} Reading;

static bool is_own(const Reading *from)
{
    return MODEL_TYPE_INFOS[from->type].own;
}

/* ---- single fields ------------------------------------------------------------------ */

static Status read_int(int64_t *value, const Reading *from, const char *key,
                       int64_t minimum, Error *err)
{
    return json_get_int(value, from->object, key, minimum, INT32_MAX, from->path, err);
}

/* A field that may be missing or null: *value stays as it is. */
static Status read_optional(int64_t *value, const Reading *from, const char *key,
                            int64_t minimum, Error *err)
{
    if (!json_has(from->object, key))
        return STATUS_OK;
    return read_int(value, from, key, minimum, err);
}

static Status read_bool(bool *value, const json_t *object, const char *key,
                        const char *path, Error *err)
{
    if (!json_has(object, key))
        return STATUS_OK;
    return json_get_bool(value, object, key, path, err);
}

/* A switch that may be missing but not have the other value. */
static Status expect_bool(const Reading *from, const char *key, bool expected,
                          Error *err)
{
    bool value = expected;
    TRY(read_bool(&value, from->object, key, from->path, err));
    if (value != expected)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": this model only knows %s, found %s", from->path,
                         key, expected ? "true" : "false", value ? "true" : "false");
    return STATUS_OK;
}

/* Something that this model does not have at all, unless it is null. */
static Status expect_nothing(const Reading *from, const char *key, Error *err)
{
    if (json_has(from->object, key))
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": expected null, found %s: this model does not "
                         "have it",
                         from->path, key,
                         json_kind(json_object_get(from->object, key)));
    return STATUS_OK;
}

/* *value = the place of own[key] in names; a switch's enum is an int to C. */
static Status read_choice(int *value, const Reading *from, const char *key,
                          const char *const *names, Error *err)
{
    const char *text;
    TRY(json_get_text(&text, from->own, key, from->path, err));
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            *value = i;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INPUT, "%s: \"%s\": \"%.80s\" is not known",
                     from->path, key, text);
}

/* ---- kind --------------------------------------------------------------------------- */

static Status read_type(Reading *from, Error *err)
{
    const char *text;
    TRY(json_get_text(&text, from->object, "model_type", from->path, err));
    for (int i = 0; i < MODEL_TYPES; i++) {
        if (strcmp(text, MODEL_TYPE_INFOS[i].name) == 0) {
            from->type = (ModelType)i;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INPUT,
                     "%s: \"model_type\": expected \"gpt2\", \"llama\", \"mistral\", "
                     "\"ministral\" or \"deepseek_v3\", found \"%.80s\"",
                     from->path, text);
}

static Status read_own(Reading *from, Error *err)
{
    if (!json_has(from->object, "jueju")) {
        if (is_own(from))
            return error_set(err, STATUS_INPUT, "%s: \"jueju\" is missing", from->path);
        return STATUS_OK;
    }
    int64_t format;
    TRY(json_get_object(&from->own, from->object, "jueju", from->path, err));
    TRY(json_get_int(&format, from->own, "format", 1, INT64_MAX, from->path, err));
    if (format > CONFIG_FORMAT)
        return error_set(
            err, STATUS_INPUT,
            "%s: \"format\": written by a newer jueju (%lld; this one reads "
            "up to %d)",
            from->path, (long long)format, CONFIG_FORMAT);
    return STATUS_OK;
}

/* The switches of a jueju-… type; those of a class are its family's. */
static Status read_switches(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    int norm = 0, place = 0, position = 0, mlp = 0, attention = 0;
    if (!is_own(from))
        return STATUS_OK;
    TRY(read_choice(&norm, from, "norm", NORM_NAMES, err));
    TRY(read_choice(&place, from, "norm_place", NORM_PLACE_NAMES, err));
    TRY(read_choice(&position, from, "positions", POSITION_NAMES, err));
    TRY(read_choice(&mlp, from, "mlp", MLP_NAMES, err));
    TRY(read_choice(&attention, from, "attention", ATTENTION_NAMES, err));
    config->norm = (NormKind)norm;
    config->norm_place = (NormPlace)place;
    config->position = (PositionKind)position;
    config->mlp = (MlpKind)mlp;
    config->attention = (AttentionKind)attention;
    if (config->family == FAMILY_GPT2)
        return json_get_bool(&config->biases, from->own, "biases", from->path, err);
    return json_get_bool(&config->scaled_scores, from->own, "scaled_scores", from->path,
                         err);
}

static Status read_activation(const Reading *from, const char *key, Error *err)
{
    bool gated = from->config->mlp == MLP_SWIGLU;
    const char *expected = gated ? "silu" : "gelu_new";
    const char *text = expected;
    if (json_has(from->object, key))
        TRY(json_get_text(&text, from->object, key, from->path, err));
    bool same = strcmp(text, expected) == 0 ||
                (!gated && strcmp(text, "gelu_pytorch_tanh") == 0) || /* other names */
                (gated && strcmp(text, "swish") == 0);
    if (!same)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": expected \"%s\", found \"%.80s\"", from->path,
                         key, expected, text);
    return STATUS_OK;
}

/* ---- sizes -------------------------------------------------------------------------- */

static Status read_gpt2(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    TRY(read_int(&config->context, from, "n_positions", 1, err));
    TRY(read_int(&config->width, from, "n_embd", 1, err));
    TRY(read_int(&config->layers, from, "n_layer", 1, err));
    TRY(read_int(&config->heads, from, "n_head", 1, err));
    int64_t context = config->context;
    TRY(read_optional(&context, from, "n_ctx", 1, err)); /* an older name of it */
    if (context != config->context)
        return error_set(err, STATUS_INPUT,
                         "%s: \"n_ctx\" is %lld, but \"n_positions\" is %lld",
                         from->path, (long long)context, (long long)config->context);
    TRY(read_optional(&config->mlp_width, from, "n_inner", 1, err));
    TRY(read_activation(from, "activation_function", err));
    if (json_has(from->object, "layer_norm_epsilon"))
        TRY(json_get_real(&config->norm_eps, from->object, "layer_norm_epsilon", 0, 1,
                          from->path, err));
    if (json_has(from->object, "resid_pdrop"))
        TRY(json_get_real(&config->dropout, from->object, "resid_pdrop", 0, 1,
                          from->path, err));
    TRY(read_bool(&config->scaled_scores, from->object, "scale_attn_weights",
                  from->path, err));
    return expect_bool(from, "scale_attn_by_inverse_layer_idx", false, err);
}

/* Biases in attention and MLP, which go together here. */
static Status read_biases(const Reading *from, Error *err)
{
    bool attention = false;
    TRY(read_bool(&attention, from->object, "attention_bias", from->path, err));
    bool mlp = from->type == TYPE_LLAMA || is_own(from) ? false : attention;
    TRY(read_bool(&mlp, from->object, "mlp_bias", from->path, err));
    if (attention != mlp)
        return error_set(err, STATUS_INPUT,
                         "%s: \"attention_bias\" is %s and \"mlp_bias\" %s: this model "
                         "has biases everywhere or nowhere",
                         from->path, attention ? "true" : "false",
                         mlp ? "true" : "false");
    from->config->biases = attention;
    return STATUS_OK;
}

static Status read_llama(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    TRY(read_int(&config->context, from, "max_position_embeddings", 1, err));
    TRY(read_int(&config->width, from, "hidden_size", 1, err));
    TRY(read_int(&config->layers, from, "num_hidden_layers", 1, err));
    TRY(read_int(&config->heads, from, "num_attention_heads", 1, err));
    TRY(read_int(&config->mlp_width, from, "intermediate_size", 1, err));
    TRY(read_activation(from, "hidden_act", err));
    config->norm_eps = 1e-6;
    if (json_has(from->object, "rms_norm_eps"))
        TRY(json_get_real(&config->norm_eps, from->object, "rms_norm_eps", 0, 1,
                          from->path, err));
    if (from->own != NULL && json_has(from->own, "dropout"))
        TRY(json_get_real(&config->dropout, from->own, "dropout", 0, 1, from->path,
                          err));
    return read_biases(from, err);
}

/* Layers from first_k_dense_replace on have experts. */
static Status expect_dense(const Reading *from, Error *err)
{
    int64_t dense = 3, experts = 256;
    if (json_object_get(from->object, "n_routed_experts") != NULL &&
        !json_has(from->object, "n_routed_experts"))
        return STATUS_OK; /* null: there are none */
    TRY(read_optional(&experts, from, "n_routed_experts", 0, err));
    TRY(read_optional(&dense, from, "first_k_dense_replace", 0, err));
    if (experts > 0 && dense < from->config->layers)
        return error_set(err, STATUS_INPUT,
                         "%s: \"first_k_dense_replace\" is %lld of %lld layers: this "
                         "model has no experts",
                         from->path, (long long)dense, (long long)from->config->layers);
    return STATUS_OK;
}

static Status read_mla(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    config->kv_heads = config->heads;
    TRY(read_optional(&config->kv_heads, from, "num_key_value_heads", 1, err));
    config->q_rank = 0;
    TRY(read_optional(&config->q_rank, from, "q_lora_rank", 1, err));
    TRY(read_int(&config->kv_rank, from, "kv_lora_rank", 1, err));
    TRY(read_int(&config->nope_size, from, "qk_nope_head_dim", 1, err));
    TRY(read_int(&config->rope_size, from, "qk_rope_head_dim", 0, err));
    TRY(read_int(&config->value_size, from, "v_head_dim", 1, err));
    TRY(expect_bool(from, "rope_interleave", true, err));
    return from->type == TYPE_DEEPSEEK ? expect_dense(from, err) : STATUS_OK;
}

static Status read_heads(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    bool mistral = from->type == TYPE_MISTRAL || from->type == TYPE_MINISTRAL;
    config->kv_heads = mistral ? 8 : config->heads;
    config->q_rank = config->rope_size = 0;
    if (from->type != TYPE_GPT2) {
        TRY(read_optional(&config->kv_heads, from, "num_key_value_heads", 1, err));
        TRY(read_optional(&config->head_size, from, "head_dim", 1, err));
    }
    return STATUS_OK;
}

/* The angle's base, at the top or, as newer versions write it, in rope_parameters; never
 * with a scaling of positions. */
static Status read_rope(const Reading *from, Error *err)
{
    if (from->config->position != POSITION_ROPE)
        return STATUS_OK;
    TRY(expect_nothing(from, "rope_scaling", err));
    const json_t *holder = from->object;
    if (json_has(from->object, "rope_parameters")) {
        TRY(json_get_object(&holder, from->object, "rope_parameters", from->path, err));
        const char *kind = "default";
        if (json_has(holder, "rope_type"))
            TRY(json_get_text(&kind, holder, "rope_type", from->path, err));
        if (strcmp(kind, "default") != 0)
            return error_set(err, STATUS_INPUT,
                             "%s: \"rope_type\": expected \"default\", found \"%.80s\"",
                             from->path, kind);
        if (!json_has(holder, "rope_theta"))
            holder = from->object;
    }
    if (json_has(from->object, "partial_rotary_factor")) {
        double share;
        TRY(json_get_real(&share, from->object, "partial_rotary_factor", 1, 1,
                          from->path, err));
    }
    if (!json_has(holder, "rope_theta"))
        return STATUS_OK;
    return json_get_real(&from->config->rope_theta, holder, "rope_theta", 0, 1e15,
                         from->path, err);
}

/* ---- layers ------------------------------------------------------------------------- */

static Status read_layer_types(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    const json_t *kinds = json_object_get(from->object, "layer_types");
    if (!json_is_array(kinds) || json_array_size(kinds) != (size_t)config->layers)
        return error_set(err, STATUS_INPUT,
                         "%s: \"layer_types\": expected an array of %lld kinds, found "
                         "%s of %lld",
                         from->path, (long long)config->layers, json_kind(kinds),
                         (long long)json_array_size(kinds));
    for (int64_t l = 0; l < config->layers; l++) {
        const char *kind = json_string_value(json_array_get(kinds, (size_t)l));
        bool sliding = kind != NULL && strcmp(kind, "sliding_attention") == 0;
        if (!sliding && (kind == NULL || strcmp(kind, "full_attention") != 0))
            return error_set(err, STATUS_INPUT,
                             "%s: \"layer_types\": layer %lld: expected "
                             "\"full_attention\" or \"sliding_attention\", found "
                             "\"%.80s\"",
                             from->path, (long long)l, kind != NULL ? kind : "");
        config->sliding[l] = sliding;
    }
    return STATUS_OK;
}

static bool any_slides(const GptConfig *config)
{
    for (int64_t l = 0; l < config->layers; l++) {
        if (config->sliding[l])
            return true;
    }
    return false;
}

static Status read_windows(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    bool mistral = from->type == TYPE_MISTRAL || from->type == TYPE_MINISTRAL;
    if (config->layers > GPT_LAYERS_MAX)
        return STATUS_OK; /* gpt_config_check says so */
    if (!mistral && !is_own(from))
        return expect_nothing(from, "sliding_window", err);
    if (mistral && json_object_get(from->object, "sliding_window") == NULL)
        config->window = 4096; /* the class's default; null is none */
    TRY(read_optional(&config->window, from, "sliding_window", 1, err));
    if (from->type == TYPE_MISTRAL)
        TRY(expect_nothing(from, "layer_types", err));
    if (json_has(from->object, "layer_types")) {
        TRY(read_layer_types(from, err));
        if (!is_own(from) && !any_slides(config))
            config->window = 0; /* given, but of no use */
        return STATUS_OK;
    }
    for (int64_t l = 0; l < config->layers; l++)
        config->sliding[l] = config->window > 0;
    return STATUS_OK;
}

static Status wrong_head(const Reading *from, const char *layer, Error *err)
{
    return error_set(err, STATUS_INPUT,
                     "%s: \"pruned_heads\": layer \"%.20s\": expected heads of a layer "
                     "that the model has (%lld layers of %lld heads, at most %d where "
                     "heads are cut)",
                     from->path, layer, (long long)from->config->layers,
                     (long long)from->config->heads, GPT_PRUNED_HEADS_MAX);
}

/* "12": a layer's number, or -1. */
static int64_t layer_number(const char *text, int64_t layers)
{
    int64_t number = 0;
    if (*text == '\0')
        return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        number = 10 * number + (*text - '0');
        if (number >= layers)
            return -1;
    }
    return number;
}

static Status read_pruned_heads(const Reading *from, Error *err)
{
    GptConfig *config = from->config;
    const json_t *layers;
    if (!json_has(from->object, "pruned_heads") || config->layers > GPT_LAYERS_MAX)
        return STATUS_OK;
    TRY(json_get_object(&layers, from->object, "pruned_heads", from->path, err));
    if (from->type != TYPE_GPT2 && !is_own(from) && json_object_size(layers) > 0)
        return expect_nothing(from, "pruned_heads", err);
    const char *key;
    json_t *heads;
    json_object_foreach((json_t *)(uintptr_t)layers, key, heads)
    {
        int64_t layer = layer_number(key, config->layers);
        if (layer < 0 || !json_is_array(heads))
            return wrong_head(from, key, err);
        for (size_t i = 0; i < json_array_size(heads); i++) {
            const json_t *head = json_array_get(heads, i);
            int64_t h = json_is_integer(head) ? json_integer_value(head) : -1;
            if (h < 0 || h >= config->heads || h >= GPT_PRUNED_HEADS_MAX)
                return wrong_head(from, key, err);
            config->removed[layer] |= (uint64_t)1 << h;
        }
    }
    return STATUS_OK;
}

/* ---- everything --------------------------------------------------------------------- */

static Status check(const Reading *from, Error *err)
{
    gpt_config_fill(from->config);
    if (gpt_config_check(from->config, err) == STATUS_OK)
        return STATUS_OK;
    error_context(err, "%s", from->path);
    if (err != NULL)
        err->status = STATUS_INPUT;
    return STATUS_INPUT;
}

static Status read_token(int64_t *id, const Reading *from, const char *key, Error *err)
{
    *id = -1;
    if (!json_has(from->object, key))
        return STATUS_OK;
    return json_get_int(id, from->object, key, 0, from->config->vocab_size - 1,
                        from->path, err);
}

static Status read_all(Reading *from, ModelTokens *tokens, Error *err)
{
    GptConfig *config = from->config;
    TRY(read_type(from, err));
    Family family = MODEL_TYPE_INFOS[from->type].family;
    *config = gpt_config_open(family);
    config->tied = family == FAMILY_GPT2; /* as their classes do when nothing is said */
    TRY(read_own(from, err));
    TRY(read_switches(from, err));
    TRY(read_int(&config->vocab_size, from, "vocab_size", 1, err));
    TRY(family == FAMILY_GPT2 ? read_gpt2(from, err) : read_llama(from, err));
    TRY(config->attention == ATTENTION_MLA ? read_mla(from, err)
                                           : read_heads(from, err));
    TRY(read_rope(from, err));
    TRY(read_windows(from, err));
    TRY(read_pruned_heads(from, err));
    TRY(read_bool(&config->tied, from->object, "tie_word_embeddings", from->path, err));
    TRY(expect_bool(from, "add_cross_attention", false, err));
    TRY(expect_bool(from, "is_encoder_decoder", false, err));
    if (from->own != NULL)
        TRY(read_bool(&config->scaled_residual, from->own, "scaled_residual",
                      from->path, err));
    TRY(check(from, err));
    TRY(read_token(&tokens->bos, from, "bos_token_id", err));
    return read_token(&tokens->eos, from, "eos_token_id", err);
}

Status config_file_load(GptConfig *config, ModelTokens *tokens, const char *folder,
                        Error *err)
{
    char path[PATH_SIZE];
    json_t *object;
    *config = (GptConfig){0};
    *tokens = (ModelTokens){.bos = -1, .eos = -1};
    TRY(path_join(path, folder, "config.json", err));
    TRY(json_read_file(&object, path, err));
    Reading from = {.object = object, .path = path, .config = config};
    Status status = read_all(&from, tokens, err);
    json_decref(object);
    return status;
}
