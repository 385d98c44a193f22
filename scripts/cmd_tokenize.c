/* jueju tokenize: text to token ids and back, line by line. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "data/utf8.h"
#include "model/base/memory.h"
#include "scripts/checkpoint_open.h"
#include "scripts/commands.h"

typedef struct {
    CommonOptions common;
    bool decode;
} TokenizeValues;

#define AT(member) offsetof(TokenizeValues, member)

static const Option OPTIONS[] = {
    {"decode", 'd', OPTION_FLAG, AT(decode), NULL,
     "read lists of ids, print the text; special tokens have none", 0, 0, NULL},
    COMMON_OPTIONS(TokenizeValues),
    {0}};

static const CommandInfo INFO = {
    .name = "tokenize",
    .arguments = "[FOLDER]",
    .summary = "text from standard input as token ids, a JSON list a line",
    .details =
        "FOLDER holds a tokenizer.json: a checkpoint, a run, or a prepared set;\n"
        "by default the newest checkpoint under checkpoints/. The ids are those\n"
        "that any reader of tokenizer.json gives: NFC, a token a character, 0\n"
        "for what has none. Nothing is mapped or put before the text.",
    .options = OPTIONS,
    .maximum_arguments = 1,
};

/* Buffers that grow to the longest line. */
typedef struct {
    Tokenizer tokenizer;
    char where[64]; /* which line, for messages */
    char *line;
    size_t length, line_capacity;
    uint32_t *raw, *points;
    size_t raw_capacity, points_capacity;
    char *text;
    size_t text_capacity;
} Reader;

/* The next line without its end; *more is false when there is none. */
static Status read_line(bool *more, Reader *reader, Error *err)
{
    int byte;
    reader->length = 0;
    while ((byte = getc(stdin)) != EOF && byte != '\n') {
        TRY(memory_reserve(&reader->line, &reader->line_capacity, reader->length + 1, 1,
                           "a line", err));
        reader->line[reader->length++] = (char)byte;
    }
    if (ferror(stdin))
        return error_errno(err, "standard input");
    *more = byte != EOF || reader->length > 0;
    return STATUS_OK;
}

static Status encode_line(Reader *reader, Error *err)
{
    size_t raw_count = 0;
    size_t count = 0;
    TRY(utf8_append(&reader->raw, &raw_count, &reader->raw_capacity,
                    (const unsigned char *)reader->line, reader->length, reader->where,
                    err));
    TRY(utf8_normalize(&reader->points, &count, &reader->points_capacity, reader->raw,
                       raw_count, err));
    putchar('[');
    for (size_t i = 0; i < count; i++)
        printf("%s%d", i > 0 ? "," : "",
               (int)tokenizer_id(&reader->tokenizer, reader->points[i]));
    puts("]");
    return STATUS_OK;
}

static Status print_ids(Reader *reader, const json_t *ids, Error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *value = json_array_get(ids, i);
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id >= reader->tokenizer.size)
            return error_set(err, STATUS_INPUT,
                             "%s: expected ids from 0 to %d, but number %zu is none",
                             reader->where, (int)reader->tokenizer.size - 1, i + 1);
        TRY(memory_reserve(&reader->text, &reader->text_capacity,
                           used + UTF8_MAXIMUM + 1, 1, "a line", err));
        used = tokenizer_decode_append(reader->text, used, &reader->tokenizer,
                                       (int32_t)id);
    }
    if (used > 0)
        fwrite(reader->text, 1, used, stdout);
    putchar('\n');
    return STATUS_OK;
}

static Status decode_line(Reader *reader, Error *err)
{
    json_error_t problem;
    json_t *ids =
        json_loadb(reader->length > 0 ? reader->line : "", reader->length, 0, &problem);
    Status status;
    if (json_is_array(ids))
        status = print_ids(reader, ids, err);
    else
        status =
            error_set(err, STATUS_INPUT,
                      "%s: expected a list of token ids such as [8,9]", reader->where);
    json_decref(ids);
    return status;
}

static Status tokenize(Reader *reader, const TokenizeValues *values, Error *err)
{
    bool more;
    for (long long line = 1;; line++) {
        TRY(read_line(&more, reader, err));
        if (!more)
            return STATUS_OK;
        snprintf(reader->where, sizeof reader->where, "standard input, line %lld",
                 line);
        TRY(values->decode ? decode_line(reader, err) : encode_line(reader, err));
    }
}

/* FOLDER itself, or what a run's folder stands for. */
static Status open_tokenizer(Tokenizer *tokenizer, const char *folder, Error *err)
{
    char path[PATH_SIZE];
    char found[PATH_SIZE];
    if (folder == NULL) {
        TRY(checkpoint_newest(found, "checkpoints", err));
        folder = found;
    }
    TRY(path_join(path, folder, "tokenizer.json", err));
    if (!file_exists(path)) {
        TRY(checkpoint_locate(found, folder, err));
        TRY(path_join(path, found, "tokenizer.json", err));
    }
    return tokenizer_load(tokenizer, path, err);
}

static Status run(int argc, char **argv, Error *err)
{
    TokenizeValues values = {0};
    const char *arguments[1] = {NULL};
    int count;
    bool help;
    TRY(options_parse(&INFO, &values, argc, argv, arguments, &count, &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    Reader reader = {0};
    TRY(open_tokenizer(&reader.tokenizer, arguments[0], err));
    Status status = tokenize(&reader, &values, err);
    memory_free(reader.line);
    memory_free(reader.raw);
    memory_free(reader.points);
    memory_free(reader.text);
    tokenizer_free(&reader.tokenizer);
    return status;
}

const Command COMMAND_TOKENIZE = {&INFO, run};
