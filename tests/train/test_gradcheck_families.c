/* The gradient check over every family and every switch. In float, where differences are too
 * coarse, each of these models learns a batch by heart instead. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/gpt/init.h"
#include "model/math/blas.h"
#include "train/gradcheck.h"
#include "train/optimizer.h"

typedef struct {
    const char *name;
    Family family;
    void (*change)(GptConfig *config);
    int64_t tensors; /* of a model with two layers */
} Case;

static void rms(GptConfig *config)
{
    config->norm = NORM_RMS;
}
static void after(GptConfig *config)
{
    config->norm_place = NORM_AFTER;
}
static void sinusoidal(GptConfig *config)
{
    config->position = POSITION_SINUSOIDAL;
}
static void rope(GptConfig *config)
{
    config->position = POSITION_ROPE;
}
static void none(GptConfig *config)
{
    config->position = POSITION_NONE;
}
static void swiglu(GptConfig *config)
{
    config->mlp = MLP_SWIGLU;
}
static void gelu(GptConfig *config)
{
    config->mlp = MLP_GELU;
}
static void two_groups(GptConfig *config)
{
    config->kv_heads = 2;
}
static void one_group(GptConfig *config)
{
    config->kv_heads = 1;
}
static void wide_heads(GptConfig *config)
{
    config->head_size = 6;
}
static void no_biases(GptConfig *config)
{
    config->biases = false;
}
static void biases(GptConfig *config)
{
    config->biases = true;
}
static void untied(GptConfig *config)
{
    config->tied = false;
}
static void unscaled(GptConfig *config)
{
    config->scaled_scores = false;
}
static void no_query_latent(GptConfig *config)
{
    config->q_rank = 0;
}
static void theta(GptConfig *config)
{
    config->rope_theta = 7;
}

static void window(GptConfig *config)
{
    config->window = 3;
    config->sliding[1] = true;
}

static void mla(GptConfig *config)
{
    config->attention = ATTENTION_MLA;
    config->biases = false;
}

static void cut(GptConfig *config)
{
    config->removed[0] = 5;
}

static void cut_groups(GptConfig *config)
{
    config->kv_heads = 2;
    config->removed[0] = 3;
    config->removed[1] = 2;
}

static void cut_all(GptConfig *config)
{
    config->removed[1] = 15;
}

static void everything(GptConfig *config)
{
    after(config);
    untied(config);
    window(config);
    config->position = POSITION_LEARNED;
    config->norm = NORM_LAYER;
    config->head_size = config->attention == ATTENTION_HEADS ? 6 : 0;
    config->removed[1] = 2;
}

/* gpt2: W_E and W_P, 12 a layer, 2 of the final norm; the check adds the input. */
static const Case CASES[] = {
    {"gpt2", FAMILY_GPT2, NULL, 29},
    {"gpt2 rms", FAMILY_GPT2, rms, 24},
    {"gpt2 post-norm", FAMILY_GPT2, after, 27},
    {"gpt2 sinusoidal", FAMILY_GPT2, sinusoidal, 27},
    {"gpt2 rope", FAMILY_GPT2, rope, 27},
    {"gpt2 no positions", FAMILY_GPT2, none, 27},
    {"gpt2 swiglu", FAMILY_GPT2, swiglu, 33},
    {"gpt2 G 2", FAMILY_GPT2, two_groups, 29},
    {"gpt2 G 1", FAMILY_GPT2, one_group, 29},
    {"gpt2 D 6", FAMILY_GPT2, wide_heads, 29},
    {"gpt2 window", FAMILY_GPT2, window, 29},
    {"gpt2 no biases", FAMILY_GPT2, no_biases, 21},
    {"gpt2 untied", FAMILY_GPT2, untied, 30},
    {"gpt2 unscaled", FAMILY_GPT2, unscaled, 29},
    {"gpt2 mla", FAMILY_GPT2, mla, 31},
    {"gpt2 cut", FAMILY_GPT2, cut, 29},
    {"gpt2 cut groups", FAMILY_GPT2, cut_groups, 29},
    {"gpt2 cut all", FAMILY_GPT2, cut_all, 26},
    {"gpt2 everything", FAMILY_GPT2, everything, 28},
    {"llama", FAMILY_LLAMA, NULL, 16},
    {"llama theta", FAMILY_LLAMA, theta, 16},
    {"llama G 1", FAMILY_LLAMA, one_group, 16},
    {"llama biases", FAMILY_LLAMA, biases, 26},
    {"llama gelu", FAMILY_LLAMA, gelu, 14},
    {"llama window", FAMILY_LLAMA, window, 16},
    {"llama cut all", FAMILY_LLAMA, cut_all, 14},
    {"llama everything", FAMILY_LLAMA, everything, 22},
    {"deepseek", FAMILY_DEEPSEEK, NULL, 26},
    {"deepseek no q latent", FAMILY_DEEPSEEK, no_query_latent, 22},
    {"deepseek no positions", FAMILY_DEEPSEEK, none, 26},
    {"deepseek window", FAMILY_DEEPSEEK, window, 26},
    {"deepseek cut", FAMILY_DEEPSEEK, cut, 26},
    {"deepseek cut all", FAMILY_DEEPSEEK, cut_all, 19},
    {"deepseek everything", FAMILY_DEEPSEEK, everything, 32},
};
enum { CASES_COUNT = sizeof CASES / sizeof *CASES };

/* Four heads; no two sizes that could stand in for each other are equal. */
static GptConfig config_of(const Case *at)
{
    GptConfig config = gpt_config_open(at->family);
    config.vocab_size = 17;
    config.context = 12;
    config.width = 16;
    config.layers = 2;
    config.heads = 4;
    config.mlp_width = 20;
    config.dropout = 0.2;
    if (at->change != NULL)
        at->change(&config);
    return config;
}

#ifdef JUEJU_REAL_DOUBLE

static void every_gradient_of_every_kind_of_model_is_right(void **state)
{
    (void)state;
    for (int c = 0; c < CASES_COUNT; c++) {
        GradcheckOptions options = {
            .config = config_of(&CASES[c]), .seed = 1, .samples = 12};
        GradcheckReport report;
        Error err = {.message = ""};
        if (gradcheck_model(&report, &options, &err) != STATUS_OK)
            fail_msg("%s: %s", CASES[c].name, err.message);
        if (report.count != CASES[c].tensors)
            fail_msg("%s: %d tensors", CASES[c].name, (int)report.count);
        double worst = 0;
        for (int64_t i = 0; i < report.count; i++) {
            const GradcheckRow *row = &report.rows[i];
            if (!(row->worst <= GRADCHECK_TOLERANCE))
                fail_msg("%s: %s is off by %g", CASES[c].name, row->tensor, row->worst);
            worst = fmax(worst, row->worst);
        }
        assert_true(worst > 0);
        gradcheck_report_free(&report);
    }
}

#else

enum { TOKENS = 12 };

/* One segment in which each token is followed by its own next. */
static TokenBatch sequence(int32_t ids[TOKENS], int32_t targets[TOKENS],
                           int32_t places[TOKENS], int64_t starts[2])
{
    for (int32_t n = 0; n < TOKENS; n++) {
        ids[n] = n;
        targets[n] = (7 * n + 3) % 17;
        places[n] = n;
    }
    starts[0] = 0;
    starts[1] = TOKENS;
    return (TokenBatch){.tokens = TOKENS,
                        .segments = 1,
                        .ids = ids,
                        .targets = targets,
                        .positions = places,
                        .starts = starts};
}

static double loss_after(const Case *at, OptimizerKind kind)
{
    GptConfig config = config_of(at);
    config.dropout = 0;
    gpt_config_fill(&config);
    Gpt gpt;
    GptWork *work;
    Optimizer optimizer;
    real *flat;
    GptParams grads;
    Error err = {.message = ""};
    const OptimizerOptions options = {.kind = kind,
                                      .rate = 0.01,
                                      .beta1 = 0.9,
                                      .beta2 = 0.95,
                                      .eps = 1e-8,
                                      .muon_rate = 0.02,
                                      .muon_momentum = 0.9};
    if (gpt_create(&gpt, &config, &err) != STATUS_OK)
        fail_msg("%s: %s", at->name, err.message);
    gpt_init(&gpt, INIT_XAVIER_PER_HEAD, 3);
    assert_int_equal(gpt_work_create(&work, &config, TOKENS, NULL), STATUS_OK);
    assert_int_equal(optimizer_create(&optimizer, &gpt, &options, NULL), STATUS_OK);
    assert_int_equal(
        memory_allocate(&flat, gpt.table.total, sizeof *flat, "a test", NULL),
        STATUS_OK);
    assert_int_equal(gpt_params_create(&grads, &gpt.table, &config, flat, NULL),
                     STATUS_OK);
    int32_t ids[TOKENS], targets[TOKENS], places[TOKENS];
    int64_t starts[2];
    TokenBatch batch = sequence(ids, targets, places, starts);
    GptDropout none_dropped = {0};
    for (int step = 0; step < 60; step++) {
        memset(flat, 0, gpt.table.total * sizeof *flat);
        gpt_train_pass(&gpt, &grads, work, &batch, (real)1 / TOKENS, &none_dropped);
        optimizer_update(&optimizer, &gpt, flat, 1);
    }
    double nats = gpt_loss(&gpt, work, &batch, NULL).nats / TOKENS;
    gpt_params_destroy(&grads);
    memory_free(flat);
    optimizer_destroy(&optimizer);
    gpt_work_destroy(work);
    gpt_destroy(&gpt);
    return nats;
}

static void every_kind_of_model_learns_a_sequence_by_heart(void **state)
{
    (void)state;
    for (int c = 0; c < CASES_COUNT; c++) {
        for (int kind = OPTIMIZER_MUON; kind <= OPTIMIZER_ADAMW; kind++) {
            double nats = loss_after(&CASES[c], (OptimizerKind)kind);
            if (!(nats < 0.5)) /* it begins with log 17 = 2.8 */
                fail_msg("%s, %s: still %g nats", CASES[c].name, OPTIMIZER_NAMES[kind],
                         nats);
        }
    }
}

#endif

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
#ifdef JUEJU_REAL_DOUBLE
        cmocka_unit_test(every_gradient_of_every_kind_of_model_is_right),
#else
        cmocka_unit_test(every_kind_of_model_learns_a_sequence_by_heart),
#endif
    };
    return cmocka_run_group_tests_name("gradcheck of families", tests, NULL, NULL);
}
