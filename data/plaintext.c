#include "data/plaintext.h"

#include "data/utf8.h"

/* Code points of the text with LF line ends; INVALID for a byte that is no UTF-8. */
enum { INVALID = 0x110000 };

static Status decode(Points *out, const Document *document, Error *err)
{
    for (size_t i = 0; i < document->size;) {
        uint32_t point;
        size_t length = utf8_decode(&point, document->text + i, document->size - i);
        if (length == 0 || point == 0) {
            point = INVALID;
            length = 1;
        }
        i += length;
        if (point == '\r') {
            if (i < document->size && document->text[i] == '\n')
                continue;
            point = '\n';
        }
        TRY(points_push(out, point, err));
    }
    return STATUS_OK;
}

static bool is_blank(uint32_t point)
{
    return point == ' ' || point == '\t' || point == 0x3000 || point == 0xA0 ||
           point == '\v' || point == '\f' || point == 0xFEFF;
}

/* Letters are what is neither ASCII punctuation, blank nor a mark. */
static bool is_mainly_han(const Points *text)
{
    size_t han = 0, letters = 0;
    for (size_t i = 0; i < text->used; i++) {
        uint32_t point = text->points[i];
        bool letter = point < 0x80 ? (point | 0x20) >= 'a' && (point | 0x20) <= 'z'
                                   : !is_blank(point) && clean_mark(point) == 0;
        letters += letter;
        han += clean_is_han(point);
    }
    return han > 0 && 2 * han >= letters;
}

/* The block [start, end) of text without INVALID goes to reader->raw. */
static Status take(WorkReader *reader, const Points *text, size_t start, size_t end,
                   bool *valid, Error *err)
{
    *valid = true;
    reader->raw.used = 0;
    for (size_t i = start; i < end; i++) {
        if (text->points[i] == INVALID) {
            *valid = false;
            return STATUS_OK;
        }
        TRY(points_push(&reader->raw, text->points[i], err));
    }
    return STATUS_OK;
}

/* Last point of the line ending at `end` that isn't blank, or 0. */
static uint32_t last_point(const Points *text, size_t start, size_t end)
{
    while (end > start && is_blank(text->points[end - 1]))
        end--;
    return end > start ? text->points[end - 1] : 0;
}

/* Length of the title line that begins the block in raw, or 0. */
static size_t title_length(const Points *raw)
{
    size_t first = 0;
    while (first < raw->used && raw->points[first] != '\n')
        if (clean_mark(raw->points[first++]) != 0)
            return 0;
    if (first == raw->used)
        return 0;
    for (size_t start = first + 1, i = start; i <= raw->used; i++) {
        if (i < raw->used && raw->points[i] != '\n')
            continue;
        if (clean_mark(last_point(raw, start, i)) == 0)
            return 0;
        start = i + 1;
    }
    return first;
}

static Status add_block(WorkReader *reader, const Points *text, size_t start,
                        size_t end, bool han, Error *err)
{
    bool valid, damaged;
    TRY(take(reader, text, start, end, &valid, err));
    if (!valid) {
        reader->counts.read++;
        reader->counts.dropped[DROP_INPUT]++;
        return STATUS_OK;
    }
    if (!han)
        return work_add_verbatim(reader, err);
    reader->title.used = reader->author.used = reader->tune.used = 0;
    size_t title = title_length(&reader->raw);
    if (title > 0) {
        reader->normal.used = 0;
        TRY(utf8_normalize(&reader->normal.points, &reader->normal.used,
                           &reader->normal.capacity, reader->raw.points, title, err));
        TRY(clean_title(&reader->title, &damaged, reader->normal.points,
                        reader->normal.used, err));
        reader->counts.titles_emptied += damaged;
        for (size_t i = title + 1; i < reader->raw.used; i++)
            reader->raw.points[i - title - 1] = reader->raw.points[i];
        reader->raw.used -= title + 1;
    }
    return work_add(reader, err);
}

static Status add_blocks(WorkReader *reader, const Points *text, bool han, Error *err)
{
    size_t start = 0, end = 0; /* the block so far: its last line ends at `end` */
    bool open = false;
    for (size_t line = 0; line <= text->used;) {
        size_t stop = line;
        while (stop < text->used && text->points[stop] != '\n')
            stop++;
        bool blank = last_point(text, line, stop) == 0;
        if (!blank) {
            start = open ? start : line;
            end = stop;
            open = true;
        }
        if (open && (blank || stop >= text->used)) {
            TRY(add_block(reader, text, start, end, han, err));
            open = false;
        }
        line = stop + 1;
    }
    return STATUS_OK;
}

/* Without the bytes that are no UTF-8, which a lenient reading leaves in. */
static Status add_stream(WorkReader *reader, const Points *text, Error *err)
{
    reader->raw.used = 0;
    for (size_t i = 0; i < text->used; i++)
        if (text->points[i] != INVALID)
            TRY(points_push(&reader->raw, text->points[i], err));
        else
            reader->counts.notes++;
    return work_add_verbatim(reader, err);
}

Status plaintext_read(WorkReader *reader, const Document *document, bool stream,
                      Error *err)
{
    Points text = {0};
    Status status = decode(&text, document, err);
    if (status == STATUS_OK && stream)
        status = add_stream(reader, &text, err);
    else if (status == STATUS_OK)
        status = add_blocks(reader, &text, is_mainly_han(&text), err);
    points_free(&text);
    return status;
}
