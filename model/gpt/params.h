/* The one parameter table: it drives allocation, initialisation, the optimizers, clipping,
 * checkpoints, the gradient check and every per-head report.
 *
 * Values, gradients and optimizer moments are flat buffers of table.total reals with the
 * same offsets. GptParams is a typed view of such a buffer; gradients use the same type. */
#ifndef JUEJU_MODEL_GPT_PARAMS_H
#define JUEJU_MODEL_GPT_PARAMS_H

#include <stddef.h>

#include "model/attention/heads.h"
#include "model/base/memory.h"
#include "model/gpt/config.h"
#include "model/layers/layernorm.h"
#include "model/layers/linear.h"
#include "model/layers/mlp.h"

typedef enum {
    PARAM_EMBEDDING, /* rows are looked up */
    PARAM_QKV,    /* (C, 3C): columns are Q heads, K heads, V heads of D columns each */
    PARAM_MATRIX, /* any other (in, out) weight */
    PARAM_RESIDUAL, /* (in, out) weight that writes into the residual stream */
    PARAM_GAIN,     /* starts at one */
    PARAM_BIAS,     /* starts at zero */
} ParamKind;

typedef struct {
    char name[64]; /* Hugging Face's name: "transformer.h.0.attn.c_attn.weight" */
    ParamKind kind;
    int64_t layer;      /* 0 .. L-1, or -1 outside the blocks */
    int64_t rows, cols; /* vectors: rows = 1 */
    size_t offset;      /* of its first real in a flat buffer; a multiple of 16 */
    bool is_vector;     /* saved with one dimension */
} ParamInfo;

typedef struct {
    ParamInfo *items; /* owned; in the order of the forward pass */
    int64_t count;
    size_t total;       /* reals in a flat buffer, padding included (padding stays 0) */
    int64_t parameters; /* trainable numbers, padding not counted */
} ParamTable;

typedef struct {
    LayerNormParams norm1;
    HeadsParams attention;
    LayerNormParams norm2;
    MlpParams mlp;
} BlockParams;

typedef struct {
    real *tokens;        /* W_E (V, C), also the output head */
    real *positions;     /* W_P (T, C) */
    BlockParams *blocks; /* (L), owned */
    LayerNormParams norm;
} GptParams;

/* config must have been checked. */
Status param_table_create(ParamTable *table, const GptConfig *config, Error *err);
void param_table_destroy(ParamTable *table);

/* The tensor of that name, or NULL. */
const ParamInfo *param_table_find(const ParamTable *table, const char *name);

/* A view of buffer (table->total reals, owned by the caller and outliving the view). */
Status gpt_params_create(GptParams *params, const ParamTable *table,
                         const GptConfig *config, real *buffer, Error *err);
void gpt_params_destroy(GptParams *params);

#endif
