/* A small model with random weights, and batches of random text for it. */
#ifndef JUEJU_TESTS_MODEL_SMALL_MODEL_H
#define JUEJU_TESTS_MODEL_SMALL_MODEL_H

#include "model/gpt/gpt.h"
#include "tests/model/numeric.h"

/* No two sizes are equal, so that none can stand in for another. */
static inline GptConfig small_config_of(Family family)
{
    GptConfig config = gpt_config_open(family);
    config.vocab_size = 17;
    config.context = 13;
    config.width = 12;
    config.layers = 2;
    config.heads = 3;
    config.mlp_width = 20;
    config.norm_eps = 1e-5;
    gpt_config_fill(&config);
    return config;
}

static inline GptConfig small_config(void)
{
    return small_config_of(FAMILY_GPT2);
}

/* Gains and biases too, large enough for attention to be uneven. */
static inline Gpt random_model(const GptConfig *config)
{
    Gpt gpt;
    Error err;
    assert_int_equal(gpt_create(&gpt, config, &err), STATUS_OK);
    for (int64_t t = 0; t < gpt.table.count; t++) {
        const ParamInfo *info = &gpt.table.items[t];
        real *values = gpt.values + info->offset;
        int64_t count = info->rows * info->cols;
        fill_random(values, count,
                    info->rows > 1 ? 1.2 / sqrt((double)config->width) : 0.2,
                    1000 + (uint64_t)t);
        for (int64_t i = 0; i < count && info->kind == PARAM_GAIN; i++)
            values[i] += 1;
    }
    return gpt;
}

enum { TEXT_TOKENS = 80, TEXT_SEGMENTS = 8 };

typedef struct {
    int32_t ids[TEXT_TOKENS], targets[TEXT_TOKENS], positions[TEXT_TOKENS];
    int64_t starts[TEXT_SEGMENTS + 1];
} Text;

/* Segments of these lengths, every fourth token without a target. The batch points into
 * *text. */
static inline TokenBatch random_text(Text *text, const int64_t *lengths,
                                     int64_t segments, int64_t V, uint64_t name)
{
    Rng rng = rng_stream(7, name);
    int64_t n = 0;
    text->starts[0] = 0;
    for (int64_t s = 0; s < segments; s++) {
        for (int32_t i = 0; i < (int32_t)lengths[s]; i++, n++) {
            text->ids[n] = (int32_t)rng_below(&rng, (uint64_t)V);
            int32_t next = (int32_t)rng_below(&rng, (uint64_t)V);
            text->targets[n] = n % 4 == 1 ? TARGET_NONE : next;
            text->positions[n] = i;
        }
        text->starts[s + 1] = n;
    }
    return (TokenBatch){.tokens = n,
                        .segments = segments,
                        .ids = text->ids,
                        .targets = text->targets,
                        .positions = text->positions,
                        .starts = text->starts};
}

static inline GptWork *work_for(const Gpt *gpt, int64_t tokens)
{
    GptWork *work;
    Error err;
    assert_int_equal(gpt_work_create(&work, &gpt->config, tokens, &err), STATUS_OK);
    return work;
}

/* A flat buffer like the model's, zeroed, and its view. */
typedef struct {
    real *values;
    GptParams params;
} Gradients;

static inline Gradients gradients_for(Pool *pool, const Gpt *gpt)
{
    Gradients grads = {.values = pool_reals(pool, (int64_t)gpt->table.total)};
    Error err;
    assert_int_equal(
        gpt_params_create(&grads.params, &gpt->table, &gpt->config, grads.values, &err),
        STATUS_OK);
    return grads;
}

#endif
