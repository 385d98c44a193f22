/* jueju heads: what each head of a checkpoint looks at, and whether heads collapse. */
#include <stdio.h>
#include <string.h>

#include "data/prepared.h"
#include "scripts/commands.h"
#include "scripts/heads_report.h"
#include "scripts/startup.h"
#include "train/checkpoint.h"

typedef struct {
    CommonOptions common;
    const char *text, *set, *svg, *html;
    int64_t poems, layer;
    bool json;
} HeadsValues;

/* 靜夜思 as the Tang collection has it. */
static const char DEFAULT_TEXT[] = "牀前看月光，疑是地上霜。舉頭望山月，低頭思故鄉。";

#define AT(member) offsetof(HeadsValues, member)

static const Option OPTIONS[] = {
    {"text", 't', OPTION_TEXT, AT(text), "TEXT", "text whose maps are shown", 0, 0,
     NULL},
    {"set", 's', OPTION_TEXT, AT(set), "SET",
     "prepared set of the probe poems; by default the one it was trained on", 0, 0,
     NULL},
    {"poems", 'n', OPTION_INT, AT(poems), "N",
     "validation poems that the figures are taken over", 1, 1e6, NULL},
    {"layer", 'l', OPTION_INT, AT(layer), "N",
     "layer of the figure, and that the page opens with, from 0; -1: the last", -1, 1e6,
     NULL},
    {"html", 0, OPTION_TEXT, AT(html), "FILE",
     "write a page with all maps and figures, for any browser", 0, 0, NULL},
    {"svg", 0, OPTION_TEXT, AT(svg), "FILE", "write one layer's maps as a figure", 0, 0,
     NULL},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "print one JSON object", 0, 0, NULL},
    COMMON_OPTIONS(HeadsValues),
    {0}};

static const CommandInfo INFO = {
    .name = "heads",
    .arguments = "[CHECKPOINT]",
    .summary = "what each head looks at, and whether heads collapse",
    .details =
        "CHECKPOINT is a checkpoint or a run's folder, the newest one under\n"
        "checkpoints/ by default. The maps are of TEXT, which may be in simplified\n"
        "characters; the figures are means over poems of the validation split, or\n"
        "over TEXT alone when the set is not there. Heads are named layer.head, both\n"
        "from 0. model/heads/README.md says what every figure means.",
    .options = OPTIONS,
    .maximum_arguments = 1,
};

/* ---- the figures --------------------------------------------------------------------- */

/* The folder of the set that the checkpoint was trained on; false, with a note, when it
 * cannot be had. A set that the user named must be there. */
static bool find_set(char path[PATH_SIZE], const Checkpoint *checkpoint)
{
    Error inner;
    if (checkpoint_set(path, checkpoint->folder, &inner) == STATUS_OK) {
        if (file_is_folder(path))
            return true;
        error_set(&inner, STATUS_INPUT, "%s is not there", path);
    }
    fprintf(stderr,
            "note: no probe poems (%s); the figures are of the text alone. --set names "
            "a prepared set\n",
            inner.message);
    return false;
}

static Status add_poems(Study *study, ProbeInfo *info, const PreparedSet *set,
                        const HeadsValues *values, const Checkpoint *checkpoint,
                        Error *err)
{
    if (set->stream != checkpoint->stream)
        return error_set(err, STATUS_INPUT,
                         "%s: expected a set of %s like the checkpoint's, found %s",
                         set->path, checkpoint->stream ? "running text" : "poems",
                         set->stream ? "running text" : "poems");
    Status status = probe_add_poems(study, info, &set->parts[PART_VALIDATION],
                                    &set->tokenizer, checkpoint, values->poems, err);
    return status == STATUS_OK ? status : error_context(err, "%s", set->path);
}

/* Without a path the shown text is the probe. */
static Status probe(Study *study, ProbeInfo *info, const char *path,
                    const HeadsValues *values, const ShownText *shown,
                    const Checkpoint *checkpoint, Error *err)
{
    if (path == NULL) {
        study_add(study, &shown->text);
    } else {
        PreparedSet *set;
        TRY(memory_allocate(&set, 1, sizeof *set, "the prepared set", err));
        Status status = prepared_open(set, path, err);
        if (status == STATUS_OK) {
            status = add_poems(study, info, set, values, checkpoint, err);
            prepared_close(set);
        } else if (values->set == NULL) {
            error_context(err,
                          "the set that %s was trained on (name another with --set)",
                          checkpoint->folder);
        }
        memory_free(set);
        TRY(status);
        info->set = path;
    }
    return probe_add_repeats(study, info, checkpoint, (uint64_t)values->common.seed,
                             err);
}

/* Maps of all layers and heads on the shown text, owned by the caller. */
static Status capture(real **maps, Study *study, const ShownText *shown, Error *err)
{
    const Gpt *gpt = study->view.gpt;
    int64_t n = shown->text.n;
    int64_t L = study->layers;
    int64_t H = study->heads;
    TRY(memory_allocate(maps, (size_t)(L * H * n * n), sizeof **maps, "the maps", err));
    view_read(&study->view, shown->text.ids, n);
    for (int64_t l = 0; l < L; l++) {
        for (int64_t h = 0; h < view_heads(gpt, l); h++)
            view_map(&study->view, l, h, *maps + (l * H + h) * n * n, study->outputs);
    }
    return STATUS_OK;
}

/* ---- the reports --------------------------------------------------------------------- */

static Status print_json(const HeadsReport *report, Error *err)
{
    json_t *json;
    TRY(heads_json(&json, report, err));
    json_dumpf(json, stdout,
               JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(json);
    return STATUS_OK;
}

static Status write_reports(const HeadsReport *report, const HeadsValues *values,
                            Error *err)
{
    if (values->json)
        TRY(print_json(report, err));
    else
        heads_print_table(report, stdout);
    if (values->svg != NULL)
        TRY(heads_write_svg(values->svg, report, err));
    if (values->html != NULL)
        TRY(heads_write_page(values->html, report, err));
    return STATUS_OK;
}

/* blank: a report without figures and maps. */
static Status report_study(Study *study, const HeadsReport *blank,
                           const HeadsValues *values, Error *err)
{
    HeadsReport report = *blank;
    StudyFigures figures;
    real *maps = NULL;
    TRY(study_finish(&figures, study, err));
    Status status = capture(&maps, study, report.shown, err);
    if (status == STATUS_OK) {
        report.figures = &figures;
        report.maps = maps;
        status = write_reports(&report, values, err);
    }
    memory_free(maps);
    study_figures_free(&figures);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------- */

static Status study_checkpoint(const Checkpoint *checkpoint, const ShownText *shown,
                               const HeadsValues *values, Error *err)
{
    char path[PATH_SIZE];
    Study study;
    ProbeInfo info = {0};
    HeadsReport report = {.checkpoint = checkpoint,
                          .probe = &info,
                          .shown = shown,
                          .layer = values->layer};
    int64_t L = view_layers(&checkpoint->gpt);
    if (values->layer >= L)
        return error_set(err, STATUS_USAGE,
                         "--layer: expected -1 ... %lld (the last), found %lld",
                         (long long)(L - 1), (long long)values->layer);
    if (report.layer < 0)
        report.layer = L - 1;
    const char *set = values->set;
    if (set == NULL && find_set(path, checkpoint))
        set = path;
    TRY(study_create(&study, &checkpoint->gpt, checkpoint->gpt.config.context,
                     (uint64_t)values->common.seed, err));
    Status status = probe(&study, &info, set, values, shown, checkpoint, err);
    if (status == STATUS_OK)
        status = report_study(&study, &report, values, err);
    study_destroy(&study);
    return status;
}

static Status study_text(const Checkpoint *checkpoint, const HeadsValues *values,
                         Error *err)
{
    PromptText prompt;
    ShownText shown = {0};
    TRY(prompt_text_prepare(&prompt, values->text, "--text", checkpoint, stderr, err));
    Status status = shown_text_set(&shown, &prompt, "--text", checkpoint, err);
    if (status == STATUS_OK)
        status = study_checkpoint(checkpoint, &shown, values, err);
    shown_text_free(&shown);
    prompt_text_free(&prompt);
    return status;
}

static Status run(int argc, char **argv, Error *err)
{
    HeadsValues values = {.text = DEFAULT_TEXT, .poems = 64, .layer = -1};
    const char *path = NULL;
    char newest[PATH_SIZE];
    int count;
    bool help;
    TRY(options_parse(&INFO, &values, argc, argv, &path, &count, &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    startup_threads(values.common.threads);
    if (count == 0) {
        TRY(checkpoint_newest_of(newest, "checkpoints", CHECKPOINT_POEMS, err));
        path = newest;
    }
    Checkpoint *checkpoint;
    TRY(memory_allocate(&checkpoint, 1, sizeof *checkpoint, "the checkpoint", err));
    Status status = checkpoint_open(checkpoint, path, err);
    if (status == STATUS_OK) {
        status = checkpoint_expect_decoder(checkpoint, err);
        if (status == STATUS_OK)
            status = study_text(checkpoint, &values, err);
        checkpoint_close(checkpoint);
    }
    memory_free(checkpoint);
    return status;
}

const Command COMMAND_HEADS = {&INFO, run};
