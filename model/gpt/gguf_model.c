#include "model/gpt/gguf_model.h"

#include <stdio.h>

#include "model/base/memory.h"

/* The file in two passes over the same calls: first every tensor is described, then, with
 * scratch, its numbers are written. */
typedef struct {
    GgufWriter writer;
    const GptConfig *config;
    const char *architecture;
    GgufDtype dtype;
    int64_t layer; /* -1 outside the blocks */
    bool describing;
    real *scratch; /* room for the largest tensor that is rearranged */
    size_t scratch_need;
} Export;

/* ---- tensors ------------------------------------------------------------------------ */

/* The name of a tensor: "blk.3.attn_norm.weight", or outside the blocks as it is. */
static Status tensor(Export *out, const char *name, GgufDtype dtype, int rank,
                     const int64_t *shape, const real *values, Error *err)
{
    char full[128];
    if (!out->describing)
        return gguf_write(&out->writer, values, err);
    if (out->layer < 0)
        snprintf(full, sizeof full, "%s", name);
    else
        snprintf(full, sizeof full, "blk.%lld.%s", (long long)out->layer, name);
    return gguf_describe(&out->writer, full, dtype, rank, shape, err);
}

/* (rows, columns) as it stands in memory. */
static Status rows(Export *out, const char *name, GgufDtype dtype, const real *values,
                   int64_t count, int64_t columns, Error *err)
{
    const int64_t shape[2] = {count, columns};
    return tensor(out, name, dtype, 2, shape, values, err);
}

/* Room for a tensor that is put together; NULL while describing. */
static real *room(Export *out, int64_t count)
{
    if (out->describing && (size_t)count > out->scratch_need)
        out->scratch_need = (size_t)count;
    return out->describing ? NULL : out->scratch;
}

/* A vector; zeros where the model has none. */
static Status vector(Export *out, const char *name, const real *values, int64_t count,
                     Error *err)
{
    real *zeros = room(out, count);
    for (int64_t i = 0; values == NULL && zeros != NULL && i < count; i++)
        zeros[i] = 0;
    return tensor(out, name, GGUF_F32, 1, &count, values != NULL ? values : zeros, err);
}

/* W (in, out) as (out, in). */
static Status matrix(Export *out, const char *name, const real *weight, int64_t in,
                     int64_t columns, Error *err)
{
    real *turned = room(out, in * columns);
    for (int64_t j = 0; turned != NULL && j < columns; j++)
        for (int64_t i = 0; i < in; i++)
            turned[j * in + i] = weight[i * columns + j];
    return rows(out, name, out->dtype, turned, columns, in, err);
}

static Status norm(Export *out, const char *name, const LayerNormParams *params,
                   Error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    TRY(vector(out, full, params->gain, out->config->width, err));
    snprintf(full, sizeof full, "%s.bias", name);
    return vector(out, full, params->bias, out->config->width, err);
}

static Status linear(Export *out, const char *name, const LinearParams *params,
                     int64_t in, int64_t columns, Error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    TRY(matrix(out, full, params->weight, in, columns, err));
    snprintf(full, sizeof full, "%s.bias", name);
    return vector(out, full, params->bias, columns, err);
}

static Status gpt2_block(Export *out, const BlockParams *block, Error *err)
{
    int64_t C = out->config->width;
    int64_t F = out->config->mlp_width;
    TRY(norm(out, "attn_norm", &block->norm1, err));
    TRY(linear(out, "attn_qkv", &block->attention.qkv, C, 3 * C, err));
    TRY(linear(out, "attn_output", &block->attention.out, C, C, err));
    TRY(norm(out, "ffn_norm", &block->norm2, err));
    TRY(linear(out, "ffn_up", &block->mlp.up, C, F, err));
    return linear(out, "ffn_down", &block->mlp.down, F, C, err);
}

static Status tensors(Export *out, const Gpt *gpt, Error *err)
{
    const GptConfig *config = &gpt->config;
    out->layer = -1;
    TRY(rows(out, "token_embd.weight", out->dtype, gpt->params.tokens,
             config->vocab_size, config->width, err));
    TRY(rows(out, "position_embd.weight", GGUF_F32, gpt->params.positions,
             config->context, config->width, err));
    TRY(norm(out, "output_norm", &gpt->params.norm, err));
    for (out->layer = 0; out->layer < config->layers; out->layer++)
        TRY(gpt2_block(out, &gpt->params.blocks[out->layer], err));
    return STATUS_OK;
}

/* ---- metadata ----------------------------------------------------------------------- */

static Status size_key(Export *out, const char *key, int64_t value, Error *err)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", out->architecture, key);
    return gguf_put_u32(&out->writer, full, value, err);
}

static Status number_key(Export *out, const char *key, double value, Error *err)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", out->architecture, key);
    return gguf_put_f32(&out->writer, full, value, err);
}

static Status sizes(Export *out, Error *err)
{
    const GptConfig *config = out->config;
    TRY(size_key(out, "vocab_size", config->vocab_size, err));
    TRY(size_key(out, "context_length", config->context, err));
    TRY(size_key(out, "embedding_length", config->width, err));
    TRY(size_key(out, "block_count", config->layers, err));
    TRY(size_key(out, "feed_forward_length", config->mlp_width, err));
    TRY(size_key(out, "attention.head_count", config->heads, err));
    return number_key(out, "attention.layer_norm_epsilon", config->norm_eps, err);
}

/* Scores and types are looked at where text is cut into tokens: a special token is never
 * cut out of text unless the program asks for that. */
static Status token_lists(Export *out, const GgufVocabulary *vocabulary, Error *err)
{
    enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3 };
    size_t V = (size_t)out->config->vocab_size;
    float *scores = NULL;
    int32_t *types = NULL;
    Status status =
        memory_allocate(&scores, V, sizeof *scores, "the vocabulary's scores", err);
    if (status == STATUS_OK)
        status =
            memory_allocate(&types, V, sizeof *types, "the vocabulary's types", err);
    for (size_t i = 0; i < V && status == STATUS_OK; i++) {
        bool special = (int64_t)i < vocabulary->specials;
        scores[i] = special ? 0 : -1;
        types[i] = (int64_t)i == vocabulary->unk ? UNKNOWN : special ? CONTROL : NORMAL;
    }
    if (status == STATUS_OK)
        status = gguf_put_texts(&out->writer, "tokenizer.ggml.tokens",
                                vocabulary->texts, V, err);
    if (status == STATUS_OK)
        status = gguf_put_f32s(&out->writer, "tokenizer.ggml.scores", scores, V, err);
    if (status == STATUS_OK)
        status =
            gguf_put_i32s(&out->writer, "tokenizer.ggml.token_type", types, V, err);
    memory_free(types);
    memory_free(scores);
    return status;
}

static Status tokenizer(Export *out, const GgufVocabulary *vocabulary, Error *err)
{
    GgufWriter *writer = &out->writer;
    TRY(gguf_put_text(writer, "tokenizer.ggml.model", "t5", err));
    TRY(token_lists(out, vocabulary, err));
    TRY(gguf_put_u32(writer, "tokenizer.ggml.unknown_token_id", vocabulary->unk, err));
    TRY(gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", vocabulary->eos, err));
    if (vocabulary->bos >= 0)
        TRY(gguf_put_u32(writer, "tokenizer.ggml.bos_token_id", vocabulary->bos, err));
    TRY(gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", vocabulary->bos >= 0,
                      err));
    TRY(gguf_put_bool(writer, "tokenizer.ggml.add_eos_token", false, err));
    TRY(gguf_put_bool(writer, "tokenizer.ggml.add_space_prefix", false, err));
    return gguf_put_bool(writer, "tokenizer.ggml.remove_extra_whitespaces", false, err);
}

static Status metadata(Export *out, const GgufVocabulary *vocabulary, const char *name,
                       Error *err)
{
    GgufWriter *writer = &out->writer;
    TRY(gguf_put_text(writer, "general.architecture", out->architecture, err));
    TRY(gguf_put_text(writer, "general.type", "model", err));
    TRY(gguf_put_text(writer, "general.name", name, err));
    TRY(gguf_put_u32(writer, "general.file_type", out->dtype, err));
    TRY(sizes(out, err));
    return tokenizer(out, vocabulary, err);
}

/* ---- the file ----------------------------------------------------------------------- */

Status gguf_model_check(const GptConfig *config, Error *err)
{
    (void)config;
    (void)err;
    return STATUS_OK;
}

const char *gguf_model_architecture(const GptConfig *config)
{
    (void)config;
    return "gpt2";
}

static Status write_all(Export *out, const Gpt *gpt, const GgufVocabulary *vocabulary,
                        const char *name, Error *err)
{
    TRY(metadata(out, vocabulary, name, err));
    out->describing = true;
    TRY(tensors(out, gpt, err));
    TRY(gguf_start(&out->writer, err));
    TRY(memory_allocate(&out->scratch, out->scratch_need, sizeof *out->scratch,
                        "the largest tensor", err));
    out->describing = false;
    TRY(tensors(out, gpt, err));
    return gguf_commit(&out->writer, err);
}

Status gguf_model_write(const Gpt *gpt, const GgufVocabulary *vocabulary,
                        GgufDtype dtype, const char *name, const char *path, Error *err)
{
    TRY(gguf_model_check(&gpt->config, err));
    Export out = {.config = &gpt->config,
                  .architecture = gguf_model_architecture(&gpt->config),
                  .dtype = dtype};
    TRY(gguf_open(&out.writer, path, err));
    Status status = write_all(&out, gpt, vocabulary, name, err);
    if (status != STATUS_OK)
        gguf_abort(&out.writer);
    memory_free(out.scratch);
    return status;
}
