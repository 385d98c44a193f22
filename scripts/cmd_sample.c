/* jueju sample: poems from a checkpoint. */
#include <math.h>
#include <omp.h>
#include <time.h>
#include <unistd.h>

#include "scripts/commands.h"
#include "scripts/console.h"
#include "scripts/interrupt.h"
#include "scripts/sample_batch.h"
#include "scripts/sample_couplet.h"
#include "scripts/sample_print.h"
#include "scripts/startup.h"

typedef struct {
    const char *prompt, *title, *author, *form, *acrostic, *couplet;
    bool repeats;
    int64_t count;
    SamplerSettings settings;
    int64_t max_tokens;
    int64_t seed;
    int64_t threads;
    bool json;
} SampleOptions;

static const SampleOptions DEFAULTS = {
    .count = 1,
    .settings = {.temperature = 0.8,
                 .top_k = 0,
                 .top_p = 0.95,
                 .repetition_penalty = 1},
    .seed = -1,
};

#define AT(member) offsetof(SampleOptions, member)
#define LARGEST_SEED (INT64_C(1) << 53) /* what every JSON reader holds exactly */

static const Option OPTIONS[] = {
    {"prompt", 'p', OPTION_TEXT, AT(prompt), "TEXT", "how the poem begins", 0, 0, NULL},
    {"title", 't', OPTION_TEXT, AT(title), "TEXT", "title to write to", 0, 0, NULL},
    {"author", 'a', OPTION_TEXT, AT(author), "NAME", "poet to write like", 0, 0, NULL},
    {"form", 'f', OPTION_TEXT, AT(form), "FORM",
     "form to write in: 五絕 五律 七絕 七律, or a 詞牌 that the model has seen", 0, 0,
     NULL},
    {"acrostic", 0, OPTION_TEXT, AT(acrostic), "TEXT",
     "藏頭詩: the first characters of the lines, such as 春夏秋冬", 0, 0, NULL},
    {"couplet", 'c', OPTION_TEXT, AT(couplet), "LINES",
     "對句: first lines to write second lines for, apart by spaces or punctuation; "
     "with a model that `jueju train --family couplet` made",
     0, 0, NULL},
    {"repeats", 0, OPTION_FLAG, AT(repeats), NULL,
     "let a second line repeat characters of the couplet, which true ones hardly ever "
     "do",
     0, 0, NULL},
    {"count", 'n', OPTION_INT, AT(count), "N",
     "how many poems, or second lines for each first line", 1, 1e9, NULL},
    {"temperature", 0, OPTION_REAL, AT(settings.temperature), "T",
     "under 1 bolder in what is likely, over 1 wilder; 0 always takes the likeliest", 0,
     HUGE_VAL, NULL},
    {"top-k", 0, OPTION_INT, AT(settings.top_k), "K",
     "draw from the K likeliest characters only; 0: no limit", 0, HUGE_VAL, NULL},
    {"top-p", 0, OPTION_REAL, AT(settings.top_p), "P",
     "draw from the likeliest characters that share the probability P; 1: no limit", 0,
     1, NULL},
    {"repetition-penalty", 0, OPTION_REAL, AT(settings.repetition_penalty), "R",
     "over 1: characters (not punctuation) that the poem has already become less "
     "likely",
     SAMPLER_PENALTY_MINIMUM, SAMPLER_PENALTY_MAXIMUM, NULL},
    {"max-tokens", 0, OPTION_INT, AT(max_tokens), "N",
     "longest continuation in characters; 0: as far as the model's context reaches "
     "(running text: 500)",
     0, 1e9, NULL},
    {"seed", 0, OPTION_INT, AT(seed), "N",
     "seed of the first poem; the next ones have N+1, N+2, ...; -1: a new one each "
     "time, "
     "named on stderr",
     -1, (double)LARGEST_SEED, NULL},
    {"threads", 0, OPTION_INT, AT(threads), "N", "threads; 0 means one per processor",
     0, 4096, NULL},
    {"json", 0, OPTION_FLAG, AT(json), NULL,
     "one object a line: text, seed, nats, tokens, ended (eos, length), and what was "
     "asked "
     "for",
     0, 0, NULL},
    {0}};

static const CommandInfo INFO = {
    .name = "sample",
    .arguments = "[CHECKPOINT]",
    .summary = "write poems",
    .details =
        "CHECKPOINT is a checkpoint or a run (then its best); without it the newest "
        "one "
        "under\n"
        "checkpoints/. Text may be in simplified characters: they are read as the "
        "variants\n"
        "that the model knows. A poem of seed N is the same alone and among others.\n"
        "\n"
        "nats is the mean of -log p over the characters drawn and the end of the poem, "
        "by "
        "the\n"
        "model's own distribution (temperature 1, nothing cut off); what was given "
        "does "
        "not\n"
        "count. A poem that reaches the limit (ended: length) is cut back to its last "
        "whole\n"
        "line. A model of running text has no ends: it begins behind a line break and "
        "goes "
        "on\n"
        "for max-tokens.\n"
        "\n"
        "A second line (--couplet) is as long as its first, from 1 character up to "
        "what\n"
        "the model's context holds; that of a line and seed N is the same alone and "
        "among\n"
        "others.",
    .options = OPTIONS,
    .minimum_arguments = 0,
    .maximum_arguments = 1,
};

/* Short enough to be typed again. */
static uint64_t new_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return rng_hash(time, (uint64_t)getpid()) % 1000000000u;
}

static bool stop(void *context)
{
    (void)context;
    return interrupt_requested();
}

/* Reads the texts of the options into the plan. */
static Status read_texts(SamplePlan *plan, const SampleOptions *options, Error *err)
{
    const struct {
        PromptText *out;
        const char *text, *option;
    } TEXTS[] = {{&plan->prompt, options->prompt, "--prompt"},
                 {&plan->title, options->title, "--title"},
                 {&plan->author, options->author, "--author"},
                 {&plan->form, options->form, "--form"},
                 {&plan->acrostic, options->acrostic, "--acrostic"}};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        TRY(prompt_text_prepare(TEXTS[i].out, TEXTS[i].text, TEXTS[i].option,
                                plan->checkpoint, stderr, err));
    return STATUS_OK;
}

static Status write_poems(const SamplePlan *plan, const SampleOptions *options,
                          uint64_t seed, Error *err)
{
    SamplePrinter printer = {
        .plan = plan,
        .stream = stdout,
        .json = options->json,
        .live = !options->json && options->count == 1 && console_is_terminal(stdout),
    };
    SampleHooks hooks = {
        .context = &printer,
        .poem = sample_print_poem,
        .token = printer.live ? sample_print_token : NULL,
        .stop = stop,
    };
    interrupt_install();
    Status status = sample_batch(plan, options->count, seed, &hooks, err);
    if (status == STATUS_INTERRUPTED)
        sample_print_stopped(&printer);
    if (printer.inside_line > 0)
        fprintf(
            stderr,
            "note: %lld of the poems reached the limit of %lld tokens before the end "
            "of a line and stand as they are\n",
            (long long)printer.inside_line, (long long)plan->limit);
    return status;
}

static Status sample(const Checkpoint *checkpoint, const SampleOptions *options,
                     Error *err)
{
    SamplePlan plan = {.checkpoint = checkpoint, .settings = options->settings};
    Status status = read_texts(&plan, options, err);
    if (status == STATUS_OK)
        status = sample_plan_finish(&plan, options->max_tokens, err);
    if (status == STATUS_OK) {
        uint64_t seed = options->seed < 0 ? new_seed() : (uint64_t)options->seed;
        if (options->seed < 0 && !options->json)
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        status = write_poems(&plan, options, seed, err);
    }
    sample_plan_free(&plan);
    return status;
}

/* ---- second lines ------------------------------------------------------------------- */

/* Options of poems mean nothing to a couplet. */
static Status check_couplet(int argc, char **argv, const SampleOptions *options,
                            Error *err)
{
    static const char *const OF_POEMS[] = {"prompt", "title",    "author",
                                           "form",   "acrostic", "max-tokens"};
    for (size_t i = 0; i < sizeof OF_POEMS / sizeof *OF_POEMS; i++) {
        if (options->couplet != NULL && options_given(&INFO, argc, argv, OF_POEMS[i]))
            return error_set(err, STATUS_USAGE,
                             "--%s is for poems and does not go with --couplet",
                             OF_POEMS[i]);
    }
    if (options->couplet == NULL && options->repeats)
        return error_set(err, STATUS_USAGE, "--repeats goes with --couplet only");
    return STATUS_OK;
}

static Status couplets(const Checkpoint *checkpoint, const SampleOptions *options,
                       Error *err)
{
    uint64_t seed = options->seed < 0 ? new_seed() : (uint64_t)options->seed;
    CoupletOptions couplet = {
        .text = options->couplet,
        .count = options->count,
        .seed = seed,
        .settings = {.sampler = options->settings, .repeats = options->repeats},
        .json = options->json,
        .stop = interrupt_requested};
    startup_threads(options->threads);
    interrupt_install();
    Status status = sample_couplets(checkpoint, &couplet, stdout, err);
    if (status == STATUS_OK && options->seed < 0 && !options->json)
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    return status;
}

static Status sample_any(const Checkpoint *checkpoint, const SampleOptions *options,
                         Error *err)
{
    if (options->couplet != NULL)
        return couplets(checkpoint, options, err);
    if (checkpoint->gpt.config.encoder_layers > 0)
        return error_set(err, STATUS_USAGE,
                         "%s writes second lines of couplets: give it a first one with "
                         "--couplet, or name a checkpoint of poems",
                         checkpoint->folder);
    return sample(checkpoint, options, err);
}

static Status check(const SampleOptions *options, Error *err)
{
    int64_t last = LARGEST_SEED - (options->count - 1);
    if (options->seed > last)
        return error_set(err, STATUS_USAGE,
                         "--seed must be at most %lld for %lld poems, but it is %lld",
                         (long long)last, (long long)options->count,
                         (long long)options->seed);
    /* What needs no model is checked before one is read. */
    SamplerSettings settings = options->settings;
    settings.top_k = 0;
    return sampler_settings_check(&settings, 1, err);
}

static Status run(int argc, char **argv, Error *err)
{
    SampleOptions options = DEFAULTS;
    const char *path;
    int count;
    bool help;
    TRY(options_parse(&INFO, &options, argc, argv, &path, &count, &help, err));
    if (help) {
        options_help(&INFO, &DEFAULTS, stdout);
        return STATUS_OK;
    }
    TRY(check(&options, err));
    TRY(check_couplet(argc, argv, &options, err));
    /* Decoding calls no BLAS, so a build of it that threads cannot share is no limit. */
    omp_set_num_threads(options.threads > 0 ? (int)options.threads
                                            : omp_get_num_procs());
    char newest[PATH_SIZE];
    if (count == 0) {
        TRY(checkpoint_newest_of(
            newest, "checkpoints",
            options.couplet != NULL ? CHECKPOINT_COUPLETS : CHECKPOINT_POEMS, err));
        path = newest;
    }
    Checkpoint checkpoint;
    TRY(checkpoint_open(&checkpoint, path, err));
    Status status = sample_any(&checkpoint, &options, err);
    checkpoint_close(&checkpoint);
    return status;
}

const Command COMMAND_SAMPLE = {.info = &INFO, .run = run};
