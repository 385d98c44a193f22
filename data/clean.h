/* Cleaning: what an edition added or a conversion broke, out of a poem.
 *
 * A clean body holds Han characters and ，。！？、；： only, begins with a Han character, ends
 * with 。！ or ？ and never has two marks side by side. Kept after repair:
 *   notes （…） 〖1〗, also over several paragraphs    removed
 *   [x] emendations, quotation marks, 《》, spaces    the brackets removed, the text kept
 *   half-width , . ! ? ; :                           ，。！？；：
 *   a paragraph without a final mark                 gets 。 when at least half of the
 *                                                    poem's paragraphs lack one
 *   the end of the poem                              gets 。 unless it is 。！ or ？
 *   々                                               the character before it again
 * Everything else that is no Han character drops the poem, with a reason. */
#ifndef JUEJU_DATA_CLEAN_H
#define JUEJU_DATA_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/characters.h"
#include "data/corpus.h"
#include "model/base/error.h"

/* A growing run of code points; zero it to start, points_free to end. */
typedef struct {
    uint32_t *points;
    size_t used, capacity;
} Points;

void points_free(Points *buffer);
Status points_push(Points *buffer, uint32_t point, Error *err);

enum { BODY_KEPT = -1 };

typedef struct {
    int fault;     /* a DropReason, or BODY_KEPT */
    int64_t han;   /* Han characters in the cleaned body */
    int64_t notes; /* notes and bracketed marks that were removed */
} CleanReport;

/* Cleans a body in NFC with '\n' between its paragraphs; replaces *out. `strict` is for
 * collections full of commentary: there, titles of books 《》 outside a note mean that prose
 * is left in the text, and the poem is dropped. Linear in count. */
Status clean_body(Points *out, CleanReport *report, const uint32_t *in, size_t count,
                  bool strict, Error *err);

/* Cleans a title, an author's name or a 詞牌 (NFC); replaces *out. Notes, brackets, spaces
 * and middle dots go; *damaged is set, and *out empty, when a character is missing. */
Status clean_title(Points *out, bool *damaged, const uint32_t *in, size_t count,
                   Error *err);

#endif
