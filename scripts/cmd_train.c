/* jueju train: a prepared set to checkpoints. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/prepared.h"
#include "model/base/files.h"
#include "scripts/commands.h"
#include "scripts/console.h"
#include "scripts/interrupt.h"
#include "scripts/recipe.h"
#include "scripts/startup.h"
#include "train/checkpoint.h"
#include "train/lanes.h"

typedef struct {
    CommonOptions common;
    const char *name, *out;
    bool resume, overwrite;
    TrainOptions train;
} TrainValues;

#define AT(member) offsetof(TrainValues, member)
#define MODEL(member) AT(train.model.member)
#define OPTIMIZER(member) AT(train.optimizer.member)

static const Option OPTIONS[] = {
    {"name", 0, OPTION_TEXT, AT(name), "NAME", "name of the run; the set's by default",
     0, 0, NULL},
    {"out", 'o', OPTION_TEXT, AT(out), "DIR",
     "folder of the run; checkpoints/NAME by default", 0, 0, NULL},
    {"resume", 0, OPTION_FLAG, AT(resume), NULL,
     "go on from DIR/last, options included", 0, 0, NULL},
    {"overwrite", 0, OPTION_FLAG, AT(overwrite), NULL,
     "start anew where there is a run already", 0, 0, NULL},
    {"steps", 0, OPTION_INT, AT(train.steps), "N", "updates of the weights", 1, 1e9,
     NULL},
    {"batch-tokens", 'b', OPTION_INT, AT(train.batch_tokens), "N",
     "tokens in a step: rows x context", 1, 1e9, NULL},
    {"layers", 'L', OPTION_INT, MODEL(layers), "L", "transformer blocks", 1, 1024,
     NULL},
    {"heads", 'H', OPTION_INT, MODEL(heads), "H", "attention heads", 1, 1024, NULL},
    {"width", 'C', OPTION_INT, MODEL(width), "C", "width of the model", 1, 65536, NULL},
    {"context", 'T', OPTION_INT, MODEL(context), "T", "positions", 2, 1048576, NULL},
    {"mlp-width", 'F', OPTION_INT, MODEL(mlp_width), "F",
     "width of the MLP; 0 means 4C", 0, 262144, NULL},
    {"dropout", 0, OPTION_REAL, MODEL(dropout), "P",
     "dropout on embeddings and residual branches", 0, 0.95, NULL},
    {"init", 0, OPTION_CHOICE, AT(train.init), "KIND", "start values", 0, 0,
     INIT_NAMES},
    {"optimizer", 0, OPTION_CHOICE, OPTIMIZER(kind), "KIND",
     "muon (with AdamW for embeddings and vectors) or adamw", 0, 0, OPTIMIZER_NAMES},
    {"rate", 0, OPTION_REAL, OPTIMIZER(rate), "X", "AdamW's peak learning rate", 0, 10,
     NULL},
    {"decay", 0, OPTION_REAL, OPTIMIZER(decay), "X", "AdamW's weight decay", 0, 100,
     NULL},
    {"beta1", 0, OPTION_REAL, OPTIMIZER(beta1), "X", "AdamW's decay of the mean", 0,
     0.9999, NULL},
    {"beta2", 0, OPTION_REAL, OPTIMIZER(beta2), "X", "AdamW's decay of the squares", 0,
     0.99999, NULL},
    {"muon-rate", 0, OPTION_REAL, OPTIMIZER(muon_rate), "X",
     "Muon's peak learning rate", 0, 10, NULL},
    {"muon-momentum", 0, OPTION_REAL, OPTIMIZER(muon_momentum), "X", "Muon's momentum",
     0, 0.9999, NULL},
    {"muon-decay", 0, OPTION_REAL, OPTIMIZER(muon_decay), "X", "Muon's weight decay", 0,
     100, NULL},
    {"warmup", 0, OPTION_INT, AT(train.warmup), "N", "steps until the peak rate", 0,
     1e9, NULL},
    {"final-rate", 0, OPTION_REAL, AT(train.final_rate), "X",
     "share of the peak rate at the end", 0, 1, NULL},
    {"clip", 0, OPTION_REAL, AT(train.clip), "X",
     "limit of the gradient's norm; 0 means none", 0, 1e9, NULL},
    {"keep-form", 0, OPTION_REAL, AT(train.keep_form), "P",
     "how often a poem's form is put before it", 0, 1, NULL},
    {"keep-title", 0, OPTION_REAL, AT(train.keep_title), "P", "... its title", 0, 1,
     NULL},
    {"keep-author", 0, OPTION_REAL, AT(train.keep_author), "P", "... its author", 0, 1,
     NULL},
    {"eval-every", 0, OPTION_INT, AT(train.eval_every), "N",
     "steps between evaluations, each with a checkpoint", 1, 1e9, NULL},
    {"log-every", 0, OPTION_INT, AT(train.log_every), "N",
     "steps between lines of the log", 1, 1e9, NULL},
    {"lanes", 0, OPTION_INT, AT(train.lanes), "N",
     "parts of a step that threads share, a power of two", 1, LANES_MAXIMUM, NULL},
    {"pass-tokens", 0, OPTION_INT, AT(train.pass_tokens), "N",
     "tokens that a thread works on at a time (memory)", 1, 1e9, NULL},
    COMMON_OPTIONS(TrainValues),
    {0}};

/* What may differ between a run and its resumption. */
static const char *const NOT_RECIPE[] = {"name",      "out",     "resume",
                                         "overwrite", "threads", NULL};

static const CommandInfo INFO = {
    .name = "train",
    .arguments = "[SET]",
    .summary = "train a model on a prepared set",
    .details =
        "SET is a folder that `jueju data` made, data/prepared/tang by default.\n"
        "The run's folder gets `last` and `best` (the smallest validation loss), "
        "complete\n"
        "checkpoints, and metrics.jsonl. Ctrl-C saves and stops; --resume goes on "
        "with\n"
        "the same bits as a run that was never stopped.",
    .options = OPTIONS,
    .maximum_arguments = 1,
};

static TrainValues defaults(void)
{
    TrainValues values = {
        .common = {.seed = 1},
        .train = {.model = gpt_config_default(),
                  .init = INIT_XAVIER_PER_HEAD,
                  .optimizer = {.kind = OPTIMIZER_MUON,
                                .rate = 3e-3,
                                .beta1 = 0.9,
                                .beta2 = 0.95,
                                .eps = 1e-8,
                                .decay = 0.1,
                                .muon_rate = 0.02,
                                .muon_momentum = 0.95,
                                .muon_decay = 0.1},
                  .steps = 3600,
                  .warmup = 100,
                  .final_rate = 0.02,
                  .clip = 1,
                  .batch_tokens = 4096,
                  .pass_tokens = 512,
                  .lanes = LANES_DEFAULT,
                  .keep_form = 0.3,
                  .keep_title = 0.2,
                  .keep_author = 0.2,
                  .eval_every = 250,
                  .log_every = 50},
    };
    values.train.model.mlp_width = 0;
    return values;
}

/* ---- what is shown while it trains -------------------------------------------------- */

static bool stop(void *context)
{
    (void)context;
    return interrupt_requested();
}

static void show_step(void *context, const TrainRecord *record)
{
    Progress *progress = context;
    if (!progress->terminal)
        return; /* the records are enough of a log */
    char note[64];
    snprintf(note, sizeof note, "step %lld/%lld  loss %.3f", (long long)record->step,
             (long long)record->steps, record->loss);
    progress_update(progress, (double)record->step / (double)record->steps, note);
}

static void show_layers(const TrainRecord *record)
{
    fprintf(stderr, "  heads: entropy");
    for (int64_t l = 0; l < record->layer_count; l++)
        fprintf(stderr, " %.2f", record->layers[l].entropy);
    fprintf(stderr, " · smallest distance");
    for (int64_t l = 0; l < record->layer_count; l++)
        fprintf(stderr, " %.2f", record->layers[l].min_distance);
    fputc('\n', stderr);
}

static void show_record(void *context, const TrainRecord *record)
{
    progress_clear(context);
    char left[32];
    console_time(left, record->seconds_left);
    fprintf(stderr,
            "step %lld/%lld · epoch %.2f · %.2fM tokens · loss %.4f · rate %.2e · norm "
            "%.2f · %.0f tokens/s · %s left\n",
            (long long)record->step, (long long)record->steps, record->epochs,
            (double)record->tokens / 1e6, record->loss, record->rate,
            record->gradient_norm, record->tokens_per_second, left);
    if (!record->evaluated)
        return;
    fprintf(stderr, "  validation %.4f nats a token",
            evaluation_nats(&record->validation));
    if (record->validation.tokens[LOSS_HAN] > 0)
        fprintf(stderr, " (Han %.4f)",
                evaluation_class_nats(&record->validation, LOSS_HAN));
    fputs(record->best ? ", the best so far\n" : "\n", stderr);
    show_layers(record);
}

/* Poems whose body with <bos> and <eos> does not fit into one row. Fields come off first. */
static int64_t count_long_poems(const PoemSet *poems, int64_t context)
{
    int64_t count = 0;
    for (int64_t i = 0; i < poems->poems; i++) {
        uint64_t first = poems->offsets[i];
        while (poems->ids[first] != TOKEN_BOS)
            first++;
        count += (int64_t)(poems->offsets[i + 1] - first) - 1 > context;
    }
    return count;
}

static void show_start(const Trainer *trainer, const PreparedSet *set, const char *out)
{
    const Gpt *gpt = trainer_model(trainer);
    const GptConfig *config = &gpt->config;
    char machine[256];
    startup_describe(machine, sizeof machine);
    fprintf(
        stderr, "model: gpt2, L%lld H%lld C%lld T%lld F%lld V%lld, %lld parameters\n",
        (long long)config->layers, (long long)config->heads, (long long)config->width,
        (long long)config->context, (long long)config->mlp_width,
        (long long)config->vocab_size, (long long)gpt->table.parameters);
    const PartStats *train = &set->stats.parts[PART_TRAIN];
    fprintf(stderr, "set: %s, %lld poems and %lld body tokens to train on\n", set->path,
            (long long)train->poems, (long long)train->body_tokens);
    if (!set->stream) {
        int64_t cut = count_long_poems(&set->parts[PART_TRAIN], config->context);
        if (cut > 0)
            fprintf(stderr,
                    "note: %lld poems are longer than %lld tokens and are cut after a "
                    "sentence\n",
                    (long long)cut, (long long)config->context);
    }
    fprintf(stderr, "machine: %s\nrun: %s", machine, out);
    if (trainer_step(trainer) > 0)
        fprintf(stderr, ", going on after step %lld", (long long)trainer_step(trainer));
    fputc('\n', stderr);
}

/* ---- the command -------------------------------------------------------------------- */

/* out = the run's folder: --out, or checkpoints/NAME, where the set's own name stands in for
 * --name: "data/prepared/tang/" -> checkpoints/tang. */
static Status find_folder(char out[PATH_SIZE], const TrainValues *values,
                          const char *set, Error *err)
{
    char own[PATH_SIZE];
    if (values->out != NULL) {
        if (values->out[0] == '\0' || strlen(values->out) >= PATH_SIZE)
            return error_set(err, STATUS_USAGE, "--out: expected the path of a folder");
        snprintf(out, PATH_SIZE, "%s", values->out);
        return STATUS_OK;
    }
    snprintf(own, sizeof own, "%s", set);
    for (size_t end = strlen(own); end > 0 && own[end - 1] == '/'; end--)
        own[end - 1] = '\0';
    const char *slash = strrchr(own, '/');
    const char *name = values->name != NULL ? values->name
                       : slash != NULL      ? slash + 1
                                            : own;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, STATUS_USAGE,
                         "--name: the run needs a name, and \"%s\" is none", name);
    return path_join(out, "checkpoints", name, err);
}

/* Whether the run's folder holds checkpoints, also ones that a crash left as "last.old". */
static bool has_run(const char *last)
{
    char found[PATH_SIZE];
    return folder_resolve(found, last, NULL) == STATUS_OK;
}

static Status check_folder(const TrainValues *values, const char *out, const char *last,
                           Error *err)
{
    if (values->resume && values->overwrite)
        return error_set(err, STATUS_USAGE,
                         "--resume and --overwrite exclude each other");
    if (values->resume && !has_run(last))
        return error_set(err, STATUS_USAGE, "--resume: there is no checkpoint %s",
                         last);
    if (!values->resume && !values->overwrite && has_run(last))
        return error_set(
            err, STATUS_USAGE,
            "%s holds a run already: --resume goes on with it, --overwrite "
            "starts anew",
            out);
    return STATUS_OK;
}

static Status run_trainer(Trainer *trainer, const TrainValues *values,
                          const PreparedSet *set, const char *out, const char *last,
                          Error *err)
{
    if (values->resume)
        TRY(trainer_restore(trainer, last, err));
    show_start(trainer, set, out);
    Progress progress = progress_start("train", stderr);
    TrainHooks hooks = {
        .context = &progress, .record = show_record, .step = show_step, .stop = stop};
    interrupt_install();
    Status status = trainer_run(trainer, &hooks, err);
    progress_clear(&progress);
    TRY(status);
    char time[32];
    console_time(time, trainer_seconds(trainer));
    printf("validation: %.4f nats a body token at step %lld (%s of training)\n",
           trainer_best_nats(trainer), (long long)trainer_best_step(trainer), time);
    printf("saved: %s/best\n", out);
    return STATUS_OK;
}

static Status train_on(const PreparedSet *set, const TrainValues *values,
                       const json_t *recipe, const char *out, const char *last,
                       Error *err)
{
    TrainOptions options = values->train;
    if (options.model.mlp_width == 0)
        options.model.mlp_width = 4 * options.model.width;
    options.seed = (uint64_t)values->common.seed;
    options.folder = out;
    options.recipe = recipe;
    char fingerprint[32];
    snprintf(fingerprint, sizeof fingerprint, "%016llx",
             (unsigned long long)set->stats.parts[PART_TRAIN].digest);
    TrainData data = {.train = &set->parts[PART_TRAIN],
                      .validation = &set->parts[PART_VALIDATION],
                      .tokenizer = &set->tokenizer,
                      .folder = set->path,
                      .fingerprint = fingerprint};
    Trainer *trainer;
    TRY(trainer_create(&trainer, &options, &data, err));
    Status status = run_trainer(trainer, values, set, out, last, err);
    trainer_destroy(trainer);
    return status;
}

/* Options from the checkpoint for --resume, else from the command line; as JSON. */
static Status settle_recipe(json_t **recipe, TrainValues *values, const char *last,
                            int argc, char **argv, Error *err)
{
    if (values->resume) {
        TRY(checkpoint_recipe(recipe, last, err));
        return recipe_to_options(&INFO, values, *recipe, argc, argv, last, err);
    }
    /* A short run would never leave the default's warm-up. */
    int64_t tenth = values->train.steps / 10;
    if (values->train.warmup > tenth && !options_given(&INFO, argc, argv, "warmup"))
        values->train.warmup = tenth;
    *recipe = recipe_from_options(&INFO, values, NOT_RECIPE);
    return *recipe != NULL ? STATUS_OK
                           : error_set(err, STATUS_MEMORY, "no memory for the options");
}

static Status train(TrainValues *values, const char *set_path, int argc, char **argv,
                    Error *err)
{
    char out[PATH_SIZE];
    char last[PATH_SIZE];
    startup_threads(values->common.threads);
    PreparedSet *set;
    TRY(memory_allocate(&set, 1, sizeof *set, "the prepared set", err));
    Status status = prepared_open(set, set_path, err);
    if (status != STATUS_OK) {
        memory_free(set);
        return status;
    }
    status = find_folder(out, values, set_path, err);
    if (status == STATUS_OK)
        status = path_join(last, out, "last", err);
    if (status == STATUS_OK)
        status = check_folder(values, out, last, err);
    json_t *recipe = NULL;
    if (status == STATUS_OK)
        status = settle_recipe(&recipe, values, last, argc, argv, err);
    if (status == STATUS_OK)
        status = train_on(set, values, recipe, out, last, err);
    json_decref(recipe);
    prepared_close(set);
    memory_free(set);
    return status;
}

static Status run(int argc, char **argv, Error *err)
{
    TrainValues values = defaults();
    const char *arguments[1] = {"data/prepared/tang"};
    int count;
    bool help;
    TRY(options_parse(&INFO, &values, argc, argv, arguments, &count, &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    return train(&values, arguments[0], argc, argv, err);
}

const Command COMMAND_TRAIN = {&INFO, run};
