/* jueju train: a prepared set to checkpoints. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/prepared.h"
#include "model/base/files.h"
#include "scripts/checkpoint_write.h"
#include "scripts/commands.h"
#include "scripts/console.h"
#include "scripts/interrupt.h"
#include "scripts/model_options.h"
#include "scripts/recipe.h"
#include "scripts/startup.h"
#include "scripts/train_model.h"
#include "scripts/train_ranks.h"
#include "scripts/train_show.h"
#include "train/checkpoint.h"
#include "train/lanes.h"

typedef struct {
    CommonOptions common;
    const char *name, *out, *resume_from;
    bool resume, overwrite;
    ModelOptions model;
    TrainOptions train;
} TrainValues;

#define AT(member) offsetof(TrainValues, member)
#define OPTIMIZER(member) AT(train.optimizer.member)

static const Option OPTIONS[] = {
    {"name", 0, OPTION_TEXT, AT(name), "NAME", "name of the run; the set's by default",
     0, 0, NULL},
    {"out", 'o', OPTION_TEXT, AT(out), "DIR",
     "folder of the run; checkpoints/NAME, or CHECKPOINT-trained, by default", 0, 0,
     NULL},
    {"resume", 0, OPTION_FLAG, AT(resume), NULL,
     "go on from DIR/last, options included", 0, 0, NULL},
    {"resume-from", 0, OPTION_TEXT, AT(resume_from), "CHECKPOINT",
     "start a run with the model of another checkpoint, such as a regrouped one", 0, 0,
     NULL},
    {"overwrite", 0, OPTION_FLAG, AT(overwrite), NULL,
     "start anew where there is a run already", 0, 0, NULL},
    {"steps", 0, OPTION_INT, AT(train.steps), "N", "updates of the weights", 1, 1e9,
     NULL},
    {"batch-tokens", 'b', OPTION_INT, AT(train.batch_tokens), "N",
     "tokens in a step: rows x context", 1, 1e9, NULL},
    MODEL_OPTIONS(TrainValues, model),
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
        "Family couplet learns the second lines of couplets from a set that `jueju "
        "data\n"
        "--pairs` made, data/prepared/tang-pairs by default. Its own defaults: 3 "
        "layers\n"
        "in encoder and decoder, context 32, dropout 0.2, 1600 steps of 2048 tokens.\n"
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
        .model = model_options_start(),
        .train = {.init = INIT_XAVIER_PER_HEAD,
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
    return values;
}

/* What is usual for pairs where the user says nothing: short lines, and few of them. */
static void take_couplet_defaults(TrainValues *values, int argc, char **argv)
{
    const GptConfig usual = gpt_config_open(FAMILY_COUPLET);
    const struct {
        const char *name;
        int64_t *value, usual;
    } SIZES[] = {{"layers", &values->model.config.layers, usual.layers},
                 {"context", &values->model.config.context, usual.context},
                 {"steps", &values->train.steps, 1600},
                 {"batch-tokens", &values->train.batch_tokens, 2048},
                 {"eval-every", &values->train.eval_every, 100}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        if (!options_given(&INFO, argc, argv, SIZES[i].name))
            *SIZES[i].value = SIZES[i].usual;
    }
    if (!options_given(&INFO, argc, argv, "dropout"))
        values->model.config.dropout = 0.2;
}

/* Pairs have no fields. */
static Status check_fields(const PreparedSet *set, int argc, char **argv, Error *err)
{
    static const char *const FIELDS[] = {"keep-form", "keep-title", "keep-author"};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        if (set->stats.pairs && options_given(&INFO, argc, argv, FIELDS[i]))
            return error_set(err, STATUS_USAGE,
                             "--%s is for poems, and %s is a set of pairs", FIELDS[i],
                             set->path);
    }
    return STATUS_OK;
}

static bool stop(void *context)
{
    (void)context;
    return interrupt_requested();
}

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
    if (values->resume_from != NULL && values->name == NULL)
        return checkpoint_write_target(out, NULL, values->resume_from, "-trained", true,
                                       err);
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
                          Dist *dist, Error *err)
{
    char machine[512];
    if (values->resume)
        TRY(trainer_restore(trainer, last, err));
    else if (values->resume_from != NULL)
        TRY(train_model_start(trainer, values->resume_from, dist, err));
    startup_describe_ranks(machine, sizeof machine, dist);
    if (dist->rank == 0)
        train_show_start(trainer, set, out, machine);
    Progress progress = progress_start("train", stderr);
    TrainHooks hooks = {.context = &progress,
                        .record = train_show_record,
                        .step = train_show_step,
                        .stop = stop};
    interrupt_install();
    Status status = trainer_run(trainer, &hooks, err);
    progress_clear(&progress);
    TRY(status);
    if (dist->rank > 0)
        return STATUS_OK;
    char time[32];
    console_time(time, trainer_seconds(trainer));
    printf("validation: %.4f nats a %s token at step %lld (%s of training)\n",
           trainer_best_nats(trainer), set->stats.pairs ? "second line's" : "body",
           (long long)trainer_best_step(trainer), time);
    printf("saved: %s/best\n", out);
    return STATUS_OK;
}

static Status train_on(const PreparedSet *set, const TrainValues *values,
                       const json_t *recipe, const char *out, const char *last,
                       Dist *dist, Error *err)
{
    TrainOptions options = values->train;
    const char *from = values->resume ? last : values->resume_from;
    TRY(train_model_config(&options.model, &values->model,
                           values->resume_from != NULL ? from : NULL, dist, err));
    options.seed = (uint64_t)values->common.seed;
    options.folder = out;
    options.recipe = recipe;
    options.dist = dist;
    char fingerprint[32];
    snprintf(fingerprint, sizeof fingerprint, "%016llx",
             (unsigned long long)set->stats.parts[PART_TRAIN].digest);
    TrainData data = {.train = &set->parts[PART_TRAIN],
                      .validation = &set->parts[PART_VALIDATION],
                      .tokenizer = &set->tokenizer,
                      .folder = set->path,
                      .fingerprint = fingerprint};
    if (set->stats.pairs) {
        data.train_pairs = &set->pairs[PART_TRAIN];
        data.validation_pairs = &set->pairs[PART_VALIDATION];
    }
    Trainer *trainer;
    TRY(trainer_create(&trainer, &options, &data, err));
    Status status = run_trainer(trainer, values, set, out, last, dist, err);
    trainer_destroy(trainer);
    return status;
}

/* What this rank would train with: options from the checkpoint for --resume, which is rank
 * 0's to read (the others get NULL), else from the command line; as JSON. */
static Status own_recipe(json_t **recipe, TrainValues *values, const char *last,
                         const Dist *dist, int argc, char **argv, Error *err)
{
    *recipe = NULL;
    if (values->resume)
        return dist->rank == 0 ? checkpoint_recipe(recipe, last, err) : STATUS_OK;
    if (values->resume_from != NULL)
        TRY(train_model_check(&INFO, argc, argv, err));
    /* A short run would never leave the default's warm-up. */
    int64_t tenth = values->train.steps / 10;
    if (values->train.warmup > tenth && !options_given(&INFO, argc, argv, "warmup"))
        values->train.warmup = tenth;
    *recipe = recipe_from_options(&INFO, values, NOT_RECIPE);
    return *recipe != NULL ? STATUS_OK
                           : error_set(err, STATUS_MEMORY, "no memory for the options");
}

/* The recipe of all ranks. */
static Status settle_recipe(json_t **recipe, TrainValues *values, const char *last,
                            Dist *dist, int argc, char **argv, Error *err)
{
    json_t *own = NULL;
    *recipe = NULL;
    TRY(dist_same(dist, "--resume", values->resume ? "given" : "none",
                  "give it to all or to none", err));
    Status status = own_recipe(&own, values, last, dist, argc, argv, err);
    status = dist_agree(dist, status, err);
    if (status == STATUS_OK)
        status = train_ranks_share(recipe, own, dist, err);
    json_decref(own);
    TRY(status);
    if (values->resume)
        status = recipe_to_options(&INFO, values, *recipe, argc, argv, last, err);
    return dist_agree(dist, status, err);
}

/* Of poems or of pairs, as it says itself. */
static Status open_set(PreparedSet *set, const char *path, Error *err)
{
    bool pairs = false;
    TRY(prepared_has_pairs(&pairs, path, err));
    return pairs ? prepared_open_pairs(set, path, err) : prepared_open(set, path, err);
}

/* The folder of the run is rank 0's; the others only know its name. */
static Status open_all(PreparedSet *set, char out[PATH_SIZE], char last[PATH_SIZE],
                       const TrainValues *values, const char *set_path,
                       const Dist *dist, int argc, char **argv, Error *err)
{
    TRY(open_set(set, set_path, err));
    Status status = check_fields(set, argc, argv, err);
    if (status == STATUS_OK)
        status = find_folder(out, values, set_path, err);
    if (status == STATUS_OK)
        status = path_join(last, out, "last", err);
    if (status == STATUS_OK && dist->rank == 0)
        status = check_folder(values, out, last, err);
    if (status != STATUS_OK)
        prepared_close(set);
    return status;
}

static Status train(TrainValues *values, const char *set_path, Dist *dist, int argc,
                    char **argv, Error *err)
{
    char out[PATH_SIZE];
    char last[PATH_SIZE];
    PreparedSet *set;
    TRY(startup_rank_threads(values->common.threads, dist, err));
    TRY(memory_allocate(&set, 1, sizeof *set, "the prepared set", err));
    Status opened = open_all(set, out, last, values, set_path, dist, argc, argv, err);
    Status status = dist_agree(dist, opened, err);
    json_t *recipe = NULL;
    if (status == STATUS_OK)
        status = settle_recipe(&recipe, values, last, dist, argc, argv, err);
    if (status == STATUS_OK)
        status = train_on(set, values, recipe, out, last, dist, err);
    json_decref(recipe);
    if (opened == STATUS_OK)
        prepared_close(set);
    memory_free(set);
    return status;
}

/* The command line and the ranks; an error in either is told after dist_open, once. */
static Status run(int argc, char **argv, Error *err)
{
    TrainValues values = defaults();
    const char *arguments[1];
    int count = 0;
    bool help;
    Status status = model_options_parse(&INFO, &values, &values.model, argc, argv,
                                        arguments, &count, &help, err);
    if (status == STATUS_OK && help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    bool couplet = values.model.config.family == FAMILY_COUPLET;
    if (status == STATUS_OK && count == 0)
        arguments[0] = couplet ? "data/prepared/tang-pairs" : "data/prepared/tang";
    if (status == STATUS_OK && couplet)
        take_couplet_defaults(&values, argc, argv);
    Dist dist;
    Error opening = {0};
    if (dist_open(&dist, &opening) != STATUS_OK && status == STATUS_OK) {
        status = opening.status;
        *err = opening;
    }
    status = dist_agree(&dist, status, err);
    if (status == STATUS_OK)
        status = train(&values, arguments[0], &dist, argc, argv, err);
    return train_ranks_end(&dist, status, err);
}

const Command COMMAND_TRAIN = {&INFO, run};
