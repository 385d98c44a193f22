/* A row a family. tests/model/test_hf_config.c holds most of them against the known number
 * of weights of a model. */
#include "model/gpt/hf_families.h"

#include <string.h>

/* Parts of rows. A switch is a field and what holds without it. */
#define WINDOWS(kind) .windows = HF_WINDOWS_##kind
#define WINDOWS_OF(kind, every, size)                                                  \
    .windows = HF_WINDOWS_##kind, .pattern = (every), .window = (size)
#define NORMS(vectors, layer, other)                                                   \
    .norm_vectors = (vectors), .layer_norms = (layer), .other_norms = (other)
#define FINAL_NORM(name) .final_norm = {name, true}
#define MLP(kind, gate) .mlp = HF_MLP_##kind, .gated = (gate)
#define ATTENTION_BIAS(name, otherwise)                                                \
    .qkv_bias = {name, otherwise}, .out_bias = {name, otherwise}
#define MLP_BIAS(name, otherwise) .mlp_bias = {name, otherwise}
#define BIASES(name, otherwise)                                                        \
    ATTENTION_BIAS(name, otherwise), MLP_BIAS(name, otherwise)
#define QK_NORM(kind, vectors, name, otherwise)                                        \
    .qk_norm = QK_NORM_##kind, .qk_norm_vectors = (vectors),                           \
    .qk_normed = {name, otherwise}
#define TIED(otherwise) .tied = {"tie_word_embeddings", otherwise}

/* Whole blocks. GPT: LayerNorm with scale and shift, MLP of two matrices. LLAMA: RMSNorm,
 * MLP of three. */
#define GPT(norms) NORMS(2, norms, 1), FINAL_NORM(NULL), MLP(DENSE, false)
#define LLAMA(norms) NORMS(1, norms, 1), FINAL_NORM(NULL)
#define FALCON                                                                         \
    GPT(1), WINDOWS(NONE), BIASES("bias", false), TIED(true),                          \
        .falcon = true, .multi_query = true, .multi_query_over_groups = true
#define DEEPSEEK                                                                       \
    LLAMA(2), MLP(DEEPSEEK, true), WINDOWS(NONE),                                      \
        ATTENTION_BIAS("attention_bias", false), TIED(false)

/* clang-format off */
static const HfFamily FAMILIES[] = {
    {.model_type = "gpt2", GPT(2), WINDOWS(NONE), BIASES(NULL, true), TIED(true),
     .positions = HF_POSITIONS_LEARNED},
    {.model_type = "gpt_bigcode", GPT(2), WINDOWS(NONE), BIASES(NULL, true), TIED(true),
     .positions = HF_POSITIONS_LEARNED, .multi_query = true},
    {.model_type = "gptj", GPT(1), WINDOWS(NONE), MLP_BIAS(NULL, true), TIED(false),
     .head_bias = true},
    {.model_type = "gpt_neox", GPT(2), WINDOWS(NONE), MLP_BIAS(NULL, true),
     ATTENTION_BIAS("attention_bias", true), TIED(false)},
    {.model_type = "opt", NORMS(2, 2, 1), FINAL_NORM("do_layer_norm_before"),
     MLP(DENSE, false), WINDOWS(NONE), BIASES("enable_bias", true), TIED(true),
     .positions = HF_POSITIONS_OPT},
    {.model_type = "bloom", NORMS(2, 2, 2), FINAL_NORM(NULL), MLP(DENSE, false),
     WINDOWS(NONE), BIASES(NULL, true), TIED(true)},
    {.model_type = "falcon", FALCON},
    {.model_type = "RefinedWebModel", FALCON},
    {.model_type = "RefinedWeb", FALCON, .new_decoder = true},
    {.model_type = "mpt", NORMS(1, 2, 1), FINAL_NORM(NULL), MLP(DENSE, false),
     WINDOWS(NONE), TIED(true), .positions = HF_POSITIONS_MPT},
    {.model_type = "phi", GPT(1), WINDOWS(NONE), BIASES(NULL, true), TIED(false),
     QK_NORM(HEAD, 2, "qk_layernorm", false), .head_bias = true},
    {.model_type = "starcoder2", GPT(2), WINDOWS(ALL), BIASES("use_bias", true),
     TIED(true), .kv_heads = 2},

    {.model_type = "llama", LLAMA(2), MLP(DENSE, true), WINDOWS(NONE),
     ATTENTION_BIAS("attention_bias", false), MLP_BIAS("mlp_bias", false), TIED(false)},
    {.model_type = "granite", LLAMA(2), MLP(DENSE, true), WINDOWS(NONE),
     ATTENTION_BIAS("attention_bias", false), MLP_BIAS("mlp_bias", false), TIED(false)},
    {.model_type = "internlm2", LLAMA(2), MLP(DENSE, true), WINDOWS(NONE),
     ATTENTION_BIAS("bias", true), TIED(false)},
    {.model_type = "mistral", LLAMA(2), MLP(DENSE, true), WINDOWS_OF(ALL, 0, 4096),
     TIED(false), .kv_heads = 8},
    {.model_type = "mixtral", LLAMA(2), MLP(MIXTRAL, true), WINDOWS(ALL), TIED(false),
     .kv_heads = 8},
    {.model_type = "phi3", LLAMA(2), MLP(DENSE, true), WINDOWS(ALL), TIED(false)},
    {.model_type = "qwen2", LLAMA(2), MLP(DENSE, true), WINDOWS(LATE), TIED(false),
     .qkv_bias = {NULL, true}, .windows_off = true},
    {.model_type = "qwen2_moe", LLAMA(2), MLP(QWEN, true), TIED(false),
     .qkv_bias = {"qkv_bias", true}, .shared_gate = true,
     .windows_off = true},
    {.model_type = "qwen3", LLAMA(2), MLP(DENSE, true), WINDOWS(LATE), TIED(false),
     ATTENTION_BIAS("attention_bias", false), QK_NORM(HEAD, 1, NULL, true),
     .head_size = 128, .windows_off = true},
    {.model_type = "qwen3_moe", LLAMA(2), MLP(QWEN, true), WINDOWS(ALL), TIED(false),
     ATTENTION_BIAS("attention_bias", false), QK_NORM(HEAD, 1, NULL, true),
     .kv_heads = 4, .windows_off = true},
    {.model_type = "gemma", LLAMA(2), MLP(DENSE, true), WINDOWS(NONE), TIED(true),
     ATTENTION_BIAS("attention_bias", false), .kv_heads = 16, .head_size = 256},
    {.model_type = "gemma2", LLAMA(4), MLP(DENSE, true), WINDOWS_OF(PATTERN, 2, 4096),
     TIED(true), ATTENTION_BIAS("attention_bias", false), .kv_heads = 4,
     .head_size = 256},
    {.model_type = "gemma3_text", LLAMA(4), MLP(DENSE, true),
     WINDOWS_OF(PATTERN, 6, 4096), TIED(true), ATTENTION_BIAS("attention_bias", false),
     QK_NORM(HEAD, 1, NULL, true), .heads = 8, .kv_heads = 4, .head_size = 256,
     .vocab_size = 262208},
    {.model_type = "gpt_oss", LLAMA(2), MLP(MIXTRAL, true), MLP_BIAS(NULL, true),
     WINDOWS_OF(PATTERN, 2, 128), ATTENTION_BIAS("attention_bias", true), TIED(false),
     .kv_heads = 8, .head_size = 64, .sinks = true, .router_bias = true},
    {.model_type = "cohere", LLAMA(1), MLP(DENSE, true), WINDOWS(NONE), TIED(true),
     ATTENTION_BIAS("attention_bias", false), QK_NORM(WIDTH, 1, "use_qk_norm", false)},
    {.model_type = "cohere2", LLAMA(1), MLP(DENSE, true), WINDOWS_OF(PATTERN, 4, 4096),
     TIED(true), ATTENTION_BIAS("attention_bias", false)},
    {.model_type = "olmo", NORMS(0, 2, 1), FINAL_NORM(NULL), MLP(DENSE, true),
     WINDOWS(NONE), ATTENTION_BIAS("attention_bias", false), TIED(false)},
    {.model_type = "olmo2", LLAMA(2), MLP(DENSE, true), WINDOWS(NONE), TIED(false),
     ATTENTION_BIAS("attention_bias", false), QK_NORM(WIDTH, 1, NULL, true)},
    {.model_type = "chatglm", NORMS(1, 2, 1), FINAL_NORM("post_layer_norm"),
     MLP(DENSE, true), WINDOWS(NONE), .qkv_bias = {"add_qkv_bias", false},
     .out_bias = {"add_bias_linear", false}, MLP_BIAS("add_bias_linear", false),
     TIED(false)},
    {.model_type = "llama4_text", LLAMA(2), MLP(LLAMA4, true),
     WINDOWS_OF(CHUNKS, 4, 8192), ATTENTION_BIAS("attention_bias", false), TIED(false),
     .kv_heads = 8, .head_size = 128},
    {.model_type = "glm4_moe", LLAMA(2), MLP(DEEPSEEK, true), WINDOWS(NONE),
     .qkv_bias = {"attention_bias", false}, QK_NORM(HEAD, 1, "use_qk_norm", false),
     TIED(false), .router_bias = true},

    {.model_type = "deepseek_v2", DEEPSEEK},
    {.model_type = "deepseek_v3", DEEPSEEK, .router_bias = true},
    {.model_type = "deepseek_v32", DEEPSEEK, .router_bias = true},
    {.model_type = "kimi_k2", DEEPSEEK, .router_bias = true},
    {.model_type = "glm_moe_dsa", DEEPSEEK, .router_bias = true},

    /* Weights not counted here, but windows known. */
    {.model_type = "qwen2_vl", WINDOWS(LATE), .windows_off = true},
    {.model_type = "qwen2_5_vl", WINDOWS(LATE), .windows_off = true},
};
/* clang-format on */

static const HfFamily UNKNOWN = {.model_type = NULL};

const HfFamily *hf_family(const char *model_type)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (strcmp(FAMILIES[i].model_type, model_type) == 0)
            return &FAMILIES[i];
    return &UNKNOWN;
}
