/* The sizes of a model, in the letters that the whole project uses:
 *
 *   V vocabulary · T context (positions) · C width (d_model) · L layers · H heads
 *   D head size = C / H · F width of the MLP
 *
 * Family gpt2 (Radford et al. 2019): LayerNorm before each sublayer, learned positions,
 * multi-head causal attention with biases, GELU-tanh MLP, output head tied to the token
 * embedding. */
#ifndef JUEJU_MODEL_GPT_CONFIG_H
#define JUEJU_MODEL_GPT_CONFIG_H

#include <stdint.h>

#include "model/base/error.h"

typedef struct {
    int64_t vocab_size; /* V */
    int64_t context;    /* T */
    int64_t width;      /* C */
    int64_t layers;     /* L */
    int64_t heads;      /* H */
    int64_t mlp_width;  /* F */
    double norm_eps;    /* added to the variance in LayerNorm */
    double dropout;     /* on the embedding and on each residual branch; 0 <= p < 1 */
} GptConfig;

/* L4 H4 C128 T128 F512, eps 1e-5, no dropout; the vocabulary (0) is the data's to say. */
GptConfig gpt_config_default(void);

/* D = C / H of a checked config. */
int64_t gpt_head_size(const GptConfig *config);

/* STATUS_USAGE names the size that is wrong, what was expected and what was found. After
 * this every product of sizes that the model forms fits in an int64_t. */
Status gpt_config_check(const GptConfig *config, Error *err);

#endif
