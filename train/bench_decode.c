#include "train/bench_decode.h"

#include <stdlib.h>
#include <time.h>

#include "model/base/rng.h"
#include "model/gpt/init.h"

/* The row behind those that are timed holds what they all begin with. */
typedef struct {
    const BenchDecodeOptions *options;
    int64_t steps;
    Gpt gpt;
    Decoder *decoder;
    int32_t *prompt; /* (tokens - steps) */
    int32_t *ids;    /* (steps, rows) */
    int32_t *rows;   /* (rows) 0, 1, ... */
} Bench;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static Status random_ids(int32_t **ids, int64_t count,
                         const BenchDecodeOptions *options, uint64_t stream, Error *err)
{
    TRY(memory_allocate(ids, (size_t)count, sizeof **ids, "random tokens", err));
    Rng rng = rng_stream(options->seed, stream);
    for (int64_t i = 0; i < count; i++)
        (*ids)[i] = (int32_t)rng_below(&rng, (uint64_t)options->config.vocab_size);
    return STATUS_OK;
}

static Status bench_create(Bench *bench, Error *err)
{
    const BenchDecodeOptions *options = bench->options;
    int64_t prompt = options->tokens - bench->steps;
    GptConfig config = options->config;
    config.context = options->tokens;
    TRY(gpt_create(&bench->gpt, &config, err));
    gpt_init(&bench->gpt, INIT_XAVIER_PER_HEAD, options->seed);
    DecoderOptions decoder = {
        .rows = options->rows + 1, .threads = options->threads, .mla = options->mla};
    TRY(decoder_create(&bench->decoder, &bench->gpt, &decoder, err));
    TRY(random_ids(&bench->prompt, prompt, options, 1, err));
    TRY(random_ids(&bench->ids, bench->steps * options->rows, options, 2, err));
    TRY(memory_allocate(&bench->rows, (size_t)options->rows, sizeof *bench->rows,
                        "the rows of a step", err));
    for (int32_t r = 0; r < (int32_t)options->rows; r++)
        bench->rows[r] = r;
    if (prompt > 0)
        decoder_prefill(bench->decoder, options->rows, bench->prompt, prompt);
    return STATUS_OK;
}

static void bench_free(Bench *bench)
{
    decoder_destroy(bench->decoder);
    gpt_destroy(&bench->gpt);
    memory_free(bench->prompt);
    memory_free(bench->ids);
    memory_free(bench->rows);
}

/* Seconds of the steps. */
static double sample(const Bench *bench)
{
    int64_t rows = bench->options->rows;
    for (int64_t r = 0; r < rows; r++)
        decoder_copy(bench->decoder, r, rows);
    double start = seconds_now();
    for (int64_t s = 0; s < bench->steps; s++)
        decoder_step(bench->decoder, bench->rows, bench->ids + s * rows, rows);
    return seconds_now() - start;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void measure(BenchDecodeReport *report, const Bench *bench)
{
    const BenchDecodeOptions *options = bench->options;
    double seconds[BENCH_DECODE_SAMPLES] = {0};
    sample(bench); /* fills the caches, wakes the threads */
    for (int64_t i = 0; i < options->samples; i++)
        seconds[i] = sample(bench);
    qsort(seconds, (size_t)options->samples, sizeof *seconds, by_size);
    double tokens = (double)(bench->steps * options->rows);
    KvBytes row = decoder_cache_bytes(bench->decoder);
    *report = (BenchDecodeReport){
        .median = tokens / seconds[options->samples / 2],
        .best = tokens / seconds[0],
        .worst = tokens / seconds[options->samples - 1],
        .token_bytes = kvcache_bytes(&bench->gpt.config, 1),
        .row_bytes = row.numbers,
        .padding = row.padding,
        .parameters = bench->gpt.table.parameters,
    };
}

Status bench_decode_run(BenchDecodeReport *report, const BenchDecodeOptions *options,
                        Error *err)
{
    Bench bench = {
        .options = options,
        .steps = options->steps < options->tokens ? options->steps : options->tokens,
    };
    Status status = bench_create(&bench, err);
    if (status == STATUS_OK)
        measure(report, &bench);
    bench_free(&bench);
    return status;
}
