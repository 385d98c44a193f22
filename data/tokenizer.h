/* One token per character.
 *
 * Ids: the six specials, then the characters of the training text by falling frequency
 * (equal frequencies by code point). A character that is not in the vocabulary is TOKEN_UNK.
 * Specials have no text: "<eos>" in a prompt is five characters, never TOKEN_EOS.
 *
 *     TRY(tokenizer_build(&tokenizer, counts, 2, err));     or tokenizer_load
 *     tokenizer_encode(ids, &tokenizer, points, count);
 *     ...
 *     tokenizer_free(&tokenizer);
 *
 * A tokenizer is only read after it was made: threads may share it. */
#ifndef JUEJU_DATA_TOKENIZER_H
#define JUEJU_DATA_TOKENIZER_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/base/error.h"

enum {
    TOKEN_UNK,
    TOKEN_BOS,
    TOKEN_EOS,
    TOKEN_TITLE,
    TOKEN_AUTHOR,
    TOKEN_FORM,
    TOKEN_SPECIALS /* how many; characters start here */
};

enum {
    TOKENIZER_MAXIMUM = 65536, /* ids are stored as uint16 */
    CODE_POINTS = 0x110000,
};

typedef struct {
    int32_t size;     /* V, with the specials */
    uint32_t *points; /* (V) character of an id; 0 for specials */
    uint16_t *ids; /* (CODE_POINTS) id of a character; TOKEN_UNK where there is none */
} Tokenizer;

/* Vocabulary of all characters with counts[point] >= minimum_count (and > 0).
 * counts has CODE_POINTS entries. STATUS_USAGE: more than TOKENIZER_MAXIMUM tokens (the
 * message says which --min-count would do), STATUS_INPUT: no character at all. */
Status tokenizer_build(Tokenizer *tokenizer, const int64_t *counts,
                       int64_t minimum_count, Error *err);
void tokenizer_free(Tokenizer *tokenizer);

/* ids[i] = id of points[i], for any 32-bit points. */
void tokenizer_encode(int32_t *ids, const Tokenizer *tokenizer, const uint32_t *points,
                      size_t count);
int32_t tokenizer_id(const Tokenizer *tokenizer, uint32_t point);

/* The character of an id; 0 for specials and for ids outside 0 .. V-1. */
uint32_t tokenizer_code_point(const Tokenizer *tokenizer, int32_t id);

/* "<bos>" and so on for 0 <= id < TOKEN_SPECIALS. */
const char *tokenizer_special_name(int32_t id);

/* Whether every id means the same character in both. */
bool tokenizer_equal(const Tokenizer *a, const Tokenizer *b);

/* Writes the UTF-8 of a token at text + used and a NUL behind it; returns the new `used`.
 * At most 4 bytes and the NUL; specials (also TOKEN_UNK) add nothing. */
size_t tokenizer_decode_append(char *text, size_t used, const Tokenizer *tokenizer,
                               int32_t id);

/* tokenizer.json as the Hugging Face library reads it: NFC, split into characters,
 * WordLevel, Fuse. One atomic write. */
Status tokenizer_save(const Tokenizer *tokenizer, const char *path, Error *err);

/* Reads what tokenizer_save writes, from any writer. STATUS_INPUT, naming the path, for
 * everything that would be another tokenizer: other specials, ids that are not 0 .. V-1
 * once each, a token of more than one code point, another model or normalizer. */
Status tokenizer_load(Tokenizer *tokenizer, const char *path, Error *err);

#endif
