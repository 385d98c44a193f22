#include "train/evaluate.h"

#include <math.h>
#include <omp.h>

#include "data/clean.h"

const char *const LOSS_CLASS_NAMES[LOSS_CLASSES] = {"han", "mark", "end", "other"};

int64_t evaluation_tokens(const Evaluation *evaluation)
{
    int64_t total = 0;
    for (int kind = 0; kind < LOSS_CLASSES; kind++)
        total += evaluation->tokens[kind];
    return total;
}

double evaluation_nats(const Evaluation *evaluation)
{
    double total = 0;
    for (int kind = 0; kind < LOSS_CLASSES; kind++)
        total += evaluation->nats[kind];
    int64_t tokens = evaluation_tokens(evaluation);
    return tokens > 0 ? total / (double)tokens : 0;
}

double evaluation_class_nats(const Evaluation *evaluation, LossClass kind)
{
    int64_t tokens = evaluation->tokens[kind];
    return tokens > 0 ? evaluation->nats[kind] / (double)tokens : 0;
}

static LossClass class_of(const Tokenizer *tokenizer, int32_t id)
{
    if (id == TOKEN_EOS)
        return LOSS_END;
    if (id == TOKEN_UNK)
        return LOSS_HAN;
    uint32_t point = tokenizer_code_point(tokenizer, id);
    if (clean_is_han(point))
        return LOSS_HAN;
    return clean_mark(point) != 0 ? LOSS_MARK : LOSS_OTHER;
}

/* Where each pass begins in the rows of the split; count + 1 entries. */
static Status cut_passes(int64_t **first_rows, int64_t *count, const Passes *passes,
                         const RowBatch *batch, Error *err)
{
    TRY(memory_allocate(first_rows, (size_t)batch->rows + 1, sizeof **first_rows,
                        "the evaluation", err));
    *count = 0;
    for (int64_t row = 0; row < batch->rows;) {
        (*first_rows)[(*count)++] = row;
        row += passes_rows(passes, batch, row, batch->rows);
    }
    (*first_rows)[*count] = batch->rows;
    return STATUS_OK;
}

static void run_pass(Evaluation *out, const Gpt *gpt, Passes *passes,
                     const RowBatch *batch, int64_t first, int64_t rows,
                     const Tokenizer *tokenizer)
{
    int thread = omp_get_thread_num();
    TokenBatch pass;
    batch_slice(&pass, passes->starts[thread], batch, first, rows);
    real *nats = passes->nats[thread];
    gpt_loss(gpt, passes->works[thread], &pass, nats);
    for (int64_t n = 0; n < pass.tokens; n++) {
        if (pass.targets[n] < 0)
            continue;
        LossClass kind = class_of(tokenizer, pass.targets[n]);
        out->nats[kind] += (double)nats[n];
        out->tokens[kind]++;
    }
}

static Status evaluate_rows(Evaluation *out, const Gpt *gpt, Passes *passes,
                            const RowBatch *batch, const Tokenizer *tokenizer,
                            Error *err)
{
    int64_t *first_rows = NULL;
    int64_t count = 0;
    TRY(cut_passes(&first_rows, &count, passes, batch, err));
    Evaluation *parts = NULL;
    Status status =
        memory_allocate(&parts, (size_t)count, sizeof *parts, "the evaluation", err);
    if (status == STATUS_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(passes->threads)
        for (int64_t p = 0; p < count; p++)
            run_pass(&parts[p], gpt, passes, batch, first_rows[p],
                     first_rows[p + 1] - first_rows[p], tokenizer);
        for (int64_t p = 0; p < count; p++) {
            for (int kind = 0; kind < LOSS_CLASSES; kind++) {
                out->nats[kind] += parts[p].nats[kind];
                out->tokens[kind] += parts[p].tokens[kind];
            }
        }
    }
    memory_free(parts);
    memory_free(first_rows);
    return status;
}

Status evaluate(Evaluation *out, const Gpt *gpt, Passes *passes, const PoemSet *set,
                const Tokenizer *tokenizer, Error *err)
{
    *out = (Evaluation){0};
    BatchStream stream;
    BatchOptions options = {.row_tokens = (int32_t)gpt->config.context};
    TRY(batch_stream_open(&stream, set, tokenizer, &options, err));
    RowBatch batch;
    Status status = batch_stream_rows(&stream, 0, INT64_MAX, &batch, err);
    if (status == STATUS_OK)
        status = evaluate_rows(out, gpt, passes, &batch, tokenizer, err);
    batch_stream_close(&stream);
    TRY(status);
    if (!isfinite(evaluation_nats(out)))
        return error_set(err, STATUS_NUMERIC, "the evaluation's loss is not finite");
    return STATUS_OK;
}
