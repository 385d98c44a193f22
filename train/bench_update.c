#include "train/bench_update.h"

#include <omp.h>

#include "train/bench_limits.h"
#include "train/clip.h"

enum { MOST = 64 };

static void add_phase(BenchReport *report, const char *name, double *seconds, int count)
{
    report->phases[report->phase_count++] = (BenchPhase){
        .name = name, .calls = 1, .seconds = limits_median(seconds, count)};
}

Status bench_update(BenchReport *report, Gpt *gpt, Lanes *lanes,
                    const BenchOptions *options, Error *err)
{
    double reduction[MOST];
    double clip[MOST];
    double update[MOST];
    int count = options->repeats < MOST ? (int)options->repeats : MOST;
    Optimizer optimizer;
    TRY(optimizer_create(&optimizer, gpt, &options->optimizer, err));
    /* A step without rows: its lanes are zeroed and added, nothing else happens. */
    int64_t nowhere = 0;
    RowBatch empty = {.batch = {.starts = &nowhere}, .row_segments = &nowhere};
    GptDropout dropout = {0};
    for (int i = 0; i < count; i++) {
        double began = omp_get_wtime();
        lanes_gradient(lanes, &empty, &dropout);
        double added = omp_get_wtime();
        clip_global_norm(lanes->grads[0], gpt->table.total, 1);
        double clipped = omp_get_wtime();
        optimizer_update(&optimizer, gpt, lanes->grads[0], 0);
        reduction[i] = added - began;
        clip[i] = clipped - added;
        update[i] = omp_get_wtime() - clipped;
    }
    optimizer_destroy(&optimizer);
    add_phase(report, "lanes zeroed, added", reduction, count);
    add_phase(report, "clip", clip, count);
    add_phase(report, OPTIMIZER_NAMES[options->optimizer.kind], update, count);
    return STATUS_OK;
}
