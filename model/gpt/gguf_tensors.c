#include "model/gpt/gguf_tensors.h"

#include <stdio.h>

#include "model/base/memory.h"

/* Two passes over the same calls: the first describes every tensor and learns how much
 * scratch the largest rearranged one needs, the second writes the numbers. */
typedef struct {
    GgufWriter *writer;
    GgufDtype dtype;
    int64_t layer; /* whose names are made; -1 outside the blocks */
    bool describing;
    real *scratch;
    size_t scratch_need;
} Pass;

/* ---- one tensor --------------------------------------------------------------------- */

static Status put(Pass *pass, const char *name, const char *end, GgufDtype dtype,
                  int rank, const int64_t *shape, const real *values, Error *err)
{
    char full[128];
    if (!pass->describing)
        return gguf_write(pass->writer, values, err);
    if (pass->layer < 0)
        snprintf(full, sizeof full, "%s.%s", name, end);
    else
        snprintf(full, sizeof full, "blk.%lld.%s.%s", (long long)pass->layer, name,
                 end);
    return gguf_describe(pass->writer, full, dtype, rank, shape, err);
}

/* Room for a tensor that is put together; NULL while describing. */
static real *room(Pass *pass, int64_t count)
{
    if (pass->describing && (size_t)count > pass->scratch_need)
        pass->scratch_need = (size_t)count;
    return pass->describing ? NULL : pass->scratch;
}

/* (rows, columns) as it stands in memory. */
static Status put_rows(Pass *pass, const char *name, GgufDtype dtype,
                       const real *values, int64_t rows, int64_t columns, Error *err)
{
    const int64_t shape[2] = {rows, columns};
    return put(pass, name, "weight", dtype, 2, shape, values, err);
}

static Status put_vector(Pass *pass, const char *name, const char *end,
                         const real *values, int64_t count, Error *err)
{
    return put(pass, name, end, GGUF_F32, 1, &count, values, err);
}

/* Columns first .. first+count-1 of a matrix (in, stride), or of its bias with in = 1. */
typedef struct {
    int64_t in, stride, first, count;
    int64_t
        rope_size; /* D: columns are heads of D channels, from halves to pairs; 0: as
                          they are */
} Columns;

static int64_t column(const Columns *columns, int64_t j)
{
    int64_t D = columns->rope_size;
    if (D > 0) {
        int64_t channel = j % D;
        j += channel / 2 + channel % 2 * (D / 2) - channel;
    }
    return columns->first + j;
}

/* out (count, in) = the columns as rows; zeros without a weight. */
static void turn(real *out, const real *weight, const Columns *columns)
{
    for (int64_t j = 0; j < columns->count; j++) {
        int64_t from = column(columns, j);
        for (int64_t i = 0; i < columns->in; i++)
            out[j * columns->in + i] =
                weight != NULL ? weight[i * columns->stride + from] : 0;
    }
}

static Status put_columns(Pass *pass, const char *name, const real *weight,
                          const Columns *columns, Error *err)
{
    real *turned = room(pass, columns->count * columns->in);
    if (turned != NULL)
        turn(turned, weight, columns);
    return put_rows(pass, name, pass->dtype, turned, columns->count, columns->in, err);
}

static Status put_bias(Pass *pass, const char *name, const real *bias,
                       const Columns *columns, Error *err)
{
    Columns row = *columns;
    row.in = 1;
    real *values = room(pass, row.count);
    if (values != NULL)
        turn(values, bias, &row);
    return put_vector(pass, name, "bias", values, row.count, err);
}

/* ---- what families share ------------------------------------------------------------ */

/* Some columns of a linear layer, with their bias if it has one. */
static Status put_linear(Pass *pass, const char *name, const LinearParams *params,
                         const Columns *columns, Error *err)
{
    TRY(put_columns(pass, name, params->weight, columns, err));
    if (params->bias == NULL)
        return STATUS_OK;
    return put_bias(pass, name, params->bias, columns, err);
}

/* The whole layer. */
static Status put_layer(Pass *pass, const char *name, const LinearParams *params,
                        int64_t in, int64_t out, Error *err)
{
    const Columns columns = {.in = in, .stride = out, .count = out};
    return put_linear(pass, name, params, &columns, err);
}

/* ---- gpt2 --------------------------------------------------------------------------- */

static Status gpt2_layer(Pass *pass, const char *name, const LinearParams *params,
                         int64_t in, int64_t out, Error *err)
{
    const Columns columns = {.in = in, .stride = out, .count = out};
    TRY(put_columns(pass, name, params->weight, &columns, err));
    return put_bias(pass, name, params->bias, &columns, err);
}

static Status gpt2_norm(Pass *pass, const char *name, const NormParams *params,
                        int64_t C, Error *err)
{
    const Columns all = {.in = 1, .count = C};
    TRY(put_vector(pass, name, "weight", params->gain, C, err));
    return put_bias(pass, name, params->bias, &all, err);
}

/* Learned ones, a table of sinusoidal ones, or zeros. */
static Status gpt2_positions(Pass *pass, const Gpt *gpt, Error *err)
{
    int64_t T = gpt->config.context;
    int64_t C = gpt->config.width;
    const Columns all = {.in = C, .count = T};
    const real *positions = gpt_positions(gpt);
    real *zeros = room(pass, T * C);
    if (zeros != NULL)
        turn(zeros, NULL, &all);
    return put_rows(pass, "position_embd", GGUF_F32,
                    positions != NULL ? positions : zeros, T, C, err);
}

static Status gpt2_block(Pass *pass, const GptConfig *config, const BlockParams *block,
                         Error *err)
{
    int64_t C = config->width;
    int64_t F = config->mlp_width;
    int64_t qkv = C + 2 * config->kv_heads * config->head_size;
    TRY(gpt2_norm(pass, "attn_norm", &block->norm1, C, err));
    TRY(gpt2_layer(pass, "attn_qkv", &block->attention.qkv, C, qkv, err));
    TRY(gpt2_layer(pass, "attn_output", &block->attention.out, C, C, err));
    TRY(gpt2_norm(pass, "ffn_norm", &block->norm2, C, err));
    TRY(gpt2_layer(pass, "ffn_up", &block->mlp.up, C, F, err));
    return gpt2_layer(pass, "ffn_down", &block->mlp.down, F, C, err);
}

/* ---- llama -------------------------------------------------------------------------- */

static Status llama_attention(Pass *pass, const GptConfig *config,
                              const HeadsParams *params, Error *err)
{
    int64_t C = config->width;
    int64_t D = config->head_size;
    int64_t queries = config->heads * D;
    int64_t keys = config->kv_heads * D;
    Columns columns = {.in = C, .stride = queries + 2 * keys};

    columns.count = queries;
    columns.rope_size = D;
    TRY(put_linear(pass, "attn_q", &params->qkv, &columns, err));
    columns.first = queries;
    columns.count = keys;
    TRY(put_linear(pass, "attn_k", &params->qkv, &columns, err));
    columns.first = queries + keys;
    columns.rope_size = 0;
    TRY(put_linear(pass, "attn_v", &params->qkv, &columns, err));
    return put_layer(pass, "attn_output", &params->out, queries, C, err);
}

static Status swiglu(Pass *pass, const GptConfig *config, const SwigluParams *params,
                     Error *err)
{
    int64_t C = config->width;
    int64_t F = config->mlp_width;
    TRY(put_layer(pass, "ffn_gate", &params->gate, C, F, err));
    TRY(put_layer(pass, "ffn_up", &params->up, C, F, err));
    return put_layer(pass, "ffn_down", &params->down, F, C, err);
}

static Status llama_block(Pass *pass, const GptConfig *config, const BlockParams *block,
                          Error *err)
{
    int64_t C = config->width;
    TRY(put_vector(pass, "attn_norm", "weight", block->norm1.gain, C, err));
    TRY(llama_attention(pass, config, &block->attention, err));
    TRY(put_vector(pass, "ffn_norm", "weight", block->norm2.gain, C, err));
    return swiglu(pass, config, &block->swiglu, err);
}

/* ---- deepseek2 ---------------------------------------------------------------------- */

/* Head h of W_UKV (R, H (P+E)) owns columns h(P+E) ..: P of its key, then E of its value. */
static Status mla_keys(Pass *pass, const GptConfig *config, const real *weight,
                       Error *err)
{
    int64_t H = config->heads;
    int64_t R = config->kv_rank;
    int64_t P = config->nope_size;
    int64_t each = P + config->value_size;
    const int64_t shape[3] = {H, R, P};
    real *keys = room(pass, H * R * P);
    for (int64_t h = 0; keys != NULL && h < H; h++)
        for (int64_t r = 0; r < R; r++)
            for (int64_t p = 0; p < P; p++)
                keys[(h * R + r) * P + p] = weight[r * H * each + h * each + p];
    return put(pass, "attn_k_b", "weight", pass->dtype, 3, shape, keys, err);
}

static Status mla_values(Pass *pass, const GptConfig *config, const real *weight,
                         Error *err)
{
    int64_t H = config->heads;
    int64_t R = config->kv_rank;
    int64_t E = config->value_size;
    int64_t each = config->nope_size + E;
    const int64_t shape[3] = {H, E, R};
    real *values = room(pass, H * E * R);
    for (int64_t h = 0; values != NULL && h < H; h++) {
        const Columns columns = {.in = R,
                                 .stride = H * each,
                                 .first = h * each + config->nope_size,
                                 .count = E};
        turn(values + h * E * R, weight, &columns);
    }
    return put(pass, "attn_v_b", "weight", pass->dtype, 3, shape, values, err);
}

static Status deepseek_queries(Pass *pass, const GptConfig *config,
                               const MlaParams *params, Error *err)
{
    int64_t C = config->width;
    int64_t Rq = config->q_rank;
    int64_t queries = config->heads * (config->nope_size + config->rope_size);
    if (Rq == 0)
        return put_layer(pass, "attn_q", &params->q_up, C, queries, err);
    TRY(put_layer(pass, "attn_q_a", &params->q_down, C, Rq, err));
    TRY(put_vector(pass, "attn_q_a_norm", "weight", params->q_norm, Rq, err));
    return put_layer(pass, "attn_q_b", &params->q_up, Rq, queries, err);
}

static Status deepseek_block(Pass *pass, const GptConfig *config,
                             const BlockParams *block, Error *err)
{
    const MlaParams *mla = &block->mla;
    int64_t C = config->width;
    int64_t R = config->kv_rank;
    TRY(put_vector(pass, "attn_norm", "weight", block->norm1.gain, C, err));
    TRY(deepseek_queries(pass, config, mla, err));
    TRY(put_layer(pass, "attn_kv_a_mqa", &mla->kv_down, C, R + config->rope_size, err));
    TRY(put_vector(pass, "attn_kv_a_norm", "weight", mla->kv_norm, R, err));
    TRY(mla_keys(pass, config, mla->kv_up.weight, err));
    TRY(mla_values(pass, config, mla->kv_up.weight, err));
    TRY(put_layer(pass, "attn_output", &mla->out, config->heads * config->value_size, C,
                  err));
    TRY(put_vector(pass, "ffn_norm", "weight", block->norm2.gain, C, err));
    return swiglu(pass, config, &block->swiglu, err);
}

/* ---- the model ---------------------------------------------------------------------- */

static Status put_block(Pass *pass, const Gpt *gpt, GgufArchitecture architecture,
                        Error *err)
{
    const BlockParams *block = &gpt->params.blocks[pass->layer];
    switch (architecture) {
    case GGUF_GPT2:
        return gpt2_block(pass, &gpt->config, block, err);
    case GGUF_LLAMA:
        return llama_block(pass, &gpt->config, block, err);
    case GGUF_DEEPSEEK2:
        break;
    }
    return deepseek_block(pass, &gpt->config, block, err);
}

static Status put_all(Pass *pass, const Gpt *gpt, GgufArchitecture architecture,
                      Error *err)
{
    const GptConfig *config = &gpt->config;
    int64_t V = config->vocab_size;
    int64_t C = config->width;
    pass->layer = -1;
    TRY(put_rows(pass, "token_embd", pass->dtype, gpt->params.tokens, V, C, err));
    if (architecture == GGUF_GPT2) {
        TRY(gpt2_positions(pass, gpt, err));
        TRY(gpt2_norm(pass, "output_norm", &gpt->params.norm, C, err));
    } else {
        TRY(put_vector(pass, "output_norm", "weight", gpt->params.norm.gain, C, err));
    }
    if (!config->tied)
        TRY(put_rows(pass, "output", pass->dtype, gpt->params.head, V, C, err));
    for (pass->layer = 0; pass->layer < config->layers; pass->layer++)
        TRY(put_block(pass, gpt, architecture, err));
    return STATUS_OK;
}

Status gguf_tensors_write(GgufWriter *writer, const Gpt *gpt,
                          GgufArchitecture architecture, GgufDtype dtype, Error *err)
{
    Pass pass = {.writer = writer, .dtype = dtype, .describing = true};
    TRY(put_all(&pass, gpt, architecture, err));
    TRY(gguf_start(writer, err));
    pass.describing = false;
    TRY(memory_allocate(&pass.scratch, pass.scratch_need, sizeof *pass.scratch,
                        "the largest tensor", err));
    Status status = put_all(&pass, gpt, architecture, err);
    memory_free(pass.scratch);
    return status;
}
