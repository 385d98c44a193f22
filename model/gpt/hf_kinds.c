/* The kind of each layer where a file lists it, in the many ways in which files do. */
#include <string.h>

#include "model/gpt/hf_reader.h"

static const struct {
    const char *name;
    HfLayerKind kind;
} LAYER_NAMES[] = {
    {"full_attention", HF_LAYER_FULL},
    {"attention", HF_LAYER_FULL},
    {"global_attention", HF_LAYER_FULL},
    {"deepseek_sparse_attention", HF_LAYER_FULL},
    {"sliding_attention", HF_LAYER_WINDOW},
    {"chunked_attention", HF_LAYER_CHUNK},
    {"linear_attention", HF_LAYER_NONE},
    {"mamba", HF_LAYER_NONE},
    {"conv", HF_LAYER_NONE},
    {"recurrent", HF_LAYER_NONE},
};

static Status name_layer(unsigned char *kind, const json_t *value, const char *field,
                         const HfReader *reader, Error *err)
{
    if (!json_is_string(value))
        return error_set(err, STATUS_INPUT, "%s: \"%s\": expected texts, found %s",
                         reader->where, field, json_kind(value));
    const char *name = json_string_value(value);
    for (size_t i = 0; i < sizeof LAYER_NAMES / sizeof *LAYER_NAMES; i++) {
        if (strcmp(name, LAYER_NAMES[i].name) == 0) {
            *kind = (unsigned char)LAYER_NAMES[i].kind;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INPUT,
                     "%s: \"%s\": what a layer of type \"%.60s\" caches is not known",
                     reader->where, field, name);
}

static Status check_length(const HfLayers *layers, size_t found, const char *field,
                           const HfReader *reader, Error *err)
{
    if ((int64_t)found == layers->count)
        return STATUS_OK;
    return error_set(err, STATUS_INPUT, "%s: \"%s\" has %zu entries for %lld layers",
                     reader->where, field, found, (long long)layers->count);
}

static Status read_array(const json_t **array, const char *field,
                         const HfReader *reader, Error *err)
{
    *array = json_object_get(reader->object, field);
    if (!json_is_array(*array))
        return error_set(err, STATUS_INPUT, "%s: \"%s\": expected a list, found %s",
                         reader->where, field, json_kind(*array));
    return STATUS_OK;
}

/* ---- the ways in which files say it ------------------------------------------------- */

static Status by_names(HfLayers *layers, const char *field, const HfReader *reader,
                       Error *err)
{
    const json_t *array;
    TRY(read_array(&array, field, reader, err));
    TRY(check_length(layers, json_array_size(array), field, reader, err));
    for (int64_t i = 0; i < layers->count; i++)
        TRY(name_layer(&layers->kinds[i], json_array_get(array, (size_t)i), field,
                       reader, err));
    layers->from = field;
    return STATUS_OK;
}

/* Nemotron-H: a letter a layer, '*' is attention. */
static Status by_letters(HfLayers *layers, const char *field, const HfReader *reader,
                         Error *err)
{
    const char *letters;
    TRY(json_get_text(&letters, reader->object, field, reader->where, err));
    TRY(check_length(layers, strlen(letters), field, reader, err));
    for (int64_t i = 0; i < layers->count; i++)
        layers->kinds[i] = letters[i] == '*' ? HF_LAYER_FULL : HF_LAYER_NONE;
    layers->from = field;
    return STATUS_OK;
}

/* The numbers of the layers with attention; all others have none. */
static Status by_indices(HfLayers *layers, const char *field, const HfReader *reader,
                         Error *err)
{
    const json_t *array;
    TRY(read_array(&array, field, reader, err));
    memset(layers->kinds, HF_LAYER_NONE, (size_t)layers->count);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);
        int64_t index = json_is_integer(value) ? json_integer_value(value) : -1;
        if (index < 0 || index >= layers->count)
            return error_set(err, STATUS_INPUT,
                             "%s: \"%s\": expected numbers of layers, 0 to %lld",
                             reader->where, field, (long long)layers->count - 1);
        layers->kinds[index] = HF_LAYER_FULL;
    }
    layers->from = field;
    return STATUS_OK;
}

Status hf_by_bits(HfLayers *layers, const char *field, HfLayerKind zero,
                  HfLayerKind one, const HfReader *reader, Error *err)
{
    const json_t *array;
    TRY(read_array(&array, field, reader, err));
    TRY(check_length(layers, json_array_size(array), field, reader, err));
    for (int64_t i = 0; i < layers->count; i++) {
        const json_t *value = json_array_get(array, (size_t)i);
        int64_t bit = json_is_integer(value) ? json_integer_value(value) : -1;
        if (bit != 0 && bit != 1)
            return error_set(err, STATUS_INPUT, "%s: \"%s\": expected 0 and 1 only",
                             reader->where, field);
        layers->kinds[i] = (unsigned char)(bit ? one : zero);
    }
    layers->from = field;
    return STATUS_OK;
}

/* HfLayers i with i mod period = offset are `chosen`, the others `rest`. */
void hf_by_period(HfLayers *layers, int64_t period, int64_t offset, HfLayerKind chosen,
                  HfLayerKind rest, const char *field)
{
    for (int64_t i = 0; i < layers->count; i++)
        layers->kinds[i] = (unsigned char)(i % period == offset ? chosen : rest);
    layers->from = field;
}

/* Models in which not every layer has attention. *known: the file said so. */
Status hf_read_kinds(bool *known, HfLayers *layers, const HfReader *reader, Error *err)
{
    HfSize period, offset, interval;
    const json_t *object = reader->object;
    *known = true;
    if (json_has(object, "layer_types"))
        return by_names(layers, "layer_types", reader, err);
    if (json_has(object, "layers_block_type"))
        return by_names(layers, "layers_block_type", reader, err);
    if (json_has(object, "hybrid_override_pattern"))
        return by_letters(layers, "hybrid_override_pattern", reader, err);
    if (json_has(object, "attn_layer_indices"))
        return by_indices(layers, "attn_layer_indices", reader, err);
    if (json_has(object, "full_attn_idxs"))
        return by_indices(layers, "full_attn_idxs", reader, err);
    if (json_has(object, "attn_type_list"))
        return hf_by_bits(layers, "attn_type_list", HF_LAYER_NONE, HF_LAYER_FULL,
                          reader, err);

    TRY(hf_size_one(&period, reader, "attn_layer_period", 1, MEMORY_LAYERS_MAX, err));
    TRY(hf_size_one(&offset, reader, "attn_layer_offset", 0, MEMORY_LAYERS_MAX, err));
    if (period.field && offset.field) {
        hf_by_period(layers, period.value, offset.value, HF_LAYER_FULL, HF_LAYER_NONE,
                     "attn_layer_period, attn_layer_offset");
        return STATUS_OK;
    }
    TRY(hf_size_one(&interval, reader, "full_attention_interval", 1, MEMORY_LAYERS_MAX,
                    err));
    if (interval.field) {
        hf_by_period(layers, interval.value, interval.value - 1, HF_LAYER_FULL,
                     HF_LAYER_NONE, interval.field);
        return STATUS_OK;
    }
    *known = false;
    return STATUS_OK;
}
