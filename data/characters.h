/* What a code point is in a poem: a Han character, a mark, or one kind of fault. */
#ifndef JUEJU_DATA_CHARACTERS_H
#define JUEJU_DATA_CHARACTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Han characters with a code point of their own: the unified blocks with extensions and 〇.
 */
bool clean_is_han(uint32_t point);

/* One of ，。！？、；： for a mark that stands for it (half-width, small forms), else 0. */
uint32_t clean_mark(uint32_t point);

typedef enum {
    CLASS_HAN,
    CLASS_MARK,
    CLASS_SPACE, /* spaces, controls, invisible characters */
    CLASS_QUOTE, /* quotation marks and 《》 */
    CLASS_DASH,  /* dashes and middle dots */
    CLASS_SLASH, /* / \ |: harmless beside a mark, else part of a description {𥫗/戢} */
    CLASS_NOTE,    /* （ opens */
    CLASS_UNNOTE,  /* ） closes */
    CLASS_BRACKET, /* [ ［ 〔 【 */
    CLASS_UNBRACKET,
    CLASS_FOOTNOTE, /* 〖 */
    CLASS_REPEAT,   /* 々 */
    CLASS_LACUNA,
    CLASS_GAIJI,
    CLASS_MARKUP,
    CLASS_ENCODING,
} CharacterClass;

/* Left halves of characters (氵) are CLASS_GAIJI, though they are Han. */
CharacterClass character_class(uint32_t point);

#endif
