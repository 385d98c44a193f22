#include "model/gpt/params.h"

#include <stdio.h>
#include <string.h>

/* Offsets are multiples of this, so that every tensor starts on a cache line. */
enum { ALIGN_REALS = 16 };

enum {
    PARAMS_OUTSIDE_BLOCKS = 4, /* wte, wpe, ln_f.weight, ln_f.bias */
    PARAMS_PER_BLOCK = 12,
};

static void add(ParamTable *table, ParamKind kind, int64_t layer, int64_t rows,
                int64_t cols, const char *name)
{
    ParamInfo *info = &table->items[table->count++];
    *info = (ParamInfo){
        .kind = kind,
        .layer = layer,
        .rows = rows,
        .cols = cols,
        .offset = table->total,
        .is_vector = kind == PARAM_GAIN || kind == PARAM_BIAS,
    };
    if (layer < 0)
        snprintf(info->name, sizeof info->name, "transformer.%s", name);
    else
        snprintf(info->name, sizeof info->name, "transformer.h.%lld.%s",
                 (long long)layer, name);
    size_t size = (size_t)rows * (size_t)cols;
    table->parameters += (int64_t)size;
    table->total += (size + ALIGN_REALS - 1) / ALIGN_REALS * ALIGN_REALS;
}

static void add_block(ParamTable *table, const GptConfig *config, int64_t layer)
{
    int64_t C = config->width;
    int64_t F = config->mlp_width;
    add(table, PARAM_GAIN, layer, 1, C, "ln_1.weight");
    add(table, PARAM_BIAS, layer, 1, C, "ln_1.bias");
    add(table, PARAM_QKV, layer, C, 3 * C, "attn.c_attn.weight");
    add(table, PARAM_BIAS, layer, 1, 3 * C, "attn.c_attn.bias");
    add(table, PARAM_RESIDUAL, layer, C, C, "attn.c_proj.weight");
    add(table, PARAM_BIAS, layer, 1, C, "attn.c_proj.bias");
    add(table, PARAM_GAIN, layer, 1, C, "ln_2.weight");
    add(table, PARAM_BIAS, layer, 1, C, "ln_2.bias");
    add(table, PARAM_MATRIX, layer, C, F, "mlp.c_fc.weight");
    add(table, PARAM_BIAS, layer, 1, F, "mlp.c_fc.bias");
    add(table, PARAM_RESIDUAL, layer, F, C, "mlp.c_proj.weight");
    add(table, PARAM_BIAS, layer, 1, C, "mlp.c_proj.bias");
}

Status param_table_create(ParamTable *table, const GptConfig *config, Error *err)
{
    *table = (ParamTable){0};
    int64_t count = PARAMS_OUTSIDE_BLOCKS + PARAMS_PER_BLOCK * config->layers;
    TRY(memory_allocate(&table->items, (size_t)count, sizeof *table->items,
                        "the parameter table", err));
    add(table, PARAM_EMBEDDING, -1, config->vocab_size, config->width, "wte.weight");
    add(table, PARAM_EMBEDDING, -1, config->context, config->width, "wpe.weight");
    for (int64_t layer = 0; layer < config->layers; layer++)
        add_block(table, config, layer);
    add(table, PARAM_GAIN, -1, 1, config->width, "ln_f.weight");
    add(table, PARAM_BIAS, -1, 1, config->width, "ln_f.bias");
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

Status gpt_params_create(GptParams *params, const ParamTable *table,
                         const GptConfig *config, real *buffer, Error *err)
{
    *params = (GptParams){0};
    TRY(memory_allocate(&params->blocks, (size_t)config->layers, sizeof *params->blocks,
                        "the views of the parameters", err));
    /* The table lists tensors in this order; each is taken as the next one. */
    const ParamInfo *next = table->items;
    params->tokens = buffer + next++->offset;
    params->positions = buffer + next++->offset;
    for (int64_t layer = 0; layer < config->layers; layer++) {
        BlockParams *block = &params->blocks[layer];
        real **const pointers[PARAMS_PER_BLOCK] = {
            &block->norm1.gain,           &block->norm1.bias,
            &block->attention.qkv.weight, &block->attention.qkv.bias,
            &block->attention.out.weight, &block->attention.out.bias,
            &block->norm2.gain,           &block->norm2.bias,
            &block->mlp.up.weight,        &block->mlp.up.bias,
            &block->mlp.down.weight,      &block->mlp.down.bias,
        };
        for (int i = 0; i < PARAMS_PER_BLOCK; i++)
            *pointers[i] = buffer + next++->offset;
    }
    params->norm.gain = buffer + next++->offset;
    params->norm.bias = buffer + next++->offset;
    return STATUS_OK;
}

void gpt_params_destroy(GptParams *params)
{
    memory_free(params->blocks);
    *params = (GptParams){0};
}
