#include "train/bench.h"

#include <omp.h>

#include "model/base/files.h"
#include "model/base/rng.h"
#include "model/base/safetensors.h"
#include "model/gpt/init.h"
#include "model/gpt/weights.h"
#include "train/bench_limits.h"
#include "train/bench_phases.h"
#include "train/bench_update.h"
#include "train/bench_work.h"
#include "train/clip.h"
#include "train/lanes.h"

enum { MOST_STEPS = 1000 };

double bench_operations(const GptConfig *config)
{
    BenchWork work = bench_work(config);
    double forward = 0;
    for (int i = 0; i < WORK_KINDS; i++)
        forward += work.of[i];
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

/* Steps and samples of the limits in turn. */
static Status time_steps(BenchReport *report, Gpt *gpt, Lanes *lanes, Limits *limits,
                         const BenchOptions *options, const RowBatch *batch, Error *err)
{
    Optimizer optimizer;
    double speeds[MOST_STEPS];
    int count = options->steps < MOST_STEPS ? (int)options->steps : MOST_STEPS;
    TRY(optimizer_create(&optimizer, gpt, &options->optimizer, err));
    GptDropout dropout = {0};
    for (int step = -1; step < count; step++) {
        limits_sample(limits);
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
    report->peak = limits_peak(limits);
    report->product = limits_product(limits);
    return STATUS_OK;
}

/* Everything that a step needs. */
typedef struct {
    Gpt gpt;
    Passes passes;
    Lanes lanes;
    RandomRows rows;
    Limits limits;
} Bench;

static Status bench_create(Bench *bench, const BenchOptions *options, Error *err)
{
    const GptConfig *config = &options->config;
    int64_t pass_tokens =
        options->pass_tokens > config->context ? options->pass_tokens : config->context;
    TRY(gpt_create(&bench->gpt, config, err));
    gpt_init(&bench->gpt, INIT_XAVIER_PER_HEAD, options->seed);
    TRY(passes_create(&bench->passes, config, pass_tokens, err));
    TRY(lanes_create(&bench->lanes, &bench->gpt, &bench->passes, options->lanes, err));
    return rows_create(&bench->rows, options, err);
}

static void bench_destroy(Bench *bench)
{
    limits_destroy(&bench->limits);
    rows_free(&bench->rows);
    lanes_destroy(&bench->lanes);
    passes_destroy(&bench->passes);
    gpt_destroy(&bench->gpt);
}

static Status measure(BenchReport *report, Bench *bench, const BenchOptions *options,
                      Error *err)
{
    const GptConfig *config = &options->config;
    report->threads = bench->passes.threads;
    report->tokens = bench->rows.batch.batch.tokens;
    report->operations = bench_operations(config);
    TRY(limits_create(&bench->limits, report->threads, err));
    TRY(time_steps(report, &bench->gpt, &bench->lanes, &bench->limits, options,
                   &bench->rows.batch, err));
    if (options->repeats == 0)
        return STATUS_OK;
    int64_t rows_a_lane = (options->rows + options->lanes - 1) / options->lanes;
    int64_t rows_a_pass = bench->passes.tokens / config->context;
    if (rows_a_pass > rows_a_lane)
        rows_a_pass = rows_a_lane;
    TRY(bench_phases(report, &bench->gpt, options, rows_a_pass * config->context,
                     (options->rows + rows_a_pass - 1) / rows_a_pass, err));
    return bench_update(report, &bench->gpt, &bench->lanes, options, err);
}

Status bench_run(BenchReport *report, const BenchOptions *options, Error *err)
{
    *report = (BenchReport){0};
    Bench bench = {0};
    Status status = bench_create(&bench, options, err);
    if (status == STATUS_OK)
        status = measure(report, &bench, options, err);
    bench_destroy(&bench);
    return status;
}

static Status write_step(const Bench *bench, const BenchOptions *options, GptLoss loss,
                         const char *path, Error *err)
{
    const ParamTable *table = &bench->gpt.table;
    size_t count = (size_t)table->count + 3;
    int64_t shape[2] = {options->rows, options->config.context};
    int64_t one = 1;
    real mean = (real)(loss.nats / (double)loss.targets);
    Tensor *tensors;
    TRY(memory_allocate(&tensors, count, sizeof *tensors, "the gradients' file", err));
    for (int64_t i = 0; i < table->count; i++) {
        const ParamInfo *info = &table->items[i];
        int64_t sizes[2] = {info->rows, info->cols};
        tensors[i] =
            tensor_of_reals(info->name, bench->lanes.grads[0] + info->offset, 2, sizes);
    }
    tensors[count - 3] = tensor_of_reals("loss", &mean, 1, &one);
    for (size_t i = 0; i < 2; i++)
        tensors[count - 2 + i] =
            (Tensor){.name = i == 0 ? "ids" : "targets",
                     .dtype = DTYPE_I32,
                     .rank = 2,
                     .shape = {shape[0], shape[1]},
                     .data = i == 0 ? bench->rows.batch.batch.ids
                                    : bench->rows.batch.batch.targets};
    Status status = safetensors_write(path, tensors, count, NULL, 0, err);
    memory_free(tensors);
    return status;
}

Status bench_dump(const BenchOptions *options, const char *folder, Error *err)
{
    Bench bench = {0};
    char path[PATH_SIZE];
    GptDropout dropout = {0};
    ModelTokens tokens = {.bos = -1, .eos = -1};
    TRY(folder_create(folder, err));
    TRY(path_join(path, folder, "step.safetensors", err));
    Status status = bench_create(&bench, options, err);
    if (status == STATUS_OK)
        status = weights_save(&bench.gpt, &tokens, folder, err);
    if (status == STATUS_OK) {
        GptLoss loss = lanes_gradient(&bench.lanes, &bench.rows.batch, &dropout);
        status = write_step(&bench, options, loss, path, err);
    }
    bench_destroy(&bench);
    return status;
}
