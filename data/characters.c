#include "data/characters.h"

#include <stddef.h>

static bool is_one_of(uint32_t point, const uint32_t *set)
{
    for (; *set != 0; set++)
        if (*set == point)
            return true;
    return false;
}

bool clean_is_han(uint32_t point)
{
    /* Twelve characters of the compatibility block are unified ones in truth. */
    static const uint32_t UNIFIED[] = {0xFA0E, 0xFA0F, 0xFA11, 0xFA13, 0xFA14,
                                       0xFA1F, 0xFA21, 0xFA23, 0xFA24, 0xFA27,
                                       0xFA28, 0xFA29, 0};
    return (point >= 0x4E00 && point <= 0x9FFF) ||
           (point >= 0x3400 && point <= 0x4DBF) ||
           (point >= 0x20000 && point <= 0x2A6DF) ||
           (point >= 0x2A700 && point <= 0x2EE5D) ||
           (point >= 0x30000 && point <= 0x323AF) || point == 0x3007 ||
           (point >= 0xFA0E && point <= 0xFA29 && is_one_of(point, UNIFIED));
}

uint32_t clean_mark(uint32_t point)
{
    switch (point) {
    case ',':
    case 0xFF0C: /* ， */
    case 0xFE50: /* ﹐ */
        return 0xFF0C;
    case '.':
    case 0x3002: /* 。 */
    case 0xFF0E: /* ． */
    case 0xFF61: /* ｡ */
    case 0xFE52: /* ﹒ */
        return 0x3002;
    case '!':
    case 0xFF01: /* ！ */
    case 0xFE57:
        return 0xFF01;
    case '?':
    case 0xFF1F: /* ？ */
    case 0xFE56:
        return 0xFF1F;
    case 0x3001: /* 、 */
    case 0xFF64:
    case 0xFE51:
        return 0x3001;
    case ';':
    case 0xFF1B: /* ； */
    case 0xFE54:
        return 0xFF1B;
    case ':':
    case 0xFF1A: /* ： */
    case 0xFE55:
        return 0xFF1A;
    default:
        return 0;
    }
}

/* Left halves of characters: alone in a text they are half of one that nobody could
 * encode (氵屈). */
static const uint32_t COMPONENTS[] = {0x4EBB /* 亻 */,
                                      0x6C35 /* 氵 */,
                                      0x624C /* 扌 */,
                                      0x5FC4 /* 忄 */,
                                      0x72AD /* 犭 */,
                                      0x793B /* 礻 */,
                                      0x8864 /* 衤 */,
                                      0x8FB6 /* 辶 */,
                                      0x8279 /* 艹 */,
                                      0x706C /* 灬 */,
                                      0x7CF9 /* 糹 */,
                                      0x8A01 /* 訁 */,
                                      0x91D2 /* 釒 */,
                                      0x98E0 /* 飠 */,
                                      0x7E9F /* 纟 */,
                                      0x8BA0 /* 讠 */,
                                      0x9485 /* 钅 */,
                                      0x9963 /* 饣 */,
                                      0};

static CharacterClass classify_ascii(uint32_t point)
{
    switch (point) {
    case '(':
        return CLASS_NOTE;
    case ')':
        return CLASS_UNNOTE;
    case '[':
        return CLASS_BRACKET;
    case ']':
        return CLASS_UNBRACKET;
    case '{':
    case '}':
        return CLASS_GAIJI;
    case '"':
    case '\'':
        return CLASS_QUOTE;
    case '-':
        return CLASS_DASH;
    case '/':
    case '\\':
    case '|':
        return CLASS_SLASH;
    case '*':
        return CLASS_LACUNA;
    default:
        return point <= ' ' || point == 0x7F ? CLASS_SPACE : CLASS_MARKUP;
    }
}

static bool is_space(uint32_t point)
{
    return (point >= 0x80 && point <= 0xA0) || point == 0xAD || point == 0x3000 ||
           (point >= 0x2000 && point <= 0x200F) ||
           (point >= 0x2028 && point <= 0x202F) ||
           (point >= 0x205F && point <= 0x206F) || point == 0xFEFF ||
           (point >= 0xFE00 && point <= 0xFE0F) || /* variation selectors */
           (point >= 0xE0100 && point <= 0xE01EF);
}

CharacterClass character_class(uint32_t point)
{
    static const uint32_t QUOTES[] = {0x300A, 0x300B, 0x3008, 0x3009, /* 《》〈〉 */
                                      0x300C, 0x300D, 0x300E, 0x300F, /* 「」『』 */
                                      0x201C, 0x201D, 0x2018, 0x2019, 0xFF02, 0xFF07,
                                      0x301D, 0x301E, 0x301F, 0xFE41, 0xFE42, 0xFE43,
                                      0xFE44, 0xFF62, 0xFF63, 0xAB,   0xBB,   0};
    static const uint32_t DASHES[] = {0xB7,   0x30FB, 0x2022, 0x2027, 0x2010,
                                      0x2013, 0x2014, 0x2015, 0x2500, 0xFF0D,
                                      0xFF5E, 0x301C, 0x2212, 0};
    if (clean_is_han(point))
        return is_one_of(point, COMPONENTS) ? CLASS_GAIJI : CLASS_HAN;
    if (clean_mark(point) != 0)
        return CLASS_MARK;
    if (point < 0x80)
        return classify_ascii(point);
    if (is_space(point))
        return CLASS_SPACE;
    if (is_one_of(point, QUOTES))
        return CLASS_QUOTE;
    if (is_one_of(point, DASHES))
        return CLASS_DASH;
    switch (point) {
    case 0xFF08: /* （ */
    case 0xFE59:
        return CLASS_NOTE;
    case 0xFF09: /* ） */
    case 0xFE5A:
        return CLASS_UNNOTE;
    case 0xFF3B: /* ［ */
    case 0x3014: /* 〔 */
    case 0x3010: /* 【 */
        return CLASS_BRACKET;
    case 0xFF3D:
    case 0x3015:
    case 0x3011:
        return CLASS_UNBRACKET;
    case 0x3016: /* 〖 */
        return CLASS_FOOTNOTE;
    case 0x3017: /* 〗 without its 〖 */
        return CLASS_MARKUP;
    case 0x3005: /* 々 */
    case 0x303B:
        return CLASS_REPEAT;
    case 0x2026: /* … */
    case 0x22EF:
    case 0xD7: /* × */
        return CLASS_LACUNA;
    case 0xFF0F: /* ／ */
    case 0xFF3C:
    case 0xFF5C:
        return CLASS_SLASH;
    default:
        break;
    }
    if (point >= 0x25A0 && point <= 0x25FF) /* □ ○ ● */
        return CLASS_LACUNA;
    if ((point >= 0xE000 && point <= 0xF8FF) || point >= 0xF0000 ||
        (point >= 0x2E80 && point <= 0x2FFF) || (point >= 0x31C0 && point <= 0x31EF) ||
        (point >= 0xF900 && point <= 0xFAFF))
        return CLASS_GAIJI; /* private use, radicals, strokes, descriptions */
    return CLASS_ENCODING;
}
