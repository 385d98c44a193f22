#include "train/lanes.h"

#include <omp.h>
#include <string.h>

/* Reals that travel between ranks at a time: a message large enough that its start does not
 * count, in a buffer small enough to be added out of the cache. */
enum { TRAVEL = 1 << 18 };

static Status create_all(Lanes *lanes, Error *err)
{
    const Gpt *gpt = lanes->gpt;
    size_t count = (size_t)lanes->count;
    TRY(memory_allocate(&lanes->grads, count, sizeof *lanes->grads, "gradients", err));
    TRY(memory_allocate(&lanes->views, count, sizeof *lanes->views, "gradients", err));
    TRY(memory_allocate(&lanes->losses, count, sizeof *lanes->losses, "losses", err));
    for (int64_t i = lanes->first; i < lanes->end; i++) {
        TRY(memory_allocate(&lanes->grads[i], gpt->table.total, sizeof(real),
                            "gradients", err));
        TRY(gpt_params_create(&lanes->views[i], &gpt->table, &gpt->config,
                              lanes->grads[i], err));
    }
    if (lanes->dist.ranks > 1)
        TRY(memory_allocate(&lanes->arriving, TRAVEL, sizeof(real), "gradients", err));
    return STATUS_OK;
}

Status lanes_create_part(Lanes *lanes, const Gpt *gpt, Passes *passes, int64_t count,
                         const Dist *dist, Error *err)
{
    *lanes = (Lanes){0};
    if (dist->ranks > count)
        return error_set(err, STATUS_USAGE,
                         "%d ranks cannot share %lld lane%s: raise --lanes to at least "
                         "the number of ranks, or start fewer ranks",
                         dist->ranks, (long long)count, count == 1 ? "" : "s");
    *lanes = (Lanes){.count = count,
                     .first = dist_first(dist, count, dist->rank),
                     .end = dist_first(dist, count, dist->rank + 1),
                     .gpt = gpt,
                     .passes = passes,
                     .dist = *dist};
    Status status = create_all(lanes, err);
    if (status != STATUS_OK)
        lanes_destroy(lanes);
    return status;
}

Status lanes_create(Lanes *lanes, const Gpt *gpt, Passes *passes, int64_t count,
                    Error *err)
{
    Dist alone = dist_alone();
    return lanes_create_part(lanes, gpt, passes, count, &alone, err);
}

void lanes_destroy(Lanes *lanes)
{
    for (int64_t i = lanes->first; i < lanes->end; i++) {
        if (lanes->views != NULL)
            gpt_params_destroy(&lanes->views[i]);
        if (lanes->grads != NULL)
            memory_free(lanes->grads[i]);
    }
    memory_free(lanes->arriving);
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
        const TokenBatch *pass =
            batch_slice(&lanes->passes->slices[thread], batch, first, rows);
        int64_t segment = batch->row_segments[first];
        GptDropout here = *dropout;
        here.first_token = (uint64_t)batch->batch.starts[segment];
        if (pass->source != NULL)
            here.first_source = (uint64_t)batch->batch.source->starts[segment];
        GptLoss part =
            gpt_train_pass(lanes->gpt, &lanes->views[lane], work, pass, scale, &here);
        loss->nats += part.nats;
        loss->targets += part.targets;
        first += rows;
    }
}

/* ---- the tree ----------------------------------------------------------------------- */

static void add(real *to, const real *from, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* Whether all of lane .. lane + lanes - 1 are mine: a subtree that needs nobody else. */
static bool is_mine(const Lanes *lanes, int64_t lane, int64_t count)
{
    return lane >= lanes->first && lane + count <= lanes->end;
}

/* Every subtree that is all mine. Each thread sums its own piece of the parameters. */
static void add_mine(Lanes *lanes)
{
    enum { PIECE = 4096 };
    size_t total = lanes->gpt->table.total;
#pragma omp parallel for schedule(static)
    for (size_t start = 0; start < total; start += PIECE) {
        size_t count = start + PIECE < total ? PIECE : total - start;
        for (int64_t apart = 1; apart < lanes->count; apart *= 2) {
            for (int64_t lane = 0; lane + apart < lanes->count; lane += 2 * apart) {
                if (is_mine(lanes, lane, 2 * apart))
                    add(lanes->grads[lane] + start, lanes->grads[lane + apart] + start,
                        count);
            }
        }
    }
}

/* One pair of the tree over `count` parameters from `start` on, the two lanes being of one
 * rank or of two. */
static void add_pair(Lanes *lanes, int64_t lane, int64_t other, size_t start,
                     size_t count)
{
    const Dist *dist = &lanes->dist;
    int to = dist_owner(dist, lanes->count, lane);
    int from = dist_owner(dist, lanes->count, other);
    if (to == dist->rank && from == dist->rank) {
        add(lanes->grads[lane] + start, lanes->grads[other] + start, count);
    } else if (to == dist->rank) {
        dist_receive(dist, lanes->arriving, count * sizeof(real), from);
        add(lanes->grads[lane] + start, lanes->arriving, count);
    } else if (from == dist->rank) {
        dist_send(dist, lanes->grads[other] + start, count * sizeof(real), to);
    }
}

/* The pairs whose subtree no rank has to itself. All ranks walk them in one order, so that
 * of the pairs not yet added the first one always has both its ranks there. */
static void add_across(Lanes *lanes)
{
    const Dist *dist = &lanes->dist;
    size_t total = lanes->gpt->table.total;
    for (size_t start = 0; start < total; start += TRAVEL) {
        size_t count = start + TRAVEL < total ? TRAVEL : total - start;
        for (int64_t apart = 1; apart < lanes->count; apart *= 2) {
            for (int64_t lane = 0; lane + apart < lanes->count; lane += 2 * apart) {
                int64_t last = lane + 2 * apart - 1;
                if (dist_owner(dist, lanes->count, lane) !=
                    dist_owner(dist, lanes->count, last))
                    add_pair(lanes, lane, lane + apart, start, count);
            }
        }
    }
}

GptLoss lanes_gradient(Lanes *lanes, const RowBatch *batch, const GptDropout *dropout)
{
    real scale = batch->targets > 0 ? 1 / (real)batch->targets : 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(lanes->passes->threads)
    for (int64_t lane = lanes->first; lane < lanes->end; lane++)
        run_lane(lanes, lane, batch, dropout, scale);
    add_mine(lanes);
    if (lanes->dist.ranks > 1) {
        add_across(lanes);
        dist_broadcast(&lanes->dist, lanes->grads[lanes->first],
                       lanes->gpt->table.total * sizeof(real), 0);
        dist_share(&lanes->dist, lanes->losses, lanes->count, sizeof *lanes->losses);
    }
    GptLoss total = {0};
    for (int64_t lane = 0; lane < lanes->count; lane++) {
        total.nats += lanes->losses[lane].nats;
        total.targets += lanes->losses[lane].targets;
    }
    return total;
}
