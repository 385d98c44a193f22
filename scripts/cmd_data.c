/* jueju data: sources to a prepared set, and the proof of its split. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "data/corpus.h"
#include "data/prepare.h"
#include "model/base/files.h"
#include "model/base/json.h"
#include "scripts/commands.h"
#include "scripts/console.h"
#include "scripts/data_check.h"

enum { MAXIMUM_SOURCES = 256 };

static const char DEFAULT_ROOT[] = "data/corpora/chinese-poetry";
static const char DEFAULT_CORPUS[] = "tang";
static const char SAMPLE_NAME[] = "sample";
static const char SAMPLE_FOLDER[] = "data/sample";
static const char PREPARED_FOLDER[] = "data/prepared";

typedef struct {
    CommonOptions common;
    const char *corpus, *name, *out, *root;
    int64_t minimum_count;
    int couplets; /* index into COUPLETS */
    bool lenient, stream, pairs, check_split, json;
} DataOptions;

static const char *const COUPLETS[] = {"parallel", "all", NULL};
static const PairChoice CHOICES[] = {PAIRS_PARALLEL, PAIRS_ALL};

static const Option OPTIONS[] = {
    {"corpus", 'c', OPTION_TEXT, offsetof(DataOptions, corpus), "NAMES",
     "collections, comma between them: tang song songci yuanqu shijing chuci nalan "
     "huajian nantang caocao shuimo, or sample (tang when no SOURCE is given)",
     0, 0, NULL},
    {"root", 0, OPTION_TEXT, offsetof(DataOptions, root), "DIR",
     "folder of the collections", 0, 0, NULL},
    {"name", 0, OPTION_TEXT, offsetof(DataOptions, name), "NAME",
     "name of the set (from its sources)", 0, 0, NULL},
    {"out", 'o', OPTION_TEXT, offsetof(DataOptions, out), "DIR",
     "folder of the set, replaced as a whole (data/prepared/NAME)", 0, 0, NULL},
    {"min-count", 0, OPTION_INT, offsetof(DataOptions, minimum_count), "N",
     "a character must stand in N training poems (of a running text: N places) to get "
     "a "
     "token; 0: 2, and 1 for a running text or under 100 poems",
     0, 1e9, NULL},
    {"lenient", 0, OPTION_FLAG, offsetof(DataOptions, lenient), NULL,
     "keep what is sound of damaged files", 0, 0, NULL},
    {"stream", 0, OPTION_FLAG, offsetof(DataOptions, stream), NULL,
     "the sources are one running text, cut 90/5/5 in order", 0, 0, NULL},
    {"pairs", 0, OPTION_FLAG, offsetof(DataOptions, pairs), NULL,
     "the set has couplets (upper and lower line) of 五絕 七絕 五律 七律 for poems; "
     "its name ends in -pairs",
     0, 0, NULL},
    {"couplets", 0, OPTION_CHOICE, offsetof(DataOptions, couplets), "WHICH",
     "with --pairs: parallel, the middle ones of 律, or all", 0, 0, COUPLETS},
    {"check-split", 0, OPTION_FLAG, offsetof(DataOptions, check_split), NULL,
     "prepare nothing; count the held-out poems of the set SOURCE (or --name, --out) "
     "that have a near-duplicate in training (of pairs: a line); fails unless there "
     "are "
     "none",
     0, 0, NULL},
    {"json", 0, OPTION_FLAG, offsetof(DataOptions, json), NULL,
     "print stats.json (or the check's counts) instead of a summary", 0, 0, NULL},
    COMMON_OPTIONS(DataOptions),
    {0}};

static const DataOptions DEFAULTS = {.couplets = 0, .root = DEFAULT_ROOT};

static const CommandInfo INFO = {
    .name = "data",
    .arguments = "[SOURCE...]",
    .summary = "prepares poems for training",
    .details =
        "A SOURCE is a JSON file of one of the collections' schemas, a text file (a "
        "poem "
        "per block between blank lines), or a folder of such files. The set goes to "
        "data/prepared/NAME: train, val and test as 16-bit tokens, tokenizer.json, "
        "variants.json, stats.json.\n"
        "The same sources, options and --seed give the same bytes. Seed 0 is the "
        "reference split.",
    .options = OPTIONS,
    .minimum_arguments = 0,
    .maximum_arguments = MAXIMUM_SOURCES};

/* ---- which sources, which name ------------------------------------------------------ */

typedef struct {
    const char *items[MAXIMUM_SOURCES];
    int count;
    char names[PATH_SIZE]; /* --corpus, cut at its commas */
    char root[PATH_SIZE];
    char name[256];
    char path[PATH_SIZE]; /* of the set */
} Sources;

static Status copy_path(char path[PATH_SIZE], const char *given, Error *err)
{
    size_t length = strlen(given);
    if (length >= PATH_SIZE)
        return error_set(err, STATUS_USAGE, "%.80s...: the path is too long", given);
    memcpy(path, given, length + 1);
    return STATUS_OK;
}

static Status add_source(Sources *sources, const char *source, Error *err)
{
    if (sources->count == MAXIMUM_SOURCES)
        return error_set(err, STATUS_USAGE, "more than %d sources", MAXIMUM_SOURCES);
    sources->items[sources->count++] = source;
    return STATUS_OK;
}

static Status unknown_collection(const char *name, Error *err)
{
    char known[512] = "";
    for (int i = 0; i < collection_count(); i++) {
        strncat(known, collection_at(i)->name, sizeof known - strlen(known) - 2);
        strncat(known, " ", sizeof known - strlen(known) - 1);
    }
    return error_set(err, STATUS_USAGE,
                     "--corpus: unknown collection '%s'; known are %s%s", name, known,
                     SAMPLE_NAME);
}

/* Where the collections are: DIR/dist of the package, or DIR itself. Without them and
 * without --root the sample takes their place. */
static Status find_root(Sources *sources, const DataOptions *options, bool root_given,
                        bool *missing, Error *err)
{
    *missing = false;
    TRY(path_join(sources->root, options->root, "dist", err));
    if (file_is_folder(sources->root))
        return STATUS_OK;
    TRY(copy_path(sources->root, options->root, err));
    if (file_is_folder(options->root))
        return STATUS_OK;
    if (root_given)
        return error_set(err, STATUS_INPUT, "--root: no folder %s", options->root);
    *missing = true;
    return STATUS_OK;
}

static Status add_collections(Sources *sources, const char *corpus, bool missing,
                              Error *err)
{
    size_t length = strlen(corpus);
    if (length >= sizeof sources->names)
        return error_set(err, STATUS_USAGE, "--corpus: the list is too long");
    memcpy(sources->names, corpus, length + 1);
    bool sample = false;
    for (char *name = sources->names; name != NULL;) {
        char *comma = strchr(name, ',');
        if (comma != NULL)
            *comma = '\0';
        bool is_sample = strcmp(name, SAMPLE_NAME) == 0;
        if (!is_sample && collection_find(name) == COLLECTION_FILES)
            return unknown_collection(name, err);
        if (!is_sample && !missing)
            TRY(add_source(sources, name, err));
        else if (!sample)
            TRY(add_source(sources, SAMPLE_FOLDER, err));
        sample = sample || is_sample || missing;
        name = comma != NULL ? comma + 1 : NULL;
    }
    if (missing && strcmp(corpus, SAMPLE_NAME) != 0)
        fprintf(stderr,
                "data: no collections in %s (scripts/fetch_corpus.sh fetches them): "
                "using the poems of %s\n",
                DEFAULT_ROOT, SAMPLE_FOLDER);
    return STATUS_OK;
}

/* "tang-song", "poems" from poems.txt, "sample". */
static void append_name(Sources *sources, const char *source)
{
    const char *slash = strrchr(source, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : source;
    const char *dot = strchr(name, '.');
    size_t length = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    size_t used = strlen(sources->name);
    if (length > 0 && used + length + 2 < sizeof sources->name) {
        if (used > 0)
            sources->name[used++] = '-';
        for (size_t i = 0; i < length; i++)
            sources->name[used++] = name[i] == '/' ? '-' : name[i];
        sources->name[used] = '\0';
    }
}

static Status check_name(const char *name, Error *err)
{
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL)
        return error_set(err, STATUS_USAGE,
                         "--name '%s': a set's name is a plain folder name without '/' "
                         "and not beginning with '.' (--out takes a path)",
                         name);
    return STATUS_OK;
}

/* Sets of pairs stand beside the poems' set: "tang" and "tang-pairs". */
static void append_pairs(Sources *sources)
{
    static const char ENDING[] = "-pairs";
    size_t used = strlen(sources->name);
    if (used > 0 && used + sizeof ENDING <= sizeof sources->name)
        memcpy(sources->name + used, ENDING, sizeof ENDING);
}

static Status choose_path(Sources *sources, const DataOptions *options, Error *err)
{
    if (options->pairs)
        append_pairs(sources);
    if (options->name != NULL)
        TRY(check_name(options->name, err));
    if (options->out != NULL) {
        if (options->out[0] == '\0')
            return error_set(err, STATUS_USAGE, "--out: an empty path");
        return copy_path(sources->path, options->out, err);
    }
    if (options->name == NULL)
        TRY(check_name(sources->name, err));
    return path_join(sources->path, PREPARED_FOLDER,
                     options->name != NULL ? options->name : sources->name, err);
}

static Status choose_sources(Sources *sources, const DataOptions *options,
                             bool root_given, const char *const *arguments, int count,
                             Error *err)
{
    const char *corpus = options->corpus;
    if (corpus == NULL && count == 0)
        corpus = DEFAULT_CORPUS;
    if (corpus != NULL) {
        bool missing;
        TRY(find_root(sources, options, root_given, &missing, err));
        TRY(add_collections(sources, corpus, missing, err));
    }
    for (int i = 0; i < count; i++)
        TRY(add_source(sources, arguments[i], err));
    for (int i = 0; i < sources->count; i++)
        append_name(sources, sources->items[i]);
    return choose_path(sources, options, err);
}

/* ---- results ------------------------------------------------------------------------ */

/* A few notes in full; of many only the number, since stats.json has them. */
static void print_notes(const CorpusNote *notes, size_t count, const char *what,
                        const char *many)
{
    enum { SHOWN = 4 };
    if (count > SHOWN) {
        fprintf(stderr, "data: %zu %s\n", count, many);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "data: %s ", what);
        console_print_safe(notes[i].path, stderr);
        fprintf(stderr, ": %s\n", notes[i].reason);
    }
}

static void print_pairs(const PairCounts *counts)
{
    int64_t couplets = 0;
    ToneTally tones = {0};
    for (int form = 0; form < FORM_COUNT; form++) {
        for (int couplet = 0; couplet < PAIR_COUPLETS; couplet++) {
            couplets += counts->places[form][couplet];
            tone_tally_join(&tones, &counts->tones[form][couplet]);
        }
    }
    printf("couplets  %9" PRId64 " in %" PRId64
           " poems of the forms 五絕 七絕 五律 七律\n",
           couplets, counts->poems);
    for (int reason = 0; reason < PAIR_REASONS; reason++) {
        if (counts->dropped[reason] > 0)
            printf("dropped   %9" PRId64 " %s\n", counts->dropped[reason],
                   pair_reason_name((PairReason)reason));
    }
    printf("tones     %8.1f%% of the pairs have opposite ones at the places 2, 4 (6)\n",
           100 * tone_tally_share(&tones));
}

static void print_summary(const PrepareReport *report, const char *path,
                          const DataOptions *options, double seconds)
{
    const CorpusStats *corpus = &report->corpus;
    bool stream = options->stream;
    bool pairs = options->pairs;
    if (!stream) {
        printf("read      %9" PRId64 " works\n", corpus->read);
        printf("kept      %9" PRId64 " poems, %" PRId64 " characters\n", corpus->kept,
               corpus->characters);
        for (int reason = 0; reason < DROP_REASONS; reason++) {
            if (corpus->dropped[reason] > 0)
                printf("dropped   %9" PRId64 " %s\n", corpus->dropped[reason],
                       drop_reason_name((DropReason)reason));
        }
        printf("left out  %9" PRId64 " duplicates of poems kept\n", report->duplicates);
    }
    if (pairs)
        print_pairs(&report->pairs);
    printf("vocabulary%9d tokens\n", (int)report->vocab_size);
    for (int part = 0; part < PART_COUNT; part++)
        printf("%-10s%9" PRId64 " %s, %" PRId64 " tokens to predict\n",
               part_name((Part)part),
               pairs ? report->parts[part].pairs : report->parts[part].poems,
               stream  ? "text"
               : pairs ? "pairs"
                       : "poems",
               report->parts[part].body_tokens);
    printf("%s in %.1f s\n", path, seconds);
    if (report->parts[PART_VALIDATION].poems == 0)
        fprintf(stderr,
                "data: too few different poems for a validation and a test part: "
                "all are in training\n");
}

typedef struct {
    Progress bar;
} Shown;

static void show_progress(void *context, double fraction, const char *what)
{
    Shown *shown = context;
    progress_update(&shown->bar, fraction, what);
}

static Status run_prepare(const DataOptions *options, const Sources *sources,
                          Error *err)
{
    double started = console_clock();
    Shown shown = {.bar = progress_start("data", stderr)};
    PrepareOptions prepare = {.sources = sources->items,
                              .source_count = sources->count,
                              .root = sources->root,
                              .minimum_count = options->minimum_count,
                              .lenient = options->lenient,
                              .stream = options->stream,
                              .pairs = options->pairs ? CHOICES[options->couplets]
                                                      : PAIRS_NONE,
                              .seed = (uint64_t)options->common.seed,
                              .threads = (int)options->common.threads,
                              .progress = show_progress,
                              .context = &shown};
    PrepareReport report;
    json_t *stats = NULL;
    Status status = prepare_set(&report, sources->path, &prepare, err);
    progress_clear(&shown.bar);
    print_notes(report.corpus.skipped, report.corpus.skipped_count, "skipped",
                "files beside the poems hold none (stats.json says why)");
    print_notes(report.corpus.warnings, report.corpus.warning_count,
                "note:", "warnings (stats.json has them)");
    if (status == STATUS_OK && options->json) {
        status = stats_to_json(&stats, &report, &prepare, err);
        if (status == STATUS_OK)
            status = print_json(stats, err);
    } else if (status == STATUS_OK) {
        print_summary(&report, sources->path, options, console_clock() - started);
    }
    json_decref(stats);
    report_free(&report);
    return status;
}

/* ---- --check-split ------------------------------------------------------------------ */

/* SOURCE is a set's folder, or its name below data/prepared. */
static Status find_set(Sources *sources, const DataOptions *options,
                       const char *const *arguments, int count, Error *err)
{
    if (count > 1)
        return error_set(err, STATUS_USAGE, "--check-split: one set, found %d", count);
    if (count == 1 && (strchr(arguments[0], '/') != NULL || file_exists(arguments[0])))
        return copy_path(sources->path, arguments[0], err);
    if (count == 1) {
        TRY(check_name(arguments[0], err));
        return path_join(sources->path, PREPARED_FOLDER, arguments[0], err);
    }
    append_name(sources, options->corpus != NULL ? options->corpus : DEFAULT_CORPUS);
    for (char *comma = sources->name; (comma = strchr(comma, ',')) != NULL;)
        *comma = '-';
    return choose_path(sources, options, err);
}

static Status run_data(int argc, char **argv, Error *err)
{
    DataOptions options = DEFAULTS;
    const char *arguments[MAXIMUM_SOURCES];
    int count = 0;
    bool help = false;
    TRY(options_parse(&INFO, &options, argc, argv, arguments, &count, &help, err));
    if (help) {
        options_help(&INFO, &DEFAULTS, stdout);
        return STATUS_OK;
    }
    Sources sources = {0};
    if (options.pairs && options.stream)
        return error_set(err, STATUS_USAGE,
                         "--pairs and --stream: a running text has no couplets");
    if (!options.pairs && options_given(&INFO, argc, argv, "couplets"))
        return error_set(err, STATUS_USAGE, "--couplets goes with --pairs");
    if (options.check_split) {
        TRY(find_set(&sources, &options, arguments, count, err));
        return check_split(sources.path, options.json, err);
    }
    bool root_given = options_given(&INFO, argc, argv, "root");
    TRY(choose_sources(&sources, &options, root_given, arguments, count, err));
    return run_prepare(&options, &sources, err);
}

const Command COMMAND_DATA = {.info = &INFO, .run = run_data};
