/* jueju bench-decode: tokens a second in sampling, and what the cache takes. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "scripts/commands.h"
#include "scripts/startup.h"
#include "train/bench_decode.h"

enum { LIST_MOST = 16, LARGEST_ROWS = 4096, LARGEST_LENGTH = 1 << 20 };

typedef struct {
    CommonOptions common;
    GptConfig model;
    int family, attention, form;
    int64_t window;
    const char *tokens, *rows;
    int64_t steps, samples;
    bool json;
} Values;

#define AT(member) offsetof(Values, member)
#define MODEL(member) AT(model.member)

static const char *const FORM_NAMES[] = {"absorbed", "expanded", NULL};

static const Option OPTIONS[] = {
    {"tokens", 0, OPTION_TEXT, AT(tokens), "LIST", "lengths of the sequences", 0, 0,
     NULL},
    {"rows", 'B', OPTION_TEXT, AT(rows), "LIST", "sequences side by side", 0, 0, NULL},
    {"family", 0, OPTION_CHOICE, AT(family), "NAME", "gpt2, llama or deepseek", 0, 0,
     FAMILY_NAMES},
    {"attention", 0, OPTION_CHOICE, AT(attention), "KIND",
     "heads or mla; by default what the family has", 0, 0, ATTENTION_NAMES},
    {"layers", 'L', OPTION_INT, MODEL(layers), "L", "transformer blocks", 1,
     GPT_LAYERS_MAX, NULL},
    {"heads", 'H', OPTION_INT, MODEL(heads), "H", "attention heads", 1, 1024, NULL},
    {"kv-heads", 'G', OPTION_INT, MODEL(kv_heads), "G",
     "key/value heads; 0: as many as the family has", 0, 1024, NULL},
    {"head-size", 'D', OPTION_INT, MODEL(head_size), "D",
     "channels of a head; 0 means C/H", 0, 65536, NULL},
    {"width", 'C', OPTION_INT, MODEL(width), "C", "width of the model", 1, 65536, NULL},
    {"mlp-width", 'F', OPTION_INT, MODEL(mlp_width), "F",
     "width of the MLP; 0 means 4C, with SwiGLU 8C/3", 0, 262144, NULL},
    {"vocab", 'V', OPTION_INT, MODEL(vocab_size), "V", "tokens of the vocabulary", 1,
     16777216, NULL},
    {"window", 'W', OPTION_INT, AT(window), "W", "tokens that each layer sees; 0: all",
     0, 1 << 30, NULL},
    {"mla-form", 0, OPTION_CHOICE, AT(form), "FORM",
     "how MLA reads its cache: absorbed or expanded", 0, 0, FORM_NAMES},
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
        .model = gpt_config_open(FAMILY_GPT2),
        .tokens = "128,2048",
        .rows = "1,64",
        .steps = 16,
        .samples = 9,
    };
    values.model.vocab_size = 7200;
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

/* The family's switches, and what was given instead. */
static Status make_config(GptConfig *config, const Values *values, bool attention_given,
                          Error *err)
{
    *config = gpt_config_open((Family)values->family);
    config->layers = values->model.layers;
    config->heads = values->model.heads;
    config->kv_heads = values->model.kv_heads;
    config->head_size = values->model.head_size;
    config->width = values->model.width;
    config->mlp_width = values->model.mlp_width;
    config->vocab_size = values->model.vocab_size;
    if (attention_given)
        config->attention = (AttentionKind)values->attention;
    if (config->attention == ATTENTION_MLA)
        config->biases = false;
    config->window = values->window;
    for (int64_t l = 0; l < config->layers; l++)
        config->sliding[l] = values->window > 0;
    gpt_config_fill(config);
    return gpt_config_check(config, err);
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
    char machine[256];
    startup_describe(machine, sizeof machine);
    printf("%s\n", machine);
    printf("%s, L%lld H%lld G%lld C%lld", kind_of(config), (long long)config->layers,
           (long long)config->heads, (long long)config->kv_heads,
           (long long)config->width);
    if (config->attention == ATTENTION_MLA)
        printf(" R%lld, %s", (long long)config->kv_rank, FORM_NAMES[values->form]);
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
    TRY(options_parse(&INFO, &values, argc, argv, NULL, &count, &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    GptConfig config;
    TRY(make_config(&config, &values, options_given(&INFO, argc, argv, "attention"),
                    err));
    startup_threads(values.common.threads);
    return bench(&values, &config, err);
}

const Command COMMAND_BENCH_DECODE = {&INFO, run};
