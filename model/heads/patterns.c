#include "model/heads/patterns.h"

#include <string.h>

const char *const PATTERN_NAMES[PATTERN_COUNT] = {
    "self", "previous",  "near",      "start",     "marks", "sink",
    "line", "line_next", "duplicate", "induction", "rare",
};

bool pattern_reads_text(Pattern pattern)
{
    return pattern > PATTERN_START;
}

static void mark_range(uint8_t *mask, int64_t n, int64_t nearest, int64_t farthest)
{
    for (int64_t i = 1; i < n; i++) {
        for (int64_t back = nearest; back <= farthest && back <= i; back++)
            mask[i * n + i - back] = 1;
    }
}

static void mark_kind(uint8_t *mask, const HeadText *text, TokenKind kind)
{
    int64_t n = text->n;
    for (int64_t i = 1; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            if (text->kinds[j] == kind)
                mask[i * n + j] = 1;
        }
    }
}

static bool is_in_line(const HeadText *text, int64_t i)
{
    return text->kinds[i] == KIND_CHARACTER || text->kinds[i] == KIND_OTHER;
}

/* One pass: `line` and `before` are where this line and the one before it begin; the latter
 * is before_length long, 0 at first. Marks side by side end one line. */
static void mark_line(uint8_t *mask, const HeadText *text, int64_t ahead)
{
    int64_t n = text->n;
    int64_t line = 0, before = 0, before_length = 0, length = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!is_in_line(text, i)) {
            if (length > 0) {
                before = line;
                before_length = length;
            }
            length = 0;
            continue;
        }
        if (length == 0)
            line = i;
        int64_t place = length + ahead;
        if (place < before_length && i > 0)
            mask[i * n + before + place] = 1;
        length++;
    }
}

static bool is_same_character(const HeadText *text, int64_t i, int64_t j)
{
    return text->ids[i] == text->ids[j] && text->kinds[i] == KIND_CHARACTER &&
           text->kinds[j] == KIND_CHARACTER;
}

/* step 0: the character itself; 1: the token behind it. */
static void mark_earlier(uint8_t *mask, const HeadText *text, int64_t step)
{
    int64_t n = text->n;
    for (int64_t i = 1; i < n; i++) {
        for (int64_t j = 0; j + step < i; j++) {
            if (is_same_character(text, i, j))
                mask[i * n + j + step] = 1;
        }
    }
}

static void mark_rare(uint8_t *mask, const HeadText *text)
{
    int64_t n = text->n;
    int64_t rarest = -1, seen = 0;
    for (int64_t i = 0; i < n; i++) {
        if (text->kinds[i] == KIND_CHARACTER) {
            seen++;
            if (rarest < 0 || text->rarity[i] > text->rarity[rarest])
                rarest = i;
        }
        for (int64_t j = 0; i > 0 && seen >= 2 && j <= i; j++)
            mask[i * n + j] = j == rarest || is_same_character(text, j, rarest);
    }
}

void pattern_mask(uint8_t *mask, Pattern pattern, const HeadText *text)
{
    int64_t n = text->n;
    memset(mask, 0, (size_t)(n * n));
    switch (pattern) {
    case PATTERN_SELF:
        mark_range(mask, n, 0, 0);
        break;
    case PATTERN_PREVIOUS:
        mark_range(mask, n, 1, 1);
        break;
    case PATTERN_NEAR:
        mark_range(mask, n, 1, PATTERN_NEAR_REACH);
        break;
    case PATTERN_START:
        mark_kind(mask, text, KIND_START);
        break;
    case PATTERN_MARKS:
        mark_kind(mask, text, KIND_MARK);
        break;
    case PATTERN_SINK:
        mark_kind(mask, text, KIND_START);
        mark_kind(mask, text, KIND_MARK);
        break;
    case PATTERN_LINE:
        mark_line(mask, text, 0);
        break;
    case PATTERN_LINE_NEXT:
        mark_line(mask, text, 1);
        break;
    case PATTERN_DUPLICATE:
        mark_earlier(mask, text, 0);
        break;
    case PATTERN_INDUCTION:
        mark_earlier(mask, text, 1);
        break;
    case PATTERN_RARE:
        mark_rare(mask, text);
        break;
    case PATTERN_COUNT:
        break;
    }
}
