/* Bytes of a file to text or to a JSON value, with errors that say where.
 *
 * jansson parses; what it would accept silently or report vaguely is checked before:
 * encoding, empty input, NUL bytes, depth, data behind the value. */
#ifndef JUEJU_DATA_DOCUMENT_H
#define JUEJU_DATA_DOCUMENT_H

#include <jansson.h>
#include <stddef.h>

#include "model/base/error.h"

enum {
    DOCUMENT_DEPTH = 64,           /* arrays and objects in each other */
    DOCUMENT_MAXIMUM = 1073741824, /* bytes of a JSON file: 1 GiB */
};

/* A range of the file's bytes without the byte order mark. */
typedef struct {
    const char *path;
    const unsigned char *text;
    size_t size;
    size_t mark; /* bytes of the byte order mark before text, for offsets in messages */
} Document;

/* Looks at the bytes: STATUS_INPUT when they are empty or white space only, UTF-16 or
 * UTF-32, or hold a NUL; and, unless `lenient`, when they are no valid UTF-8. */
Status document_open(Document *document, const char *path, const unsigned char *data,
                     size_t size, bool lenient, Error *err);

/* Parses the whole as one JSON value; json_decref is the caller's. */
Status document_parse(json_t **value, const Document *document, Error *err);

/* For damaged files: finds the objects of the outermost array (or one behind the other)
 * and calls visit for each; with NULL for one that is cut or can't be parsed. */
Status document_salvage(const Document *document,
                        Status (*visit)(void *context, json_t *object, Error *err),
                        void *context, Error *err);

#endif
