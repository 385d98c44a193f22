/* Readers: collections, JSON files and plain text to a list of clean poems.
 *
 *     CorpusOptions options = {.root = "data/corpora", .minimum_body = CORPUS_MINIMUM_BODY};
 *     const char *sources[] = {"tang", "poems/mine.json"};
 *     TRY(corpus_read(&poems, &stats, sources, 2, &options, err));
 *     ...
 *     corpus_stats_free(&stats);
 *     poem_list_free(&poems);
 *
 * A source is the name of a collection (collection_find), a JSON file of one of their
 * schemas, a text file (a poem per block between blank lines), or a folder of such files.
 * What is no poem is counted, never silently lost: see CorpusGroup and CorpusStats. */
#ifndef JUEJU_DATA_CORPUS_H
#define JUEJU_DATA_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/poem.h"
#include "model/base/error.h"

/* Fewer Han characters than this make no poem: two clauses of four are the least. */
enum { CORPUS_MINIMUM_BODY = 8 };

typedef enum {
    SCRIPT_TRADITIONAL,
    SCRIPT_SIMPLIFIED,
    SCRIPT_MIXED, /* or not known: decided poem by poem */
} Script;

/* One row of the table of collections. */
typedef struct {
    const char *name;       /* "tang" */
    const char *folders[3]; /* below the root, the first that is there: "quantangshi" */
    const char *prefix;     /* files are prefix + letters and digits + suffix */
    const char *suffix;
    Script script;
    int64_t
        boundary; /* files with a smaller number are group 0, others group 1; or 0 */
    const char *groups[2]; /* names of the file groups; the second may be NULL */
} Collection;

/* Collections are numbered 0 .. collection_count()-1; Poem.collection is such a number, or
 * COLLECTION_FILES for a poem from a path. */
enum { COLLECTION_FILES = -1 };
int collection_count(void);
const Collection *collection_at(int index);
int collection_find(const char *name); /* COLLECTION_FILES when there is none */

/* Whether a file's name is one of the collection's; *number is the number in it. */
bool collection_owns(const Collection *collection, const char *file, int64_t *number);

/* Why a work is no poem of the list. */
typedef enum {
    DROP_EMPTY,       /* no body, or nothing left of it after cleaning */
    DROP_PLACEHOLDER, /* 空。 無正文。 詩見張繼先三。 */
    DROP_SHORT,       /* fewer Han characters than minimum_body */
    DROP_LACUNA,      /* □ ○ ● and the like: characters are missing */
    DROP_GAIJI,       /* {IDS}, private use: a character nobody could encode */
    DROP_ENCODING,    /* U+FFFD, kana, Cyrillic and other traces of a wrong decoding */
    DROP_MARKUP,      /* an unclosed note, stray ASCII, stage directions and the like */
    DROP_TYPE,        /* a value of the wrong JSON type, a work that is no object */
    DROP_INPUT, /* lenient only: invalid UTF-8 or what follows a cut in the file */
    DROP_REASONS
} DropReason;

const char *
drop_reason_name(DropReason reason); /* "too short", for stats.json: stable */

/* Counts of one file group ("tang 0-49000"). read = kept + sum of dropped. */
typedef struct {
    char *name;
    int64_t files;
    int64_t read, kept;
    int64_t dropped[DROP_REASONS];
    int64_t characters; /* code points kept, Han and punctuation */
    int64_t han;
    int64_t breaks;           /* ends of lines between the kept poems' paragraphs */
    int64_t notes;            /* notes （…） and marks removed from kept poems */
    int64_t titles_emptied;   /* titles or authors that were damaged and became empty */
    int64_t converted_poems;  /* from simplified script, only when sets are combined */
    int64_t converted_points; /* characters that changed by it */
} CorpusGroup;

/* A file that was recognised as no collection of poems, or a warning about a file. */
typedef struct {
    char *path;   /* as the user would name it */
    char *reason; /* "biographies of authors (name, desc), not poems" */
} CorpusNote;

typedef struct {
    CorpusGroup *groups; /* Poem.group is an index into it */
    size_t group_count, group_capacity;
    CorpusNote *skipped; /* files without poems */
    size_t skipped_count, skipped_capacity;
    CorpusNote *warnings;
    size_t warning_count, warning_capacity;
    int64_t read, kept, dropped[DROP_REASONS], characters, han; /* over all groups */
    int64_t bytes;
} CorpusStats;

typedef struct {
    const char *root; /* folder of the collections; may be NULL for paths only */
    bool lenient;     /* keep what can be kept of damaged files, count the rest */
    bool stream;      /* text files: the whole file is one item, kept as it is */
    int threads;      /* 0: as many as OpenMP gives; the result never depends on it */
    int64_t minimum_body; /* Han characters; 0: no limit */
    /* Called from one thread at a time, may be NULL. */
    void (*progress)(void *context, int64_t done, int64_t total);
    void *context;
} CorpusOptions;

/* Reads, cleans and classifies. *list and *stats must be empty ({0}); after an error both
 * are still to be freed. Order of poems: sources as given, files by number then name, works
 * as in the file. Simplified sets are converted when traditional ones are read with them
 * (data/script.h). A source named twice is read once.
 * STATUS_INPUT: a damaged file (path, and byte, line and column), an unknown source, or
 * no poem in all the sources. STATUS_IO, STATUS_MEMORY. */
Status corpus_read(PoemList *list, CorpusStats *stats, const char *const *sources,
                   int count, const CorpusOptions *options, Error *err);

void corpus_stats_free(CorpusStats *stats);

#endif
