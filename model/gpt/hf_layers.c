/* Which layers see all tokens, which a window, and which keep no keys and values. */
#include <string.h>

#include "model/base/memory.h"
#include "model/gpt/hf_reader.h"

/* ---- windows ------------------------------------------------------------------------ */

/* *window has no field when layers see all tokens. */
static Status read_window(HfSize *window, HfReader *reader, Error *err)
{
    static const char *const SIZES[] = {"sliding_window", "sliding_window_size", NULL};
    const HfFamily *family = reader->family;
    bool used;
    HfSwitch use = {"use_sliding_window", !family->windows_off};
    TRY(hf_switch(&used, reader, use, err));
    if (json_is_false(json_object_get(reader->object, "sliding_window")))
        used = false; /* as some files put it */
    *window = (HfSize){0, NULL};
    if (!used)
        return STATUS_OK;
    TRY(hf_size(window, reader, SIZES, MEMORY_SIZE_MAX, err));
    if (!window->field && family->window > 0 && family->windows != HF_WINDOWS_CHUNKS &&
        hf_missing(reader, "sliding_window")) {
        *window = (HfSize){family->window, "sliding_window (missing)"};
        hf_note(reader, "sliding_window is missing: %lld, as %s has it then",
                (long long)family->window, family->model_type);
    }
    return STATUS_OK;
}

/* A pattern in the file: 6 means that every sixth layer sees all tokens; "LLLG" that layers
 * go round local, local, local, global (Exaone 4). */
static Status by_pattern(HfLayers *layers, const HfReader *reader, Error *err)
{
    static const char FIELD[] = "sliding_window_pattern";
    HfSize pattern;
    if (!json_is_string(json_object_get(reader->object, FIELD))) {
        TRY(hf_size_one(&pattern, reader, FIELD, 1, MEMORY_LAYERS_MAX, err));
        hf_by_period(layers, pattern.value, pattern.value - 1, HF_LAYER_FULL,
                     HF_LAYER_WINDOW, FIELD);
        return STATUS_OK;
    }
    const char *letters;
    TRY(json_get_text(&letters, reader->object, FIELD, reader->where, err));
    size_t length = strlen(letters);
    if (length == 0 || strspn(letters, "LG") != length)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": expected a number or letters L and G, found "
                         "\"%.60s\"",
                         reader->where, FIELD, letters);
    for (int64_t i = 0; i < layers->count; i++)
        layers->kinds[i] =
            letters[(size_t)i % length] == 'L' ? HF_LAYER_WINDOW : HF_LAYER_FULL;
    layers->from = FIELD;
    return STATUS_OK;
}

static Status by_max_window_layers(HfLayers *layers, HfReader *reader, Error *err)
{
    static const char FIELD[] = "max_window_layers";
    const int64_t otherwise = 28;
    HfSize first;
    TRY(hf_size_one(&first, reader, FIELD, 0, MEMORY_SIZE_MAX, err));
    if (!first.field) {
        first.value = otherwise;
        hf_note(reader, "%s is missing: %lld, as %s has it then", FIELD,
                (long long)otherwise, reader->family->model_type);
    }
    for (int64_t i = first.value; i < layers->count; i++)
        layers->kinds[i] = HF_LAYER_WINDOW;
    layers->from = FIELD;
    return STATUS_OK;
}

static Status by_chunks(HfLayers *layers, HfReader *reader, Error *err)
{
    HfSize interval;
    const json_t *list = json_object_get(reader->object, "no_rope_layers");
    if (json_array_size(list) > 0)
        return hf_by_bits(layers, "no_rope_layers", HF_LAYER_FULL, HF_LAYER_CHUNK,
                          reader, err);
    TRY(hf_size_one(&interval, reader, "no_rope_layer_interval", 1, MEMORY_LAYERS_MAX,
                    err));
    int64_t every = interval.field ? interval.value : reader->family->pattern;
    hf_by_period(layers, every, every - 1, HF_LAYER_FULL, HF_LAYER_CHUNK,
                 interval.field ? interval.field : "no_rope_layer_interval (missing)");
    return STATUS_OK;
}

static Status read_windows(HfLayers *layers, const HfSize *window, HfReader *reader,
                           Error *err)
{
    HfWindows rule = reader->family->windows;
    if (rule == HF_WINDOWS_CHUNKS)
        return by_chunks(layers, reader, err);
    if (!window->field)
        return STATUS_OK;
    if (json_has(reader->object, "sliding_window_pattern"))
        return by_pattern(layers, reader, err);
    switch (rule) {
    case HF_WINDOWS_ALL:
        hf_by_period(layers, 1, 0, HF_LAYER_WINDOW, HF_LAYER_WINDOW, window->field);
        return STATUS_OK;
    case HF_WINDOWS_PATTERN:
        hf_by_period(layers, reader->family->pattern, reader->family->pattern - 1,
                     HF_LAYER_FULL, HF_LAYER_WINDOW, window->field);
        return STATUS_OK;
    case HF_WINDOWS_LATE:
        return by_max_window_layers(layers, reader, err);
    case HF_WINDOWS_NONE:
        hf_note(reader, "%s %lld is not used: %s has no windows", window->field,
                (long long)window->value, reader->family->model_type);
        return STATUS_OK;
    case HF_WINDOWS_UNKNOWN:
    case HF_WINDOWS_CHUNKS:
        break;
    }
    hf_note(reader,
            "%s %lld: for which layers is not said; all are counted as seeing every "
            "token, so that totals are an upper bound",
            window->field, (long long)window->value);
    return STATUS_OK;
}

/* ---- groups ------------------------------------------------------------------------- */

/* HfLayers with a window (swa_...) or without one (global_...) may have other heads. */
static Status vary(MemoryLayers *layer, const HfReader *reader, bool windowed,
                   Error *err)
{
    const struct {
        const char *windowed, *full;
        int64_t *value;
    } sizes[] = {
        {"swa_num_attention_heads", NULL, &layer->query_heads},
        {"swa_num_key_value_heads", "num_global_key_value_heads", &layer->kv_heads},
        {"swa_head_dim", "global_head_dim", &layer->key_size},
        {"swa_v_head_dim", "global_head_dim", &layer->value_size},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        HfSize size;
        const char *field = windowed ? sizes[i].windowed : sizes[i].full;
        if (field == NULL)
            continue;
        TRY(hf_size_one(&size, reader, field, 1, MEMORY_SIZE_MAX, err));
        if (size.field)
            *sizes[i].value = size.value;
    }
    if (layer->query_heads % layer->kv_heads != 0)
        return error_set(
            err, STATUS_INPUT,
            "%s: layers %s a window: %lld query heads cannot share %lld KV "
            "heads",
            reader->where, windowed ? "with" : "without", (long long)layer->query_heads,
            (long long)layer->kv_heads);
    return STATUS_OK;
}

static Status add_layers(const HfLayers *layers, const MemoryLayers *usual,
                         const HfSize *window, const HfSize *chunk, int64_t borrowing,
                         HfReader *reader, Error *err)
{
    MemoryShape *shape = &reader->config->shape;
    MemoryLayers full = *usual, windowed = *usual;
    if (shape->kind != MEMORY_MLA) {
        TRY(vary(&full, reader, false, err));
        TRY(vary(&windowed, reader, true, err));
    }
    for (int64_t i = 0; i < layers->count; i++) {
        HfLayerKind kind = (HfLayerKind)layers->kinds[i];
        const HfSize *bound = kind == HF_LAYER_CHUNK ? chunk : window;
        bool bounded = kind == HF_LAYER_WINDOW || kind == HF_LAYER_CHUNK;
        MemoryLayers layer = kind == HF_LAYER_WINDOW ? windowed : full;
        if (bounded && !bound->field)
            return error_set(err, STATUS_INPUT,
                             "%s: \"%s\" names layers with %s, but \"%s\" is missing, "
                             "null or turned off",
                             reader->where, layers->from,
                             kind == HF_LAYER_CHUNK ? "chunks" : "windows",
                             kind == HF_LAYER_CHUNK ? "attention_chunk_size"
                                                    : "sliding_window");
        layer.count = 1;
        layer.window = bounded ? bound->value : 0;
        layer.cached = kind != HF_LAYER_NONE && i < layers->count - borrowing;
        TRY(memory_add_layers(shape, &layer, err));
    }
    return STATUS_OK;
}

static Status refuse_unknown(const HfReader *reader, Error *err)
{
    static const char *const FIELDS[] = {"block_configs", "cross_attention_layers",
                                         "linear_attn_config", "block_types",
                                         "attention_types"};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (json_has(reader->object, FIELDS[i]))
            return error_set(
                err, STATUS_INPUT,
                "%s: \"%s\" makes layers differ in a way that is not known "
                "here; the bytes would be a guess",
                reader->where, FIELDS[i]);
    return STATUS_OK;
}

static Status read_all(HfLayers *layers, const MemoryLayers *usual, HfReader *reader,
                       Error *err)
{
    bool known;
    HfSize window, chunk, borrowing;
    TRY(read_window(&window, reader, err));
    TRY(hf_size_one(&chunk, reader, "attention_chunk_size", 1, MEMORY_SIZE_MAX, err));
    if (!chunk.field && reader->family->windows == HF_WINDOWS_CHUNKS &&
        hf_missing(reader, "attention_chunk_size")) {
        chunk = (HfSize){reader->family->window, "attention_chunk_size (missing)"};
        hf_note(reader, "attention_chunk_size is missing: %lld, as %s has it then",
                (long long)chunk.value, reader->family->model_type);
    }
    TRY(hf_read_kinds(&known, layers, reader, err));
    if (!known)
        TRY(read_windows(layers, &window, reader, err));
    TRY(hf_size_one(&borrowing, reader, "num_kv_shared_layers", 0, layers->count - 1,
                    err));
    if (borrowing.value > 0)
        hf_note(reader,
                "num_kv_shared_layers: the last %lld layers read keys and "
                "values of earlier ones",
                (long long)borrowing.value);
    TRY(add_layers(layers, usual, &window, &chunk, borrowing.value, reader, err));
    const HfSize *bound =
        memchr(layers->kinds, HF_LAYER_CHUNK, (size_t)layers->count) ? &chunk : &window;
    if (layers->from && bound->field && strcmp(layers->from, bound->field) != 0)
        hf_source(reader, "windows", "%s, %s", layers->from, bound->field);
    else if (layers->from)
        hf_source(reader, "windows", "%s", layers->from);
    return STATUS_OK;
}

Status hf_read_layers(HfReader *reader, const MemoryLayers *usual, Error *err)
{
    HfLayers layers = {.count = reader->config->shape.layers};
    TRY(refuse_unknown(reader, err));
    TRY(memory_allocate(&layers.kinds, (size_t)layers.count, 1, "the layers", err));
    memset(layers.kinds, HF_LAYER_FULL, (size_t)layers.count);
    Status status = read_all(&layers, usual, reader, err);
    memory_free(layers.kinds);
    return status;
}
