/* What the number of weights depends on. A family that is not known here, or a field that
 * is missing, leaves the weights uncounted, and a note says which. */
#include <string.h>

#include "model/base/memory.h"
#include "model/gpt/hf_reader.h"

static const char *const MLP_WIDTH[] = {"intermediate_size", "n_inner", "ffn_dim",
                                        "ffn_hidden_size",   "d_ff",    NULL};
static const char *const EXPERTS[] = {"num_local_experts", "num_experts",
                                      "n_routed_experts", NULL};
static const char *const POSITIONS[] = {"max_position_embeddings", "n_positions",
                                        "max_seq_len", NULL};

static Status uncounted(HfReader *reader, const char *field)
{
    hf_note(reader, "%s is missing: weights are not counted", field);
    return STATUS_OK;
}

/* The MLP's width. Where it is missing: 4 C in families after GPT-2. */
static Status read_mlp_width(HfSize *out, const HfReader *reader, int64_t width,
                             Error *err)
{
    HfSize ratio;
    TRY(hf_size(out, reader, MLP_WIDTH, MEMORY_SIZE_MAX, err));
    if (out->field || reader->family->gated)
        return STATUS_OK;
    TRY(hf_size_one(&ratio, reader, "expansion_ratio", 1, 1024, err));
    *out = ratio.field ? (HfSize){width * ratio.value, ratio.field}
                       : (HfSize){4 * width, "4 C"};
    return STATUS_OK;
}

/* ---- embeddings, positions, norms --------------------------------------------------- */

static Status read_vocabulary(bool *complete, HfReader *reader, Error *err)
{
    static const char *const SIZES[] = {"padded_vocab_size", "vocab_size", NULL};
    MemoryWeights *weights = &reader->config->shape.weights;
    HfSize vocabulary, row;
    TRY(hf_size_one(&vocabulary, reader, SIZES[0], 1, MEMORY_SIZE_MAX, err));
    if (!vocabulary.field)
        TRY(hf_size_one(&vocabulary, reader, SIZES[1], 1, MEMORY_SIZE_MAX, err));
    if (!vocabulary.field && reader->family->vocab_size > 0) {
        vocabulary = (HfSize){reader->family->vocab_size, "vocab_size (missing)"};
        hf_note(reader, "vocab_size is missing: %lld, as %s has it then",
                (long long)vocabulary.value, reader->family->model_type);
    }
    *complete = vocabulary.field != NULL;
    if (!*complete)
        return uncounted(reader, "vocab_size");
    TRY(hf_size_one(&row, reader, "word_embed_proj_dim", 1, MEMORY_SIZE_MAX, err));
    weights->vocab_size = vocabulary.value;
    weights->embedded_width = row.field ? row.value : weights->width;
    hf_source(reader, "vocab_size", "%s", vocabulary.field);

    /* What a larger model says of its language model counts only where that is silent. */
    HfReader outer = *reader;
    if (hf_missing(reader, reader->family->tied.field))
        outer.object = reader->root;
    TRY(hf_switch(&weights->tied, &outer, reader->family->tied, err));
    if (hf_missing(&outer, reader->family->tied.field))
        hf_source(reader, "tied", "tie_word_embeddings (missing): %s, as %s has it",
                  weights->tied ? "true" : "false", reader->family->model_type);
    else
        hf_source(reader, "tied", "tie_word_embeddings");
    return STATUS_OK;
}

static Status read_positions(bool *complete, HfReader *reader, Error *err)
{
    MemoryWeights *weights = &reader->config->shape.weights;
    HfPositions kind = reader->family->positions;
    bool learned = kind != HF_POSITIONS_NONE;
    *complete = true;
    if (kind == HF_POSITIONS_MPT) {
        const json_t *inner = json_object_get(reader->object, "attn_config");
        bool alibi = json_is_true(json_object_get(inner, "alibi"));
        TRY(hf_switch(&learned, reader, (HfSwitch){"learned_pos_emb", true}, err));
        learned = learned && !alibi;
    }
    if (!learned)
        return STATUS_OK;
    *complete = reader->config->context > 0;
    if (!*complete)
        return uncounted(reader, "the number of positions");
    weights->positions = reader->config->context + (kind == HF_POSITIONS_OPT ? 2 : 0);
    return STATUS_OK;
}

/* Falcon: one norm for both branches, or one each. */
static Status falcon_norms(int64_t *norms, const HfReader *reader, Error *err)
{
    bool parallel, two;
    HfSize given;
    TRY(hf_switch(&parallel, reader, (HfSwitch){"parallel_attn", true}, err));
    TRY(hf_switch(&two, reader,
                  (HfSwitch){"new_decoder_architecture", reader->family->new_decoder},
                  err));
    TRY(hf_size_one(&given, reader, "num_ln_in_parallel_attn", 1, 2, err));
    *norms = two && given.field ? given.value : two || !parallel ? 2 : 1;
    return STATUS_OK;
}

static Status read_switches(HfReader *reader, Error *err)
{
    MemoryWeights *weights = &reader->config->shape.weights;
    const HfFamily *family = reader->family;
    bool final_norm, normed;
    weights->norm_vectors = family->norm_vectors;
    weights->layer_norms = family->layer_norms;
    weights->head_bias = family->head_bias;
    weights->sinks = family->sinks;
    weights->gated = family->gated;
    weights->router_bias = family->router_bias;
    weights->shared_gate = family->shared_gate;
    TRY(hf_switch(&weights->qkv_bias, reader, family->qkv_bias, err));
    TRY(hf_switch(&weights->out_bias, reader, family->out_bias, err));
    TRY(hf_switch(&weights->mlp_bias, reader, family->mlp_bias, err));
    TRY(hf_switch(&final_norm, reader, family->final_norm, err));
    TRY(hf_switch(&normed, reader, family->qk_normed, err));
    weights->other_norms = family->other_norms - (final_norm ? 0 : 1);
    if (normed) {
        weights->qk_norm = family->qk_norm;
        weights->qk_norm_vectors = family->qk_norm_vectors;
    }
    if (family->falcon)
        return falcon_norms(&weights->layer_norms, reader, err);
    return STATUS_OK;
}

/* ---- mixtures of experts ------------------------------------------------------------ */

/* Layers i with (i + 1) mod step = 0 that are not listed (from 0) in `field`. */
static Status count_stepped(int64_t *count, int64_t step, const char *field,
                            const HfReader *reader, Error *err)
{
    int64_t layers = reader->config->shape.layers;
    const json_t *listed = json_object_get(reader->object, field);
    unsigned char *dense;
    Status status = STATUS_OK;
    TRY(memory_allocate(&dense, (size_t)layers, 1, "the layers", err));
    for (size_t j = 0; j < json_array_size(listed) && status == STATUS_OK; j++) {
        const json_t *value = json_array_get(listed, j);
        int64_t layer = json_is_integer(value) ? json_integer_value(value) : -1;
        if (layer < 0 || layer >= layers)
            status = error_set(err, STATUS_INPUT,
                               "%s: \"%s\": expected numbers of layers, 0 to %lld",
                               reader->where, field, (long long)layers - 1);
        else
            dense[layer] = 1;
    }
    *count = 0;
    for (int64_t i = 0; i < layers && status == STATUS_OK; i++)
        *count += (i + 1) % step == 0 && !dense[i];
    memory_free(dense);
    return status;
}

static Status read_shared(HfReader *reader, int64_t expert_width, Error *err)
{
    MemoryWeights *weights = &reader->config->shape.weights;
    HfSize number, width;
    switch (reader->family->mlp) {
    case HF_MLP_QWEN:
        TRY(hf_size_one(&width, reader, "shared_expert_intermediate_size", 0,
                        MEMORY_SIZE_MAX, err));
        weights->shared_width = width.value;
        return STATUS_OK;
    case HF_MLP_DEEPSEEK:
        TRY(hf_size_one(&number, reader, "n_shared_experts", 0, 1024, err));
        weights->shared_width = number.value * expert_width;
        return STATUS_OK;
    case HF_MLP_LLAMA4:
        weights->shared_width = expert_width;
        return STATUS_OK;
    case HF_MLP_UNKNOWN:
    case HF_MLP_DENSE:
    case HF_MLP_MIXTRAL:
        break;
    }
    return STATUS_OK;
}

/* How many layers are mixtures; *width is that of an expert. */
static Status read_mixture_layers(int64_t *count, HfSize *width, const HfReader *reader,
                                  Error *err)
{
    static const char MOE_WIDTH[] = "moe_intermediate_size";
    int64_t layers = reader->config->shape.layers;
    HfSize step, first;
    *count = layers;
    switch (reader->family->mlp) {
    case HF_MLP_QWEN:
        TRY(hf_size_one(&step, reader, "decoder_sparse_step", 1, MEMORY_LAYERS_MAX,
                        err));
        TRY(count_stepped(count, step.field ? step.value : 1, "mlp_only_layers", reader,
                          err));
        return hf_size_one(width, reader, MOE_WIDTH, 1, MEMORY_SIZE_MAX, err);
    case HF_MLP_DEEPSEEK:
        TRY(hf_size_one(&first, reader, "first_k_dense_replace", 0, MEMORY_LAYERS_MAX,
                        err));
        TRY(hf_size_one(&step, reader, "moe_layer_freq", 1, 1, err));
        *count = first.value < layers ? layers - first.value : 0;
        TRY(hf_size_one(width, reader, MOE_WIDTH, 1, MEMORY_SIZE_MAX, err));
        if (!first.field)
            *width = (HfSize){0, NULL};
        return STATUS_OK;
    case HF_MLP_LLAMA4:
        TRY(hf_size_one(&step, reader, "interleave_moe_layer_step", 1,
                        MEMORY_LAYERS_MAX, err));
        TRY(count_stepped(count, step.field ? step.value : 1, "", reader, err));
        return hf_size(width, reader, MLP_WIDTH, MEMORY_SIZE_MAX, err);
    case HF_MLP_MIXTRAL:
        return hf_size(width, reader, MLP_WIDTH, MEMORY_SIZE_MAX, err);
    case HF_MLP_UNKNOWN:
    case HF_MLP_DENSE:
        break;
    }
    *count = 0;
    return STATUS_OK;
}

static Status read_mlp(bool *complete, HfReader *reader, Error *err)
{
    MemoryWeights *weights = &reader->config->shape.weights;
    int64_t layers = reader->config->shape.layers;
    HfSize dense, experts = {0, NULL}, used, width = {0, NULL};
    *complete = false;
    TRY(read_mlp_width(&dense, reader, weights->width, err));
    if (reader->family->mlp != HF_MLP_DENSE)
        TRY(hf_size(&experts, reader, EXPERTS, MEMORY_SIZE_MAX, err));
    /* DeepSeek's code without n_routed_experts is dense. */
    if (!experts.field && reader->family->mlp != HF_MLP_DENSE &&
        reader->family->mlp != HF_MLP_DEEPSEEK)
        return uncounted(reader, "the number of experts");
    if (experts.field) {
        TRY(read_mixture_layers(&weights->expert_layers, &width, reader, err));
        if (!width.field)
            return uncounted(reader, "moe_intermediate_size or first_k_dense_replace");
        TRY(hf_size_one(&used, reader, "num_experts_per_tok", 1, experts.value, err));
        if (!used.field)
            return uncounted(reader, "num_experts_per_tok");
        weights->experts = experts.value;
        weights->experts_used = used.value;
        weights->expert_width = width.value;
        TRY(read_shared(reader, width.value, err));
        hf_source(reader, "experts", "%s", experts.field);
    }
    weights->dense_layers = layers - weights->expert_layers;
    if (reader->family->mlp == HF_MLP_LLAMA4)
        TRY(hf_size_one(&dense, reader, "intermediate_size_mlp", 1, MEMORY_SIZE_MAX,
                        err));
    if (weights->dense_layers > 0 && !dense.field)
        return uncounted(reader, "intermediate_size");
    weights->dense_width = weights->dense_layers > 0 ? dense.value : 0;
    *complete = true;
    return STATUS_OK;
}

/* ---- all of it ---------------------------------------------------------------------- */

/* Whether every layer is an attention layer with a head size that is known. */
static bool plain_layers(const MemoryShape *shape)
{
    for (int64_t i = 0; i < shape->group_count; i++)
        if (!shape->groups[i].cached || shape->groups[i].key_size == 0)
            return false;
    return !shape->cross_attention;
}

static Status note_left_out(HfReader *reader, Error *err)
{
    static const char *const PARTS[] = {"vision_config", "audio_config"};
    HfSize more;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (json_has(reader->root, PARTS[i]))
            hf_note(reader, "%s: its weights are not counted, nor those that join it",
                    PARTS[i]);
    TRY(hf_size_one(&more, reader, "num_nextn_predict_layers", 0, MEMORY_LAYERS_MAX,
                    err));
    if (more.value > 0)
        hf_note(reader,
                "num_nextn_predict_layers %lld: layers for multi-token prediction are "
                "not counted",
                (long long)more.value);
    return STATUS_OK;
}

Status hf_read_weights(HfReader *reader, Error *err)
{
    HfConfig *config = reader->config;
    MemoryWeights *weights = &config->shape.weights;
    HfSize width, positions, rank;
    bool complete;
    TRY(hf_size(&positions, reader, POSITIONS, MEMORY_SIZE_MAX, err));
    TRY(hf_size(&width, reader, HF_WIDTH, MEMORY_SIZE_MAX, err));
    config->context = positions.value;
    weights->width = width.value;
    TRY(note_left_out(reader, err));
    if (reader->family->mlp == HF_MLP_UNKNOWN) {
        hf_note(reader,
                "model_type %s: how its blocks are built is not known here; "
                "weights are not counted",
                config->model_type[0] ? config->model_type : "is missing");
        return STATUS_OK;
    }
    if (!width.field)
        return uncounted(reader, "hidden_size");
    if (!plain_layers(&config->shape)) {
        hf_note(reader, "not every layer is an attention layer of its own: weights are "
                        "not counted");
        return STATUS_OK;
    }
    hf_source(reader, "width", "%s", width.field);
    TRY(hf_size_one(&rank, reader, "q_lora_rank", 1, MEMORY_SIZE_MAX, err));
    weights->query_rank = config->shape.kind == MEMORY_MLA ? rank.value : 0;
    TRY(read_vocabulary(&complete, reader, err));
    if (complete)
        TRY(read_positions(&complete, reader, err));
    if (complete)
        TRY(read_switches(reader, err));
    if (complete)
        TRY(read_mlp(&complete, reader, err));
    weights->known = complete;
    return STATUS_OK;
}
