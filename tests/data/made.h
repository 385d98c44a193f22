/* Poems, tokenizers and sets for tests, made from strings or at random. */
#ifndef JUEJU_TESTS_DATA_MADE_H
#define JUEJU_TESTS_DATA_MADE_H

#include <stdlib.h>
#include <string.h>

#include "data/pack.h"
#include "data/poem.h"
#include "data/tokenizer.h"
#include "data/utf8.h"
#include "model/base/memory.h"
#include "model/base/rng.h"

/* Aborts when a call that cannot fail does. */
#define MUST(call)                                                                     \
    do {                                                                               \
        if ((call) != STATUS_OK)                                                       \
            abort();                                                                   \
    } while (0)

static inline Text made_text(PoemList *list, const char *utf8)
{
    uint32_t *points = NULL;
    size_t used = 0, capacity = 0;
    Text text;
    MUST(utf8_append(&points, &used, &capacity, (const unsigned char *)utf8,
                     strlen(utf8), "test", NULL));
    MUST(poem_list_text(list, points, used, &text, NULL));
    memory_free(points);
    return text;
}

static inline void made_poem(PoemList *list, const char *body)
{
    Poem poem = {.body = made_text(list, body)};
    MUST(poem_list_add(list, &poem, NULL));
}

/* A tokenizer of the characters of a string, in that order. */
static inline void made_tokenizer(Tokenizer *tokenizer, const char *characters)
{
    PoemList list = {0};
    made_poem(&list, characters);
    int64_t *counts;
    MUST(memory_allocate(&counts, CODE_POINTS, sizeof *counts, "test", NULL));
    for (size_t i = 0; i < list.points_used; i++)
        counts[list.points[i]] += (int64_t)(list.points_used - i);
    MUST(tokenizer_build(tokenizer, counts, 1, NULL));
    memory_free(counts);
    poem_list_free(&list);
}

/* A set in memory. */
typedef struct {
    uint16_t *ids;
    size_t used, capacity;
    uint64_t *offsets;
    size_t offsets_capacity;
    int64_t poems;
} MadeSet;

static inline void made_token(MadeSet *set, int32_t id)
{
    MUST(memory_reserve(&set->ids, &set->capacity, set->used + 1, sizeof *set->ids,
                        "test", NULL));
    set->ids[set->used++] = (uint16_t)id;
}

static inline void made_end(MadeSet *set)
{
    MUST(memory_reserve(&set->offsets, &set->offsets_capacity, (size_t)set->poems + 2,
                        sizeof *set->offsets, "test", NULL));
    set->offsets[++set->poems] = set->used;
}

static inline PoemSet made_view(const MadeSet *set)
{
    return (PoemSet){.ids = set->ids,
                     .offsets = set->offsets,
                     .poems = set->poems,
                     .tokens = (int64_t)set->used};
}

static inline void made_free(MadeSet *set)
{
    memory_free(set->ids);
    memory_free(set->offsets);
    *set = (MadeSet){0};
}

/* Adds [<form>..][<title>..][<author>..]<bos>body<eos> of a body; fields may be NULL. */
static inline void made_sequence(MadeSet *set, const Tokenizer *tokenizer,
                                 const char *form, const char *title,
                                 const char *author, const char *body)
{
    const char *const texts[] = {form, title, author, body};
    const int32_t marks[] = {TOKEN_FORM, TOKEN_TITLE, TOKEN_AUTHOR, TOKEN_BOS};
    PoemList list = {0};
    for (int i = 0; i < 4; i++) {
        if (texts[i] == NULL)
            continue;
        Text text = made_text(&list, texts[i]);
        made_token(set, marks[i]);
        for (size_t k = 0; k < text.length; k++)
            made_token(set, tokenizer_id(tokenizer, list.points[text.start + k]));
    }
    made_token(set, TOKEN_EOS);
    made_end(set);
    poem_list_free(&list);
}

/* Adds a sequence of random tokens below `size`: every field or not, a body of
 * 1 .. longest tokens. */
static inline void made_random_sequence(MadeSet *set, Rng *rng, int32_t size,
                                        int64_t longest)
{
    const int32_t marks[] = {TOKEN_FORM, TOKEN_TITLE, TOKEN_AUTHOR, TOKEN_BOS};
    for (int i = 0; i < 4; i++) {
        if (marks[i] != TOKEN_BOS && rng_below(rng, 3) == 0)
            continue;
        made_token(set, marks[i]);
        int64_t length = marks[i] == TOKEN_BOS
                             ? 1 + (int64_t)rng_below(rng, (uint64_t)longest)
                             : 1 + (int64_t)rng_below(rng, 12);
        for (int64_t k = 0; k < length; k++)
            made_token(set,
                       TOKEN_SPECIALS +
                           (int32_t)rng_below(rng, (uint64_t)(size - TOKEN_SPECIALS)));
    }
    made_token(set, TOKEN_EOS);
    made_end(set);
}

#endif
