#include "data/document.h"

#include <stdint.h>
#include <string.h>

#include "data/utf8.h"

/* Line and column (in characters) of the byte at offset, both from 1. */
static void locate(const Document *document, size_t offset, size_t *line,
                   size_t *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < offset && i < document->size; i++) {
        unsigned char c = document->text[i];
        if (c == '\n') {
            *line += 1;
            *column = 1;
        } else if ((c & 0xC0) != 0x80) {
            *column += 1;
        }
    }
}

static Status fail_at(const Document *document, size_t offset, const char *what,
                      Error *err)
{
    size_t line, column;
    locate(document, offset, &line, &column);
    return error_set(err, STATUS_INPUT, "%s: %s at byte %zu (line %zu, column %zu)",
                     document->path, what, offset + document->mark, line, column);
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *wide_encoding(const unsigned char *data, size_t size)
{
    if (size >= 4 &&
        (memcmp(data, "\xFF\xFE\0\0", 4) == 0 || memcmp(data, "\0\0\xFE\xFF", 4) == 0 ||
         (data[0] != 0 && memcmp(data + 1, "\0\0\0", 3) == 0) ||
         (data[3] != 0 && memcmp(data, "\0\0\0", 3) == 0)))
        return "UTF-32";
    if (size >= 2 &&
        (memcmp(data, "\xFF\xFE", 2) == 0 || memcmp(data, "\xFE\xFF", 2) == 0))
        return "UTF-16";
    /* Without a mark: the first two characters are ASCII in both kinds of file. */
    if (size >= 4 && ((data[0] != 0 && data[1] == 0 && data[2] != 0 && data[3] == 0) ||
                      (data[0] == 0 && data[1] != 0 && data[2] == 0 && data[3] != 0)))
        return "UTF-16";
    return NULL;
}

Status document_open(Document *document, const char *path, const unsigned char *data,
                     size_t size, bool lenient, Error *err)
{
    *document = (Document){.path = path, .text = data, .size = size};
    const char *wide = wide_encoding(data, size);
    if (wide != NULL)
        return error_set(err, STATUS_INPUT,
                         "%s: expected UTF-8, but the file looks like %s; convert it "
                         "to UTF-8",
                         path, wide);
    if (size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) {
        document->mark = 3;
        document->text += 3;
        document->size -= 3;
    }
    size_t blank = 0;
    while (blank < document->size && is_blank(document->text[blank]))
        blank++;
    if (blank == document->size)
        return error_set(err, STATUS_INPUT, "%s: empty input%s", path,
                         size > 0 ? " (nothing but white space)" : "");
    const unsigned char *nul = memchr(document->text, 0, document->size);
    if (nul != NULL && !lenient)
        return fail_at(document, (size_t)(nul - document->text), "a NUL byte", err);
    size_t valid = utf8_valid(document->text, document->size);
    if (valid < document->size && !lenient)
        return fail_at(document, valid, "invalid UTF-8", err);
    return STATUS_OK;
}

/* One walk over JSON's brackets, outside of strings. */
typedef struct {
    bool in_string, escaped;
} StringState;

/* Whether the byte belongs to a string (or ends it). */
static bool in_string(StringState *state, unsigned char c)
{
    if (!state->in_string) {
        state->in_string = c == '"';
        return state->in_string;
    }
    if (state->escaped)
        state->escaped = false;
    else if (c == '\\')
        state->escaped = true;
    else if (c == '"')
        state->in_string = false;
    return true;
}

static Status check_depth(const Document *document, Error *err)
{
    StringState state = {0};
    int depth = 0;
    for (size_t i = 0; i < document->size; i++) {
        unsigned char c = document->text[i];
        if (in_string(&state, c))
            continue;
        if (c == '[' || c == '{') {
            if (++depth > DOCUMENT_DEPTH) {
                char what[64];
                snprintf(what, sizeof what, "nesting too deep (more than %d levels)",
                         DOCUMENT_DEPTH);
                return fail_at(document, i, what, err);
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return STATUS_OK;
}

static Status parse_failed(const Document *document, const json_error_t *error,
                           Error *err)
{
    size_t offset = error->position < 0 ? 0 : (size_t)error->position;
    switch (json_error_code(error)) {
    case json_error_out_of_memory:
        return error_set(err, STATUS_MEMORY, "%s: out of memory while parsing",
                         document->path);
    case json_error_premature_end_of_input:
        return fail_at(document, document->size, "unexpected end of input", err);
    default:
        return fail_at(document, offset, error->text, err);
    }
}

Status document_parse(json_t **value, const Document *document, Error *err)
{
    json_error_t error;
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
    if (document->size > DOCUMENT_MAXIMUM)
        return error_set(err, STATUS_INPUT,
                         "%s: %zu bytes are too large for a JSON file (limit %d)",
                         document->path, document->size, (int)DOCUMENT_MAXIMUM);
    TRY(check_depth(document, err));
    *value = json_loadb((const char *)document->text, document->size, flags, &error);
    if (*value == NULL)
        return parse_failed(document, &error, err);
    /* jansson leaves the number of bytes it read in error.position. */
    size_t end = (size_t)error.position;
    while (end < document->size && is_blank(document->text[end]))
        end++;
    if (end == document->size)
        return STATUS_OK;
    json_decref(*value);
    *value = NULL;
    size_t line, column;
    locate(document, end, &line, &column);
    return error_set(err, STATUS_INPUT,
                     "%s: trailing data after value at line %zu, column %zu (byte %zu)",
                     document->path, line, column, end + document->mark);
}

static Status salvage_one(const Document *document, size_t start, size_t end,
                          Status (*visit)(void *, json_t *, Error *), void *context,
                          Error *err)
{
    Document part = {.path = document->path,
                     .text = document->text + start,
                     .size = end - start,
                     .mark = document->mark + start};
    json_t *object = NULL;
    if (utf8_valid(part.text, part.size) == part.size &&
        memchr(part.text, 0, part.size) == NULL) {
        Status status = document_parse(&object, &part, err);
        if (status == STATUS_MEMORY)
            return status;
    }
    Status status = visit(context, object, err);
    json_decref(object);
    return status;
}

Status document_salvage(const Document *document,
                        Status (*visit)(void *context, json_t *object, Error *err),
                        void *context, Error *err)
{
    StringState state = {0};
    size_t depth = 0, start = 0;
    for (size_t i = 0; i < document->size; i++) {
        unsigned char c = document->text[i];
        if (depth == 0) { /* between objects nothing but the next { matters */
            if (c == '{') {
                depth = 1;
                start = i;
                state = (StringState){0};
            }
            continue;
        }
        if (in_string(&state, c))
            continue;
        if (c == '[' || c == '{') {
            depth++;
        } else if (c == ']' || c == '}') {
            if (--depth == 0)
                TRY(salvage_one(document, start, i + 1, visit, context, err));
        }
    }
    if (depth > 0)
        return visit(context, NULL, err);
    return STATUS_OK;
}
