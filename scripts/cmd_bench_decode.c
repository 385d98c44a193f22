/* jueju bench-decode: tokens a second in sampling, and what the cache takes. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "scripts/commands.h"
#include "scripts/model_options.h"
#include "scripts/startup.h"
#include "train/bench_decode.h"

enum { LIST_MOST = 16, LARGEST_ROWS = 4096, LARGEST_LENGTH = 1 << 20 };

typedef struct {
    CommonOptions common;
    ModelOptions model;
    int form;
    const char *tokens, *rows;
    int64_t steps, samples;
    bool json;
} Values;

#define AT(member) offsetof(Values, member)

static const char *const FORM_NAMES[] = {"absorbed", "expanded", NULL};

static const Option OPTIONS[] = {
    {"tokens", 0, OPTION_TEXT, AT(tokens), "LIST", "lengths of the sequences", 0, 0,
     NULL},
    {"rows", 'B', OPTION_TEXT, AT(rows), "LIST", "sequences side by side", 0, 0, NULL},
    MODEL_OPTIONS(Values, model),
    {"vocab", 'V', OPTION_INT, AT(model.config.vocab_size), "V",
     "tokens of the vocabulary", 1, 16777216, NULL},
    {"mla-form", 0, OPTION_CHOICE, AT(form), NULL, "how MLA reads its cache", 0, 0,
     FORM_NAMES},
    {"steps", 0, OPTION_INT, AT(steps), "N", "steps that are timed together", 1, 1e6,
     NULL},
    {"samples", 0, OPTION_INT, AT(samples), "N", "how often they are timed", 1,
     BENCH_DECODE_SAMPLES, NULL},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "one JSON object a line", 0, 0, NULL},
    COMMON_OPTIONS(Values),
    {0}};

static const CommandInfo INFO = {
    .name = "bench-decode",
    .arguments = "",
    .summary = "tokens a second in sampling, and the bytes of the cache",
    .details =
        "A model with random weights appends the last tokens of sequences of each "
        "length, one step for all rows. Prompts and drawing are not timed.\n"
        "KV bytes are those of the numbers in the cache, for one token and for one row "
        "of that length; what alignment adds to a row stands beside them.",
    .options = OPTIONS,
};

static Values defaults(void)
{
    Values values = {
        .common = {.seed = 1},
        .model = model_options_start(),
        .tokens = "128,2048",
        .rows = "1,64",
        .steps = 16,
        .samples = 9,
    };
    values.model.config.vocab_size = 7200;
    return values;
}

/* "128,2048" */
static Status parse_list(int64_t *list, int *count, const char *text,
                         const char *option, int64_t maximum, Error *err)
{
    const char *rest = text;
    *count = 0;
    for (;;) {
        char *end;
        long long value = strtoll(rest, &end, 10);
        bool number = *rest >= '0' && *rest <= '9';
        if (!number || (*end != '\0' && *end != ',') || value < 1 || value > maximum ||
            *count == LIST_MOST)
            return error_set(err, STATUS_USAGE,
                             "%s: expected up to %d numbers of 1 .. %lld with commas "
                             "between, found \"%s\"",
                             option, LIST_MOST, (long long)maximum, text);
        list[(*count)++] = value;
        if (*end == '\0')
            return STATUS_OK;
        rest = end + 1;
    }
}

static const char *kind_of(const GptConfig *config)
{
    if (config->attention == ATTENTION_MLA)
        return "MLA";
    if (config->kv_heads == config->heads)
        return "MHA";
    return config->kv_heads == 1 ? "MQA" : "GQA";
}

static Status print_json(const BenchDecodeReport *report,
                         const BenchDecodeOptions *options, Error *err)
{
    json_t *line = json_pack(
        "{s:s, s:I, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "kind",
        kind_of(&options->config), "tokens", (json_int_t)options->tokens, "rows",
        (json_int_t)options->rows, "tokens_per_second", report->median,
        "tokens_per_second_worst", report->worst, "tokens_per_second_best",
        report->best, "kv_bytes_per_token", (json_int_t)report->token_bytes,
        "kv_bytes_per_row", (json_int_t)report->row_bytes, "padding_bytes_per_row",
        (json_int_t)report->padding, "parameters", (json_int_t)report->parameters,
        "threads", (json_int_t)options->threads);
    if (line == NULL)
        return error_set(err, STATUS_MEMORY, "bench-decode: no memory for JSON");
    json_dumpf(line, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(line);
    return STATUS_OK;
}

static void print_head(const GptConfig *config, const Values *values)
{
    char text[256];
    startup_describe(text, sizeof text);
    printf("%s\n", text);
    model_describe(text, sizeof text, config);
    printf("%s", text);
    if (config->attention == ATTENTION_MLA)
        printf(", %s", FORM_NAMES[values->form]);
    printf("\n%8s %6s %10s %10s %10s %12s %12s %10s\n", "tokens", "rows", "tokens/s",
           "worst", "best", "KV B/token", "KV B/row", "padding");
}

static void print_line(const BenchDecodeReport *report,
                       const BenchDecodeOptions *options)
{
    printf("%8lld %6lld %10.0f %10.0f %10.0f %12zu %12zu %10zu\n",
           (long long)options->tokens, (long long)options->rows, report->median,
           report->worst, report->best, report->token_bytes, report->row_bytes,
           report->padding);
    fflush(stdout);
}

static Status bench(const Values *values, const GptConfig *config, Error *err)
{
    int64_t tokens[LIST_MOST], rows[LIST_MOST];
    int tokens_count, rows_count;
    TRY(parse_list(tokens, &tokens_count, values->tokens, "--tokens", LARGEST_LENGTH,
                   err));
    TRY(parse_list(rows, &rows_count, values->rows, "--rows", LARGEST_ROWS, err));
    if (!values->json)
        print_head(config, values);
    for (int t = 0; t < tokens_count; t++) {
        for (int r = 0; r < rows_count; r++) {
            BenchDecodeOptions options = {.config = *config,
                                          .mla = (MlaForm)values->form,
                                          .tokens = tokens[t],
                                          .rows = rows[r],
                                          .threads = omp_get_max_threads(),
                                          .steps = values->steps,
                                          .samples = values->samples,
                                          .seed = (uint64_t)values->common.seed};
            BenchDecodeReport report;
            TRY(bench_decode_run(&report, &options, err));
            if (values->json)
                TRY(print_json(&report, &options, err));
            else
                print_line(&report, &options);
        }
    }
    return STATUS_OK;
}

static Status run(int argc, char **argv, Error *err)
{
    Values values = defaults();
    int count;
    bool help;
    TRY(model_options_parse(&INFO, &values, &values.model, argc, argv, NULL, &count,
                            &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    if (options_given(&INFO, argc, argv, "context"))
        return error_set(
            err, STATUS_USAGE,
            "--context means nothing here: --tokens says how long the sequences are");
    GptConfig config;
    TRY(model_options_decoder(&config, &values.model, err));
    TRY(gpt_config_check(&config, err));
    startup_threads(values.common.threads);
    return bench(&values, &config, err);
}

const Command COMMAND_BENCH_DECODE = {&INFO, run};
