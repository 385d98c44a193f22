/* Helpers of the data tests: UTF-8 literals as code points, files with given bytes. */
#ifndef JUEJU_TESTS_DATA_TEXTS_H
#define JUEJU_TESTS_DATA_TEXTS_H

#include <string.h>

#include "data/clean.h"
#include "data/corpus.h"
#include "data/poem.h"
#include "data/utf8.h"
#include "model/base/files.h"

/* Replaces *points by the code points of a valid literal. */
static inline void text_points(Points *points, const char *text)
{
    points->used = 0;
    assert_int_equal(utf8_append(&points->points, &points->used, &points->capacity,
                                 (const unsigned char *)text, strlen(text), "a literal",
                                 NULL),
                     STATUS_OK);
}

static inline void assert_points(const uint32_t *points, size_t count,
                                 const char *expected)
{
    static char text[1 << 16];
    assert_true(utf8_length(points, count) < sizeof text);
    text[utf8_write(text, points, count)] = '\0';
    assert_string_equal(text, expected);
}

static inline void assert_text(const PoemList *list, Text text, const char *expected)
{
    assert_points(list->points + text.start, text.length, expected);
}

/* What corpus_read made of one source. */
typedef struct {
    PoemList list;
    CorpusStats stats;
    Error error;
    Status status;
} Reading;

static inline void reading_open(Reading *reading, const char *source,
                                const CorpusOptions *options)
{
    static const CorpusOptions USUAL = {.minimum_body = CORPUS_MINIMUM_BODY};
    *reading = (Reading){0};
    reading->status = corpus_read(&reading->list, &reading->stats, &source, 1,
                                  options != NULL ? options : &USUAL, &reading->error);
}

static inline void reading_close(Reading *reading)
{
    poem_list_free(&reading->list);
    corpus_stats_free(&reading->stats);
}

#endif
