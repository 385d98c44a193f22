/* The one parameter table: it drives allocation, initialisation, the optimizers, clipping,
 * checkpoints, the gradient check and every per-head report.
 *
 * Values, gradients and optimizer moments are flat buffers of table.total reals with the
 * same offsets. GptParams is a typed view of such a buffer; gradients use the same type.
 * Under which names and in which layout a tensor is saved: model/gpt/param_names.h. */
#ifndef JUEJU_MODEL_GPT_PARAMS_H
#define JUEJU_MODEL_GPT_PARAMS_H

#include <stddef.h>

#include "model/attention/heads.h"
#include "model/attention/mla.h"
#include "model/base/memory.h"
#include "model/gpt/config.h"
#include "model/layers/linear.h"
#include "model/layers/mlp.h"
#include "model/layers/norm.h"
#include "model/layers/swiglu.h"

typedef enum {
    PARAM_EMBEDDING, /* (V, C) or (T, C): a row a token or position; also an own head */
    PARAM_HEADS,  /* (in, out) weight whose columns are heads' slices: see its parts */
    PARAM_MATRIX, /* any other (in, out) weight */
    PARAM_RESIDUAL, /* (in, out) weight that writes into the residual stream */
    PARAM_GAIN,     /* starts at one */
    PARAM_BIAS,     /* starts at zero */
} ParamKind;

/* What a tensor is for. Of a block, the first twelve are those of gpt2, in its order. */
typedef enum {
    ROLE_TOKENS,
    ROLE_POSITIONS,
    ROLE_NORM1_GAIN,
    ROLE_NORM1_BIAS,
    ROLE_QKV,
    ROLE_QKV_BIAS,
    ROLE_OUT,
    ROLE_OUT_BIAS,
    ROLE_NORM2_GAIN,
    ROLE_NORM2_BIAS,
    ROLE_UP,
    ROLE_UP_BIAS,
    ROLE_DOWN,
    ROLE_DOWN_BIAS,
    ROLE_GATE,
    ROLE_GATE_BIAS,
    ROLE_Q_DOWN,
    ROLE_Q_NORM,
    ROLE_Q_UP,
    ROLE_KV_DOWN,
    ROLE_KV_NORM,
    ROLE_KV_UP,
    ROLE_NORM_GAIN, /* the final norm */
    ROLE_NORM_BIAS,
    ROLE_HEAD,
    PARAM_ROLES
} ParamRole;

/* Columns of a matrix that belong together: `heads` slices of `width` columns, the first at
 * column `first`, the next ones `step` columns on. W_QKV has three parts (Q, K, V), MLA's
 * W_UKV two (keys and values, which lie by turns), an undivided matrix one. */
typedef struct {
    int64_t first, width, step, heads;
    bool keys; /* its heads are key/value heads, not query heads */
} ParamPart;

enum { PARAM_PARTS = 3 };

typedef struct {
    char name[64]; /* of the family: "transformer.h.0.attn.c_attn.weight" */
    ParamRole role;
    ParamKind kind;
    int64_t layer;      /* 0 .. L-1, or -1 outside the blocks */
    int64_t rows, cols; /* vectors: rows = 1 */
    size_t offset;      /* of its first real in a flat buffer; a multiple of 16 */
    bool is_vector;     /* saved with one dimension */
    int parts;          /* 1 .. 3 */
    ParamPart part[PARAM_PARTS];
    int64_t head_rows; /* W_O: rows that read one head, D or E; else 0 */
} ParamInfo;

typedef struct {
    ParamInfo *items; /* owned; in the order of the forward pass */
    int64_t count;
    size_t total;       /* reals in a flat buffer, padding included (padding stays 0) */
    int64_t parameters; /* trainable numbers, padding not counted */
} ParamTable;

/* Pointers to what the model has not, or what a layer without heads has no use for, are
 * NULL. */
typedef struct {
    NormParams norm1;
    HeadsParams attention; /* ATTENTION_HEADS */
    MlaParams mla;         /* ATTENTION_MLA */
    NormParams norm2;
    MlpParams mlp;       /* MLP_GELU */
    SwigluParams swiglu; /* MLP_SWIGLU */
} BlockParams;

typedef struct {
    real *tokens;        /* W_E (V, C) */
    real *positions;     /* W_P (T, C), POSITION_LEARNED only */
    BlockParams *blocks; /* (L), owned */
    NormParams norm;     /* NORM_BEFORE only */
    real *head;          /* (V, C): tokens, or with an untied head its own */
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
