/* jueju bench: tokens a second, and what share of this machine's limits that is. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <jansson.h>

#include "model/math/blas.h"
#include "scripts/commands.h"
#include "scripts/model_options.h"
#include "scripts/startup.h"
#include "train/bench.h"
#include "train/lanes.h"

#ifndef JUEJU_COMMIT
#define JUEJU_COMMIT ""
#endif

typedef struct {
    CommonOptions common;
    ModelOptions model;
    BenchOptions bench;
    const char *csv, *dump;
    bool phases, json;
} BenchValues;

#define AT(member) offsetof(BenchValues, member)

static const Option OPTIONS[] = {
    {"rows", 'B', OPTION_INT, AT(bench.rows), "B", "rows of a step", 1, 65536, NULL},
    MODEL_OPTIONS(BenchValues, model),
    {"vocab", 'V', OPTION_INT, AT(model.config.vocab_size), "V",
     "tokens of the vocabulary", 2, 16777216, NULL},
    {"optimizer", 0, OPTION_CHOICE, AT(bench.optimizer.kind), "KIND", "muon or adamw",
     0, 0, OPTIMIZER_NAMES},
    {"steps", 0, OPTION_INT, AT(bench.steps), "N", "timed steps", 1, 1000, NULL},
    {"phases", 0, OPTION_FLAG, AT(phases), NULL, "time each kind of work on its own", 0,
     0, NULL},
    {"lanes", 0, OPTION_INT, AT(bench.lanes), "N", "lanes of a step", 1, LANES_MAXIMUM,
     NULL},
    {"pass-tokens", 0, OPTION_INT, AT(bench.pass_tokens), "N",
     "tokens that a thread works on at a time", 1, 1e9, NULL},
    {"csv", 0, OPTION_TEXT, AT(csv), "FILE", "append a line to FILE", 0, 0, NULL},
    {"dump", 0, OPTION_TEXT, AT(dump), "DIR",
     "measure nothing: write model, batch, loss and gradients for another program", 0,
     0, NULL},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "print one JSON object", 0, 0, NULL},
    COMMON_OPTIONS(BenchValues),
    {0}};

static const CommandInfo INFO = {
    .name = "bench",
    .arguments = "",
    .summary =
        "tokens a second in training, phase by phase, against this machine's limits",
    .details =
        "A step is forward, backward, clipping and update over B rows of T random "
        "tokens\n"
        "with the plain causal mask. The limits are measured in the same run: peak is "
        "the\n"
        "rate of fused multiply-adds, sgemm the best rate of a large matrix product.",
    .options = OPTIONS,
};

static BenchValues defaults(void)
{
    BenchValues values = {
        .common = {.seed = 1},
        .model = model_options_start(),
        .bench = {.rows = 64,
                  .lanes = LANES_DEFAULT,
                  .pass_tokens = 512,
                  .steps = 7,
                  .optimizer = {.kind = OPTIMIZER_ADAMW,
                                .rate = 1e-3,
                                .beta1 = 0.9,
                                .beta2 = 0.95,
                                .eps = 1e-8,
                                .decay = 0.1,
                                .muon_rate = 0.02,
                                .muon_momentum = 0.95}},
        .phases = true,
    };
    values.model.config.vocab_size = 7200;
    return values;
}

static int64_t peak_rss(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return -1;
#ifdef __APPLE__
    return usage.ru_maxrss;
#else
    return (int64_t)usage.ru_maxrss * 1024;
#endif
}

static double reached(const BenchReport *report)
{
    return report->median * report->operations;
}

static void print_table(const BenchReport *report, int64_t rss)
{
    char machine[256];
    startup_describe(machine, sizeof machine);
    printf("%s\n", machine);
    printf("training     %.0f tokens/s (median; %.0f to %.0f), steps of %lld tokens\n",
           report->median, report->worst, report->best, (long long)report->tokens);
    printf("work         %.3f MFLOP a token, %.1f GFLOP/s\n", report->operations / 1e6,
           reached(report) / 1e9);
    printf("limits       peak %.0f GFLOP/s (reached %.1f%%), sgemm %.0f GFLOP/s "
           "(%.1f%%)\n",
           report->peak / 1e9, 100 * reached(report) / report->peak,
           report->product / 1e9, 100 * reached(report) / report->product);
    printf("memory       %.0f MB at most\n", (double)rss / 1e6);
    if (report->phase_count == 0)
        return;
    printf("\n%-20s %6s %9s %8s %8s %7s %7s\n", "phase", "calls", "ms/step", "GFLOP",
           "GFLOP/s", "peak", "sgemm");
    double sum = 0;
    for (int i = 0; i < report->phase_count; i++) {
        const BenchPhase *phase = &report->phases[i];
        sum += phase->seconds;
        printf("%-20s %6lld %9.2f", phase->name, (long long)phase->calls,
               phase->seconds * 1e3);
        double rate = phase->operations / phase->seconds;
        if (phase->operations > 0)
            printf(" %8.2f %8.1f %6.1f%% %6.1f%%", phase->operations / 1e9, rate / 1e9,
                   100 * rate / report->peak, 100 * rate / report->product);
        putchar('\n');
    }
    printf("%-20s %6s %9.2f   (a whole step takes %.2f)\n", "sum", "", sum * 1e3,
           1e3 * (double)report->tokens / report->median);
}

static Status print_json(const BenchReport *report, int64_t rss, Error *err)
{
    json_t *phases = json_array();
    for (int i = 0; i < report->phase_count; i++) {
        const BenchPhase *phase = &report->phases[i];
        json_array_append_new(phases,
                              json_pack("{s:s, s:I, s:f, s:f}", "name", phase->name,
                                        "calls", (json_int_t)phase->calls, "seconds",
                                        phase->seconds, "flop", phase->operations));
    }
    json_t *line =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:i, s:I, s:f, s:f, s:f, s:s, s:o}",
                  "tokens_per_second", report->median, "tokens_per_second_worst",
                  report->worst, "tokens_per_second_best", report->best,
                  "share_of_peak", reached(report) / report->peak, "share_of_sgemm",
                  reached(report) / report->product, "threads", report->threads,
                  "peak_rss_bytes", (json_int_t)rss, "flop_per_token",
                  report->operations, "peak_flops", report->peak, "sgemm_flops",
                  report->product, "blas", blas_info().kernels, "phases", phases);
    if (line == NULL)
        return error_set(err, STATUS_MEMORY, "bench: no memory for JSON");
    json_dumpf(line, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(line);
    return STATUS_OK;
}

/* The CPU as /proc/cpuinfo calls it, without the commas that would part a CSV field. */
static void cpu_name(char *name, size_t size)
{
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL)
        return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, size, "%s", colon + 2);
            break;
        }
    }
    fclose(file);
    for (; *name != '\0'; name++)
        *name = *name == ',' ? ' ' : *name;
}

static Status append_csv(const BenchReport *report, const BenchValues *values,
                         int64_t rss, Error *err)
{
    struct stat found;
    bool is_new = stat(values->csv, &found) != 0 || found.st_size == 0;
    FILE *file = fopen(values->csv, "a");
    if (file == NULL)
        return error_errno(err, "--csv %s", values->csv);
    if (is_new)
        fputs("date,cpu,compiler,blas,commit,threads,L,H,C,T,V,B,optimizer,tokens_per_"
              "second,worst,best,peak_gflops,sgemm_gflops,share_of_peak,peak_rss_mb\n",
              file);
    char cpu[128];
    char date[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%MZ", &parts);
    cpu_name(cpu, sizeof cpu);
    const GptConfig *config = &values->bench.config;
    fprintf(
        file,
        "%s,%s,%s,%s,%s,%d,%lld,%lld,%lld,%lld,%lld,%lld,%s,%.0f,%.0f,%.0f,%.1f,%.1f,"
        "%.4f,%.0f\n",
        date, cpu, __VERSION__, blas_info().kernels, JUEJU_COMMIT, report->threads,
        (long long)config->layers, (long long)config->heads, (long long)config->width,
        (long long)config->context, (long long)config->vocab_size,
        (long long)values->bench.rows, OPTIMIZER_NAMES[values->bench.optimizer.kind],
        report->median, report->worst, report->best, report->peak / 1e9,
        report->product / 1e9, reached(report) / report->peak, (double)rss / 1e6);
    if (fclose(file) != 0)
        return error_errno(err, "--csv %s", values->csv);
    return STATUS_OK;
}

static Status run(int argc, char **argv, Error *err)
{
    BenchValues values = defaults();
    int count;
    bool help;
    TRY(model_options_parse(&INFO, &values, &values.model, argc, argv, NULL, &count,
                            &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    BenchOptions *bench = &values.bench;
    TRY(model_options_decoder(&bench->config, &values.model, err));
    bench->seed = (uint64_t)values.common.seed;
    bench->repeats = values.phases ? 9 : 0;
    if ((bench->lanes & (bench->lanes - 1)) != 0)
        return error_set(err, STATUS_USAGE,
                         "--lanes: expected a power of two, found %lld",
                         (long long)bench->lanes);
    startup_threads(values.common.threads);
    if (values.dump != NULL)
        return bench_dump(bench, values.dump, err);
    BenchReport report;
    TRY(bench_run(&report, bench, err));
    int64_t rss = peak_rss();
    if (values.csv != NULL)
        TRY(append_csv(&report, &values, rss, err));
    if (values.json)
        return print_json(&report, rss, err);
    print_table(&report, rss);
    return STATUS_OK;
}

const Command COMMAND_BENCH = {&INFO, run};
