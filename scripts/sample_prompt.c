#include "scripts/sample_prompt.h"

#include <string.h>

#include "data/utf8.h"
#include "model/base/memory.h"
#include "scripts/console.h"

enum { NAMED = 12 /* characters that a note names one by one */ };

void prompt_text_free(PromptText *text)
{
    memory_free(text->points);
    memory_free(text->ids);
    *text = (PromptText){0};
}

bool prompt_ends_line(uint32_t point)
{
    return point == U'。' || point == U'？' || point == U'！';
}

bool prompt_ends_clause(uint32_t point)
{
    return prompt_ends_line(point) || point == U'，' || point == U'；' ||
           point == U'：';
}

static bool is_space(uint32_t point)
{
    return point == ' ' || (point >= '\t' && point <= '\r') || point == 0x85 ||
           point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
           point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F ||
           point == 0x3000;
}

/* Zero-width characters, marks of direction, variation selectors. */
static bool is_invisible(uint32_t point)
{
    return point == 0xAD || (point >= 0x200B && point <= 0x200F) ||
           (point >= 0x202A && point <= 0x202E) ||
           (point >= 0x2060 && point <= 0x206F) ||
           (point >= 0xFE00 && point <= 0xFE0F) || point == 0xFEFF ||
           (point >= 0xE0000 && point <= 0xE0FFF);
}

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

static uint32_t full_width(uint32_t point)
{
    switch (point) {
    case ',':
        return U'，';
    case '.':
    case U'．':
    case U'｡':
        return U'。';
    case '?':
        return U'？';
    case '!':
        return U'！';
    case ';':
        return U'；';
    case ':':
        return U'：';
    case U'､':
        return U'、';
    default:
        return point;
    }
}

/* ---- reading ----------------------------------------------------------------------- */

/* Code points in NFC, appended to an empty *points. */
static Status read_points(uint32_t **points, size_t *count, size_t *capacity,
                          const char *text, const char *option, Error *err)
{
    size_t size = strlen(text);
    size_t valid = utf8_valid((const unsigned char *)text, size);
    if (valid < size)
        return error_set(
            err, STATUS_USAGE,
            "%s: expected UTF-8, but byte %zu (0x%02X) belongs to no character", option,
            valid + 1, (unsigned)(unsigned char)text[valid]);
    uint32_t *raw = NULL;
    size_t raw_count = 0;
    size_t raw_capacity = 0;
    Status status = utf8_append(&raw, &raw_count, &raw_capacity,
                                (const unsigned char *)text, size, option, err);
    if (status == STATUS_OK)
        status = utf8_normalize(points, count, capacity, raw, raw_count, err);
    memory_free(raw);
    return status;
}

/* A control character is fine where the model has it, such as a tab in running text. */
static Status check_controls(const uint32_t *points, size_t count, const char *option,
                             const Checkpoint *checkpoint, Error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (is_control(points[i]) && !is_space(points[i]) &&
            tokenizer_id(&checkpoint->tokenizer, points[i]) == TOKEN_UNK)
            return error_set(err, STATUS_USAGE,
                             "%s: expected text, but character %zu is the control "
                             "character U+%04X",
                             option, i + 1, (unsigned)points[i]);
    }
    return STATUS_OK;
}

/* In place, as nothing grows. Spaces stay until the variants are found, line by line. */
static size_t widen(uint32_t *points, size_t count, const Tokenizer *tokenizer)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t point = points[i];
        if (is_invisible(point))
            continue;
        bool known = tokenizer_id(tokenizer, point) != TOKEN_UNK;
        points[kept++] = known ? point : full_width(point);
    }
    return kept;
}

static size_t drop_spaces(uint32_t *points, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_space(points[i]))
            points[kept++] = points[i];
    }
    return kept;
}

/* ---- notes ------------------------------------------------------------------------- */

static void print_point(uint32_t point, FILE *stream)
{
    char text[UTF8_MAXIMUM + 1] = "";
    if (is_control(point) || is_space(point)) {
        fprintf(stream, "U+%04X", (unsigned)point);
        return;
    }
    text[utf8_encode(text, point)] = '\0';
    console_print_safe(text, stream);
}

/* Whether the same change was at an earlier place. */
static bool is_repeated(const uint32_t *from, const uint32_t *to, size_t place)
{
    for (size_t i = 0; i < place; i++) {
        if (from[i] == from[place] && to[i] == to[place])
            return true;
    }
    return false;
}

/* "note: --prompt: 举 read as 舉, 头 as 頭" */
static void note_changes(const uint32_t *from, const uint32_t *to, size_t count,
                         const char *option, FILE *notes)
{
    int named = 0;
    for (size_t i = 0; i < count && named <= NAMED; i++) {
        if (from[i] == to[i] || is_repeated(from, to, i))
            continue;
        if (named == 0)
            fprintf(notes, "note: %s: ", option);
        if (named == NAMED) {
            fputs(", and more", notes);
        } else {
            fputs(named > 0 ? ", " : "", notes);
            print_point(from[i], notes);
            fputs(named > 0 ? " as " : " read as ", notes);
            print_point(to[i], notes);
        }
        named++;
    }
    if (named > 0)
        putc('\n', notes);
}

static void note_unknown(const PromptText *text, const char *option, FILE *notes)
{
    int named = 0;
    for (size_t i = 0; i < text->count && named <= NAMED; i++) {
        if (text->ids[i] != TOKEN_UNK || is_repeated(text->points, text->points, i))
            continue;
        if (named == 0)
            fprintf(notes, "warning: %s: the model does not know ", option);
        if (named == NAMED) {
            fputs(", and more", notes);
        } else {
            fputs(named > 0 ? ", " : "", notes);
            print_point(text->points[i], notes);
        }
        named++;
    }
    if (named > 0)
        fputs(" and reads an unknown character there\n", notes);
}

/* ---- all of it --------------------------------------------------------------------- */

/* In place: a mapped prompt is as long as the given one. */
static Status map_variants(PromptText *out, const char *option,
                           const Checkpoint *checkpoint, FILE *notes, Error *err)
{
    MappedPrompt mapped = {0};
    Status status = variants_map_prompt(&mapped, &checkpoint->variants, out->points,
                                        out->count, err);
    if (status == STATUS_OK) {
        note_changes(out->points, mapped.points, out->count, option, notes);
        memcpy(out->points, mapped.points, out->count * sizeof *out->points);
    }
    mapped_prompt_free(&mapped);
    return status;
}

static Status prepare(PromptText *out, const char *text, const char *option,
                      const Checkpoint *checkpoint, FILE *notes, Error *err)
{
    TRY(read_points(&out->points, &out->count, &out->points_capacity, text, option,
                    err));
    TRY(check_controls(out->points, out->count, option, checkpoint, err));
    if (!checkpoint->stream) {
        out->count = widen(out->points, out->count, &checkpoint->tokenizer);
        if (out->count > 0 && checkpoint->variants.class_count > 0)
            TRY(map_variants(out, option, checkpoint, notes, err));
        out->count = drop_spaces(out->points, out->count);
    }
    TRY(memory_reserve(&out->ids, &out->ids_capacity, out->count, sizeof *out->ids,
                       option, err));
    tokenizer_encode(out->ids, &checkpoint->tokenizer, out->points, out->count);
    note_unknown(out, option, notes);
    return STATUS_OK;
}

Status prompt_text_prepare(PromptText *out, const char *text, const char *option,
                           const Checkpoint *checkpoint, FILE *notes, Error *err)
{
    *out = (PromptText){0};
    Status status =
        prepare(out, text != NULL ? text : "", option, checkpoint, notes, err);
    if (status != STATUS_OK)
        prompt_text_free(out);
    return status;
}
