#include "train/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/gpt/init.h"

/* h that balances h^4 against eps / h, for values near 1. */
static double step_size(void)
{
    return 0.2 * pow((double)REAL_EPSILON, 0.2);
}

double gradcheck_error(double analytic, double numeric)
{
    double error = fabs(analytic - numeric) /
                   (fmax(fabs(analytic), fabs(numeric)) + GRADCHECK_FLOOR);
    return error <= DBL_MAX ? error : INFINITY; /* false for a NaN too */
}

static double numeric_gradient(real *value, GradcheckFunction function, void *context)
{
    double h = step_size();
    real kept = *value;
    double at[4];
    static const double STEPS[4] = {1, -1, 2, -2};
    for (int i = 0; i < 4; i++) {
        *value = (real)((double)kept + STEPS[i] * h);
        at[i] = function(context);
    }
    *value = kept;
    return (8 * (at[0] - at[1]) - (at[2] - at[3])) / (12 * h);
}

GradcheckRow gradcheck_tensor(const char *name, real *values, const real *analytic,
                              int64_t count, int64_t samples, Rng rng,
                              GradcheckFunction function, void *context)
{
    GradcheckRow row = {.size = count, .worst = -1};
    snprintf(row.tensor, sizeof row.tensor, "%s", name);
    row.checked = samples > 0 && samples < count ? samples : count;
    for (int64_t s = 0; s < row.checked; s++) {
        int64_t i =
            row.checked == count ? s : (int64_t)rng_below(&rng, (uint64_t)count);
        double numeric = numeric_gradient(&values[i], function, context);
        double error = gradcheck_error((double)analytic[i], numeric);
        if (error > row.worst) {
            row.worst = error;
            row.analytic = (double)analytic[i];
            row.numeric = numeric;
        }
    }
    return row;
}

GradcheckOptions gradcheck_defaults(void)
{
    GradcheckOptions options = {.config = gpt_config_open(FAMILY_GPT2), .seed = 1};
    options.config.vocab_size = 17;
    options.config.context = 12;
    options.config.width = 12;
    options.config.layers = 2;
    options.config.heads = 3;
    options.config.mlp_width = 20;
    options.config.dropout = 0.2;
    return options;
}

/* A batch of random tokens: one segment as long as the context, then two shorter ones, and
 * a token in five without a target. */
typedef struct {
    int32_t *ids, *targets, *positions;
    int64_t starts[4];
    TokenBatch batch;
} RandomBatch;

static Status random_batch_create(RandomBatch *made, const GptConfig *config, Rng rng,
                                  Error *err)
{
    int64_t T = config->context;
    int64_t lengths[3] = {T, (T + 1) / 2, 1};
    int64_t N = lengths[0] + lengths[1] + lengths[2];
    *made = (RandomBatch){0};
    int32_t *memory;
    TRY(memory_allocate(&memory, (size_t)(3 * N), sizeof *memory, "a batch", err));
    made->ids = memory;
    made->targets = memory + N;
    made->positions = memory + 2 * N;
    int64_t n = 0;
    for (int s = 0; s < 3; s++) {
        made->starts[s] = n;
        for (int64_t i = 0; i < lengths[s]; i++, n++) {
            uint64_t V = (uint64_t)config->vocab_size;
            made->ids[n] = (int32_t)rng_below(&rng, V);
            made->targets[n] = n % 5 == 4 ? TARGET_NONE : (int32_t)rng_below(&rng, V);
            made->positions[n] = (int32_t)i;
        }
    }
    made->starts[3] = n;
    made->batch = (TokenBatch){.tokens = N,
                               .segments = 3,
                               .ids = made->ids,
                               .targets = made->targets,
                               .positions = made->positions,
                               .starts = made->starts};
    return STATUS_OK;
}

/* Everything that the loss is a function of. */
typedef struct {
    Gpt gpt;
    GptWork *work;
    RandomBatch data;
    GptDropout dropout;
    real *grads; /* flat, as gpt.values */
    GptParams grad_view;
    real *unused; /* gradients that a loss-only call throws away */
    GptParams unused_view;
} Subject;

/* The mean loss with dropout on: gpt_loss would leave dropout out, so the training pass
 * runs and its gradients are dropped. */
static double mean_loss(void *context)
{
    Subject *subject = context;
    GptLoss loss = gpt_train_pass(&subject->gpt, &subject->unused_view, subject->work,
                                  &subject->data.batch, 0, &subject->dropout);
    return loss.nats / (double)loss.targets;
}

static Status subject_create(Subject *subject, const GradcheckOptions *options,
                             Error *err)
{
    const GptConfig *config = &options->config;
    TRY(gpt_create(&subject->gpt, config, err));
    const ParamTable *table = &subject->gpt.table;
    Rng rng = rng_stream(options->seed, 1);
    TRY(random_batch_create(&subject->data, config, rng, err));
    TRY(gpt_work_create(&subject->work, config, subject->data.batch.tokens, err));
    TRY(memory_allocate(&subject->grads, table->total, sizeof(real), "gradients", err));
    TRY(memory_allocate(&subject->unused, table->total, sizeof(real), "gradients",
                        err));
    TRY(gpt_params_create(&subject->grad_view, table, config, subject->grads, err));
    TRY(gpt_params_create(&subject->unused_view, table, config, subject->unused, err));
    subject->dropout = (GptDropout){.p = config->dropout, .key = options->seed};
    /* Large random weights, gains and biases too: small ones would hide a wrong term. */
    for (size_t i = 0; i < table->total; i++)
        subject->gpt.values[i] = (real)(0.4 * rng_normal(&rng));
    return STATUS_OK;
}

static void subject_destroy(Subject *subject)
{
    gpt_params_destroy(&subject->unused_view);
    gpt_params_destroy(&subject->grad_view);
    memory_free(subject->unused);
    memory_free(subject->grads);
    gpt_work_destroy(subject->work);
    memory_free(subject->data.ids);
    gpt_destroy(&subject->gpt);
}

/* With learned positions and a single segment as long as the context, row i of dW_P is the gradient of the i-th
 * embedded input alone, so the same tensor checks dx of the first block. */
static Status check_input(GradcheckReport *report, Subject *subject,
                          const GradcheckOptions *options, Error *err)
{
    const ParamTable *table = &subject->gpt.table;
    if (options->config.position != POSITION_LEARNED)
        return STATUS_OK;
    const ParamInfo *positions = &table->items[1];
    subject->data.batch.segments = 1;
    subject->data.batch.tokens = options->config.context;
    memset(subject->grads, 0, table->total * sizeof(real));
    GptLoss loss = gpt_train_pass(&subject->gpt, &subject->grad_view, subject->work,
                                  &subject->data.batch, 0, &subject->dropout);
    if (loss.targets == 0)
        return error_set(err, STATUS_USAGE, "gradcheck: the context is too short");
    memset(subject->grads, 0, table->total * sizeof(real));
    gpt_train_pass(&subject->gpt, &subject->grad_view, subject->work,
                   &subject->data.batch, 1 / (real)loss.targets, &subject->dropout);
    report->rows[report->count++] = gradcheck_tensor(
        "input embedding", subject->gpt.values + positions->offset,
        subject->grads + positions->offset, positions->rows * positions->cols,
        options->samples, rng_stream(options->seed, 3), mean_loss, subject);
    return STATUS_OK;
}

static Status check_all(GradcheckReport *report, Subject *subject,
                        const GradcheckOptions *options, Error *err)
{
    TRY(subject_create(subject, options, err));
    const ParamTable *table = &subject->gpt.table;
    TRY(memory_allocate(&report->rows, (size_t)table->count + 1, sizeof *report->rows,
                        "the gradient check", err));
    GptLoss loss = gpt_train_pass(&subject->gpt, &subject->unused_view, subject->work,
                                  &subject->data.batch, 0, &subject->dropout);
    gpt_train_pass(&subject->gpt, &subject->grad_view, subject->work,
                   &subject->data.batch, 1 / (real)loss.targets, &subject->dropout);
    for (int64_t i = 0; i < table->count; i++) {
        const ParamInfo *info = &table->items[i];
        Rng rng = rng_stream(options->seed, rng_hash(2, (uint64_t)i));
        report->rows[report->count++] =
            gradcheck_tensor(info->name, subject->gpt.values + info->offset,
                             subject->grads + info->offset, info->rows * info->cols,
                             options->samples, rng, mean_loss, subject);
    }
    TRY(check_input(report, subject, options, err));
    for (int64_t i = 0; i < report->count; i++) {
        if (report->rows[i].worst > report->rows[report->worst].worst)
            report->worst = i;
    }
    return STATUS_OK;
}

Status gradcheck_model(GradcheckReport *report, const GradcheckOptions *options,
                       Error *err)
{
    *report = (GradcheckReport){0};
    Subject subject = {0};
    GradcheckOptions filled = *options;
    gpt_config_fill(&filled.config);
    Status status = check_all(report, &subject, &filled, err);
    subject_destroy(&subject);
    if (status != STATUS_OK)
        gradcheck_report_free(report);
    return status;
}

void gradcheck_report_free(GradcheckReport *report)
{
    memory_free(report->rows);
    *report = (GradcheckReport){0};
}
