/* The sizes and switches of a model, in the letters that the whole project uses:
 *
 *   V vocabulary · T context (positions) · C width (d_model) · L layers · H query heads
 *   G key/value heads · D head size · F width of the MLP · R latent rank
 *
 * A family is a row of switches and the names that its files use:
 *
 *            norm       positions  MLP     attention  biases  head    saved as
 *   gpt2     LayerNorm  learned    GELU    MHA        yes     tied    GPT2LMHeadModel
 *   llama    RMSNorm    RoPE       SwiGLU  GQA        no      tied    LlamaForCausalLM
 *   deepseek RMSNorm    RoPE       SwiGLU  MLA        no      tied    DeepseekV3ForCausalLM
 *
 * Every switch may also be set alone:
 *
 *     GptConfig config = gpt_config_open(FAMILY_LLAMA);
 *     config.vocab_size = V;
 *     config.heads = 8;
 *     gpt_config_fill(&config);                    what follows from the rest
 *     TRY(gpt_config_check(&config, err)); */
#ifndef JUEJU_MODEL_GPT_CONFIG_H
#define JUEJU_MODEL_GPT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"
#include "model/layers/norm.h"

enum {
    GPT_LAYERS_MAX = 256,
    GPT_PRUNED_HEADS_MAX =
        64, /* heads can only be cut from models with at most so many */
};

typedef enum { FAMILY_GPT2, FAMILY_LLAMA, FAMILY_DEEPSEEK } Family;
typedef enum {
    POSITION_LEARNED,
    POSITION_SINUSOIDAL,
    POSITION_ROPE,
    POSITION_NONE
} PositionKind;
typedef enum { MLP_GELU, MLP_SWIGLU } MlpKind;
typedef enum { ATTENTION_HEADS, ATTENTION_MLA } AttentionKind;
typedef enum { NORM_BEFORE, NORM_AFTER } NormPlace; /* pre-norm, post-norm */

/* Names for options, in the order of the enums, closed by NULL. */
extern const char *const FAMILY_NAMES[];     /* gpt2 llama deepseek */
extern const char *const NORM_NAMES[];       /* layernorm rmsnorm */
extern const char *const NORM_PLACE_NAMES[]; /* before after */
extern const char *const POSITION_NAMES[];   /* learned sinusoidal rope none */
extern const char *const MLP_NAMES[];        /* gelu swiglu */
extern const char *const ATTENTION_NAMES[];  /* heads mla */

typedef struct {
    Family family;
    int64_t vocab_size; /* V */
    int64_t context;    /* T */
    int64_t width;      /* C */
    int64_t layers;     /* L */
    int64_t heads;      /* H */
    int64_t mlp_width;  /* F */
    int64_t kv_heads;   /* G, divides H; with MLA: H */
    int64_t head_size;  /* D of ATTENTION_HEADS, H D need not be C; with MLA: 0 */
    NormKind norm;
    NormPlace norm_place; /* after (Vaswani 2017): x = Norm(x + f(x)), no final norm */
    PositionKind position;
    double rope_theta;
    MlpKind mlp;
    AttentionKind attention;
    bool biases;          /* in every linear layer of the blocks; MLA has none */
    bool tied;            /* output head = token embedding */
    bool scaled_scores;   /* 1/sqrt(D); off only to see what happens then */
    bool scaled_residual; /* init: residual projections times 1/sqrt(2L) */
    /* ATTENTION_MLA: model/attention/mla.h's Rq, R, P, O, E; otherwise all 0. */
    int64_t q_rank, kv_rank, nope_size, rope_size, value_size;
    int64_t window; /* tokens that a sliding layer sees; 0: there is none */
    bool sliding[GPT_LAYERS_MAX];     /* which layers are (window > 0) */
    uint64_t removed[GPT_LAYERS_MAX]; /* bit h: query head h of the layer was cut */
    double norm_eps; /* added to the variance or mean square in norms */
    double dropout;  /* on the embedding and on each residual branch; 0 <= p < 1 */
} GptConfig;

/* The family's switches with the project's sizes, L4 H4 C128 T128, eps 1e-5 (gpt2) or 1e-6,
 * no dropout; the vocabulary (0) is the data's to say. Sizes that follow from others are
 * open: 0, or -1 where 0 has a meaning of its own (q_rank, rope_size). */
GptConfig gpt_config_open(Family family);

/* Sets open sizes to what is usual: F 4C, with SwiGLU 8C/3 rounded up to a multiple of 32
 * (about as many parameters); D C/H; G H, in family llama H/2; with MLA R C/2, Rq 3C/4,
 * P and E C/H, O C/2H rounded up to even, but 0 without RoPE. What cannot be known (H does
 * not divide C) stays open, and gpt_config_check says so. */
void gpt_config_fill(GptConfig *config);

/* Open, then filled: llama G 2, D 32, F 352; deepseek R 64, Rq 96, P 32, O 16, E 32. */
GptConfig gpt_config_family(Family family);

/* gpt_config_family(FAMILY_GPT2). */
GptConfig gpt_config_default(void);

/* STATUS_USAGE names the size or switch that is wrong or does not go with another, what was
 * expected and what was found. After this every product of sizes that the model forms fits
 * in an int64_t. */
Status gpt_config_check(const GptConfig *config, Error *err);

/* What is allowed but unwise, as one sentence in text, or NULL: heads of under 32 channels
 * (Bhojanapalli et al. 2020, arXiv:2002.07028). */
const char *gpt_config_advice(const GptConfig *config, char *text, size_t size);

/* Whether weights of one serve the other with the same results: all but dropout and init. */
bool gpt_config_equal(const GptConfig *a, const GptConfig *b);

/* ---- of a checked config ------------------------------------------------------------ */

/* Query heads that are left in a layer, and key/value heads that some of these read. */
int64_t gpt_layer_heads(const GptConfig *config, int64_t layer);
int64_t gpt_layer_kv_heads(const GptConfig *config, int64_t layer);

/* The number that the layer's i-th query (or key/value) head had before heads were cut. */
int64_t gpt_layer_head(const GptConfig *config, int64_t layer, int64_t i);
int64_t gpt_layer_kv_head(const GptConfig *config, int64_t layer, int64_t i);

/* Which of the layer's key/value heads its i-th query head reads. */
int64_t gpt_layer_group(const GptConfig *config, int64_t layer, int64_t i);

/* Channels per head in scores, D or P + O, and as they leave attention, D or E. */
int64_t gpt_score_size(const GptConfig *config);
int64_t gpt_value_size(const GptConfig *config);

/* Tokens that a layer sees: the window of a sliding layer, else 0 (all). */
int64_t gpt_layer_window(const GptConfig *config, int64_t layer);

#endif
