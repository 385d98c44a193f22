/* config.json, generation_config.json and tokenizer_config.json: the sizes of a model under
 * Hugging Face's field names for its class (config_type.h), so that other tools read the
 * folder.
 *
 *                gpt2                  llama and deepseek_v3
 *   V T C        vocab_size n_positions n_embd
 *                                      vocab_size max_position_embeddings hidden_size
 *   L H F        n_layer n_head n_inner
 *                                      num_hidden_layers num_attention_heads
 *                                      intermediate_size
 *   eps          layer_norm_epsilon    rms_norm_eps
 *   biases       (always)              attention_bias, mlp_bias
 *   dropout      resid_pdrop, embd_pdrop
 *                                      jueju.dropout
 *   G D          num_key_value_heads head_dim
 *   Rq R P O E   q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
 *   RoPE         rope_theta
 *   windows      sliding_window, layer_types (mistral: all layers slide)
 *   cut heads    pruned_heads {"layer": [heads]}
 *
 * What has no name there stands under "jueju". The last rows serve gpt2, too, where it is a
 * jueju-gpt2. */
#ifndef JUEJU_MODEL_GPT_CONFIG_FILE_H
#define JUEJU_MODEL_GPT_CONFIG_FILE_H

#include "model/gpt/config.h"

/* The tokens that a program must know to sample. Texts are borrowed. */
typedef struct {
    int64_t bos, eos;                           /* ids; -1: none */
    const char *bos_text, *eos_text, *unk_text; /* "<bos>"; NULL: none, or not known */
} ModelTokens;

/* Raised when a folder of this version could not be read rightly by the version before. */
enum { CONFIG_FORMAT = 1 };

/* Writes the three files into folder; tokenizer_config.json (which makes AutoTokenizer
 * read tokenizer.json as it is) only when the three texts are there. */
Status config_file_save(const GptConfig *config, const ModelTokens *tokens,
                        const char *folder, Error *err);

/* Reads folder/config.json and checks all of it: STATUS_INPUT names the file and the key
 * for a model_type that is none of config_type.h's, a missing or mistyped key, sizes that
 * cannot be, and for what this model does not have (another activation, experts, scaled
 * RoPE, cross-attention). Texts of *tokens are NULL afterwards. */
Status config_file_load(GptConfig *config, ModelTokens *tokens, const char *folder,
                        Error *err);

#endif
