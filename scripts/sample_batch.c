#include "scripts/sample_batch.h"

#include <omp.h>

#include "model/base/memory.h"
#include "model/generate/decode.h"

enum { POEMS_TO_SHARE = 8 /* fewer draws stay with one thread, as in decoder_step */ };

/* Row r of the decoder, r < rows, writes poems[places[r]]; the row behind them holds the
 * prefix but for its last token, which is the first that a new poem reads. */
typedef struct {
    const SamplePlan *plan;
    const SampleHooks *hooks;
    int64_t total;
    uint64_t seed;

    int32_t rows;
    Decoder *decoder;
    int threads;
    Sampler *samplers; /* (threads) */

    Poem *poems;        /* ring: poem i is poems[i % SAMPLE_WINDOW] */
    int64_t begun, out; /* poems begun, poems given to the hook */

    int64_t *writes;   /* (rows) index of a row's poem, -1: none */
    int32_t *next_ids; /* (rows) token that a row reads next */

    /* one step */
    int32_t *step_rows, *step_ids;
    PoemToken *tokens;
    Error *errors;
} Batch;

static Poem *poem_at(const Batch *batch, int64_t index)
{
    return &batch->poems[index % SAMPLE_WINDOW];
}

static void batch_free(Batch *batch)
{
    decoder_destroy(batch->decoder);
    for (int i = 0; batch->samplers != NULL && i < batch->threads; i++)
        sampler_destroy(&batch->samplers[i]);
    memory_free(batch->samplers);
    for (int i = 0; batch->poems != NULL && i < SAMPLE_WINDOW; i++)
        poem_free(&batch->poems[i]);
    memory_free(batch->poems);
    memory_free(batch->writes);
    memory_free(batch->next_ids);
    memory_free(batch->step_rows);
    memory_free(batch->step_ids);
    memory_free(batch->tokens);
    memory_free(batch->errors);
}

static Status batch_create(Batch *batch, Error *err)
{
    static const char WHAT[] = "a batch of poems";
    size_t rows = (size_t)batch->rows;
    const Gpt *gpt = &batch->plan->checkpoint->gpt;
    TRY(memory_allocate(&batch->poems, SAMPLE_WINDOW, sizeof *batch->poems, WHAT, err));
    TRY(memory_allocate(&batch->writes, rows, sizeof *batch->writes, WHAT, err));
    TRY(memory_allocate(&batch->next_ids, rows, sizeof *batch->next_ids, WHAT, err));
    TRY(memory_allocate(&batch->step_rows, rows, sizeof *batch->step_rows, WHAT, err));
    TRY(memory_allocate(&batch->step_ids, rows, sizeof *batch->step_ids, WHAT, err));
    TRY(memory_allocate(&batch->tokens, rows, sizeof *batch->tokens, WHAT, err));
    TRY(memory_allocate(&batch->errors, rows, sizeof *batch->errors, WHAT, err));
    TRY(memory_allocate(&batch->samplers, (size_t)batch->threads,
                        sizeof *batch->samplers, WHAT, err));
    for (int i = 0; i < batch->threads; i++)
        TRY(sampler_create(&batch->samplers[i], gpt->config.vocab_size, err));
    DecoderOptions options = {.rows = batch->rows + 1, .threads = batch->threads};
    TRY(decoder_create(&batch->decoder, gpt, &options, err));
    for (int32_t r = 0; r < batch->rows; r++)
        batch->writes[r] = -1;
    if (batch->plan->prefix_count > 1)
        decoder_prefill(batch->decoder, batch->rows, batch->plan->prefix,
                        (int64_t)batch->plan->prefix_count - 1);
    return STATUS_OK;
}

/* Gives free rows the next poems. */
static Status begin_poems(Batch *batch, Error *err)
{
    for (int32_t r = 0; r < batch->rows; r++) {
        if (batch->writes[r] >= 0 || batch->begun == batch->total ||
            batch->begun == batch->out + SAMPLE_WINDOW)
            continue;
        int64_t index = batch->begun++;
        TRY(poem_start(poem_at(batch, index), batch->plan,
                       batch->seed + (uint64_t)index, err));
        decoder_copy(batch->decoder, r, batch->rows);
        batch->writes[r] = index;
        batch->next_ids[r] = batch->plan->prefix[batch->plan->prefix_count - 1];
    }
    return STATUS_OK;
}

/* Running text that has filled the context goes on behind its own last half. */
static void move_window(Batch *batch, int32_t row)
{
    const Poem *poem = poem_at(batch, batch->writes[row]);
    int64_t T = batch->plan->checkpoint->gpt.config.context;
    if (decoder_length(batch->decoder, row) < T)
        return;
    /* The last of the ids is what the row reads next. */
    int64_t kept = T / 2;
    int64_t have = (int64_t)poem->count - 1;
    kept = kept < have ? kept : have;
    decoder_clear(batch->decoder, row);
    if (kept > 0)
        decoder_prefill(batch->decoder, row, poem->ids + have - kept, kept);
}

static Status draw(Batch *batch, int64_t i, Error *err)
{
    const SamplePlan *plan = batch->plan;
    Poem *poem = poem_at(batch, batch->writes[batch->step_rows[i]]);
    PoemToken *token = &batch->tokens[i];
    if (poem_forced(poem, plan, token))
        return STATUS_OK;
    *token = (PoemToken){0};
    SamplerLimits limits = poem_limits(poem, plan);
    TRY(sampler_draw(&batch->samplers[omp_get_thread_num()], &token->id, &token->nats,
                     decoder_logits(batch->decoder, i), &plan->settings, &limits,
                     &poem->rng, err));
    token->point = tokenizer_code_point(&plan->checkpoint->tokenizer, token->id);
    return STATUS_OK;
}

/* One token more for every row that writes. */
static Status step(Batch *batch, Error *err)
{
    int64_t count = 0;
    for (int32_t r = 0; r < batch->rows; r++) {
        if (batch->writes[r] < 0)
            continue;
        move_window(batch, r);
        batch->step_rows[count] = r;
        batch->step_ids[count++] = batch->next_ids[r];
    }
    decoder_step(batch->decoder, batch->step_rows, batch->step_ids, count);
#pragma omp parallel for num_threads(batch->threads)                                   \
    schedule(static) if (count >= POEMS_TO_SHARE)
    for (int64_t i = 0; i < count; i++) {
        batch->errors[i].status = STATUS_OK;
        draw(batch, i, &batch->errors[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        if (batch->errors[i].status != STATUS_OK) {
            if (err != NULL)
                *err = batch->errors[i];
            return batch->errors[i].status;
        }
        int32_t row = batch->step_rows[i];
        Poem *poem = poem_at(batch, batch->writes[row]);
        TRY(poem_take(poem, batch->plan, &batch->tokens[i], err));
        batch->next_ids[row] = batch->tokens[i].id;
        if (poem->ended != ENDED_NOT)
            batch->writes[row] = -1;
    }
    return STATUS_OK;
}

static Status give_out(Batch *batch, Error *err)
{
    const SampleHooks *hooks = batch->hooks;
    while (batch->out < batch->begun &&
           poem_at(batch, batch->out)->ended != ENDED_NOT) {
        TRY(hooks->poem(hooks->context, batch->out, poem_at(batch, batch->out), err));
        batch->out++;
    }
    return STATUS_OK;
}

static Status run(Batch *batch, Error *err)
{
    const SampleHooks *hooks = batch->hooks;
    TRY(batch_create(batch, err));
    while (batch->out < batch->total) {
        if (hooks->stop != NULL && hooks->stop(hooks->context))
            return error_set(err, STATUS_INTERRUPTED,
                             "interrupted after %lld of %lld poems",
                             (long long)batch->out, (long long)batch->total);
        TRY(begin_poems(batch, err));
        if (hooks->token != NULL && batch->total == 1 && poem_at(batch, 0)->tokens == 0)
            hooks->token(hooks->context, poem_at(batch, 0));
        TRY(step(batch, err));
        if (hooks->token != NULL && batch->total == 1)
            hooks->token(hooks->context, poem_at(batch, 0));
        TRY(give_out(batch, err));
    }
    return STATUS_OK;
}

Status sample_batch(const SamplePlan *plan, int64_t poems, uint64_t seed,
                    const SampleHooks *hooks, Error *err)
{
    Batch batch = {
        .plan = plan,
        .hooks = hooks,
        .total = poems,
        .seed = seed,
        .rows = poems < SAMPLE_ROWS ? (int32_t)poems : (int32_t)SAMPLE_ROWS,
        .threads = omp_get_max_threads(),
    };
    Status status = run(&batch, err);
    batch_free(&batch);
    return status;
}
