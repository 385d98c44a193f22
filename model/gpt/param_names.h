/* Under which names and in which layout a family saves its tensors, as Hugging Face's class
 * of that family does.
 *
 *   gpt2             transformer.h.N.…, matrices (in, out) as its Conv1D keeps them, Q, K and
 *                    V in one
 *   llama, deepseek  model.layers.N.…, matrices transposed, (out, in), Q, K and V apart
 *
 * What a family's class does not have (gpt2 with a gate, llama with learned positions) gets
 * a name in the same style; such a model is not saved as that class (config_file.h). */
#ifndef JUEJU_MODEL_GPT_PARAM_NAMES_H
#define JUEJU_MODEL_GPT_PARAM_NAMES_H

#include "model/gpt/params.h"

/* The name in the parameter table, where packed tensors are one:
 * "model.layers.0.self_attn.qkv_proj.weight". layer: -1 outside the blocks. */
void param_name(char name[64], const GptConfig *config, ParamRole role, int64_t layer);

/* Columns first .. first+cols-1 of a tensor, saved as one. Its shape is (rows, cols) of the
 * tensor; transposed (cols, rows); of a vector (cols). */
typedef struct {
    char name[64];
    int64_t first, cols;
    bool transposed;
} SavedPiece;

/* Returns how many pieces a tensor is saved in. */
int param_pieces(SavedPiece pieces[PARAM_PARTS], const ParamInfo *info,
                 const GptConfig *config);

/* "transformer." or "model.": what other tools' names may lack. */
const char *param_prefix(Family family);

#endif
