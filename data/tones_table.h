/* The table behind data/tones.h, made by scripts/make_tones.js: two bits a character, the
 * Tone, from the lowest bits of each word on. */
#ifndef JUEJU_DATA_TONES_TABLE_H
#define JUEJU_DATA_TONES_TABLE_H

#include <stdint.h>

enum {
    TONES_BASIC_FIRST = 0x3400, /* CJK Extension A to the end of the unified block */
    TONES_BASIC_LAST = 0x9FFF,
    TONES_EXTENSION_B_FIRST = 0x20000,
    TONES_EXTENSION_B_LAST = 0x2A6DF,
    TONES_A_WORD = 32, /* characters */
    TONES_BASIC_WORDS = (TONES_BASIC_LAST - TONES_BASIC_FIRST + 1) / TONES_A_WORD,
    TONES_EXTENSION_B_WORDS =
        (TONES_EXTENSION_B_LAST - TONES_EXTENSION_B_FIRST + 1) / TONES_A_WORD,
};

extern const uint64_t TONES_BASIC[TONES_BASIC_WORDS];
extern const uint64_t TONES_EXTENSION_B[TONES_EXTENSION_B_WORDS];

#endif
