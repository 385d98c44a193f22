/* config.json of an encoder–decoder, with the field names of Hugging Face's Pegasus.
 *
 *   T C          max_position_embeddings d_model
 *   L Le         decoder_layers encoder_layers (and num_hidden_layers: the encoder's)
 *   H            decoder_attention_heads, encoder_attention_heads
 *   F            decoder_ffn_dim, encoder_ffn_dim
 *   dropout      dropout; on attention weights and inside the MLP there is none
 *   embedding    scale_embedding: times sqrt(C)
 *
 * Both stacks have the same H and F. */
#ifndef JUEJU_MODEL_GPT_CONFIG_COUPLET_H
#define JUEJU_MODEL_GPT_CONFIG_COUPLET_H

#include <jansson.h>

#include "model/gpt/config_file.h"

/* Adds the sizes to object; and the tokens that a decoder starts with and pads with. */
void config_couplet_set(json_t *object, const GptConfig *config);
void config_couplet_set_tokens(json_t *object, const ModelTokens *tokens);

/* Reads the sizes. STATUS_INPUT names `path` and the key that is missing, or whose value is
 * none that this model can have. */
Status config_couplet_read(GptConfig *config, const json_t *object, const char *path,
                           Error *err);

#endif
