/* A model and its vocabulary as a GGUF file for llama.cpp.
 *
 * llama.cpp knows families, not switches:
 *
 *              norm       positions                       MLP     attention
 *   gpt2       LayerNorm  learned, sinusoidal or none     GELU    heads
 *   llama      RMSNorm    RoPE                            SwiGLU  heads
 *   deepseek2  RMSNorm    RoPE                            SwiGLU  MLA
 *
 * all with the norm before each sublayer, scaled scores, all heads and no windows. Other
 * models are refused. gguf_tensors.h says what becomes of the weights.
 *
 * The vocabulary is of SentencePiece's unigram kind (llama.cpp's "t5"): of its kinds the one
 * that gives <unk> for a character that it does not know. The byte-pair kind ("llama") would
 * look for 256 byte tokens instead, and end the program when they are missing; GPT-2's wants
 * merges. Nothing is ever merged, since every token is one character, so all scores are
 * equal. What remains different: several unknown characters in a row become one <unk>. */
#ifndef JUEJU_MODEL_GPT_GGUF_MODEL_H
#define JUEJU_MODEL_GPT_GGUF_MODEL_H

#include "model/gpt/gguf_tensors.h"

typedef struct {
    const char *const *texts; /* (V) UTF-8; specials first: "<unk>", ... */
    int64_t specials;         /* how many, unk among them */
    int64_t unk, bos, eos;    /* ids; bos -1: a model of running text, without <bos> */
} GgufVocabulary;

/* STATUS_USAGE: llama.cpp has no architecture for this model; says which switch is why. */
Status gguf_model_architecture(GgufArchitecture *architecture, const GptConfig *config,
                               Error *err);

/* "gpt2", "llama", "deepseek2". */
const char *gguf_architecture_name(GgufArchitecture architecture);

/* Writes path as one atomic replacement. dtype is that of the matrices; vectors and
 * positions are always f32. name is what programs show. STATUS_NUMERIC: a value that is not
 * finite, or too large for f16. */
Status gguf_model_write(const Gpt *gpt, const GgufVocabulary *vocabulary,
                        GgufDtype dtype, const char *name, const char *path,
                        Error *err);

#endif
