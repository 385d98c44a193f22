#include "train/evaluate.h"

#include <assert.h>
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
    const TokenBatch *pass = batch_slice(&passes->slices[thread], batch, first, rows);
    real *nats = passes->nats[thread];
    gpt_loss(gpt, passes->works[thread], pass, nats);
    for (int64_t n = 0; n < pass->tokens; n++) {
        if (pass->targets[n] < 0)
            continue;
        LossClass kind = class_of(tokenizer, pass->targets[n]);
        out->nats[kind] += (double)nats[n];
        out->tokens[kind]++;
    }
}

/* The passes of a split and what each of them gave. */
typedef struct {
    RowStream stream;
    RowBatch batch;
    int64_t *first_rows; /* (count + 1) */
    int64_t count;
    Evaluation *parts; /* (count) */
} SplitPasses;

static Status split_open(SplitPasses *split, const Gpt *gpt, const Passes *passes,
                         const RowSet *set, const Tokenizer *tokenizer, Error *err)
{
    BatchOptions options = {.row_tokens = (int32_t)gpt->config.context};
    *split = (SplitPasses){0};
    TRY(row_set_check(set, &gpt->config, err));
    TRY(row_stream_open(&split->stream, set, tokenizer, &options, err));
    TRY(row_stream_range(&split->stream, 0, INT64_MAX, &split->batch, err));
    TRY(cut_passes(&split->first_rows, &split->count, passes, &split->batch, err));
    return memory_allocate(&split->parts, (size_t)split->count, sizeof *split->parts,
                           "the evaluation", err);
}

static void split_close(SplitPasses *split)
{
    memory_free(split->parts);
    memory_free(split->first_rows);
    row_stream_close(&split->stream);
}

static void run_passes(Evaluation *out, SplitPasses *split, const Gpt *gpt,
                       Passes *passes, const Tokenizer *tokenizer, const Dist *dist)
{
    int64_t count = split->count;
    int64_t first = dist_first(dist, count, dist->rank);
    int64_t end = dist_first(dist, count, dist->rank + 1);
    const int64_t *rows = split->first_rows;
    assert(rows != NULL);
#pragma omp parallel for schedule(dynamic, 1) num_threads(passes->threads)
    for (int64_t p = first; p < end; p++)
        run_pass(&split->parts[p], gpt, passes, &split->batch, rows[p],
                 rows[p + 1] - rows[p], tokenizer);
    dist_share(dist, split->parts, count, sizeof *split->parts);
    for (int64_t p = 0; p < count; p++) {
        for (int kind = 0; kind < LOSS_CLASSES; kind++) {
            out->nats[kind] += split->parts[p].nats[kind];
            out->tokens[kind] += split->parts[p].tokens[kind];
        }
    }
}

Status evaluate_rows(Evaluation *out, const Gpt *gpt, Passes *passes, const RowSet *set,
                     const Tokenizer *tokenizer, Dist *dist, Error *err)
{
    *out = (Evaluation){0};
    SplitPasses split;
    Status status = split_open(&split, gpt, passes, set, tokenizer, err);
    status = dist_agree(dist, status, err);
    if (status == STATUS_OK)
        run_passes(out, &split, gpt, passes, tokenizer, dist);
    split_close(&split);
    TRY(status);
    if (!isfinite(evaluation_nats(out)))
        return error_set(err, STATUS_NUMERIC, "the evaluation's loss is not finite");
    return STATUS_OK;
}

Status evaluate(Evaluation *out, const Gpt *gpt, Passes *passes, const PoemSet *set,
                const Tokenizer *tokenizer, Error *err)
{
    Dist alone = dist_alone();
    RowSet rows = rows_of_poems(set);
    return evaluate_rows(out, gpt, passes, &rows, tokenizer, &alone, err);
}
