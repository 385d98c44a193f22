#include "train/bench_phases.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "model/attention/core.h"
#include "model/attention/heads.h"
#include "model/layers/crossentropy.h"
#include "model/layers/embedding.h"
#include "model/layers/gelu.h"
#include "model/math/vec.h"
#include "train/bench_limits.h"

/* One thread's arrays for a pass of N tokens; filled with small numbers. */
typedef struct {
    const Gpt *gpt;
    const GptParams *params;
    GptParams grads;
    Arena arena;
    real *flat; /* what grads is a view of */
    int64_t N, C, F, V, T;
    TokenBatch batch;
    int32_t *ids, *targets, *places;
    int64_t *starts;
    real *narrow, *narrow2, *narrow3; /* (N, C) */
    real *wide, *wide2, *wide3;       /* (N, max(3C, F)) */
    real *logsum, *scratch, *logits;
    LayerNormSaved norm;
} PhaseWork;

static const BlockParams *first_block(const PhaseWork *w)
{
    return &w->params->blocks[0];
}

static const BlockParams *first_grads(const PhaseWork *w)
{
    return &w->grads.blocks[0];
}

static void embed(PhaseWork *w)
{
    embedding_forward(w->narrow, w->params->tokens, w->params->positions, w->ids,
                      w->places, w->N, w->C);
    embedding_backward(w->grads.tokens, w->grads.positions, w->narrow, w->ids,
                       w->places, w->N, w->C);
}

static void norm(PhaseWork *w)
{
    const LayerNormParams *params = &first_block(w)->norm1;
    layernorm_forward(w->narrow2, &w->norm, w->narrow, params, 1e-5, w->N, w->C);
    layernorm_backward_add(w->narrow3, &first_grads(w)->norm1, w->narrow2, &w->norm,
                           w->narrow, params, w->N, w->C);
}

static void qkv_forward(PhaseWork *w)
{
    linear_forward(w->wide, w->narrow, &first_block(w)->attention.qkv, w->N, w->C,
                   3 * w->C);
}

static void qkv_backward(PhaseWork *w)
{
    linear_backward(w->narrow2, &first_grads(w)->attention.qkv, w->wide, w->narrow,
                    &first_block(w)->attention.qkv, w->N, w->C, 3 * w->C);
}

static AttentionShape head_shape(const PhaseWork *w, int64_t n)
{
    int64_t C = w->C, D = C / w->gpt->config.heads;
    return (AttentionShape){.n = n,
                            .m = n,
                            .D = D,
                            .E = D,
                            .stride_q = 3 * C,
                            .stride_k = 3 * C,
                            .stride_v = 3 * C,
                            .stride_z = C,
                            .scale = (real)(1 / sqrt((double)D)),
                            .causal = true};
}

/* The heads' part alone: without the two products around it. */
static void attention_both(PhaseWork *w, bool backward)
{
    int64_t H = w->gpt->config.heads;
    int64_t D = w->C / H;
    for (int64_t s = 0; s < w->batch.segments; s++) {
        int64_t start = w->starts[s];
        AttentionShape shape = head_shape(w, w->starts[s + 1] - start);
        for (int64_t h = 0; h < H; h++) {
            const real *q = w->wide + start * 3 * w->C + h * D;
            real *z = w->narrow + start * w->C + h * D;
            real *logsum = w->logsum + h * w->N + start;
            if (backward) {
                real *dq = w->wide2 + start * 3 * w->C + h * D;
                attention_backward(dq, dq + w->C, dq + 2 * w->C, KEYS_WRITE, z, z,
                                   logsum, q, q + w->C, q + 2 * w->C, w->scratch,
                                   &shape);
            } else {
                attention_forward(z, logsum, q, q + w->C, q + 2 * w->C, w->scratch,
                                  &shape);
            }
        }
    }
}

static void attention_ahead(PhaseWork *w)
{
    attention_both(w, false);
}

static void attention_back(PhaseWork *w)
{
    attention_both(w, true);
}

static void out_forward(PhaseWork *w)
{
    linear_forward(w->narrow2, w->narrow, &first_block(w)->attention.out, w->N, w->C,
                   w->C);
}

static void out_backward(PhaseWork *w)
{
    linear_backward(w->narrow3, &first_grads(w)->attention.out, w->narrow2, w->narrow,
                    &first_block(w)->attention.out, w->N, w->C, w->C);
}

static void up_forward(PhaseWork *w)
{
    linear_forward(w->wide, w->narrow, &first_block(w)->mlp.up, w->N, w->C, w->F);
}

static void up_backward(PhaseWork *w)
{
    linear_backward(w->narrow2, &first_grads(w)->mlp.up, w->wide, w->narrow,
                    &first_block(w)->mlp.up, w->N, w->C, w->F);
}

static void down_forward(PhaseWork *w)
{
    linear_forward(w->narrow, w->wide, &first_block(w)->mlp.down, w->N, w->F, w->C);
}

static void down_backward(PhaseWork *w)
{
    linear_backward(w->wide2, &first_grads(w)->mlp.down, w->narrow, w->wide,
                    &first_block(w)->mlp.down, w->N, w->F, w->C);
}

static void gelu(PhaseWork *w)
{
    gelu_forward_slope(w->wide2, w->wide, w->N * w->F);
    vec_multiply(w->wide3, w->wide, w->N * w->F);
}

static void head(PhaseWork *w)
{
    crossentropy_head(w->narrow2, w->grads.tokens, NULL, w->narrow, w->params->tokens,
                      w->targets, (real)1e-4, w->logits, w->N, w->C, w->V);
}

typedef struct {
    const char *name;
    void (*run)(PhaseWork *);
    bool per_layer;
    /* Operations per token as factors of C^2, C F, C V and C (T + 1). */
    double square, mlp, vocab, scores;
} PhaseKind;

static const PhaseKind KINDS[] = {
    {"embedding", embed, false, 0, 0, 0, 0},
    {"layernorm", norm, true, 0, 0, 0, 0},
    {"qkv forward", qkv_forward, true, 6, 0, 0, 0},
    {"qkv backward", qkv_backward, true, 12, 0, 0, 0},
    {"attention forward", attention_ahead, true, 0, 0, 0, 2},
    {"attention backward", attention_back, true, 0, 0, 0, 4},
    {"out forward", out_forward, true, 2, 0, 0, 0},
    {"out backward", out_backward, true, 4, 0, 0, 0},
    {"mlp up forward", up_forward, true, 0, 2, 0, 0},
    {"mlp up backward", up_backward, true, 0, 4, 0, 0},
    {"gelu", gelu, true, 0, 0, 0, 0},
    {"mlp down forward", down_forward, true, 0, 2, 0, 0},
    {"mlp down backward", down_backward, true, 0, 4, 0, 0},
    {"head and loss", head, false, 0, 0, 6, 0},
};

static void lay_out(PhaseWork *w, Arena *arena)
{
    const GptConfig *config = &w->gpt->config;
    int64_t wide = w->F > 3 * w->C ? w->F : 3 * w->C;
    size_t N = (size_t)w->N;
    w->flat = arena_reals(arena, (int64_t)w->gpt->table.total);
    real **const narrow[] = {&w->narrow, &w->narrow2, &w->narrow3};
    real **const wides[] = {&w->wide, &w->wide2, &w->wide3};
    for (int i = 0; i < 3; i++) {
        *narrow[i] = arena_reals(arena, w->N * w->C);
        *wides[i] = arena_reals(arena, w->N * wide);
    }
    w->norm.mean = arena_reals(arena, w->N);
    w->norm.inverse = arena_reals(arena, w->N);
    w->logsum = arena_reals(arena, config->heads * w->N);
    int64_t D = config->head_size;
    w->scratch = arena_reals(arena, attention_scratch(w->T, w->T, D, D));
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
                     .T = config->context};
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
    double C = (double)config->width;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        const PhaseKind *kind = &KINDS[i];
        double layers = kind->per_layer ? (double)config->layers : 1;
        double tokens = (double)works[0].N * (double)passes;
        double each = kind->square * C * C + kind->mlp * C * (double)config->mlp_width +
                      kind->vocab * C * (double)config->vocab_size +
                      kind->scores * C * (double)(config->context + 1);
        double rounds = (double)passes / report->threads;
        double seconds = time_kind(kind, works, report->threads, options->repeats);
        report->phases[report->phase_count++] =
            (BenchPhase){.name = kind->name,
                         .calls = passes * (int64_t)layers,
                         .seconds = seconds * rounds * layers,
                         .operations = each * tokens * layers};
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
