#include "model/gpt/params.h"

#include <string.h>

#include "model/gpt/param_names.h"

/* Offsets are multiples of this, so that every tensor starts on a cache line. */
enum { ALIGN_REALS = 16 };

/* ---- the table ---------------------------------------------------------------------- */

/* What the functions below add to: the tensors of one layer. */
typedef struct {
    ParamTable *table; /* without items: they are only counted */
    const GptConfig *config;
    int64_t layer;
    ParamInfo counted;
} Place;

/* Adds a tensor. The pointer is for setting what most tensors do not have. */
static ParamInfo *add(Place *at, ParamRole role, ParamKind kind, int64_t rows,
                      int64_t cols)
{
    ParamTable *table = at->table;
    ParamInfo *info = table->items != NULL ? &table->items[table->count] : &at->counted;
    *info = (ParamInfo){
        .role = role,
        .kind = kind,
        .layer = at->layer,
        .rows = rows,
        .cols = cols,
        .offset = table->total,
        .is_vector = kind == PARAM_GAIN || kind == PARAM_BIAS,
        .parts = 1,
        .part = {{.width = cols, .step = cols, .heads = 1}},
    };
    param_name(info->name, at->config, role, at->layer);
    size_t size = (size_t)rows * (size_t)cols;
    table->count++;
    table->parameters += (int64_t)size;
    table->total += (size + ALIGN_REALS - 1) / ALIGN_REALS * ALIGN_REALS;
    return info;
}

static void add_norm(Place *at, ParamRole gain, ParamRole bias)
{
    int64_t C = at->config->width;
    add(at, gain, PARAM_GAIN, 1, C);
    if (at->config->norm == NORM_LAYER)
        add(at, bias, PARAM_BIAS, 1, C);
}

/* A matrix whose bias, if the model has any, is the role after it. */
static void add_linear(Place *at, ParamRole role, ParamKind kind, int64_t in,
                       int64_t out)
{
    add(at, role, kind, in, out);
    if (at->config->biases)
        add(at, role + 1, PARAM_BIAS, 1, out);
}

/* Q, K and V heads side by side. */
static void set_qkv_parts(ParamInfo *info, int64_t H, int64_t G, int64_t D)
{
    info->parts = 3;
    info->part[0] = (ParamPart){.width = D, .step = D, .heads = H};
    info->part[1] =
        (ParamPart){.first = H * D, .width = D, .step = D, .heads = G, .keys = true};
    info->part[2] = (ParamPart){
        .first = (H + G) * D, .width = D, .step = D, .heads = G, .keys = true};
}

static void add_heads(Place *at)
{
    const GptConfig *config = at->config;
    int64_t C = config->width;
    int64_t D = config->head_size;
    int64_t H = gpt_layer_heads(config, at->layer);
    int64_t G = gpt_layer_kv_heads(config, at->layer);
    if (H > 0) {
        int64_t width = (H + 2 * G) * D;
        set_qkv_parts(add(at, ROLE_QKV, PARAM_HEADS, C, width), H, G, D);
        if (config->biases)
            set_qkv_parts(add(at, ROLE_QKV_BIAS, PARAM_BIAS, 1, width), H, G, D);
        add(at, ROLE_OUT, PARAM_RESIDUAL, H * D, C)->head_rows = D;
    }
    if (config->biases) /* what is left when all heads are cut */
        add(at, ROLE_OUT_BIAS, PARAM_BIAS, 1, C);
}

/* Two kinds of slices by turns: heads of a and b columns. */
static void set_pair(ParamInfo *info, int64_t a, int64_t b, int64_t heads)
{
    info->parts = 2;
    info->part[0] = (ParamPart){.width = a, .step = a + b, .heads = heads};
    info->part[1] = (ParamPart){.first = a, .width = b, .step = a + b, .heads = heads};
}

static void add_mla(Place *at)
{
    const GptConfig *config = at->config;
    int64_t C = config->width;
    int64_t H = gpt_layer_heads(config, at->layer);
    int64_t Rq = config->q_rank, R = config->kv_rank;
    int64_t P = config->nope_size, O = config->rope_size, E = config->value_size;
    if (H == 0)
        return; /* the branch gives 0 */
    if (Rq > 0) {
        add(at, ROLE_Q_DOWN, PARAM_MATRIX, C, Rq);
        add(at, ROLE_Q_NORM, PARAM_GAIN, 1, Rq);
    }
    add(at, ROLE_Q_UP, PARAM_HEADS, Rq > 0 ? Rq : C, H * (P + O))->part[0] =
        (ParamPart){.width = P + O, .step = P + O, .heads = H};
    ParamInfo *down = add(at, ROLE_KV_DOWN, PARAM_HEADS, C, R + O);
    if (O > 0)
        set_pair(down, R, O, 1);
    add(at, ROLE_KV_NORM, PARAM_GAIN, 1, R);
    set_pair(add(at, ROLE_KV_UP, PARAM_HEADS, R, H * (P + E)), P, E, H);
    add(at, ROLE_OUT, PARAM_RESIDUAL, H * E, C)->head_rows = E;
}

static void add_block(Place *at)
{
    const GptConfig *config = at->config;
    int64_t C = config->width;
    int64_t F = config->mlp_width;
    add_norm(at, ROLE_NORM1_GAIN, ROLE_NORM1_BIAS);
    if (config->attention == ATTENTION_MLA)
        add_mla(at);
    else
        add_heads(at);
    add_norm(at, ROLE_NORM2_GAIN, ROLE_NORM2_BIAS);
    if (config->mlp == MLP_SWIGLU)
        add_linear(at, ROLE_GATE, PARAM_MATRIX, C, F);
    add_linear(at, ROLE_UP, PARAM_MATRIX, C, F);
    add_linear(at, ROLE_DOWN, PARAM_RESIDUAL, F, C);
}

/* Everything, into table->items or only counted. */
static void build(ParamTable *table, const GptConfig *config)
{
    int64_t C = config->width;
    int64_t V = config->vocab_size;
    Place at = {.table = table, .config = config, .layer = -1};
    add(&at, ROLE_TOKENS, PARAM_EMBEDDING, V, C);
    if (config->position == POSITION_LEARNED)
        add(&at, ROLE_POSITIONS, PARAM_EMBEDDING, config->context, C);
    for (at.layer = 0; at.layer < config->layers; at.layer++)
        add_block(&at);
    at.layer = -1;
    if (config->norm_place == NORM_BEFORE)
        add_norm(&at, ROLE_NORM_GAIN, ROLE_NORM_BIAS);
    if (!config->tied)
        add(&at, ROLE_HEAD, PARAM_EMBEDDING, V, C);
}

Status param_table_create(ParamTable *table, const GptConfig *config, Error *err)
{
    *table = (ParamTable){0};
    ParamTable counting = {0};
    build(&counting, config);
    TRY(memory_allocate(&table->items, (size_t)counting.count, sizeof *table->items,
                        "the parameter table", err));
    build(table, config);
    return STATUS_OK;
}

void param_table_destroy(ParamTable *table)
{
    memory_free(table->items);
    *table = (ParamTable){0};
}

const ParamInfo *param_table_find(const ParamTable *table, const char *name)
{
    for (int64_t i = 0; i < table->count; i++) {
        if (strcmp(table->items[i].name, name) == 0)
            return &table->items[i];
    }
    return NULL;
}

/* ---- the view ----------------------------------------------------------------------- */

/* Where the view keeps its pointer to a tensor. */
static real **pointer_to(GptParams *params, const ParamInfo *info,
                         const GptConfig *config)
{
    BlockParams *block = &params->blocks[info->layer < 0 ? 0 : info->layer];
    bool mla = config->attention == ATTENTION_MLA;
    bool gated = config->mlp == MLP_SWIGLU;
    switch (info->role) {
    case ROLE_TOKENS:
        return &params->tokens;
    case ROLE_POSITIONS:
        return &params->positions;
    case ROLE_NORM1_GAIN:
        return &block->norm1.gain;
    case ROLE_NORM1_BIAS:
        return &block->norm1.bias;
    case ROLE_QKV:
        return &block->attention.qkv.weight;
    case ROLE_QKV_BIAS:
        return &block->attention.qkv.bias;
    case ROLE_OUT:
        return mla ? &block->mla.out.weight : &block->attention.out.weight;
    case ROLE_OUT_BIAS:
        return &block->attention.out.bias;
    case ROLE_NORM2_GAIN:
        return &block->norm2.gain;
    case ROLE_NORM2_BIAS:
        return &block->norm2.bias;
    case ROLE_GATE:
        return &block->swiglu.gate.weight;
    case ROLE_GATE_BIAS:
        return &block->swiglu.gate.bias;
    case ROLE_UP:
        return gated ? &block->swiglu.up.weight : &block->mlp.up.weight;
    case ROLE_UP_BIAS:
        return gated ? &block->swiglu.up.bias : &block->mlp.up.bias;
    case ROLE_DOWN:
        return gated ? &block->swiglu.down.weight : &block->mlp.down.weight;
    case ROLE_DOWN_BIAS:
        return gated ? &block->swiglu.down.bias : &block->mlp.down.bias;
    case ROLE_Q_DOWN:
        return &block->mla.q_down.weight;
    case ROLE_Q_NORM:
        return &block->mla.q_norm;
    case ROLE_Q_UP:
        return &block->mla.q_up.weight;
    case ROLE_KV_DOWN:
        return &block->mla.kv_down.weight;
    case ROLE_KV_NORM:
        return &block->mla.kv_norm;
    case ROLE_KV_UP:
        return &block->mla.kv_up.weight;
    case ROLE_NORM_GAIN:
        return &params->norm.gain;
    case ROLE_NORM_BIAS:
        return &params->norm.bias;
    case ROLE_HEAD:
    case PARAM_ROLES:
        break;
    }
    return &params->head;
}

Status gpt_params_create(GptParams *params, const ParamTable *table,
                         const GptConfig *config, real *buffer, Error *err)
{
    *params = (GptParams){0};
    TRY(memory_allocate(&params->blocks, (size_t)config->layers, sizeof *params->blocks,
                        "the views of the parameters", err));
    for (int64_t i = 0; i < table->count; i++) {
        const ParamInfo *info = &table->items[i];
        *pointer_to(params, info, config) = buffer + info->offset;
    }
    if (config->tied)
        params->head = params->tokens;
    return STATUS_OK;
}

void gpt_params_destroy(GptParams *params)
{
    memory_free(params->blocks);
    *params = (GptParams){0};
}
