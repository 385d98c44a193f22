#include "train/bench_phases.h"

#include <omp.h>

#include "model/attention/core.h"
#include "model/layers/crossentropy.h"
#include "train/bench_kinds.h"
#include "train/bench_limits.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static HeadSizes head_sizes(const GptConfig *config)
{
    HeadSizes sizes = {.H = config->heads,
                       .G = config->kv_heads,
                       .D = gpt_score_size(config),
                       .E = gpt_value_size(config)};
    sizes.packed = sizes.H * sizes.D + sizes.G * (sizes.D + sizes.E);
    return sizes;
}

static void lay_out(PhaseWork *w, Arena *arena)
{
    const HeadSizes *sizes = &w->heads;
    const GptConfig *config = &w->gpt->config;
    int64_t narrow = larger(w->C, sizes->H * sizes->E);
    int64_t wide = larger(larger(w->F, sizes->packed), w->C);
    wide = larger(wide, larger(config->q_rank, config->kv_rank + config->rope_size));
    wide = larger(wide, sizes->H * (config->nope_size + sizes->E));
    size_t N = (size_t)w->N;
    w->flat = arena_reals(arena, (int64_t)w->gpt->table.total);
    real **const narrows[] = {&w->narrow, &w->narrow2, &w->narrow3};
    real **const wides[] = {&w->wide, &w->wide2, &w->wide3, &w->wide4};
    for (int i = 0; i < 3; i++)
        *narrows[i] = arena_reals(arena, w->N * narrow);
    for (int i = 0; i < 4; i++)
        *wides[i] = arena_reals(arena, w->N * wide);
    w->norm.mean = arena_reals(arena, w->N);
    w->norm.inverse = arena_reals(arena, w->N);
    w->logsum = arena_reals(arena, sizes->H * w->N);
    w->scratch = arena_reals(arena, attention_scratch(w->T, w->T, sizes->D, sizes->E));
    w->logits = arena_reals(arena, crossentropy_scratch(w->N, w->C, w->V));
    w->ids = arena_take(arena, N, sizeof *w->ids);
    w->targets = arena_take(arena, N, sizeof *w->targets);
    w->places = arena_take(arena, N, sizeof *w->places);
    w->starts = arena_take(arena, N + 1, sizeof *w->starts);
}

static void fill(PhaseWork *w)
{
    size_t reals = w->arena.size / sizeof(real);
    real *all = w->flat; /* the arena's first array */
    for (size_t i = 0; i < reals; i++)
        all[i] = (real)((double)(i % 13) / 64 - 0.1);
    for (int64_t n = 0; n < w->N; n++) {
        w->ids[n] = (int32_t)(n * 7919 % w->V);
        w->targets[n] = (int32_t)(n * 31 % w->V);
        w->places[n] = (int32_t)(n % w->T);
    }
    int64_t segments = 0;
    for (int64_t n = 0; n < w->N; n += w->T)
        w->starts[segments++] = n;
    w->starts[segments] = w->N;
    w->batch = (TokenBatch){.tokens = w->N,
                            .segments = segments,
                            .ids = w->ids,
                            .targets = w->targets,
                            .positions = w->places,
                            .starts = w->starts};
}

static Status work_create(PhaseWork *w, const Gpt *gpt, int64_t tokens, Error *err)
{
    const GptConfig *config = &gpt->config;
    *w = (PhaseWork){.gpt = gpt,
                     .params = &gpt->params,
                     .N = tokens,
                     .C = config->width,
                     .F = config->mlp_width,
                     .V = config->vocab_size,
                     .T = config->context,
                     .heads = head_sizes(config)};
    Arena counting = {0};
    lay_out(w, &counting);
    TRY(arena_create(&w->arena, counting.used, "a phase", err));
    lay_out(w, &w->arena);
    fill(w);
    return gpt_params_create(&w->grads, &gpt->table, config, w->flat, err);
}

static void work_destroy(PhaseWork *w)
{
    gpt_params_destroy(&w->grads);
    arena_destroy(&w->arena);
}

/* Seconds of one call on each thread at once; the warm-up call is not timed. */
static double time_kind(const PhaseKind *kind, PhaseWork *works, int threads,
                        int64_t repeats)
{
    enum { MOST = 64 };
    double seconds[MOST];
    int count = repeats < MOST ? (int)repeats : MOST;
    for (int i = -1; i < count; i++) {
        double began = omp_get_wtime();
#pragma omp parallel num_threads(threads)
        kind->run(&works[omp_get_thread_num()]);
        if (i >= 0)
            seconds[i] = omp_get_wtime() - began;
    }
    return limits_median(seconds, count);
}

static void time_all(BenchReport *report, PhaseWork *works, const BenchOptions *options,
                     int64_t passes)
{
    const GptConfig *config = &options->config;
    BenchWork work = bench_work(config);
    double tokens = (double)works[0].N * (double)passes;
    for (int i = 0; i < PHASE_KINDS; i++) {
        const PhaseKind *kind = &PHASES[i];
        double layers = kind->per_layer ? (double)config->layers : 1;
        double rounds = (double)passes / report->threads;
        double seconds = time_kind(kind, works, report->threads, options->repeats);
        bool of_layers = kind->per_layer || kind->work == WORK_SCORES;
        report->phases[report->phase_count++] =
            (BenchPhase){.name = kind->name,
                         .calls = passes * (of_layers ? config->layers : 1),
                         .seconds = seconds * rounds * layers,
                         .operations = kind->times * work.of[kind->work] * tokens};
    }
}

Status bench_phases(BenchReport *report, const Gpt *gpt, const BenchOptions *options,
                    int64_t tokens, int64_t passes, Error *err)
{
    PhaseWork *works;
    TRY(memory_allocate(&works, (size_t)report->threads, sizeof *works, "the phases",
                        err));
    Status status = STATUS_OK;
    for (int t = 0; status == STATUS_OK && t < report->threads; t++)
        status = work_create(&works[t], gpt, tokens, err);
    if (status == STATUS_OK)
        time_all(report, works, options, passes);
    for (int t = 0; t < report->threads; t++)
        work_destroy(&works[t]);
    memory_free(works);
    return status;
}
