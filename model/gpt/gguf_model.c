#include "model/gpt/gguf_model.h"

#include <stdio.h>

#include "model/base/memory.h"

/* ---- which architecture ------------------------------------------------------------- */

static const char *const NAMES[] = {
    [GGUF_GPT2] = "gpt2", [GGUF_LLAMA] = "llama", [GGUF_DEEPSEEK2] = "deepseek2"};

const char *gguf_architecture_name(GgufArchitecture architecture)
{
    return NAMES[architecture];
}

static Status refuse(const char *reason, Error *err)
{
    return error_set(err, STATUS_USAGE,
                     "llama.cpp has no architecture for this model: %s", reason);
}

/* What no architecture has. */
static Status check_layers(const GptConfig *config, Error *err)
{
    char reason[128];
    if (config->norm_place == NORM_AFTER)
        return refuse("its norms stand after the sublayers (post-norm), where "
                      "llama.cpp's stand before them",
                      err);
    if (!config->scaled_scores)
        return refuse("its scores are not scaled by 1/sqrt(D)", err);
    for (int64_t layer = 0; layer < config->layers; layer++) {
        int64_t window = gpt_layer_window(config, layer);
        if (window > 0 && window < config->context) {
            snprintf(reason, sizeof reason,
                     "layer %lld sees a window of %lld tokens, but llama.cpp's gpt2, "
                     "llama and deepseek2 see all",
                     (long long)layer, (long long)window);
            return refuse(reason, err);
        }
        if (gpt_layer_heads(config, layer) != config->heads) {
            snprintf(reason, sizeof reason,
                     "layer %lld has %lld of %lld heads, but llama.cpp's layers are "
                     "all alike",
                     (long long)layer, (long long)gpt_layer_heads(config, layer),
                     (long long)config->heads);
            return refuse(reason, err);
        }
    }
    return STATUS_OK;
}

static Status check_gpt2(const GptConfig *config, Error *err)
{
    if (config->norm != NORM_LAYER)
        return refuse("its gpt2, the one without RoPE, has LayerNorm, this RMSNorm",
                      err);
    if (config->mlp != MLP_GELU)
        return refuse("its gpt2, the one without RoPE, has GELU, this SwiGLU", err);
    if (config->heads * config->head_size != config->width)
        return refuse("its gpt2 has heads as wide as the model together, this has not",
                      err);
    return STATUS_OK;
}

/* llama and deepseek2. */
static Status check_llama(const GptConfig *config, Error *err)
{
    if (config->norm != NORM_RMS)
        return refuse("its llama and deepseek2 have RMSNorm, this LayerNorm", err);
    if (config->mlp != MLP_SWIGLU)
        return refuse("its llama and deepseek2 have SwiGLU, this GELU", err);
    return STATUS_OK;
}

static Status check_deepseek2(const GptConfig *config, Error *err)
{
    char reason[128];
    if (config->position != POSITION_ROPE || config->rope_size == 0)
        return refuse("its deepseek2 has RoPE, this model has not", err);
    if (config->biases)
        return refuse("its deepseek2 has no biases, this model has", err);
    MlaShape shape = gpt_mla_shape(config, NULL, 0);
    if (shape.norm_eps != config->norm_eps) {
        snprintf(reason, sizeof reason,
                 "its deepseek2 has one eps for all norms, this model %g and, for the "
                 "latents, %g",
                 config->norm_eps, shape.norm_eps);
        return refuse(reason, err);
    }
    if (config->q_rank > 0 && (config->layers == 26 || config->layers == 27))
        return refuse("it takes a deepseek2 of 26 or 27 layers for DeepSeek-V2-Lite, "
                      "which has no q_lora_rank",
                      err);
    return check_llama(config, err);
}

Status gguf_model_architecture(GgufArchitecture *architecture, const GptConfig *config,
                               Error *err)
{
    TRY(check_layers(config, err));
    if (config->attention == ATTENTION_MLA) {
        *architecture = GGUF_DEEPSEEK2;
        return check_deepseek2(config, err);
    }
    if (config->position == POSITION_ROPE) {
        *architecture = GGUF_LLAMA;
        return check_llama(config, err);
    }
    *architecture = GGUF_GPT2;
    return check_gpt2(config, err);
}

/* ---- metadata ----------------------------------------------------------------------- */

/* "llama.block_count" */
enum { KEY_SIZE = 128 };

static const char *key(char full[KEY_SIZE], GgufArchitecture architecture,
                       const char *name)
{
    snprintf(full, KEY_SIZE, "%s.%s", NAMES[architecture], name);
    return full;
}

typedef struct {
    const char *name;
    int64_t value;
} Size;

static Status put_sizes(GgufWriter *writer, GgufArchitecture architecture,
                        const Size *sizes, size_t count, Error *err)
{
    char full[KEY_SIZE];
    for (size_t i = 0; i < count; i++)
        TRY(gguf_put_u32(writer, key(full, architecture, sizes[i].name), sizes[i].value,
                         err));
    return STATUS_OK;
}

#define PUT_SIZES(...)                                                                 \
    do {                                                                               \
        const Size sizes_[] = {__VA_ARGS__};                                           \
        TRY(put_sizes(writer, architecture, sizes_, sizeof sizes_ / sizeof *sizes_,    \
                      err));                                                           \
    } while (0)

/* MLA as llama.cpp decodes it: one key/value head whose key is [ckv k_rope] and whose value
 * is ckv. All layers are dense, so the sizes of experts stand for nothing, but llama.cpp
 * insists on them. */
static Status put_mla(GgufWriter *writer, const GptConfig *config, Error *err)
{
    GgufArchitecture architecture = GGUF_DEEPSEEK2;
    PUT_SIZES({"attention.head_count_kv", 1}, {"attention.q_lora_rank", config->q_rank},
              {"attention.kv_lora_rank", config->kv_rank},
              {"attention.key_length", config->kv_rank + config->rope_size},
              {"attention.value_length", config->kv_rank},
              {"attention.key_length_mla", config->nope_size + config->rope_size},
              {"attention.value_length_mla", config->value_size},
              {"rope.dimension_count", config->rope_size},
              {"leading_dense_block_count", config->layers}, {"expert_shared_count", 0},
              {"expert_feed_forward_length", config->mlp_width});
    return STATUS_OK;
}

static Status put_heads(GgufWriter *writer, GgufArchitecture architecture,
                        const GptConfig *config, Error *err)
{
    PUT_SIZES({"attention.head_count_kv", config->kv_heads},
              {"attention.key_length", config->head_size},
              {"attention.value_length", config->head_size});
    if (architecture == GGUF_LLAMA)
        PUT_SIZES({"rope.dimension_count", config->head_size});
    return STATUS_OK;
}

static Status put_config(GgufWriter *writer, GgufArchitecture architecture,
                         const GptConfig *config, Error *err)
{
    char full[KEY_SIZE];
    PUT_SIZES({"vocab_size", config->vocab_size}, {"context_length", config->context},
              {"embedding_length", config->width}, {"block_count", config->layers},
              {"feed_forward_length", config->mlp_width},
              {"attention.head_count", config->heads});
    if (architecture == GGUF_DEEPSEEK2)
        TRY(put_mla(writer, config, err));
    else
        TRY(put_heads(writer, architecture, config, err));
    if (architecture != GGUF_GPT2)
        TRY(gguf_put_f32(writer, key(full, architecture, "rope.freq_base"),
                         config->rope_theta, err));
    const char *epsilon = architecture == GGUF_GPT2
                              ? "attention.layer_norm_epsilon"
                              : "attention.layer_norm_rms_epsilon";
    return gguf_put_f32(writer, key(full, architecture, epsilon), config->norm_eps,
                        err);
}

/* Scores and types are looked at where text is cut into tokens: a special token is never
 * cut out of text unless the program asks for that. */
static Status put_tokens(GgufWriter *writer, const GgufVocabulary *vocabulary, size_t V,
                         Error *err)
{
    enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3 };
    float *scores = NULL;
    int32_t *types = NULL;
    Status status = memory_allocate(&scores, V, sizeof *scores, "scores", err);
    if (status == STATUS_OK)
        status = memory_allocate(&types, V, sizeof *types, "token types", err);
    for (size_t i = 0; i < V && status == STATUS_OK; i++) {
        bool special = (int64_t)i < vocabulary->specials;
        scores[i] = special ? 0 : -1;
        types[i] = (int64_t)i == vocabulary->unk ? UNKNOWN : special ? CONTROL : NORMAL;
    }
    if (status == STATUS_OK)
        status =
            gguf_put_texts(writer, "tokenizer.ggml.tokens", vocabulary->texts, V, err);
    if (status == STATUS_OK)
        status = gguf_put_f32s(writer, "tokenizer.ggml.scores", scores, V, err);
    if (status == STATUS_OK)
        status = gguf_put_i32s(writer, "tokenizer.ggml.token_type", types, V, err);
    memory_free(types);
    memory_free(scores);
    return status;
}

static Status put_vocabulary(GgufWriter *writer, const GgufVocabulary *vocabulary,
                             int64_t V, Error *err)
{
    bool bos = vocabulary->bos >= 0;
    TRY(gguf_put_text(writer, "tokenizer.ggml.model", "t5", err));
    TRY(put_tokens(writer, vocabulary, (size_t)V, err));
    TRY(gguf_put_u32(writer, "tokenizer.ggml.unknown_token_id", vocabulary->unk, err));
    TRY(gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", vocabulary->eos, err));
    if (bos)
        TRY(gguf_put_u32(writer, "tokenizer.ggml.bos_token_id", vocabulary->bos, err));
    TRY(gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", bos, err));
    TRY(gguf_put_bool(writer, "tokenizer.ggml.add_eos_token", false, err));
    TRY(gguf_put_bool(writer, "tokenizer.ggml.add_space_prefix", false, err));
    return gguf_put_bool(writer, "tokenizer.ggml.remove_extra_whitespaces", false, err);
}

/* ---- the file ----------------------------------------------------------------------- */

static Status write_all(GgufWriter *writer, const Gpt *gpt,
                        GgufArchitecture architecture, const GgufVocabulary *vocabulary,
                        GgufDtype dtype, const char *name, Error *err)
{
    TRY(gguf_put_text(writer, "general.architecture", NAMES[architecture], err));
    TRY(gguf_put_text(writer, "general.type", "model", err));
    TRY(gguf_put_text(writer, "general.name", name, err));
    TRY(gguf_put_u32(writer, "general.file_type", dtype, err)); /* same numbers */
    TRY(put_config(writer, architecture, &gpt->config, err));
    TRY(put_vocabulary(writer, vocabulary, gpt->config.vocab_size, err));
    TRY(gguf_tensors_write(writer, gpt, architecture, dtype, err));
    return gguf_commit(writer, err);
}

Status gguf_model_write(const Gpt *gpt, const GgufVocabulary *vocabulary,
                        GgufDtype dtype, const char *name, const char *path, Error *err)
{
    GgufArchitecture architecture;
    GgufWriter writer;
    TRY(gguf_model_architecture(&architecture, &gpt->config, err));
    TRY(gguf_open(&writer, path, err));
    Status status = write_all(&writer, gpt, architecture, vocabulary, dtype, name, err);
    if (status != STATUS_OK)
        gguf_abort(&writer);
    return status;
}
