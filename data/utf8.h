/* UTF-8 to code points and back, strictly (Unicode 15, table 3-7): no overlong forms, no
 * surrogates, nothing above U+10FFFF. */
#ifndef JUEJU_DATA_UTF8_H
#define JUEJU_DATA_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"

enum { UTF8_MAXIMUM = 4 }; /* bytes a code point */

/* Reads one code point at text[0..size-1], size > 0. Returns its bytes (1..4), or 0 when
 * they are no valid code point (then *point is untouched). */
size_t utf8_decode(uint32_t *point, const unsigned char *text, size_t size);

/* Writes a valid code point, returns its bytes (1..4). */
size_t utf8_encode(char bytes[UTF8_MAXIMUM], uint32_t point);

/* Bytes of the longest valid prefix: size when all of text is valid. */
size_t utf8_valid(const unsigned char *text, size_t size);

/* Appends the code points of text to the growing array *points (memory_reserve), *used of
 * them in use. STATUS_INPUT names the offset of the first invalid byte; `what` is the file,
 * option or field the text comes from. */
Status utf8_append(uint32_t **points, size_t *used, size_t *capacity,
                   const unsigned char *text, size_t size, const char *what,
                   Error *err);

/* NFC of points[0..count-1], appended to *out like utf8_append. Never NFKC, which would turn
 * ，。into ASCII. Linear; text that is NFC already is only copied. */
Status utf8_normalize(uint32_t **out, size_t *used, size_t *capacity,
                      const uint32_t *points, size_t count, Error *err);

/* Bytes of `count` code points as UTF-8, and the writing of them (no NUL at the end). */
size_t utf8_length(const uint32_t *points, size_t count);
size_t utf8_write(char *bytes, const uint32_t *points, size_t count);

#endif
