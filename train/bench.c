#include "train/bench.h"

#include <math.h>
#include <omp.h>

#include "model/base/rng.h"
#include "model/gpt/init.h"
#include "train/bench_limits.h"
#include "train/bench_phases.h"
#include "train/clip.h"
#include "train/lanes.h"

enum { MOST_STEPS = 1000 };

double bench_operations(const GptConfig *config)
{
    double C = (double)config->width;
    double L = (double)config->layers;
    double F = (double)config->mlp_width;
    double V = (double)config->vocab_size;
    double T = (double)config->context;
    double forward = 2 * L * (4 * C * C + 2 * C * F) + 2 * C * V + 2 * L * C * (T + 1);
    return 3 * forward;
}

/* B rows of T random tokens, each row one segment, every token a target. */
typedef struct {
    int32_t *memory;
    int64_t *starts, *row_segments;
    RowBatch batch;
} RandomRows;

static Status rows_create(RandomRows *rows, const BenchOptions *options, Error *err)
{
    int64_t B = options->rows;
    int64_t T = options->config.context;
    int64_t N = B * T;
    *rows = (RandomRows){0};
    TRY(memory_allocate(&rows->memory, (size_t)(3 * N), sizeof *rows->memory, "a batch",
                        err));
    TRY(memory_allocate(&rows->starts, (size_t)(B + 1), sizeof *rows->starts, "a batch",
                        err));
    TRY(memory_allocate(&rows->row_segments, (size_t)(B + 1),
                        sizeof *rows->row_segments, "a batch", err));
    Rng rng = rng_stream(options->seed, 1);
    uint64_t V = (uint64_t)options->config.vocab_size;
    for (int64_t n = 0; n < N; n++) {
        rows->memory[n] = (int32_t)rng_below(&rng, V);
        rows->memory[N + n] = (int32_t)rng_below(&rng, V);
        rows->memory[2 * N + n] = (int32_t)(n % T);
    }
    for (int64_t b = 0; b <= B; b++) {
        rows->starts[b] = b * T;
        rows->row_segments[b] = b;
    }
    rows->batch = (RowBatch){.batch = {.tokens = N,
                                       .segments = B,
                                       .ids = rows->memory,
                                       .targets = rows->memory + N,
                                       .positions = rows->memory + 2 * N,
                                       .starts = rows->starts},
                             .rows = B,
                             .targets = N,
                             .row_segments = rows->row_segments};
    return STATUS_OK;
}

static void rows_free(RandomRows *rows)
{
    memory_free(rows->memory);
    memory_free(rows->starts);
    memory_free(rows->row_segments);
}

static Status time_steps(BenchReport *report, Gpt *gpt, Lanes *lanes,
                         const BenchOptions *options, const RowBatch *batch, Error *err)
{
    Optimizer optimizer;
    double speeds[MOST_STEPS];
    int count = options->steps < MOST_STEPS ? (int)options->steps : MOST_STEPS;
    TRY(optimizer_create(&optimizer, gpt, &options->optimizer, err));
    GptDropout dropout = {0};
    for (int step = -1; step < count; step++) {
        double began = omp_get_wtime();
        GptLoss loss = lanes_gradient(lanes, batch, &dropout);
        clip_global_norm(lanes->grads[0], gpt->table.total, 1);
        optimizer_update(&optimizer, gpt, lanes->grads[0], 1);
        if (step >= 0)
            speeds[step] = (double)batch->batch.tokens / (omp_get_wtime() - began);
        report->loss = loss.nats / (double)loss.targets;
    }
    optimizer_destroy(&optimizer);
    report->median = limits_median(speeds, count);
    report->worst = speeds[0];
    report->best = speeds[count - 1];
    return STATUS_OK;
}

static Status run(BenchReport *report, Gpt *gpt, Passes *passes, Lanes *lanes,
                  RandomRows *rows, const BenchOptions *options, Error *err)
{
    const GptConfig *config = &options->config;
    int64_t pass_tokens =
        options->pass_tokens > config->context ? options->pass_tokens : config->context;
    TRY(gpt_create(gpt, config, err));
    gpt_init(gpt, INIT_XAVIER_PER_HEAD, options->seed);
    TRY(passes_create(passes, config, pass_tokens, err));
    TRY(lanes_create(lanes, gpt, passes, options->lanes, err));
    TRY(rows_create(rows, options, err));
    report->threads = passes->threads;
    report->tokens = rows->batch.batch.tokens;
    report->operations = bench_operations(config);
    report->peak = limits_peak(report->threads);
    TRY(limits_product(&report->product, report->threads, err));
    TRY(time_steps(report, gpt, lanes, options, &rows->batch, err));
    if (options->repeats == 0)
        return STATUS_OK;
    int64_t rows_a_lane = (options->rows + options->lanes - 1) / options->lanes;
    int64_t rows_a_pass = pass_tokens / config->context;
    if (rows_a_pass > rows_a_lane)
        rows_a_pass = rows_a_lane;
    return bench_phases(report, gpt, options, rows_a_pass * config->context,
                        (options->rows + rows_a_pass - 1) / rows_a_pass, err);
}

Status bench_run(BenchReport *report, const BenchOptions *options, Error *err)
{
    *report = (BenchReport){0};
    Gpt gpt = {0};
    Passes passes = {0};
    Lanes lanes = {0};
    RandomRows rows = {0};
    Status status = run(report, &gpt, &passes, &lanes, &rows, options, err);
    rows_free(&rows);
    lanes_destroy(&lanes);
    passes_destroy(&passes);
    gpt_destroy(&gpt);
    return status;
}
