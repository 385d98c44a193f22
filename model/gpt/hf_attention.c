/* The kind of attention, and the heads with their sizes. */
#include <string.h>

#include "model/gpt/hf_reader.h"

/* Below this the low rank of Q K^T costs quality (Bhojanapalli et al. 2020). */
enum { SMALLEST_GOOD_HEAD = 32 };

static const char *const HEADS[] = {"num_attention_heads", "n_head", "n_heads",
                                    "num_heads", NULL};
static const char *const KV_HEADS[] = {"num_key_value_heads", "num_kv_heads",
                                       "n_head_kv",           "n_kv_heads",
                                       "num_query_groups",    NULL};
static const char *const HEAD_SIZE[] = {"head_dim", "kv_channels", "d_kv", NULL};

/* Of an encoder and a decoder, the decoder is what caches. */
static const char *const DECODER_LAYERS[] = {"decoder_layers", "num_decoder_layers",
                                             NULL};
static const char *const DECODER_HEADS[] = {"decoder_attention_heads", NULL};

static Status read_layers_and_heads(HfReader *reader, Error *err)
{
    MemoryShape *shape = &reader->config->shape;
    HfSize layers = {0, NULL}, heads = {0, NULL};
    HfSwitch two = {"is_encoder_decoder", false};
    TRY(hf_switch(&shape->cross_attention, reader, two, err));
    if (shape->cross_attention) {
        TRY(hf_size(&layers, reader, DECODER_LAYERS, MEMORY_LAYERS_MAX, err));
        TRY(hf_size(&heads, reader, DECODER_HEADS, MEMORY_SIZE_MAX, err));
        hf_note(reader, "is_encoder_decoder: counted is the decoder; its "
                        "cross-attention caches as much again for every token of the "
                        "source");
    }
    if (!layers.field)
        TRY(hf_size_needed(&layers, reader, "number of layers", HF_LAYERS,
                           MEMORY_LAYERS_MAX, err));
    if (!heads.field && reader->family->heads > 0) {
        TRY(hf_size(&heads, reader, HEADS, MEMORY_SIZE_MAX, err));
        if (!heads.field) {
            heads = (HfSize){reader->family->heads, "num_attention_heads (missing)"};
            hf_note(reader, "num_attention_heads is missing: %lld, as %s has it then",
                    (long long)heads.value, reader->family->model_type);
        }
    }
    if (!heads.field)
        TRY(hf_size_needed(&heads, reader, "number of attention heads", HEADS,
                           MEMORY_SIZE_MAX, err));
    shape->layers = layers.value;
    shape->query_heads = heads.value;
    hf_source(reader, "layers", "%s", layers.field);
    hf_source(reader, "query_heads", "%s", heads.field);
    return STATUS_OK;
}

/* ---- MLA ---------------------------------------------------------------------------- */

static Status read_latent(bool *latent, HfReader *reader, MemoryLayers *usual,
                          Error *err)
{
    MemoryShape *shape = &reader->config->shape;
    HfSize rank, rope, nope, value;
    bool used;
    TRY(hf_switch(&used, reader, (HfSwitch){"use_mla", true}, err));
    TRY(hf_size_one(&rank, reader, "kv_lora_rank", 1, MEMORY_SIZE_MAX, err));
    *latent = used && rank.field;
    if (rank.field && !used)
        hf_note(reader, "kv_lora_rank is not used: use_mla is false");
    if (!*latent)
        return STATUS_OK;
    TRY(hf_size_one(&rope, reader, "qk_rope_head_dim", 0, MEMORY_SIZE_MAX, err));
    if (!rope.field)
        return error_set(
            err, STATUS_INPUT,
            "%s: \"kv_lora_rank\" stands there, but "
            "\"qk_rope_head_dim\" is missing: what MLA caches is not known",
            reader->where);
    TRY(hf_size_one(&nope, reader, "qk_nope_head_dim", 1, MEMORY_SIZE_MAX, err));
    TRY(hf_size_one(&value, reader, "v_head_dim", 1, MEMORY_SIZE_MAX, err));
    shape->kind = MEMORY_MLA;
    shape->latent = rank.value;
    shape->rope_size = rope.value;
    shape->kv_heads = shape->query_heads;
    *usual = (MemoryLayers){.query_heads = shape->query_heads,
                            .kv_heads = shape->query_heads};
    hf_source(reader, "kind", "kv_lora_rank %lld with qk_rope_head_dim %lld",
              (long long)rank.value, (long long)rope.value);
    hf_source(reader, "kv_heads", "%s (MLA has a key and a value for every head)",
              hf_config_source(reader->config, "query_heads"));
    if (!nope.field || !value.field) {
        hf_note(reader, "%s is missing: no MHA to compare with",
                nope.field ? "v_head_dim" : "qk_nope_head_dim");
        return STATUS_OK;
    }
    shape->head_size = nope.value + rope.value;
    shape->weights.nope_size = nope.value;
    usual->key_size = shape->head_size;
    usual->value_size = value.value;
    hf_source(reader, "head_dim", "qk_nope_head_dim + qk_rope_head_dim");
    hf_source(reader, "value_dim", "v_head_dim");
    return STATUS_OK;
}

/* Sparse attention (DeepSeek-V3.2, GLM-5) caches one key a token and layer for choosing. */
static Status read_indexer(HfReader *reader, Error *err)
{
    HfSize heads, size;
    TRY(hf_size_one(&heads, reader, "index_n_heads", 1, MEMORY_SIZE_MAX, err));
    TRY(hf_size_one(&size, reader, "index_head_dim", 1, MEMORY_SIZE_MAX, err));
    if (!size.field)
        return STATUS_OK;
    reader->config->shape.indexer_size = size.value;
    reader->config->shape.weights.indexer_heads = heads.value;
    hf_note(reader,
            "index_head_dim: the sparse-attention indexer caches %lld numbers more a "
            "token and layer, which are not in the KV bytes",
            (long long)size.value);
    return STATUS_OK;
}

/* ---- KV heads ----------------------------------------------------------------------- */

/* What decided G: a sentence for people, and the value. */
static Status decide(HfReader *reader, int64_t kv_heads, const char *field, Error *err)
{
    MemoryShape *shape = &reader->config->shape;
    if (kv_heads > shape->query_heads || shape->query_heads % kv_heads != 0)
        return error_set(err, STATUS_INPUT,
                         "%s: %lld query heads (%s) cannot share %lld KV heads (%s): "
                         "expected a divisor",
                         reader->where, (long long)shape->query_heads,
                         hf_config_source(reader->config, "query_heads"),
                         (long long)kv_heads, field);
    shape->kv_heads = kv_heads;
    shape->kind = memory_kind(shape->query_heads, kv_heads);
    hf_source(reader, "kv_heads", "%s", field);
    return STATUS_OK;
}

static Status contradiction(const HfReader *reader, const char *a, const HfSize *b,
                            Error *err)
{
    return error_set(err, STATUS_INPUT, "%s: %s, but \"%s\" is %lld", reader->where, a,
                     b->field, (long long)b->value);
}

/* MPT, DBRX: attn_config.kv_n_heads, and the kind as a text in attn_config.attn_type. */
static Status read_attn_config(HfSize *kv, const HfReader *reader, Error *err)
{
    const json_t *inner;
    const char *type = "";
    int64_t heads = reader->config->shape.query_heads;
    if (!json_is_object(json_object_get(reader->object, "attn_config")))
        return STATUS_OK;
    TRY(json_get_object(&inner, reader->object, "attn_config", reader->where, err));
    if (json_has(inner, "kv_n_heads")) {
        TRY(json_get_int(&kv->value, inner, "kv_n_heads", 1, MEMORY_SIZE_MAX,
                         reader->where, err));
        kv->field = "attn_config.kv_n_heads";
    }
    if (json_has(inner, "attn_type"))
        TRY(json_get_text(&type, inner, "attn_type", reader->where, err));
    bool one = strcmp(type, "multiquery_attention") == 0;
    bool all = strcmp(type, "multihead_attention") == 0;
    if ((one || all) && kv->field && kv->value != (one ? 1 : heads))
        return contradiction(reader,
                             one ? "attn_config.attn_type is multiquery_attention"
                                 : "attn_config.attn_type is multihead_attention",
                             kv, err);
    if (one || all)
        *kv = (HfSize){one ? 1 : heads, "attn_config.attn_type"};
    if (strcmp(type, "grouped_query_attention") == 0 && !kv->field)
        return error_set(err, STATUS_INPUT,
                         "%s: attn_config.attn_type is grouped_query_attention, but "
                         "attn_config.kv_n_heads is missing",
                         reader->where);
    return STATUS_OK;
}

/* ChatGLM: multi_query_group_num counts when multi_query_attention is true. */
static Status read_groups(HfSize *kv, HfReader *reader, Error *err)
{
    bool grouped;
    HfSize groups;
    TRY(hf_switch(&grouped, reader, (HfSwitch){"multi_query_attention", false}, err));
    TRY(hf_size_one(&groups, reader, "multi_query_group_num", 1, MEMORY_SIZE_MAX, err));
    if (hf_missing(reader, "multi_query_attention") && groups.field) {
        hf_note(reader, "multi_query_group_num without multi_query_attention: it is "
                        "taken for the number of KV heads");
        grouped = true;
    }
    if (grouped && !groups.field)
        return error_set(err, STATUS_INPUT,
                         "%s: \"multi_query_attention\" is true, but "
                         "\"multi_query_group_num\" is missing",
                         reader->where);
    if (grouped && kv->field && kv->value != groups.value)
        return error_set(err, STATUS_INPUT,
                         "%s: \"multi_query_group_num\" is %lld, but \"%s\" is %lld",
                         reader->where, (long long)groups.value, kv->field,
                         (long long)kv->value);
    if (grouped)
        *kv = groups;
    else if (json_has(reader->object, "multi_query_attention") && !kv->field)
        *kv =
            (HfSize){reader->config->shape.query_heads, "multi_query_attention false"};
    return STATUS_OK;
}

/* Falcon, StarCoder: multi_query. Falcon-7B has num_kv_heads 71 = H beside it and yet one
 * KV head; Falcon-40B's new_decoder_architecture counts num_kv_heads again. */
static Status read_multi_query(HfSize *kv, HfReader *reader, Error *err)
{
    const HfFamily *family = reader->family;
    int64_t heads = reader->config->shape.query_heads;
    bool one, grouped;
    TRY(hf_switch(&one, reader, (HfSwitch){"multi_query", family->multi_query}, err));
    TRY(hf_switch(&grouped, reader,
                  (HfSwitch){"new_decoder_architecture", family->new_decoder}, err));
    if (!one)
        return STATUS_OK;
    if (grouped) {
        if (json_has(reader->object, "multi_query"))
            hf_note(reader,
                    "multi_query true is not used: new_decoder_architecture "
                    "counts %s",
                    kv->field ? kv->field : "as many KV heads as query heads");
        return STATUS_OK;
    }
    if (hf_missing(reader, "multi_query"))
        hf_note(reader, "multi_query is missing: true, as %s has it then",
                family->model_type);
    if (kv->field && kv->value != 1) {
        if (kv->value != heads && !family->multi_query_over_groups)
            return contradiction(reader, "\"multi_query\" is true", kv, err);
        hf_note(reader, "%s %lld is not used: multi_query is true", kv->field,
                (long long)kv->value);
    }
    *kv = (HfSize){1, hf_missing(reader, "multi_query") ? "multi_query (missing)"
                                                        : "multi_query true"};
    return STATUS_OK;
}

static Status read_kv_heads(HfReader *reader, Error *err)
{
    MemoryShape *shape = &reader->config->shape;
    const HfFamily *family = reader->family;
    HfSize kv;
    TRY(hf_size(&kv, reader, KV_HEADS, MEMORY_SIZE_MAX, err));
    TRY(read_attn_config(&kv, reader, err));
    TRY(read_groups(&kv, reader, err));
    TRY(read_multi_query(&kv, reader, err));
    if (!kv.field && family->kv_heads > 0 &&
        hf_missing(reader, "num_key_value_heads")) {
        kv = (HfSize){family->kv_heads, "num_key_value_heads (missing)"};
        hf_note(reader, "num_key_value_heads is missing: %lld, as %s has it then",
                (long long)kv.value, family->model_type);
    }
    if (!kv.field)
        kv = (HfSize){shape->query_heads,
                      "no field for KV heads: as many as query heads"};
    TRY(decide(reader, kv.value, kv.field, err));
    hf_source(reader, "kind", "%s", kv.field);
    return STATUS_OK;
}

/* ---- head size ---------------------------------------------------------------------- */

static Status read_head_size(HfReader *reader, MemoryLayers *usual, Error *err)
{
    MemoryShape *shape = &reader->config->shape;
    const HfFamily *family = reader->family;
    HfSize size, value, width;
    TRY(hf_size(&size, reader, HEAD_SIZE, MEMORY_SIZE_MAX, err));
    TRY(hf_size_one(&value, reader, "v_head_dim", 1, MEMORY_SIZE_MAX, err));
    if (!size.field && family->head_size > 0 && hf_missing(reader, "head_dim")) {
        size = (HfSize){family->head_size, "head_dim (missing)"};
        hf_note(reader, "head_dim is missing: %lld, as %s has it then",
                (long long)size.value, family->model_type);
    }
    if (size.field) {
        hf_source(reader, "head_dim", "%s", size.field);
    } else {
        TRY(hf_size_needed(&width, reader, "size of the heads (head_dim) or the width",
                           HF_WIDTH, MEMORY_SIZE_MAX, err));
        if (width.value % shape->query_heads != 0)
            return error_set(err, STATUS_INPUT,
                             "%s: \"%s\" %lld is no multiple of the %lld attention "
                             "heads, and \"head_dim\" is missing",
                             reader->where, width.field, (long long)width.value,
                             (long long)shape->query_heads);
        size.value = width.value / shape->query_heads;
        hf_source(reader, "head_dim", "%s / %s", width.field,
                  hf_config_source(reader->config, "query_heads"));
    }
    if (value.field)
        hf_source(reader, "value_dim", "v_head_dim");
    if (size.value < SMALLEST_GOOD_HEAD)
        hf_note(reader,
                "a head size of %lld is small: it bounds the rank of a head's scores "
                "(%d is a common lower limit)",
                (long long)size.value, SMALLEST_GOOD_HEAD);
    shape->head_size = size.value;
    *usual = (MemoryLayers){.query_heads = shape->query_heads,
                            .kv_heads = shape->kv_heads,
                            .key_size = size.value,
                            .value_size = value.field ? value.value : size.value};
    return STATUS_OK;
}

Status hf_read_attention(HfReader *reader, MemoryLayers *usual, Error *err)
{
    bool latent;
    TRY(read_layers_and_heads(reader, err));
    TRY(read_latent(&latent, reader, usual, err));
    TRY(read_indexer(reader, err));
    if (latent)
        return STATUS_OK;
    TRY(read_kv_heads(reader, err));
    return read_head_size(reader, usual, err);
}
