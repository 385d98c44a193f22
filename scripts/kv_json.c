/* jueju kv --json. */
#include <stdio.h>

#include "scripts/kv_report.h"

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void set_int(json_t *object, const char *key, int64_t value)
{
    set(object, key, json_integer(value));
}

/* null where 0 means that it is not known. */
static void set_known(json_t *object, const char *key, int64_t value)
{
    set(object, key, value > 0 ? json_integer(value) : json_null());
}

/* A text from a file may have been cut in the middle of a character. */
static void set_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);
    set(object, key, value ? value : json_null());
}

static void set_sizes(json_t *line, const KvReport *report)
{
    const MemoryShape *shape = &report->config.shape;
    set_text(line, "file", report->path);
    set_text(line, "model_type", report->config.model_type);
    set_text(line, "kind", MEMORY_KIND_NAMES[shape->kind]);
    set_text(line, "kind_from", hf_config_source(&report->config, "kind"));
    set_int(line, "kv_bytes_per_token", report->cache.per_token);
    set_int(line, "query_heads", shape->query_heads);
    set_int(line, "kv_heads", shape->kv_heads);
    set_known(line, "head_dim", shape->head_size);
    set_int(line, "layers", shape->layers);
    set_int(line, "cached_layers", report->cache.cached_layers);
    set_int(line, "window_layers", report->cache.window_layers);
    if (shape->kind == MEMORY_MLA) {
        set_int(line, "kv_lora_rank", shape->latent);
        set_int(line, "qk_rope_head_dim", shape->rope_size);
    }
}

static void set_cache(json_t *line, const KvReport *report)
{
    const MemoryCache *cache = &report->cache;
    const MemoryUse *use = &report->use;
    set_text(line, "dtype", report->cache_type.name);
    set_text(line, "dtype_from", report->cache_type.from);
    set_int(line, "bits", use->bits);
    set_int(line, "kv_bytes_per_token_windows_full", cache->per_token_full);
    set_known(line, "mha_kv_bytes_per_token", cache->mha_per_token);
    bool comparable = cache->mha_per_token > 0 && cache->per_token > 0;
    set(line, "mha_ratio",
        comparable ? json_real((double)cache->mha_per_token / (double)cache->per_token)
                   : json_null());
    if (cache->indexer_per_token > 0)
        set_int(line, "indexer_bytes_per_token", cache->indexer_per_token);
    if (cache->source_per_token > 0)
        set_int(line, "kv_bytes_per_source_token", cache->source_per_token);
    if (use->tokens > 0) {
        set_int(line, "tokens", use->tokens);
        set_int(line, "batch", use->batch);
        set_int(line, "kv_bytes", cache->total);
        set_int(line, "kv_bytes_without_windows", cache->total_unbounded);
        set_known(line, "mha_kv_bytes", cache->mha_total);
        if (cache->indexer_total > 0)
            set_int(line, "indexer_bytes", cache->indexer_total);
    }
    set_int(line, "tensor_parallel", use->cards);
    set_int(line, "kv_bytes_per_token_per_card", cache->card_per_token);
    set_known(line, "kv_heads_per_card", cache->card_kv_heads);
    if (use->tokens > 0)
        set_int(line, "kv_bytes_per_card", cache->card_total);
}

static void set_weights(json_t *line, const KvReport *report)
{
    const MemoryParameters *parameters = &report->parameters;
    if (!report->counted) {
        set(line, "parameters", json_null());
        set(line, "weights_bytes", json_null());
        return;
    }
    double total = (double)parameters->total;
    json_t *parts = json_object();
    set_int(parts, "total", parameters->total);
    set_int(parts, "active", parameters->active);
    set_int(parts, "embedding", parameters->embedding);
    set_int(parts, "attention", parameters->attention);
    set_int(parts, "mlp", parameters->mlp);
    set_int(parts, "norms", parameters->norms);
    set(parts, "attention_share", json_real((double)parameters->attention / total));
    set(parts, "mlp_share", json_real((double)parameters->mlp / total));
    set(line, "parameters", parts);
    set_int(line, "weights_bytes", report->weight_bytes);
    set_text(line, "weights_dtype", report->weight_type.name);
    set_text(line, "weights_dtype_from", report->weight_type.from);
}

static void set_words(json_t *line, const HfConfig *config)
{
    json_t *sources = json_object();
    for (int64_t i = 0; i < config->source_count; i++)
        set_text(sources, config->sources[i].size, config->sources[i].field);
    set(line, "sources", sources);
    json_t *notes = json_array();
    for (int64_t i = 0; i < config->note_count; i++) {
        json_t *note = json_string(config->notes[i]);
        if (note)
            json_array_append_new(notes, note);
    }
    set(line, "notes", notes);
}

Status kv_report_json(const KvReport *report, Error *err)
{
    json_t *line = json_object();
    if (line == NULL)
        return error_set(err, STATUS_MEMORY, "kv: no memory for JSON");
    set_sizes(line, report);
    set_cache(line, report);
    set_weights(line, report);
    set_words(line, &report->config);
    json_dumpf(line, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(line);
    return STATUS_OK;
}
