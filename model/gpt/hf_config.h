/* Reads any Hugging Face config.json into the description that model/gpt/memory.h counts
 * from, and remembers which field decided each size.
 *
 * Names differ between families (num_attention_heads, n_head, n_heads ...); sizes of a
 * language model inside a larger one stand under text_config, language_config or llm_config.
 * The kind of attention is read in this order:
 *
 *   kv_lora_rank with qk_rope_head_dim         MLA; num_key_value_heads then says nothing
 *   multi_query true (Falcon, StarCoder)       MQA, unless new_decoder_architecture is true
 *   num_key_value_heads and its spellings      equal to the heads MHA, 1 MQA, between GQA
 *   none of these                              MHA, or what the family takes when the field
 *                                              is missing (then a note says so)
 *
 * head_dim, where it stands, wins over hidden_size / num_attention_heads.
 *
 * What a file leaves open is noted, never silently assumed; where an answer would be a
 * guess (sizes that contradict each other, an unknown type of layer, no number of heads)
 * reading fails. Field names and their defaults are those of the transformers library. */
#ifndef JUEJU_MODEL_GPT_HF_CONFIG_H
#define JUEJU_MODEL_GPT_HF_CONFIG_H

#include <stddef.h>

#include "model/gpt/memory.h"

enum { HF_NOTES = 32, HF_SOURCES = 16, HF_TEXT_SIZE = 320, HF_NAME_SIZE = 64 };

/* "kv_heads" was read from "num_key_value_heads". */
typedef struct {
    const char *size; /* static */
    char field[HF_TEXT_SIZE];
} HfSource;

typedef struct {
    char model_type[HF_NAME_SIZE]; /* "": not said */
    MemoryShape shape;
    int64_t context;          /* positions that the model was made for; 0: not said */
    int64_t bits;             /* of a weight by torch_dtype; 0: not said, or unknown */
    char dtype[HF_NAME_SIZE]; /* "bfloat16"; "": not said */
    bool quantized;           /* quantization_config: weights are stored otherwise */
    int64_t source_count;
    HfSource sources[HF_SOURCES];
    int64_t note_count;
    char notes[HF_NOTES][HF_TEXT_SIZE]; /* sentences about fields, without the file */
} HfConfig;

/* STATUS_INPUT names the file and the field: damaged JSON, sizes that are missing, of the
 * wrong type, negative or absurd, or in contradiction. */
Status hf_config_read(HfConfig *config, const char *path, Error *err);
Status hf_config_read_text(HfConfig *config, const char *text, size_t size,
                           const char *where, Error *err);

/* The field behind "layers", "query_heads", "kind" ...; "" when there was none. */
const char *hf_config_source(const HfConfig *config, const char *size);

/* Bits of "bfloat16", "fp8", "int4" ...; 0 for an unknown name. */
int64_t hf_dtype_bits(const char *name);

#endif
