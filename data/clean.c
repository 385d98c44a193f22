#include "data/clean.h"

#include <string.h>

#include "data/characters.h"
#include "model/base/memory.h"

void points_free(Points *buffer)
{
    memory_free(buffer->points);
    *buffer = (Points){0};
}

Status points_push(Points *buffer, uint32_t point, Error *err)
{
    if (buffer->used == buffer->capacity)
        TRY(memory_reserve(&buffer->points, &buffer->capacity, buffer->used + 1,
                           sizeof *buffer->points, "text", err));
    buffer->points[buffer->used++] = point;
    return STATUS_OK;
}

/* Of two marks side by side the one that parts more remains. */
static int mark_rank(uint32_t mark)
{
    switch (mark) {
    case 0xFF01:
    case 0xFF1F:
        return 5;
    case 0x3002:
        return 4;
    case 0xFF1B:
        return 3;
    case 0xFF1A:
        return 2;
    case 0xFF0C:
        return 1;
    default:
        return 0;
    }
}

static bool is_end(uint32_t mark)
{
    return mark_rank(mark) >= 4;
}

static void fault(CleanReport *report, DropReason reason)
{
    if (report->fault == BODY_KEPT)
        report->fault = (int)reason;
}

/* The mark, merged with one that stands before it; none at the beginning. */
static Status push_mark(Points *out, uint32_t mark, Error *err)
{
    if (out->used == 0)
        return STATUS_OK;
    uint32_t *last = &out->points[out->used - 1];
    if (clean_is_han(*last))
        return points_push(out, mark, err);
    if (*last == '\n' || mark_rank(mark) > mark_rank(*last))
        *last = mark;
    return STATUS_OK;
}

/* Index behind the ） that closes the （ at in[i], or count. A note of a few characters that
 * says 缺 or 闕 tells that the text has a gap. */
static size_t skip_note(const uint32_t *in, size_t count, size_t i, CleanReport *report)
{
    enum { GAP_NOTE = 5 };
    size_t depth = 0, start = i;
    bool gap = false;
    for (; i < count; i++) {
        CharacterClass class = character_class(in[i]);
        if (class == CLASS_NOTE) {
            depth++;
        } else if (class == CLASS_UNNOTE && --depth == 0) {
            if (gap && i - start <= GAP_NOTE)
                fault(report, DROP_LACUNA);
            report->notes++;
            return i + 1;
        }
        gap = gap || in[i] == 0x7F3A || in[i] == 0x95D5 || in[i] == 0x9619;
    }
    fault(report, DROP_MARKUP);
    return count;
}

static bool is_numeral(uint32_t point)
{
    static const uint32_t NUMERALS[] = {0x4E00, 0x4E8C, 0x4E09, 0x56DB, 0x4E94, 0x516D,
                                        0x4E03, 0x516B, 0x4E5D, 0x5341, 0x25CB, 0x3007};
    for (size_t i = 0; i < sizeof NUMERALS / sizeof NUMERALS[0]; i++)
        if (point == NUMERALS[i])
            return true;
    return point >= '0' && point <= '9';
}

/* Brackets: [x] keeps x; a numeral [一二] is the number of a footnote where commentary is
 * expected; 〔黃鍾爲宮〕 at the head of a paragraph is an instruction. Returns the index to
 * go on with: behind the closing bracket if the content goes, else behind the opening. */
static size_t skip_bracket(const uint32_t *in, size_t count, size_t i, bool strict,
                           CleanReport *report)
{
    enum { LONGEST = 64 };
    size_t end = i + 1;
    bool numerals = true;
    for (; end < count && end - i <= LONGEST; end++) {
        if (character_class(in[end]) == CLASS_UNBRACKET)
            break;
        numerals = numerals && is_numeral(in[end]);
    }
    if (end == count || end - i > LONGEST) {
        fault(report, DROP_MARKUP);
        return i + 1;
    }
    report->notes++;
    bool head = i == 0 || in[i - 1] == '\n';
    bool square = in[i] == '[' || in[i] == 0xFF3B;
    if ((numerals && (strict || end == i + 1)) || (!square && head && end > i + 2))
        return end + 1;
    return i + 1;
}

static size_t skip_footnote(const uint32_t *in, size_t count, size_t i,
                            CleanReport *report)
{
    enum { LONGEST = 64 };
    for (size_t end = i + 1; end < count && end - i <= LONGEST; end++) {
        if (in[end] == 0x3017) {
            report->notes++;
            return end + 1;
        }
    }
    fault(report, DROP_MARKUP);
    return i + 1;
}

/* Whether the / at in[i] stands beside a mark or an edge, not between two characters. */
static bool slash_is_loose(const uint32_t *in, size_t count, size_t i,
                           const Points *out)
{
    size_t next = i + 1;
    while (next < count && character_class(in[next]) == CLASS_SPACE && in[next] != '\n')
        next++;
    return out->used == 0 || !clean_is_han(out->points[out->used - 1]) ||
           next == count || in[next] == '\n' || clean_mark(in[next]) != 0;
}

/* '\n' stands in *out behind paragraphs that lack a mark: it becomes 。 or goes. */
static Status finish(Points *out, size_t paragraphs, CleanReport *report, Error *err)
{
    size_t open = 0, kept = 0;
    while (out->used > 0 && out->points[out->used - 1] == '\n')
        out->used--;
    for (size_t i = 0; i < out->used; i++)
        open += out->points[i] == '\n';
    if (out->used > 0 && clean_is_han(out->points[out->used - 1]))
        open++;
    for (size_t i = 0; i < out->used; i++) {
        uint32_t point = out->points[i];
        if (point == '\n' && 2 * open < paragraphs)
            continue;
        out->points[kept++] = point == '\n' ? 0x3002 : point;
        report->han += clean_is_han(point);
    }
    out->used = kept;
    if (kept == 0)
        return STATUS_OK;
    uint32_t *last = &out->points[kept - 1];
    if (clean_is_han(*last))
        return points_push(out, 0x3002, err);
    if (!is_end(*last))
        *last = 0x3002;
    return STATUS_OK;
}

static bool is_placeholder(const Points *body)
{
    enum { LONGEST_REFERENCE = 10 };
    static const uint32_t PLACEHOLDERS[][5] = {
        {0x7A7A, 0x3002},                 /* 空。 */
        {0x7121, 0x6B63, 0x6587, 0x3002}, /* 無正文。 */
        {0x65E0, 0x6B63, 0x6587, 0x3002}, /* 无正文。 */
        {0x95D5, 0x3002},                 /* 闕。 */
        {0x7F3A, 0x3002},                 /* 缺。 */
        {0x5B58, 0x76EE, 0x3002},         /* 存目。 */
    };
    for (size_t i = 0; i < sizeof PLACEHOLDERS / sizeof *PLACEHOLDERS; i++) {
        size_t length = 0;
        while (PLACEHOLDERS[i][length] != 0)
            length++;
        if (body->used == length &&
            memcmp(body->points, PLACEHOLDERS[i], length * sizeof *body->points) == 0)
            return true;
    }
    /* 詩見張繼先三。 */
    if (body->used < 4 || body->used > LONGEST_REFERENCE ||
        (body->points[0] != 0x8A69 && body->points[0] != 0x8BD7) ||
        (body->points[1] != 0x898B && body->points[1] != 0x89C1))
        return false;
    for (size_t i = 0; i + 1 < body->used; i++)
        if (!clean_is_han(body->points[i]))
            return false;
    return true;
}

Status clean_body(Points *out, CleanReport *report, const uint32_t *in, size_t count,
                  bool strict, Error *err)
{
    static const DropReason FAULTS[] = {[CLASS_LACUNA] = DROP_LACUNA,
                                        [CLASS_GAIJI] = DROP_GAIJI,
                                        [CLASS_MARKUP] = DROP_MARKUP,
                                        [CLASS_ENCODING] = DROP_ENCODING};
    size_t paragraphs = 0, paragraph_start = 0;
    *report = (CleanReport){.fault = BODY_KEPT};
    out->used = 0;
    for (size_t i = 0; i < count;) {
        uint32_t point = in[i];
        CharacterClass class = character_class(point);
        switch (class) {
        case CLASS_HAN:
            TRY(points_push(out, point, err));
            break;
        case CLASS_MARK:
            TRY(push_mark(out, clean_mark(point), err));
            break;
        case CLASS_SPACE:
            if (point == '\n' && out->used > paragraph_start) {
                paragraphs++;
                if (clean_is_han(out->points[out->used - 1]))
                    TRY(points_push(out, '\n', err));
                paragraph_start = out->used;
            }
            break;
        case CLASS_QUOTE:
            if (strict && (point == 0x300A || point == 0x3008))
                fault(report, DROP_MARKUP);
            break;
        case CLASS_DASH:
            break;
        case CLASS_SLASH:
            if (!slash_is_loose(in, count, i, out))
                fault(report, DROP_GAIJI);
            break;
        case CLASS_NOTE:
            i = skip_note(in, count, i, report);
            continue;
        case CLASS_BRACKET:
            i = skip_bracket(in, count, i, strict, report);
            continue;
        case CLASS_FOOTNOTE:
            i = skip_footnote(in, count, i, report);
            continue;
        case CLASS_UNBRACKET:
            break;
        case CLASS_UNNOTE:
            fault(report, DROP_MARKUP);
            break;
        case CLASS_REPEAT:
            if (out->used > 0 && clean_is_han(out->points[out->used - 1]))
                TRY(points_push(out, out->points[out->used - 1], err));
            else
                fault(report, DROP_GAIJI);
            break;
        case CLASS_LACUNA:
        case CLASS_GAIJI:
        case CLASS_MARKUP:
        case CLASS_ENCODING:
            fault(report, FAULTS[class]);
            break;
        }
        i++;
    }
    paragraphs += out->used > paragraph_start;
    TRY(finish(out, paragraphs, report, err));
    if (report->fault == BODY_KEPT && report->han == 0)
        report->fault = DROP_EMPTY;
    else if (report->fault == BODY_KEPT && is_placeholder(out))
        report->fault = DROP_PLACEHOLDER;
    return STATUS_OK;
}

/* Titles: an unclosed note runs to the end, which costs nothing here. */
Status clean_title(Points *out, bool *damaged, const uint32_t *in, size_t count,
                   Error *err)
{
    CleanReport ignored = {.fault = BODY_KEPT};
    *damaged = false;
    out->used = 0;
    while (count > 0 &&
           (in[count - 1] == 0x25CB || character_class(in[count - 1]) == CLASS_SPACE))
        count--; /* 句其一○ */
    for (size_t i = 0; i < count;) {
        uint32_t point = in[i];
        switch (character_class(point)) {
        case CLASS_HAN:
            TRY(points_push(out, point, err));
            break;
        case CLASS_MARK:
            TRY(push_mark(out, clean_mark(point), err));
            break;
        case CLASS_NOTE:
            i = skip_note(in, count, i, &ignored);
            continue;
        case CLASS_FOOTNOTE:
            i = skip_footnote(in, count, i, &ignored);
            continue;
        case CLASS_REPEAT:
            if (out->used > 0)
                TRY(points_push(out, out->points[out->used - 1], err));
            break;
        case CLASS_MARKUP:
            *damaged = *damaged || point < '0' || point > '9'; /* 吳氏2 */
            break;
        case CLASS_LACUNA:
        case CLASS_GAIJI:
        case CLASS_ENCODING:
            *damaged = true;
            break;
        case CLASS_SPACE:
        case CLASS_QUOTE:
        case CLASS_DASH:
        case CLASS_SLASH:
        case CLASS_UNNOTE:
        case CLASS_BRACKET:
        case CLASS_UNBRACKET:
            break;
        }
        i++;
    }
    while (out->used > 0 && !clean_is_han(out->points[out->used - 1]))
        out->used--;
    if (*damaged)
        out->used = 0;
    return STATUS_OK;
}
