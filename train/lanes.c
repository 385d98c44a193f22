#include "train/lanes.h"

#include <omp.h>
#include <string.h>

static Status create_all(Lanes *lanes, Error *err)
{
    const Gpt *gpt = lanes->gpt;
    size_t count = (size_t)lanes->count;
    TRY(memory_allocate(&lanes->grads, count, sizeof *lanes->grads, "gradients", err));
    TRY(memory_allocate(&lanes->views, count, sizeof *lanes->views, "gradients", err));
    TRY(memory_allocate(&lanes->losses, count, sizeof *lanes->losses, "losses", err));
    for (size_t i = 0; i < count; i++) {
        TRY(memory_allocate(&lanes->grads[i], gpt->table.total, sizeof(real),
                            "gradients", err));
        TRY(gpt_params_create(&lanes->views[i], &gpt->table, &gpt->config,
                              lanes->grads[i], err));
    }
    return STATUS_OK;
}

Status lanes_create(Lanes *lanes, const Gpt *gpt, Passes *passes, int64_t count,
                    Error *err)
{
    *lanes = (Lanes){.count = count, .gpt = gpt, .passes = passes};
    Status status = create_all(lanes, err);
    if (status != STATUS_OK)
        lanes_destroy(lanes);
    return status;
}

void lanes_destroy(Lanes *lanes)
{
    for (int64_t i = 0; i < lanes->count; i++) {
        if (lanes->views != NULL)
            gpt_params_destroy(&lanes->views[i]);
        if (lanes->grads != NULL)
            memory_free(lanes->grads[i]);
    }
    memory_free(lanes->losses);
    memory_free(lanes->views);
    memory_free(lanes->grads);
    *lanes = (Lanes){0};
}

static void run_lane(Lanes *lanes, int64_t lane, const RowBatch *batch,
                     const GptDropout *dropout, real scale)
{
    int thread = omp_get_thread_num();
    GptWork *work = lanes->passes->works[thread];
    GptLoss *loss = &lanes->losses[lane];
    *loss = (GptLoss){0};
    memset(lanes->grads[lane], 0, lanes->gpt->table.total * sizeof(real));
    int64_t first = batch->rows * lane / lanes->count;
    int64_t end = batch->rows * (lane + 1) / lanes->count;
    while (first < end) {
        int64_t rows = passes_rows(lanes->passes, batch, first, end);
        TokenBatch pass;
        batch_slice(&pass, lanes->passes->starts[thread], batch, first, rows);
        GptDropout here = *dropout;
        here.first_token = (uint64_t)batch->batch.starts[batch->row_segments[first]];
        GptLoss part =
            gpt_train_pass(lanes->gpt, &lanes->views[lane], work, &pass, scale, &here);
        loss->nats += part.nats;
        loss->targets += part.targets;
        first += rows;
    }
}

/* grads[0] = the tree sum of all lanes. Each thread sums its own piece of the parameters. */
static void add_lanes(Lanes *lanes)
{
    enum { PIECE = 4096 };
    size_t total = lanes->gpt->table.total;
#pragma omp parallel for schedule(static)
    for (size_t start = 0; start < total; start += PIECE) {
        size_t end = start + PIECE < total ? start + PIECE : total;
        for (int64_t apart = 1; apart < lanes->count; apart *= 2) {
            for (int64_t lane = 0; lane + apart < lanes->count; lane += 2 * apart) {
                real *to = lanes->grads[lane];
                const real *from = lanes->grads[lane + apart];
#pragma omp simd
                for (size_t i = start; i < end; i++)
                    to[i] += from[i];
            }
        }
    }
}

GptLoss lanes_gradient(Lanes *lanes, const RowBatch *batch, const GptDropout *dropout)
{
    real scale = batch->targets > 0 ? 1 / (real)batch->targets : 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(lanes->passes->threads)
    for (int64_t lane = 0; lane < lanes->count; lane++)
        run_lane(lanes, lane, batch, dropout, scale);
    add_lanes(lanes);
    GptLoss total = {0};
    for (int64_t lane = 0; lane < lanes->count; lane++) {
        total.nats += lanes->losses[lane].nats;
        total.targets += lanes->losses[lane].targets;
    }
    return total;
}
