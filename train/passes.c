#include "train/passes.h"

#include <omp.h>

static Status create_all(Passes *passes, const GptConfig *config, Error *err)
{
    size_t threads = (size_t)passes->threads;
    size_t tokens = (size_t)passes->tokens;
    TRY(memory_allocate(&passes->works, threads, sizeof *passes->works, "passes", err));
    TRY(memory_allocate(&passes->slices, threads, sizeof *passes->slices, "passes",
                        err));
    TRY(memory_allocate(&passes->nats, threads, sizeof *passes->nats, "passes", err));
    for (size_t t = 0; t < threads; t++) {
        TRY(gpt_work_create(&passes->works[t], config, passes->tokens, err));
        TRY(batch_slice_create(&passes->slices[t], passes->tokens, err));
        TRY(memory_allocate(&passes->nats[t], tokens, sizeof(real), "losses", err));
    }
    return STATUS_OK;
}

Status passes_create(Passes *passes, const GptConfig *config, int64_t tokens,
                     Error *err)
{
    *passes = (Passes){.tokens = tokens, .threads = omp_get_max_threads()};
    Status status = create_all(passes, config, err);
    if (status != STATUS_OK)
        passes_destroy(passes);
    return status;
}

void passes_destroy(Passes *passes)
{
    for (int t = 0; t < passes->threads; t++) {
        if (passes->works != NULL)
            gpt_work_destroy(passes->works[t]);
        if (passes->slices != NULL)
            batch_slice_destroy(&passes->slices[t]);
        if (passes->nats != NULL)
            memory_free(passes->nats[t]);
    }
    memory_free(passes->nats);
    memory_free(passes->slices);
    memory_free(passes->works);
    *passes = (Passes){0};
}

/* Input tokens of the rows first .. end-1, of the source if that has more. */
static int64_t count_tokens(const RowBatch *batch, int64_t first, int64_t end)
{
    int64_t from = batch->row_segments[first];
    int64_t to = batch->row_segments[end];
    const TokenBatch *tokens = &batch->batch;
    const TokenBatch *source = tokens->source;
    int64_t count = tokens->starts[to] - tokens->starts[from];
    int64_t sources = source != NULL ? source->starts[to] - source->starts[from] : 0;
    return count > sources ? count : sources;
}

int64_t passes_rows(const Passes *passes, const RowBatch *batch, int64_t first,
                    int64_t end)
{
    int64_t last = first + 1;
    while (last < end && count_tokens(batch, first, last + 1) <= passes->tokens)
        last++;
    return last - first;
}
