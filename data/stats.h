/* What was prepared: counts of a prepared set, and their file stats.json.
 *
 *     {"read", "kept", "dropped": {reason: n}, "duplicates", "vocab_size",
 *      "train" | "val" | "test": {"poems", "tokens", "body_tokens", "digest"},
 *      "groups": {name: {"files", "read", "kept", "dropped", "duplicates", ...}},
 *      "skipped": {file: reason}, "warnings": [{"file", "warning"}],
 *      "split": {"clusters", "clustered_poems"}, "options": {...}, "stream",
 *      "input_digest"}
 *
 * read = kept + all that was dropped; kept = poems of the three parts + duplicates.
 *
 * A pair set has "pairs" and "origins_digest" in each part, whose poems are those that the
 * pairs are from, and
 *     "pairs": {"couplets": "parallel" | "all", "poems", "other_poems", "cut", "kept",
 *               "dropped": {reason: n}, "places": {form: [n, ...]}, "kept_places": ...,
 *               "opposite_tones": share of the pairs, "opposite_tones_places": ...}
 * of the poems of the four forms: cut = kept + all that was dropped; data/tones.h has the
 * measure of tones. */
#ifndef JUEJU_DATA_STATS_H
#define JUEJU_DATA_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/corpus.h"
#include "data/pairs.h"
#include "data/split.h"
#include "model/base/error.h"

typedef struct {
    int64_t poems;
    int64_t tokens;          /* in the .bin file, with fields and specials */
    int64_t body_tokens;     /* characters and <eos>: what is predicted */
    uint64_t digest;         /* XXH3 of the .bin file */
    int64_t pairs;           /* sequences of a pair set, else 0 */
    uint64_t origins_digest; /* XXH3 of the .pairs file */
} PartStats;

typedef struct {
    const char *const *sources;
    int source_count;
    const char *root;      /* of the collections; NULL: only paths */
    int64_t minimum_count; /* 0: chosen by the size of the set */
    bool lenient;
    bool stream;
    PairChoice pairs; /* not with stream */
    uint64_t seed;    /* of the split */
    int threads;      /* 0: one per processor; never changes the result */
    /* fraction 0 .. 1 of all the work; may be NULL */
    void (*progress)(void *context, double fraction, const char *what);
    void *context;
} PrepareOptions;

typedef struct {
    CorpusStats corpus;
    int64_t *group_duplicates; /* (corpus.group_count) */
    int64_t duplicates;
    int64_t clusters, clustered; /* data/split.h */
    PartStats parts[PART_COUNT];
    PairCounts pairs;      /* of a pair set */
    int64_t minimum_count; /* that was used */
    int32_t vocab_size;
    uint64_t input_digest; /* XXH3 of the clean poems with all their fields */
} PrepareReport;

void report_free(PrepareReport *report);

/* A new reference. */
Status stats_to_json(json_t **out, const PrepareReport *report,
                     const PrepareOptions *options, Error *err);

/* What prepared_open must know of a set. */
typedef struct {
    PartStats parts[PART_COUNT];
    int64_t vocab_size;
    bool stream, pairs;
} SetStats;
Status stats_load(SetStats *stats, const char *path, Error *err);

#endif
