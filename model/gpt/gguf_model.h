/* A model and its vocabulary as a GGUF file for llama.cpp.
 *
 * llama.cpp has an architecture for each family; other combinations of switches have none
 * and are refused. Its tensors hold matrices as (out, in), ours as (in, out):
 *
 *   gpt2       token_embd position_embd output_norm
 *              blk.N: attn_norm attn_qkv attn_output ffn_norm ffn_up ffn_down
 *
 * each .weight, and .bias where the architecture has one (zeros where the model has none).
 *
 * The vocabulary is of SentencePiece's unigram kind (llama.cpp's "t5"): of its kinds the one
 * that gives <unk> for a character that it does not know. The byte-pair kind ("llama") would
 * look for 256 byte tokens instead, and end the program when they are missing; GPT-2's wants
 * merges. Nothing is ever merged, since every token is one character, so all scores are
 * equal. What remains different: several unknown characters in a row become one <unk>. */
#ifndef JUEJU_MODEL_GPT_GGUF_MODEL_H
#define JUEJU_MODEL_GPT_GGUF_MODEL_H

#include "model/gpt/gguf.h"
#include "model/gpt/gpt.h"

typedef struct {
    const char *const *texts; /* (V) UTF-8; specials first: "<unk>", ... */
    int64_t specials;         /* how many, unk among them */
    int64_t unk, bos, eos;    /* ids; bos -1: a model of running text, without <bos> */
} GgufVocabulary;

/* STATUS_USAGE: llama.cpp has no architecture for this model; says which switch is why. */
Status gguf_model_check(const GptConfig *config, Error *err);

/* The name of llama.cpp's architecture for a config that passed the check. */
const char *gguf_model_architecture(const GptConfig *config);

/* Writes path as one atomic replacement. dtype is that of the matrices; vectors and
 * positions are always f32. name is what programs show. STATUS_NUMERIC: a value that is not
 * finite, or too large for f16. */
Status gguf_model_write(const Gpt *gpt, const GgufVocabulary *vocabulary,
                        GgufDtype dtype, const char *name, const char *path,
                        Error *err);

#endif
