/* Poems in memory: code points in one pool, poems as ranges of it.
 *
 * Everything behind the readers works on code points (UTF-32), never on bytes: one
 * character, one number, one token. */
#ifndef JUEJU_DATA_POEM_H
#define JUEJU_DATA_POEM_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"

/* A range of PoemList.points. Empty: length 0. */
typedef struct {
    size_t start;
    size_t length;
} Text;

typedef struct {
    int32_t collection; /* index into the table of data/corpus.h */
    int32_t group; /* file group for the statistics, index into the reader's groups */
    Text title;
    Text author;
    Text form; /* 五絕, 七律, ... or the 詞牌; empty when there is none */
    Text body; /* paragraphs joined, cleaned, NFC; Han and ，。？！、；： only */
} Poem;

typedef struct {
    Poem *items;
    size_t count, capacity;
    uint32_t *points;
    size_t points_used, points_capacity;
} PoemList;

void poem_list_free(PoemList *list);

/* Appends code points to the pool and sets *text to them. */
Status poem_list_text(PoemList *list, const uint32_t *points, size_t count, Text *text,
                      Error *err);
Status poem_list_add(PoemList *list, const Poem *poem, Error *err);

#endif
