#include "data/utf8.h"

#include <string.h>
#include <utf8proc.h>

#include "model/base/memory.h"

/* The second byte's range depends on the first: it excludes overlong forms (E0, F0),
 * surrogates (ED) and what lies above U+10FFFF (F4). */
size_t utf8_decode(uint32_t *point, const unsigned char *text, size_t size)
{
    unsigned char lead = text[0], low = 0x80, high = 0xBF;
    size_t length;
    uint32_t value;
    if (lead < 0x80) {
        *point = lead;
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
        value = lead & 0x1F;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        value = lead & 0x0F;
        low = lead == 0xE0 ? 0xA0 : low;
        high = lead == 0xED ? 0x9F : high;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        value = lead & 0x07;
        low = lead == 0xF0 ? 0x90 : low;
        high = lead == 0xF4 ? 0x8F : high;
    } else {
        return 0;
    }
    if (size < length || text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3F);
    }
    *point = value;
    return length;
}

size_t utf8_encode(char bytes[UTF8_MAXIMUM], uint32_t point)
{
    if (point < 0x80) {
        bytes[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char LEAD[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    bytes[0] = (char)(LEAD[length] | point);
    return length;
}

size_t utf8_valid(const unsigned char *text, size_t size)
{
    size_t i = 0;
    while (i < size) {
        uint32_t point;
        size_t length = utf8_decode(&point, text + i, size - i);
        if (length == 0)
            break;
        i += length;
    }
    return i;
}

Status utf8_append(uint32_t **points, size_t *used, size_t *capacity,
                   const unsigned char *text, size_t size, const char *what, Error *err)
{
    TRY(memory_reserve(points, capacity, *used + size, sizeof **points, what, err));
    for (size_t i = 0; i < size;) {
        size_t length = utf8_decode(&(*points)[*used], text + i, size - i);
        if (length == 0)
            return error_set(err, STATUS_INPUT,
                             "%s: invalid UTF-8 at byte %zu (0x%02X)", what, i,
                             text[i]);
        *used += 1;
        i += length;
    }
    return STATUS_OK;
}

/* Characters that are never changed by NFC and never combine: ASCII and Latin-1, CJK
 * punctuation and symbols without the combining U+302A-302F, Han without the compatibility
 * block, full-width forms. Nearly all of the corpus. */
static bool is_inert(uint32_t point)
{
    return point < 0x300 || (point >= 0x3001 && point <= 0x3029) ||
           (point >= 0x3400 && point <= 0x9FFF) ||
           (point >= 0xE000 && point <= 0xF8FF) ||
           (point >= 0xFF00 && point <= 0xFFEF) ||
           (point >= 0x20000 && point <= 0x2F7FF);
}

static utf8proc_propval_t combining_class(uint32_t point)
{
    return utf8proc_get_property((utf8proc_int32_t)point)->combining_class;
}

/* Canonical ordering of one run of combining marks: a stable sort by class, by counting
 * when the run is long, so that a hostile text of marks alone stays linear. */
static Status order_marks(uint32_t *run, size_t count, Error *err)
{
    enum { SHORT_RUN = 16, CLASSES = 256 };
    if (count <= SHORT_RUN) {
        for (size_t i = 1; i < count; i++) {
            uint32_t mark = run[i];
            size_t j = i;
            for (; j > 0 && combining_class(run[j - 1]) > combining_class(mark); j--)
                run[j] = run[j - 1];
            run[j] = mark;
        }
        return STATUS_OK;
    }
    size_t first[CLASSES + 1] = {0};
    uint32_t *sorted;
    TRY(memory_allocate(&sorted, count, sizeof *sorted, "combining marks", err));
    for (size_t i = 0; i < count; i++)
        first[combining_class(run[i]) + 1]++;
    for (size_t class = 0; class < CLASSES; class ++)
        first[class + 1] += first[class];
    for (size_t i = 0; i < count; i++)
        sorted[first[combining_class(run[i])]++] = run[i];
    memcpy(run, sorted, count * sizeof *run);
    memory_free(sorted);
    return STATUS_OK;
}

static Status order_all_marks(uint32_t *points, size_t count, Error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t start = i;
        while (i < count && combining_class(points[i]) != 0)
            i++;
        if (i - start > 1)
            TRY(order_marks(points + start, i - start, err));
    }
    return STATUS_OK;
}

/* 1. decompose  2. order the combining marks  3. compose (utf8proc, in place) */
Status utf8_normalize(uint32_t **out, size_t *used, size_t *capacity,
                      const uint32_t *points, size_t count, Error *err)
{
    enum { LONGEST = 4 }; /* code points of a canonical decomposition (Unicode 15) */
    const utf8proc_option_t options = UTF8PROC_COMPOSE | UTF8PROC_STABLE;
    size_t inert = 0, need;
    while (inert < count && is_inert(points[inert]))
        inert++;
    if (!size_multiply(&need, count, inert == count ? 1 : LONGEST) ||
        !size_add(&need, need, *used))
        return error_set(err, STATUS_MEMORY, "a text of %zu characters is too long",
                         count);
    TRY(memory_reserve(out, capacity, need, sizeof **out, "normalised text", err));
    if (inert == count) {
        if (count > 0)
            memcpy(*out + *used, points, count * sizeof **out);
        *used += count;
        return STATUS_OK;
    }
    uint32_t *result = *out + *used;
    size_t length = 0;
    int last_class = 0;
    for (size_t i = 0; i < count; i++) {
        utf8proc_ssize_t n = utf8proc_decompose_char(
            (utf8proc_int32_t)points[i], (utf8proc_int32_t *)(result + length),
            (utf8proc_ssize_t)(count * LONGEST - length), options, &last_class);
        if (n < 0)
            return error_set(err, STATUS_INPUT, "U+%04X can't be normalised: %s",
                             points[i], utf8proc_errmsg(n));
        length += (size_t)n;
    }
    TRY(order_all_marks(result, length, err));
    utf8proc_ssize_t composed = utf8proc_normalize_utf32(
        (utf8proc_int32_t *)result, (utf8proc_ssize_t)length, options);
    if (composed < 0)
        return error_set(err, STATUS_INPUT, "a text can't be normalised: %s",
                         utf8proc_errmsg(composed));
    *used += (size_t)composed;
    return STATUS_OK;
}

size_t utf8_length(const uint32_t *points, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += points[i] < 0x80      ? 1
                 : points[i] < 0x800   ? 2
                 : points[i] < 0x10000 ? 3
                                       : 4;
    return bytes;
}

size_t utf8_write(char *bytes, const uint32_t *points, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        char one[UTF8_MAXIMUM];
        size_t n = utf8_encode(one, points[i]);
        memcpy(bytes + length, one, n);
        length += n;
    }
    return length;
}
