/* jueju gradcheck: every parameter tensor against central differences, in double.
 *
 * The ordinary program computes in float, where differences are too coarse. It hands over
 * to the double build beside it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "model/base/files.h"
#include "model/base/memory.h"
#include "scripts/commands.h"
#include "scripts/model_options.h"
#include "scripts/startup.h"
#include "train/gradcheck.h"

typedef struct {
    CommonOptions common;
    ModelOptions model;
    int64_t samples;
    bool json;
} GradcheckValues;

#define AT(member) offsetof(GradcheckValues, member)

static const Option OPTIONS[] = {
    MODEL_OPTIONS(GradcheckValues, model),
    {"vocab", 'V', OPTION_INT, AT(model.config.vocab_size), "V",
     "tokens of the vocabulary", 2, 65536, NULL},
    {"samples", 'n', OPTION_INT, AT(samples), "N",
     "elements to check in each tensor; 0 checks all", 0, 1e9, NULL},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "print one JSON object", 0, 0, NULL},
    COMMON_OPTIONS(GradcheckValues),
    {0}};

static const CommandInfo INFO = {
    .name = "gradcheck",
    .arguments = "",
    .summary = "check every gradient against central differences, in double",
    .details = "An error is |a - n| / (max(|a|, |n|) + 1e-3); up to 1e-6 passes.",
    .options = OPTIONS,
};

/* build/release-float/jueju -> build/release-double/jueju: the folder beside this program's
 * own, whose name ends in -double where that of ours ends in -float. */
static Status find_double_build(char program[PATH_SIZE], Error *err)
{
    static const char FLOAT[] = "-float";
    char self[PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return error_errno(err, "gradcheck: this program's own path");
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    size_t end = strlen(self);
    size_t tail = strlen(FLOAT);
    if (end > tail && strcmp(self + end - tail, FLOAT) == 0)
        self[end - tail] = '\0';
    int used = snprintf(program, PATH_SIZE, "%s-double/jueju", self);
    if (used >= PATH_SIZE || access(program, X_OK) != 0)
        return error_set(err, STATUS_USAGE,
                         "gradcheck needs the double build: run `make gradcheck`, "
                         "which builds %s",
                         program);
    return STATUS_OK;
}

static Status run_double_build(int argc, char **argv, Error *err)
{
    char program[PATH_SIZE];
    char **words; /* the program's name, then the command and its options, then NULL */
    TRY(find_double_build(program, err));
    TRY(memory_allocate(&words, (size_t)argc + 2, sizeof *words, "the arguments", err));
    words[0] = program;
    for (int i = 0; i < argc; i++)
        words[i + 1] = argv[i];
    execv(program, words);
    Status status = error_errno(err, "%s", program);
    memory_free(words);
    return status;
}

static void print_table(const GradcheckReport *report)
{
    printf("%-36s %8s %8s  %s\n", "tensor", "size", "checked", "worst error");
    for (int64_t i = 0; i < report->count; i++) {
        const GradcheckRow *row = &report->rows[i];
        printf("%-36s %8lld %8lld  %.2e%s\n", row->tensor, (long long)row->size,
               (long long)row->checked, row->worst,
               row->worst <= GRADCHECK_TOLERANCE ? "" : "  WRONG");
    }
    const GradcheckRow *worst = &report->rows[report->worst];
    printf("worst %.2e in %s (analytic %.9g, numeric %.9g)\n", worst->worst,
           worst->tensor, worst->analytic, worst->numeric);
}

static Status print_json(const GradcheckReport *report, Error *err)
{
    json_t *tensors = json_object();
    for (int64_t i = 0; i < report->count; i++) {
        const GradcheckRow *row = &report->rows[i];
        /* JSON has no infinity: null is a comparison that met a NaN. */
        json_object_set_new(tensors, row->tensor,
                            isfinite(row->worst) ? json_real(row->worst) : json_null());
    }
    const GradcheckRow *worst = &report->rows[report->worst];
    json_t *all =
        json_pack("{s:o, s:s, s:o}", "worst",
                  isfinite(worst->worst) ? json_real(worst->worst) : json_null(),
                  "tensor", worst->tensor, "tensors", tensors);
    if (all == NULL)
        return error_set(err, STATUS_MEMORY, "gradcheck: no memory for JSON");
    json_dumpf(all, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(all);
    return STATUS_OK;
}

static Status check(const GradcheckValues *values, Error *err)
{
    GradcheckOptions options = {.seed = (uint64_t)values->common.seed,
                                .samples = values->samples};
    TRY(model_options_config(&options.config, &values->model, err));
    startup_threads(values->common.threads);
    GradcheckReport report;
    TRY(gradcheck_model(&report, &options, err));
    Status status = STATUS_OK;
    if (values->json)
        status = print_json(&report, err);
    else
        print_table(&report);
    const GradcheckRow *worst = &report.rows[report.worst];
    if (status == STATUS_OK && !(worst->worst <= GRADCHECK_TOLERANCE))
        status =
            error_set(err, STATUS_NUMERIC, "gradcheck: %s is off by %.2e (limit %g)",
                      worst->tensor, worst->worst, GRADCHECK_TOLERANCE);
    gradcheck_report_free(&report);
    return status;
}

static Status run(int argc, char **argv, Error *err)
{
    GradcheckOptions defaults = gradcheck_defaults();
    GradcheckValues values = {.common = {.seed = (int64_t)defaults.seed},
                              .model = {.config = defaults.config}};
    bool help;
    int count;
    TRY(model_options_parse(&INFO, &values, &values.model, argc, argv, NULL, &count,
                            &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    if (sizeof(real) < sizeof(double))
        return run_double_build(argc, argv, err);
    return check(&values, err);
}

const Command COMMAND_GRADCHECK = {&INFO, run};
