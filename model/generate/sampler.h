/* The next token, drawn from logits l (V).
 *
 *   1  repetition penalty r (Keskar et al. 2019, CTRL, arXiv:1909.05858, section 4.1): for
 *      tokens in the list of repeated ones l_i becomes l_i / r where l_i > 0, else l_i r
 *   2  banned tokens leave
 *   3  temperature t: w_i = exp((l_i - max l) / t); t = 0 takes the largest l at once
 *   4  top-k: only the k largest w stay
 *   5  top-p (Holtzman et al. 2019, arXiv:1904.09751): of these the fewest largest that
 *      hold at least the share p of their weight stay, never less than one
 *   6  token i is drawn with probability w_i / sum w
 * Equals are ordered by id, the lower first. All in double; the same logits, settings and
 * stream of random numbers give the same token. A draw takes two numbers, whether it needs
 * them or not, so that the stream's place is twice the number of tokens drawn. */
#ifndef JUEJU_MODEL_GENERATE_SAMPLER_H
#define JUEJU_MODEL_GENERATE_SAMPLER_H

#include <stdint.h>

#include "model/base/error.h"
#include "model/base/real.h"
#include "model/base/rng.h"

typedef struct {
    double temperature;        /* >= 0 and finite */
    int64_t top_k;             /* 1 .. V; 0: no limit */
    double top_p;              /* over 0, at most 1: no limit */
    double repetition_penalty; /* 0.01 .. 100; 1: none, over 1: fewer repetitions */
} SamplerSettings;

#define SAMPLER_PENALTY_MINIMUM 0.01
#define SAMPLER_PENALTY_MAXIMUM 100.0

/* STATUS_USAGE names the setting, what was expected and what was found. */
Status sampler_settings_check(const SamplerSettings *settings, int64_t V, Error *err);

/* What a draw may not or shall rather not take. Ids within 0 .. V-1 in any order, several
 * times is as good as once. */
typedef struct {
    const int32_t *banned;
    int64_t banned_count;
    const int32_t *repeated;
    int64_t repeated_count;
} SamplerLimits;

/* Scratch for draws from V logits. One for each thread. */
typedef struct {
    int64_t V;
    double *scores;  /* (V) */
    double *weights; /* (V) */
    int32_t *order;  /* (V) */
} Sampler;

Status sampler_create(Sampler *sampler, int64_t V, Error *err);
void sampler_destroy(Sampler *sampler);

/* Draws *token. *nats = -log softmax(l)_token: how surprising it is to the model itself,
 * before 1 to 5. The settings must have been checked; limits may be NULL.
 * STATUS_NUMERIC: a logit is not finite. STATUS_USAGE: every token is banned. */
Status sampler_draw(Sampler *sampler, int32_t *token, double *nats, const real *logits,
                    const SamplerSettings *settings, const SamplerLimits *limits,
                    Rng *rng, Error *err);

#endif
