#include "train/couplet_write.h"

#include <assert.h>

#include "data/clean.h"
#include "model/base/memory.h"

struct CoupletWriter {
    const Gpt *gpt;
    GptWork *work;
    Sampler sampler;
    real *logits;    /* (V) */
    int32_t *source; /* (T) u_1 .. u_n <eos> */
    int32_t *input;  /* (T) <bos> l_1 .. */
    int32_t *places; /* (T) 0, 1, .. */
    int32_t
        *banned; /* (V + 2T) tokens that are no Han character, then those of a draw */
    int64_t banned_count;
};

static Status create_all(CoupletWriter *writer, const Gpt *gpt,
                         const Tokenizer *tokenizer, Error *err)
{
    static const char WHAT[] = "a writer of couplets";
    size_t T = (size_t)gpt->config.context;
    size_t V = (size_t)gpt->config.vocab_size;
    writer->gpt = gpt;
    TRY(gpt_work_create(&writer->work, &gpt->config, gpt->config.context, err));
    TRY(sampler_create(&writer->sampler, gpt->config.vocab_size, err));
    TRY(memory_allocate(&writer->logits, V, sizeof *writer->logits, WHAT, err));
    TRY(memory_allocate(&writer->source, T, sizeof *writer->source, WHAT, err));
    TRY(memory_allocate(&writer->input, T, sizeof *writer->input, WHAT, err));
    TRY(memory_allocate(&writer->places, T, sizeof *writer->places, WHAT, err));
    TRY(memory_allocate(&writer->banned, V + 2 * T, sizeof *writer->banned, WHAT, err));
    for (size_t i = 0; i < T; i++)
        writer->places[i] = (int32_t)i;
    for (int32_t id = 0; id < tokenizer->size; id++) {
        if (!clean_is_han(tokenizer_code_point(tokenizer, id)))
            writer->banned[writer->banned_count++] = id;
    }
    return STATUS_OK;
}

Status couplet_writer_create(CoupletWriter **writer, const Gpt *gpt,
                             const Tokenizer *tokenizer, Error *err)
{
    assert(gpt->config.encoder_layers > 0);
    CoupletWriter *made;
    *writer = NULL;
    TRY(memory_allocate(&made, 1, sizeof *made, "a writer of couplets", err));
    Status status = create_all(made, gpt, tokenizer, err);
    if (status != STATUS_OK)
        couplet_writer_destroy(made);
    else
        *writer = made;
    return status;
}

void couplet_writer_destroy(CoupletWriter *writer)
{
    if (writer == NULL)
        return;
    gpt_work_destroy(writer->work);
    sampler_destroy(&writer->sampler);
    memory_free(writer->logits);
    memory_free(writer->source);
    memory_free(writer->input);
    memory_free(writer->places);
    memory_free(writer->banned);
    memory_free(writer);
}

int64_t couplet_longest(const Gpt *gpt)
{
    return gpt->config.context - 1;
}

/* What character t may not be: no Han character, and without repeats one that is there. */
static int64_t ban(CoupletWriter *writer, const int32_t *upper, int64_t length,
                   int64_t t, bool repeats)
{
    const int32_t *lower = writer->input + 1;
    int64_t count = writer->banned_count;
    for (int64_t i = 0; i < length && !repeats; i++)
        writer->banned[count++] = upper[i];
    for (int64_t i = 0; i < t && !repeats; i++) {
        if (upper[i] != upper[t])
            writer->banned[count++] = lower[i];
    }
    return count;
}

/* Logits of character t. */
static void look(CoupletWriter *writer, int64_t length, int64_t t)
{
    const int64_t source_starts[2] = {0, length + 1};
    const int64_t starts[2] = {0, t + 1};
    const TokenBatch source = {.tokens = length + 1,
                               .segments = 1,
                               .ids = writer->source,
                               .positions = writer->places,
                               .starts = source_starts};
    const TokenBatch batch = {.tokens = t + 1,
                              .segments = 1,
                              .ids = writer->input,
                              .positions = writer->places,
                              .starts = starts,
                              .source = &source};
    gpt_last_logits(writer->gpt, writer->work, &batch, writer->logits);
}

Status couplet_write(CoupletWriter *writer, int32_t *lower, double *nats,
                     const int32_t *upper, int64_t length,
                     const CoupletSettings *settings, Rng *rng, Error *err)
{
    assert(length >= 1 && length <= couplet_longest(writer->gpt));
    double sum = 0;
    for (int64_t i = 0; i < length; i++)
        writer->source[i] = upper[i];
    writer->source[length] = TOKEN_EOS;
    writer->input[0] = TOKEN_BOS;
    for (int64_t t = 0; t < length; t++) {
        double own;
        SamplerLimits limits = {.banned = writer->banned,
                                .banned_count =
                                    ban(writer, upper, length, t, settings->repeats),
                                .repeated = writer->input + 1,
                                .repeated_count = t};
        look(writer, length, t);
        TRY(sampler_draw(&writer->sampler, &lower[t], &own, writer->logits,
                         &settings->sampler, &limits, rng, err));
        sum += own;
        writer->input[t + 1] = lower[t]; /* T holds <bos> and the longest line */
    }
    *nats = sum / (double)length;
    return STATUS_OK;
}
