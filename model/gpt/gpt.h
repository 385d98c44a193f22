/* The model: embedding, L blocks, final norm, head. Radford et al. 2019 (GPT-2), and with
 * other switches of model/gpt/config.h Llama and DeepSeek's dense models.
 *
 *   0  e = encoder(source)                       couplet only: model/gpt/encoder.h
 *   1  x = dropout(s W_E[id] + W_P[position])    W_P learned, sinusoidal, or none; s = 1,
 *                                                with scaled_embedding sqrt(C)
 *   2  for each block: x = block(x, e)           model/gpt/block.h
 *   3  f = Norm(x)                               pre-norm; post-norm: f = x
 *   4  loss = cross-entropy(f W_H^T, target)     in blocks of rows; tied: W_H = W_E
 *
 * One call works on one TokenBatch with one thread; train/ runs several calls at once,
 * each with its own GptWork and its own gradient buffer. */
#ifndef JUEJU_MODEL_GPT_GPT_H
#define JUEJU_MODEL_GPT_GPT_H

#include "model/base/batch.h"
#include "model/base/memory.h"
#include "model/gpt/params.h"

/* What a model computes with but does not learn; pointers are NULL where it needs none. */
typedef struct {
    real *rope;       /* (T, D), with MLA (T, O): model/layers/rope.h */
    real *sinusoids;  /* (T, C): model/layers/position.h */
    uint16_t *groups; /* (L, H) HeadsShape.groups of each layer, when heads were cut */
} GptTables;

typedef struct {
    GptConfig config;
    ParamTable table;
    real *values;     /* flat buffer, owned */
    GptParams params; /* view of values */
    GptTables tables; /* owned */
} Gpt;

/* All weights zero; follow with gpt_init. The config is checked. */
Status gpt_create(Gpt *gpt, const GptConfig *config, Error *err);
void gpt_destroy(Gpt *gpt);

/* The attention of a layer, with the heads that are left in it. tables NULL: the sizes
 * alone, to lay out memory. */
HeadsShape gpt_heads_shape(const GptConfig *config, const GptTables *tables,
                           int64_t layer);
HeadsShape gpt_cross_shape(const GptConfig *config);
MlaShape gpt_mla_shape(const GptConfig *config, const GptTables *tables, int64_t layer);

/* s: what the embedding is multiplied with. */
real gpt_embedding_scale(const GptConfig *config);

/* What is added to the embedding, (T, C), or NULL. */
const real *gpt_positions(const Gpt *gpt);

/* Which inputs a pass drops: nothing at p = 0. Two passes with the same values drop the
 * same inputs, whatever shard or thread they run in. */
typedef struct {
    double p;              /* dropout probability; 0 outside training */
    uint64_t key;          /* of this training step */
    uint64_t first_token;  /* place of the batch's first token in the step */
    uint64_t first_source; /* ... of its source's */
} GptDropout;

/* Activations and scratch for batches of up to max_tokens tokens, with an encoder also as
 * many of the source; reused step after step. A model with an encoder takes batches with a
 * source, any other batches without. */
typedef struct GptWork GptWork;
Status gpt_work_create(GptWork **work, const GptConfig *config, int64_t max_tokens,
                       Error *err);
void gpt_work_destroy(GptWork *work);
size_t gpt_work_bytes(const GptConfig *config, int64_t max_tokens);

typedef struct {
    double nats;     /* sum over targets of -log p(target) */
    int64_t targets; /* how many targets there were */
} GptLoss;

/* Forward and backward: adds the sum over targets, times `scale`, of the loss's gradient
 * into `grads` (a view of a flat buffer that the caller zeroed), and returns the unscaled
 * loss. Call with scale = 1 / targets of the whole step for a mean. */
GptLoss gpt_train_pass(const Gpt *gpt, const GptParams *grads, GptWork *work,
                       const TokenBatch *batch, real scale, const GptDropout *dropout);

/* Forward only. token_nats, if not NULL, takes (N) losses, 0 where there is no target. */
GptLoss gpt_loss(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                 real *token_nats);

/* Forward only: logits (N, V) of every token, for tests and for sampling without a cache. */
void gpt_logits(const Gpt *gpt, GptWork *work, const TokenBatch *batch, real *logits);

/* The same of the last token of every segment only: (S, V). */
void gpt_last_logits(const Gpt *gpt, GptWork *work, const TokenBatch *batch,
                     real *logits);

/* The attention weights of a layer's head-th remaining query head in one segment of the
 * batch whose forward pass `work` ran last: weights (n, n) for the n tokens of the segment,
 * formed again from the saved queries and keys; mixed (n, gpt_value_size) takes the head's
 * output. */
void gpt_attention_map(const Gpt *gpt, const GptWork *work, const TokenBatch *batch,
                       int64_t layer, int64_t head, int64_t segment, real *weights,
                       real *mixed);

/* The residual stream (N, C) of the forward pass that `work` ran last: before block `layer`,
 * or behind the last one (layer = L). Holds until the next pass. */
const real *gpt_stream(const GptWork *work, int64_t layer);

#endif
