/* JSON values and text blocks to poems: finds the body, title, author and 詞牌 in the
 * schemas of the collections, cleans them, and adds the poem or counts why not.
 *
 *     body      paragraphs | content | para: a string or an array of strings
 *     title     title | chapter            author    author
 *     詞牌      rhythmic, or the part of a title before ・ where titles are made so
 * An array of objects in content is a book of works: they inherit the author. */
#ifndef JUEJU_DATA_SCHEMA_H
#define JUEJU_DATA_SCHEMA_H

#include <jansson.h>

#include "data/clean.h"
#include "data/corpus.h"
#include "data/poem.h"
#include "model/base/error.h"

/* Reads the works of one file into a list of its own. */
typedef struct {
    PoemList list;
    CorpusGroup counts; /* name stays NULL */
    int collection, group;
    int64_t minimum_body;
    bool strict;                                   /* clean_body's */
    Points raw, normal, body, title, author, tune; /* scratch */
} WorkReader;

void work_reader_free(WorkReader *reader);

/* Why a JSON value holds no poems at all (biographies, a table ...), or NULL. */
const char *schema_reject(const json_t *value);

/* All works of a value that is not rejected. */
Status schema_read(WorkReader *reader, const json_t *value, Error *err);

/* One work, as document_salvage finds it; NULL counts as DROP_INPUT. */
Status schema_read_salvaged(void *reader, json_t *object, Error *err);

/* Adds the poem of the raw code points in reader->raw ('\n' between paragraphs) with the
 * fields in title, author and tune (cleaned; may be empty), or counts why not. */
Status work_add(WorkReader *reader, Error *err);

/* reader->raw, kept as it is but for NFC, as the body of a poem without fields. */
Status work_add_verbatim(WorkReader *reader, Error *err);

#endif
