/* Under which Hugging Face class a model can be saved: config.json's model_type.
 *
 *   gpt2        GPT2LMHeadModel        its switches; also an untied head, unscaled scores,
 *                                      and cut heads as long as each layer keeps one
 *   llama       LlamaForCausalLM       also biases, an untied head, any G and D
 *   mistral     MistralForCausalLM     llama without biases, every layer sliding
 *   ministral   MinistralForCausalLM   the same, some layers sliding
 *   deepseek_v3 DeepseekV3ForCausalLM  all layers dense; also an untied head
 *   jueju-gpt2, jueju-llama, jueju-deepseek
 *               a family with switches that its class does not have: the type is not known
 *               elsewhere, so that nobody computes something else with these weights */
#ifndef JUEJU_MODEL_GPT_CONFIG_TYPE_H
#define JUEJU_MODEL_GPT_CONFIG_TYPE_H

#include "model/gpt/config.h"

typedef enum {
    TYPE_GPT2,
    TYPE_LLAMA,
    TYPE_MISTRAL,
    TYPE_MINISTRAL,
    TYPE_DEEPSEEK,
    TYPE_OWN_GPT2,
    TYPE_OWN_LLAMA,
    TYPE_OWN_DEEPSEEK,
    MODEL_TYPES
} ModelType;

typedef struct {
    const char *name;         /* "deepseek_v3" */
    const char *architecture; /* "DeepseekV3ForCausalLM" */
    Family family;
    bool own; /* its switches stand in the file */
} ModelTypeInfo;

extern const ModelTypeInfo MODEL_TYPE_INFOS[MODEL_TYPES];

/* The type that says exactly what a checked config is. */
ModelType config_type(const GptConfig *config);

#endif
