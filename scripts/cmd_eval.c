/* jueju eval: the whole-split loss of a checkpoint. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "data/prepared.h"
#include "scripts/checkpoint_open.h"
#include "scripts/commands.h"
#include "scripts/eval_couplets.h"
#include "scripts/startup.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"

typedef struct {
    CommonOptions common;
    const char *set;
    int split;
    int64_t pass_tokens;
    double temperature;
    bool json;
} EvalValues;

#define AT(member) offsetof(EvalValues, member)

static const char *const SPLITS[] = {"val", "test", "train", NULL};
static const Part PARTS[] = {PART_VALIDATION, PART_TEST, PART_TRAIN};

static const Option OPTIONS[] = {
    {"set", 's', OPTION_TEXT, AT(set), "SET",
     "prepared set; by default the one it was trained on", 0, 0, NULL},
    {"split", 0, OPTION_CHOICE, AT(split), "SPLIT", "part of the set", 0, 0, SPLITS},
    {"pass-tokens", 0, OPTION_INT, AT(pass_tokens), "N",
     "tokens that a thread works on at a time (memory)", 1, 1e9, NULL},
    {"temperature", 0, OPTION_REAL, AT(temperature), "T",
     "couplets: of the second lines that are drawn", 0, 100, NULL},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "print one JSON object", 0, 0, NULL},
    COMMON_OPTIONS(EvalValues),
    {0}};

static const CommandInfo INFO = {
    .name = "eval",
    .arguments = "[CHECKPOINT]",
    .summary = "loss of a checkpoint over a whole split, in nats a body token",
    .details =
        "CHECKPOINT is a checkpoint or a run's folder, the newest one under\n"
        "checkpoints/ by default. Body tokens are characters, punctuation and the\n"
        "end of the poem; fields are left out.\n"
        "\n"
        "A model of couplets (family couplet) also writes second lines for all first\n"
        "lines of the split. opposite: share of the couplets whose tones (平, 仄) are\n"
        "opposite at the places 2, 4 and, of seven characters, 6; repeating: with a\n"
        "character of the first line in the second; exact: the true line itself.",
    .options = OPTIONS,
    .maximum_arguments = 1,
};

/* A split in the ids of another tokenizer: the vocabulary of a checkpoint is its own, and
 * the set may have been prepared again since. */
static Status translate(uint16_t **ids, const PoemSet *part, const Tokenizer *from,
                        const Tokenizer *to, Error *err)
{
    TRY(memory_allocate(ids, (size_t)part->tokens, sizeof **ids, "the split", err));
    for (int64_t i = 0; i < part->tokens; i++) {
        uint16_t id = part->ids[i];
        bool special = id < TOKEN_SPECIALS && !part->stream;
        (*ids)[i] =
            special ? id : (uint16_t)tokenizer_id(to, tokenizer_code_point(from, id));
    }
    return STATUS_OK;
}

static Status print_json(const Evaluation *result, const CoupletReport *couplets,
                         const char *split, Error *err)
{
    double nats = evaluation_nats(result);
    json_t *line = json_pack(
        "{s:f, s:f, s:f, s:I, s:s, s:{}}", "nats", nats, "nats_han",
        evaluation_class_nats(result, LOSS_HAN), "perplexity", exp(nats), "tokens",
        (json_int_t)evaluation_tokens(result), "split", split, "classes");
    if (line == NULL)
        return error_set(err, STATUS_MEMORY, "eval: no memory for JSON");
    json_t *classes = json_object_get(line, "classes");
    for (int kind = 0; kind < LOSS_CLASSES; kind++)
        json_object_set_new(classes, LOSS_CLASS_NAMES[kind],
                            json_pack("{s:f, s:I}", "nats",
                                      evaluation_class_nats(result, (LossClass)kind),
                                      "tokens", (json_int_t)result->tokens[kind]));
    if (couplets != NULL)
        json_object_set_new(line, "couplets", eval_couplets_json(couplets));
    json_dumpf(line, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(line);
    return STATUS_OK;
}

static void print_table(const Evaluation *result, const CoupletReport *couplets,
                        const char *folder, const char *split)
{
    double nats = evaluation_nats(result);
    printf("%s on %s\n", folder, split);
    printf("nats a body token  %.4f   perplexity %.2f   %lld tokens\n", nats, exp(nats),
           (long long)evaluation_tokens(result));
    static const char *const LABELS[LOSS_CLASSES] = {"Han characters", "punctuation",
                                                     "end of the poem", "other"};
    for (int kind = 0; kind < LOSS_CLASSES; kind++) {
        if (result->tokens[kind] > 0)
            printf("  %-16s %.4f   %lld tokens\n", LABELS[kind],
                   evaluation_class_nats(result, (LossClass)kind),
                   (long long)result->tokens[kind]);
    }
    if (couplets != NULL)
        eval_couplets_print(couplets);
}

/* Loss, and of a model of couplets its second lines; then all of it in print. */
static Status evaluate_rows_of(const Checkpoint *checkpoint, const RowSet *rows,
                               Passes *passes, const EvalValues *values, Error *err)
{
    const char *split = SPLITS[values->split];
    const Gpt *gpt = &checkpoint->gpt;
    Dist alone = dist_alone();
    Evaluation result;
    CoupletReport couplets = {.temperature = values->temperature,
                              .seed = (uint64_t)values->common.seed};
    const CoupletReport *report = rows->pairs != NULL ? &couplets : NULL;
    TRY(evaluate_rows(&result, gpt, passes, rows, &checkpoint->tokenizer, &alone, err));
    if (rows->pairs != NULL)
        TRY(eval_couplets(&couplets, gpt, &checkpoint->tokenizer, rows->pairs, err));
    if (values->json)
        return print_json(&result, report, split, err);
    print_table(&result, report, checkpoint->folder, split);
    return STATUS_OK;
}

static Status evaluate_split(const Checkpoint *checkpoint, const PreparedSet *set,
                             const EvalValues *values, Error *err)
{
    Part part = PARTS[values->split];
    PoemSet poems = set->parts[part];
    PairSet pairs = set->pairs[part];
    RowSet rows = {.poems = &poems, .pairs = set->stats.pairs ? &pairs : NULL};
    uint16_t *ids = NULL;
    Passes passes = {0};
    if (!tokenizer_equal(&set->tokenizer, &checkpoint->tokenizer)) {
        fprintf(stderr,
                "note: %s has another vocabulary; its text is read in the "
                "checkpoint's own\n",
                set->path);
        TRY(translate(&ids, &poems, &set->tokenizer, &checkpoint->tokenizer, err));
        poems.ids = pairs.ids = ids;
    }
    int64_t pass_tokens = values->pass_tokens > checkpoint->gpt.config.context
                              ? values->pass_tokens
                              : checkpoint->gpt.config.context;
    Status status = passes_create(&passes, &checkpoint->gpt.config, pass_tokens, err);
    if (status == STATUS_OK)
        status = evaluate_rows_of(checkpoint, &rows, &passes, values, err);
    passes_destroy(&passes);
    memory_free(ids);
    return status;
}

/* The set at a path, of the kind that the model reads. */
static Status open_kind(PreparedSet *set, const char *path,
                        const Checkpoint *checkpoint, Error *err)
{
    return checkpoint->gpt.config.encoder_layers > 0
               ? prepared_open_pairs(set, path, err)
               : prepared_open(set, path, err);
}

static Status open_set(PreparedSet *set, const EvalValues *values,
                       const Checkpoint *checkpoint, Error *err)
{
    char path[PATH_SIZE];
    if (values->set != NULL)
        return open_kind(set, values->set, checkpoint, err);
    Error inner;
    if (checkpoint_set(path, checkpoint->folder, &inner) != STATUS_OK)
        return error_set(
            err, STATUS_USAGE,
            "name the prepared set with --set: the checkpoint does not say "
            "what it was trained on (%s)",
            inner.message);
    Status status = open_kind(set, path, checkpoint, err);
    if (status != STATUS_OK)
        return error_context(err,
                             "the set that %s was trained on (name another with "
                             "--set)",
                             checkpoint->folder);
    return STATUS_OK;
}

static Status eval(const EvalValues *values, const char *path, Error *err)
{
    char newest[PATH_SIZE];
    Checkpoint *checkpoint;
    PreparedSet *set = NULL;
    startup_threads(values->common.threads);
    if (path == NULL) {
        TRY(checkpoint_newest(newest, "checkpoints", err));
        path = newest;
    }
    TRY(memory_allocate(&checkpoint, 1, sizeof *checkpoint, "the checkpoint", err));
    Status status = checkpoint_open(checkpoint, path, err);
    if (status != STATUS_OK) {
        memory_free(checkpoint);
        return status;
    }
    status = memory_allocate(&set, 1, sizeof *set, "the prepared set", err);
    if (status == STATUS_OK)
        status = open_set(set, values, checkpoint, err);
    if (status == STATUS_OK) {
        status = evaluate_split(checkpoint, set, values, err);
        prepared_close(set);
    }
    memory_free(set);
    checkpoint_close(checkpoint);
    memory_free(checkpoint);
    return status;
}

static Status run(int argc, char **argv, Error *err)
{
    EvalValues values = {.pass_tokens = 512, .temperature = 0.8};
    const char *arguments[1] = {NULL};
    int count;
    bool help;
    TRY(options_parse(&INFO, &values, argc, argv, arguments, &count, &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    return eval(&values, arguments[0], err);
}

const Command COMMAND_EVAL = {&INFO, run};
