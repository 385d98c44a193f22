/* config.json, generation_config.json and tokenizer_config.json: the sizes of a model under
 * Hugging Face's field names for gpt2, so that other tools read the folder.
 *
 *   V vocab_size · T n_positions, n_ctx · C n_embd · L n_layer · H n_head · F n_inner
 *   norm_eps layer_norm_epsilon · dropout resid_pdrop, embd_pdrop (attn_pdrop is 0)
 *
 * What has no name there stands under "jueju". */
#ifndef JUEJU_MODEL_GPT_CONFIG_FILE_H
#define JUEJU_MODEL_GPT_CONFIG_FILE_H

#include "model/gpt/config.h"

/* The tokens that a program must know to sample. Texts are borrowed. */
typedef struct {
    int64_t bos, eos;                           /* ids; -1: none */
    const char *bos_text, *eos_text, *unk_text; /* "<bos>"; NULL: none, or not known */
} ModelTokens;

/* Writes the three files into folder; tokenizer_config.json (which makes AutoTokenizer
 * read tokenizer.json as it is) only when the three texts are there. */
Status config_file_save(const GptConfig *config, const ModelTokens *tokens,
                        const char *folder, Error *err);

/* Reads folder/config.json and checks all of it: STATUS_INPUT names the file and the key
 * for another model_type, a missing or mistyped key, sizes that cannot be, and for switches
 * that this model does not have (another activation, an untied head, cross-attention).
 * Texts of *tokens are NULL afterwards. */
Status config_file_load(GptConfig *config, ModelTokens *tokens, const char *folder,
                        Error *err);

#endif
