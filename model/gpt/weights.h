/* A model as a folder that other tools read: a Hugging Face checkpoint of its family.
 *
 *   config.json, generation_config.json, tokenizer_config.json    model/gpt/config_file.h
 *   model.safetensors    tensors under the names and in the layout of the family
 *                        (model/gpt/param_names.h); a tied head is not repeated
 *
 * tokenizer.json beside them is data/tokenizer's. */
#ifndef JUEJU_MODEL_GPT_WEIGHTS_H
#define JUEJU_MODEL_GPT_WEIGHTS_H

#include "model/gpt/config_file.h"
#include "model/gpt/gpt.h"

/* Writes the files into folder, which must exist; each file is replaced in one step, all of
 * them together when folder is a FolderWriter's. STATUS_NUMERIC names the tensor with a
 * value that is not finite: such a model is not saved, and folder is left as it was. */
Status weights_save(const Gpt *gpt, const ModelTokens *tokens, const char *folder,
                    Error *err);

/* Makes *gpt (gpt_destroy when done) from such a folder, ours or another tool's: names may
 * lack "transformer." or "model.", the buffers attn.bias, attn.masked_bias and
 * rotary_emb.inv_freq are passed over, and a tied model may have lm_head.weight when it
 * equals the embedding. Numbers may be F64, F32, F16 or BF16. STATUS_INPUT names file and
 * key or tensor for everything else: tensors that are missing, unknown, of another shape,
 * or not finite. Shapes are compared before memory is taken. On failure *gpt is empty. */
Status weights_load(Gpt *gpt, ModelTokens *tokens, const char *folder, Error *err);

#endif
