/* Sources to files: which files of a collection, a folder or a path are read, and in which
 * order; files that are known to hold no poems are noted with the reason. */
#ifndef JUEJU_DATA_SOURCES_H
#define JUEJU_DATA_SOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "data/corpus.h"
#include "model/base/error.h"

typedef struct {
    char *path;
    int collection; /* or COLLECTION_FILES */
    int group;      /* index into stats->groups */
    bool json;      /* else plain text */
    int64_t size;   /* bytes */
    int64_t number; /* of its name, for the order */
    dev_t device;   /* identity, so that a file named twice is read once */
    ino_t inode;
} SourceFile;

typedef struct {
    SourceFile *items;
    size_t count, capacity;
} SourceList;

/* Fills *list and the groups and skipped files of *stats. STATUS_INPUT: an unknown source,
 * a collection without files. STATUS_USAGE: a collection without a root. STATUS_IO. */
Status sources_list(SourceList *list, CorpusStats *stats, const char *const *sources,
                    int count, const CorpusOptions *options, Error *err);
void sources_free(SourceList *list);

/* Adds a note; path and reason are copied. */
Status corpus_note(CorpusNote **notes, size_t *count, size_t *capacity,
                   const char *path, const char *reason, Error *err);

#endif
