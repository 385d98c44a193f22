#include "model/gpt/hf_config.h"

#include <stdio.h>
#include <string.h>

#include "model/gpt/hf_reader.h"

/* ---- where the language model stands ------------------------------------------------ */

static bool has_layers(const json_t *object)
{
    static const char *const DECODER[] = {"decoder_layers", "num_decoder_layers"};
    for (const char *const *name = HF_LAYERS; *name; name++)
        if (json_has(object, *name))
            return true;
    return json_has(object, DECODER[0]) || json_has(object, DECODER[1]);
}

static int64_t first_layers(const json_t *object)
{
    for (const char *const *name = HF_LAYERS; *name; name++)
        if (json_has(object, *name))
            return json_integer_value(json_object_get(object, *name));
    return 0;
}

/* Goes down one level, where there is one: *moved says so. */
static Status descend(bool *moved, HfReader *reader, Error *err)
{
    static const char *const PARTS[] = {"text_config", "language_config", "llm_config",
                                        "thinker_config"};
    const json_t *found = NULL;
    const char *name = NULL;
    *moved = false;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        const json_t *part = json_object_get(reader->object, PARTS[i]);
        if (!json_is_object(part))
            continue;
        if (has_layers(reader->object) && !has_layers(part))
            continue;
        if (found && !json_equal(found, part))
            return error_set(err, STATUS_INPUT,
                             "%s: \"%s\" and \"%s\" both describe a language model, "
                             "and differ",
                             reader->where, name, PARTS[i]);
        if (!found)
            name = PARTS[i];
        found = found ? found : part;
    }
    if (!found)
        return STATUS_OK;
    if (has_layers(reader->object) &&
        first_layers(reader->object) != first_layers(found))
        hf_note(reader,
                "the sizes beside %s differ from those inside; counted is "
                "what stands inside",
                name);
    size_t used = strlen(reader->where);
    snprintf(reader->where + used, sizeof reader->where - used, ": %s", name);
    reader->object = found;
    *moved = true;
    return STATUS_OK;
}

/* ---- types of numbers --------------------------------------------------------------- */

int64_t hf_dtype_bits(const char *name)
{
    static const struct {
        const char *name;
        int64_t bits;
    } TYPES[] = {
        {"float64", 64},    {"fp64", 64},    {"float32", 32}, {"float", 32},
        {"fp32", 32},       {"float16", 16}, {"half", 16},    {"fp16", 16},
        {"bfloat16", 16},   {"bf16", 16},    {"fp8", 8},      {"float8_e4m3fn", 8},
        {"float8_e5m2", 8}, {"int8", 8},     {"uint8", 8},    {"int4", 4},
        {"fp4", 4},
    };
    if (strncmp(name, "torch.", 6) == 0)
        name += 6;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(name, TYPES[i].name) == 0)
            return TYPES[i].bits;
    return 0;
}

/* torch_dtype, since 2025 also called dtype. */
static Status dtype_at(const char **text, const char **field, const json_t *place,
                       const char *where, Error *err)
{
    static const char *const NAMES[] = {"torch_dtype", "dtype"};
    *field = NULL;
    for (size_t i = 0; i < 2; i++) {
        const char *found;
        if (!json_has(place, NAMES[i]))
            continue;
        TRY(json_get_text(&found, place, NAMES[i], where, err));
        if (*field && strcmp(found, *text) != 0)
            return error_set(err, STATUS_INPUT,
                             "%s: \"%s\" is \"%.40s\", but \"%s\" is \"%.40s\"", where,
                             *field, *text, NAMES[i], found);
        if (*field)
            continue;
        *text = found;
        *field = NAMES[i];
    }
    return STATUS_OK;
}

/* Beside the sizes, else at the top of the file. */
static Status read_dtype(HfReader *reader, Error *err)
{
    HfConfig *config = reader->config;
    const char *field, *text;
    TRY(dtype_at(&text, &field, reader->object, reader->where, err));
    if (!field)
        TRY(dtype_at(&text, &field, reader->root, reader->where, err));
    if (!field)
        return STATUS_OK;
    snprintf(config->dtype, sizeof config->dtype, "%.40s", text);
    config->bits = hf_dtype_bits(text);
    hf_source(reader, "dtype", "%s", field);
    if (config->bits == 0)
        hf_note(reader, "%s: \"%.40s\" is not known", field, text);
    return STATUS_OK;
}

/* ---- fields that are not known ------------------------------------------------------ */

/* Names that sound like the cache and were not read above: said, so that nobody takes the
 * figures for more than they are. */
static bool looks_relevant(const char *key)
{
    static const char *const PARTS[] = {
        "kv_",         "_kv",         "key_value",    "window",           "latent",
        "linear_attn", "sparse_attn", "attn_pattern", "attention_pattern"};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (strstr(key, PARTS[i]) && !strstr(key, "qkv"))
            return true;
    return false;
}

static bool is_read(const char *key)
{
    static const char *const FIELDS[] = {
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "n_kv_heads",
        "d_kv",
        "kv_channels",
        "kv_lora_rank",
        "sliding_window",
        "sliding_window_size",
        "sliding_window_pattern",
        "use_sliding_window",
        "max_window_layers",
        "num_kv_shared_layers",
        "swa_num_key_value_heads",
        "num_global_key_value_heads",
    };
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (strcmp(key, FIELDS[i]) == 0)
            return true;
    return false;
}

static void note_unknown(HfReader *reader)
{
    char list[200] = "";
    size_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)reader->object, key, value)
    {
        if (json_is_null(value) || json_is_false(value) || is_read(key) ||
            !looks_relevant(key) || used >= sizeof list)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.40s",
                                 used > 0 ? ", " : "", key);
    }
    if (used > 0)
        hf_note(reader, "not known and not read, but it may change the cache: %s",
                list);
}

/* An encoder generates nothing, so that it keeps no cache. */
static void note_encoder(HfReader *reader)
{
    static const char *const ENCODERS[] = {"ForMaskedLM", "ForImageClassification"};
    const json_t *names = json_object_get(reader->root, "architectures");
    const char *name = json_string_value(json_array_get(names, 0));
    for (size_t i = 0; name && i < sizeof ENCODERS / sizeof *ENCODERS; i++)
        if (strstr(name, ENCODERS[i]))
            hf_note(reader,
                    "architectures %.60s: an encoder generates nothing and "
                    "keeps no cache; the bytes are what a decoder of these "
                    "sizes would keep",
                    name);
}

/* ---- all of it ---------------------------------------------------------------------- */

static Status read_type(HfReader *reader, Error *err)
{
    const char *type;
    if (!json_has(reader->object, "model_type")) {
        reader->family = hf_family("");
        return STATUS_OK;
    }
    TRY(json_get_text(&type, reader->object, "model_type", reader->where, err));
    snprintf(reader->config->model_type, HF_NAME_SIZE, "%s", type);
    reader->family = hf_family(type);
    return STATUS_OK;
}

static Status read_all(HfReader *reader, Error *err)
{
    enum { DEEPEST = 3 };
    bool moved = true;
    MemoryLayers usual;
    for (int depth = 0; moved && depth < DEEPEST; depth++)
        TRY(descend(&moved, reader, err));
    TRY(read_type(reader, err));
    TRY(hf_read_attention(reader, &usual, err));
    TRY(hf_read_layers(reader, &usual, err));
    TRY(hf_read_weights(reader, err));
    TRY(read_dtype(reader, err));
    reader->config->quantized = json_has(reader->object, "quantization_config") ||
                                json_has(reader->root, "quantization_config");
    note_encoder(reader);
    note_unknown(reader);
    return STATUS_OK;
}

static Status read_object(HfConfig *config, const json_t *root, const char *where,
                          Error *err)
{
    HfReader reader = {.root = root, .object = root, .config = config};
    *config = (HfConfig){0};
    snprintf(reader.where, sizeof reader.where, "%s", where);
    return read_all(&reader, err);
}

Status hf_config_read(HfConfig *config, const char *path, Error *err)
{
    json_t *root;
    TRY(json_read_file(&root, path, err));
    Status status = read_object(config, root, path, err);
    json_decref(root);
    return status;
}

Status hf_config_read_text(HfConfig *config, const char *text, size_t size,
                           const char *where, Error *err)
{
    json_t *root;
    TRY(json_read_text(&root, text, size, where, err));
    Status status = read_object(config, root, where, err);
    json_decref(root);
    return status;
}
