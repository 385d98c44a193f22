/* jueju kv: what attention a config.json describes, and what its KV cache and weights
 * weigh. */
#include <stdio.h>
#include <string.h>

#include "model/base/memory.h"
#include "scripts/commands.h"
#include "scripts/console.h"
#include "scripts/kv_report.h"

typedef struct {
    CommonOptions common;
    int64_t tokens, batch, cards;
    int type, weight_type;
    bool json;
} KvValues;

#define AT(member) offsetof(KvValues, member)

static const char *const TYPES[] = {"auto", "fp64", "fp32", "bf16", "fp16",
                                    "fp8",  "int8", "int4", "fp4",  NULL};

static const Option OPTIONS[] = {
    {"tokens", 't', OPTION_INT, AT(tokens), "T",
     "tokens in the cache; 0 says only what one token takes", 0, 1e15, NULL},
    {"batch", 'b', OPTION_INT, AT(batch), "B", "sequences of that length", 1, 1e9,
     NULL},
    {"dtype", 'd', OPTION_CHOICE, AT(type), NULL,
     "type of a cached number; auto is the file's torch_dtype, else 2 bytes. Scales of "
     "8 and 4 bit types are not counted",
     0, 0, TYPES},
    {"weight-dtype", 0, OPTION_CHOICE, AT(weight_type), NULL,
     "type of a weight; auto as above", 0, 0, TYPES},
    {"tensor-parallel", 'N', OPTION_INT, AT(cards), "N",
     "cards that share every layer's heads", 1, 65536, NULL},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "print one JSON object a file", 0, 0,
     NULL},
    COMMON_OPTIONS(KvValues),
    {0}};

static const CommandInfo INFO = {
    .name = "kv",
    .arguments = "CONFIG.json...",
    .summary =
        "attention of any Hugging Face config.json, and the bytes of its KV cache",
    .details =
        "A folder stands for the config.json in it. One file is told in full, several "
        "in a table.\n"
        "Behind each size stands the field that it was read from. What a file leaves "
        "open is said on stderr; where the answer would be a guess, there is none.\n"
        " \n"
        "  jueju kv checkpoints/tang/best\n"
        "  jueju kv config.json --tokens 131072 --batch 8 --tensor-parallel 16",
    .options = OPTIONS,
    .minimum_arguments = 1,
    .maximum_arguments = INT32_MAX,
};

static void note(const KvReport *report, const char *text)
{
    fputs("note: ", stderr);
    console_print_safe(report->path, stderr);
    fputs(": ", stderr);
    console_print_safe(text, stderr);
    putc('\n', stderr);
}

/* The choice of an option, else the file's type, else 16 bits. */
static void choose_type(KvType *type, int choice, const char *option,
                        const HfConfig *config)
{
    const int64_t otherwise = 16;
    if (choice != 0) {
        type->bits = hf_dtype_bits(TYPES[choice]);
        snprintf(type->name, sizeof type->name, "%s", TYPES[choice]);
        snprintf(type->from, sizeof type->from, "--%s", option);
    } else if (config->bits > 0) {
        type->bits = config->bits;
        snprintf(type->name, sizeof type->name, "%s", config->dtype);
        snprintf(type->from, sizeof type->from, "%s",
                 hf_config_source(config, "dtype"));
    } else {
        type->bits = otherwise;
        snprintf(type->name, sizeof type->name, "2 bytes a number");
        snprintf(type->from, sizeof type->from, "%s",
                 config->dtype[0] ? "torch_dtype is not known" : "no torch_dtype");
    }
}

/* What --tensor-parallel does to KV heads that do not divide. */
static void note_cards(const KvReport *report)
{
    const MemoryShape *shape = &report->config.shape;
    int64_t cards = report->use.cards;
    char text[HF_TEXT_SIZE] = "";
    if (cards == 1)
        return;
    if (shape->kind == MEMORY_MLA)
        snprintf(text, sizeof text,
                 "every card holds the whole latent: more cards do not make the cache "
                 "of a card smaller");
    else if (shape->kv_heads < cards)
        snprintf(text, sizeof text,
                 "%lld KV head%s on %lld cards: they are copied, and the bytes a card "
                 "stop falling at %lld cards",
                 (long long)shape->kv_heads, shape->kv_heads == 1 ? "" : "s",
                 (long long)cards, (long long)shape->kv_heads);
    else if (shape->kv_heads % cards != 0)
        snprintf(text, sizeof text,
                 "%lld KV heads do not divide among %lld cards; counted is the card "
                 "that needs most of them",
                 (long long)shape->kv_heads, (long long)cards);
    if (text[0])
        note(report, text);
}

static void note_all(const KvReport *report, const KvValues *values)
{
    const HfConfig *config = &report->config;
    char text[HF_TEXT_SIZE];
    for (int64_t i = 0; i < config->note_count; i++)
        note(report, config->notes[i]);
    if (config->bits == 0 && (values->type == 0 || values->weight_type == 0))
        note(report, config->dtype[0] ? "torch_dtype is not known: 2 bytes a number"
                                      : "torch_dtype is missing: 2 bytes a number");
    if (config->quantized && values->weight_type == 0 && report->counted) {
        snprintf(text, sizeof text,
                 "quantization_config is not read: weights are counted in %s "
                 "(--weight-dtype says otherwise)",
                 report->weight_type.name);
        note(report, text);
    }
    if (config->context > 0 && values->tokens > config->context) {
        snprintf(text, sizeof text, "made for %lld positions, asked for %lld tokens",
                 (long long)config->context, (long long)values->tokens);
        note(report, text);
    }
    note_cards(report);
}

static Status fill(KvReport *report, const char *path, const KvValues *values,
                   Error *err)
{
    HfConfig *config = &report->config;
    if (file_is_folder(path))
        TRY(path_join(report->path, path, "config.json", err));
    else if (snprintf(report->path, PATH_SIZE, "%s", path) >= PATH_SIZE)
        return error_set(err, STATUS_INPUT, "%.80s...: the path is too long", path);
    TRY(hf_config_read(config, report->path, err));

    choose_type(&report->cache_type, values->type, "dtype", config);
    choose_type(&report->weight_type, values->weight_type, "weight-dtype", config);
    report->use = (MemoryUse){.tokens = values->tokens,
                              .batch = values->batch,
                              .cards = values->cards,
                              .bits = report->cache_type.bits};
    Status status = memory_cache(&report->cache, &config->shape, &report->use, err);
    if (status == STATUS_USAGE)
        error_context(err, "--tensor-parallel %lld", (long long)values->cards);
    if (status != STATUS_OK)
        return error_context(err, "%s", report->path);
    report->counted = config->shape.weights.known;
    if (!report->counted)
        return STATUS_OK;
    status = memory_parameters(&report->parameters, &config->shape, err);
    if (status == STATUS_OK)
        status = memory_bytes(&report->weight_bytes, report->parameters.total,
                              report->weight_type.bits, err);
    return status == STATUS_OK ? STATUS_OK : error_context(err, "%s", report->path);
}

static Status count_one(const char *path, const KvValues *values, Error *err)
{
    KvReport *report;
    TRY(memory_allocate(&report, 1, sizeof *report, "the report", err));
    Status status = fill(report, path, values, err);
    if (status == STATUS_OK) {
        note_all(report, values);
        if (values->json)
            status = kv_report_json(report, err);
        else
            kv_report_print(report);
    }
    memory_free(report);
    return status;
}

/* A file that fails is named on stderr and left out; the others are still counted. */
static Status count_several(const char *const *paths, int count, const KvValues *values,
                            KvReport **reports, Error *err)
{
    int good = 0;
    Status first = STATUS_OK; /* of the failures */
    for (int i = 0; i < count; i++) {
        KvReport *report;
        Error reason = {0};
        TRY(memory_allocate(&report, 1, sizeof *report, "a report", err));
        reports[good] = report;
        if (fill(report, paths[i], values, &reason) != STATUS_OK) {
            fputs("left out: ", stderr);
            console_print_safe(reason.message, stderr);
            putc('\n', stderr);
            memory_free(report);
            reports[good] = NULL;
            first = first == STATUS_OK ? reason.status : first;
            continue;
        }
        good++;
        note_all(report, values);
        if (values->json)
            TRY(kv_report_json(report, err));
    }
    if (!values->json && good > 0)
        kv_report_table((const KvReport *const *)reports, good);
    if (good < count)
        return error_set(err, first, "%d of %d files were left out", count - good,
                         count);
    return STATUS_OK;
}

static Status count_all(const char *const *paths, int count, const KvValues *values,
                        Error *err)
{
    KvReport **reports;
    if (count == 1)
        return count_one(paths[0], values, err);
    TRY(memory_allocate(&reports, (size_t)count, sizeof *reports, "the reports", err));
    Status status = count_several(paths, count, values, reports, err);
    for (int i = 0; i < count; i++)
        memory_free(reports[i]);
    memory_free(reports);
    return status;
}

static Status run(int argc, char **argv, Error *err)
{
    KvValues values = {.batch = 1, .cards = 1};
    const char **paths;
    int count;
    bool help;
    TRY(memory_allocate(&paths, (size_t)argc, sizeof *paths, "the arguments", err));
    Status status =
        options_parse(&INFO, &values, argc, argv, paths, &count, &help, err);
    if (status == STATUS_OK && help)
        options_help(&INFO, &values, stdout);
    else if (status == STATUS_OK && values.tokens == 0 &&
             options_given(&INFO, argc, argv, "batch"))
        status = error_set(err, STATUS_USAGE,
                           "kv: --batch needs --tokens: bytes a token are the same for "
                           "any batch");
    else if (status == STATUS_OK)
        status = count_all(paths, count, &values, err);
    memory_free(paths);
    return status;
}

const Command COMMAND_KV = {&INFO, run};
