/* jueju export: a checkpoint as one file for other programs. */
#include <stdio.h>
#include <string.h>

#include "data/utf8.h"
#include "model/base/memory.h"
#include "model/gpt/gguf_model.h"
#include "scripts/checkpoint_open.h"
#include "scripts/commands.h"

typedef struct {
    CommonOptions common;
    const char *gguf;
    int dtype;
} ExportValues;

#define AT(member) offsetof(ExportValues, member)

static const char *const DTYPES[] = {"f32", "f16", NULL};
static const GgufDtype GGUF_DTYPES[] = {GGUF_F32, GGUF_F16};

static const Option OPTIONS[] = {{"gguf", 0, OPTION_TEXT, AT(gguf), "FILE",
                                  "write GGUF version 3, for llama.cpp", 0, 0, NULL},
                                 {"dtype", 0, OPTION_CHOICE, AT(dtype), "TYPE",
                                  "numbers of the matrices: f32 or f16 (half the size)",
                                  0, 0, DTYPES},
                                 COMMON_OPTIONS(ExportValues),
                                 {0}};

static const CommandInfo INFO = {
    .name = "export",
    .arguments = "[CHECKPOINT]",
    .summary = "write a checkpoint as GGUF, for llama.cpp",
    .details = "CHECKPOINT is a checkpoint or a run's folder, the newest one under\n"
               "checkpoints/ by default. FILE holds the model and its vocabulary; it\n"
               "is replaced in one step.\n"
               "\n"
               "llama.cpp puts <bos> before a prompt by itself, so a prompt is how a\n"
               "poem begins. It reads characters as they are: variants are not mapped.",
    .options = OPTIONS,
    .maximum_arguments = 1,
};

/* ---- the vocabulary ----------------------------------------------------------------- */

/* How llama.cpp's vocabularies write a space. */
static const char SPACE[] = "\xE2\x96\x81";
#define SPACE_POINT 0x2581

enum { TEXT_SIZE = UTF8_MAXIMUM + 1 };

/* texts[id] for all ids; characters are spelled out in `spelled` (V, TEXT_SIZE). */
static void spell(const char **texts, char *spelled, const Tokenizer *tokenizer)
{
    for (int32_t id = 0; id < tokenizer->size; id++) {
        char *text = spelled + (size_t)id * TEXT_SIZE;
        tokenizer_decode_append(text, 0, tokenizer, id);
        if (id < TOKEN_SPECIALS)
            texts[id] = tokenizer_special_name(id);
        else
            texts[id] = strcmp(text, " ") == 0 ? SPACE : text;
    }
}

static Status check_space(const Checkpoint *checkpoint, Error *err)
{
    if (tokenizer_id(&checkpoint->tokenizer, ' ') != TOKEN_UNK &&
        tokenizer_id(&checkpoint->tokenizer, SPACE_POINT) != TOKEN_UNK)
        return error_set(
            err, STATUS_USAGE,
            "%s: its vocabulary has a space and also %s (U+2581), which is "
            "how a GGUF vocabulary writes a space",
            checkpoint->folder, SPACE);
    return STATUS_OK;
}

/* ---- the command -------------------------------------------------------------------- */

/* What a run is called: its folder, also when the checkpoint is the best or last in it. */
static void run_name(char name[PATH_SIZE], const char *folder)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", folder);
    for (;;) {
        size_t length = strlen(path);
        while (length > 0 && path[length - 1] == '/')
            path[--length] = '\0';
        char *slash = strrchr(path, '/');
        const char *last = slash != NULL ? slash + 1 : path;
        if (slash == NULL || (strcmp(last, "best") != 0 && strcmp(last, "last") != 0)) {
            snprintf(name, PATH_SIZE, "%s", last);
            return;
        }
        *slash = '\0';
    }
}

static Status write_gguf(const Checkpoint *checkpoint, const ExportValues *values,
                         Error *err)
{
    const Tokenizer *tokenizer = &checkpoint->tokenizer;
    size_t V = (size_t)tokenizer->size;
    const char **texts = NULL;
    char *spelled = NULL;
    char name[PATH_SIZE];
    run_name(name, checkpoint->folder);
    TRY(check_space(checkpoint, err));
    Status status =
        memory_allocate(&texts, V, sizeof *texts, "the vocabulary's texts", err);
    if (status == STATUS_OK)
        status = memory_allocate(&spelled, V, TEXT_SIZE, "the vocabulary's texts", err);
    if (status == STATUS_OK) {
        spell(texts, spelled, tokenizer);
        const GgufVocabulary vocabulary = {.texts = texts,
                                           .specials = TOKEN_SPECIALS,
                                           .unk = TOKEN_UNK,
                                           .bos = checkpoint->stream ? -1 : TOKEN_BOS,
                                           .eos = TOKEN_EOS};
        status = gguf_model_write(&checkpoint->gpt, &vocabulary,
                                  GGUF_DTYPES[values->dtype], name, values->gguf, err);
    }
    memory_free(spelled);
    memory_free(texts);
    return status;
}

static Status export_checkpoint(const ExportValues *values, const char *path,
                                Error *err)
{
    char newest[PATH_SIZE];
    Checkpoint checkpoint;
    if (values->gguf == NULL)
        return error_set(err, STATUS_USAGE, "export: say what to write: --gguf FILE");
    if (path == NULL) {
        TRY(checkpoint_newest_of(newest, "checkpoints", CHECKPOINT_POEMS, err));
        path = newest;
    }
    GgufArchitecture architecture;
    TRY(checkpoint_open(&checkpoint, path, err));
    Status status = checkpoint_expect_decoder(&checkpoint, err);
    if (status == STATUS_OK)
        status = gguf_model_architecture(&architecture, &checkpoint.gpt.config, err);
    if (status == STATUS_OK)
        status = write_gguf(&checkpoint, values, err);
    if (status == STATUS_OK)
        printf("%s: %s, %s, %lld parameters\n", values->gguf,
               gguf_architecture_name(architecture), DTYPES[values->dtype],
               (long long)checkpoint.gpt.table.parameters);
    checkpoint_close(&checkpoint);
    return status;
}

static Status run(int argc, char **argv, Error *err)
{
    ExportValues values = {0};
    const char *arguments[1] = {NULL};
    int count;
    bool help;
    TRY(options_parse(&INFO, &values, argc, argv, arguments, &count, &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    return export_checkpoint(&values, arguments[0], err);
}

const Command COMMAND_EXPORT = {&INFO, run};
