#include "data/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/json.h"
#include "model/base/memory.h"

enum { DIGEST_SIZE = 24 };
static const char DIGEST_FORMAT[] = "xxh3:%016" PRIx64;

void report_free(PrepareReport *report)
{
    corpus_stats_free(&report->corpus);
    memory_free(report->group_duplicates);
    *report = (PrepareReport){0};
}

/* ---- writing: each returns a new reference, or NULL when memory is out -------------- */

static json_t *dropped_json(const int64_t dropped[DROP_REASONS])
{
    json_t *object = json_object();
    for (int reason = 0; reason < DROP_REASONS; reason++) {
        if (dropped[reason] > 0)
            json_object_set_new(object, drop_reason_name((DropReason)reason),
                                json_integer(dropped[reason]));
    }
    return object;
}

static json_t *digest_json(uint64_t digest)
{
    char text[DIGEST_SIZE];
    snprintf(text, sizeof text, DIGEST_FORMAT, digest);
    return json_string(text);
}

static json_t *part_json(const PartStats *part, PairChoice pairs)
{
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:o}", "poems", (json_int_t)part->poems, "tokens",
                  (json_int_t)part->tokens, "body_tokens",
                  (json_int_t)part->body_tokens, "digest", digest_json(part->digest));
    if (pairs == PAIRS_NONE)
        return object;
    json_object_set_new(object, "pairs", json_integer(part->pairs));
    json_object_set_new(object, "origins_digest", digest_json(part->origins_digest));
    return object;
}

static const Form COUPLET_FORMS[] = {FORM_WUJUE, FORM_QIJUE, FORM_WULU, FORM_QILU};
enum { COUPLET_FORM_COUNT = 4 };

/* {"五絕": [n, n], "五律": [n, n, n, n], ...} and the sum of all. */
static json_t *places_json(const int64_t places[FORM_COUNT][PAIR_COUPLETS],
                           int64_t *total)
{
    json_t *object = json_object();
    *total = 0;
    for (int i = 0; i < COUPLET_FORM_COUNT; i++) {
        Form form = COUPLET_FORMS[i];
        json_t *list = json_array();
        for (int couplet = 0; couplet < pair_couplets(form); couplet++) {
            *total += places[form][couplet];
            json_array_append_new(list, json_integer(places[form][couplet]));
        }
        json_object_set_new(object, form_name(form), list);
    }
    return object;
}

/* The same of shares, null where there is no pair, and the share of all. */
static json_t *tones_json(const ToneTally tones[FORM_COUNT][PAIR_COUPLETS],
                          double *share)
{
    ToneTally all = {0};
    json_t *object = json_object();
    for (int i = 0; i < COUPLET_FORM_COUNT; i++) {
        Form form = COUPLET_FORMS[i];
        json_t *list = json_array();
        for (int couplet = 0; couplet < pair_couplets(form); couplet++) {
            const ToneTally *tally = &tones[form][couplet];
            tone_tally_join(&all, tally);
            json_array_append_new(list, tally->pairs > 0
                                            ? json_real(tone_tally_share(tally))
                                            : json_null());
        }
        json_object_set_new(object, form_name(form), list);
    }
    *share = tone_tally_share(&all);
    return object;
}

static json_t *pairs_json(const PairCounts *counts, PairChoice choice)
{
    json_t *dropped = json_object();
    for (int reason = 0; reason < PAIR_REASONS; reason++) {
        if (counts->dropped[reason] > 0)
            json_object_set_new(dropped, pair_reason_name((PairReason)reason),
                                json_integer(counts->dropped[reason]));
    }
    int64_t cut, kept;
    double share;
    json_t *places = places_json(counts->places, &cut);
    json_t *kept_places = places_json(counts->kept, &kept);
    json_t *tones = tones_json(counts->tones, &share);
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:f, s:o}", "couplets",
        choice == PAIRS_ALL ? "all" : "parallel", "poems", (json_int_t)counts->poems,
        "other_poems", (json_int_t)counts->other_poems, "cut", (json_int_t)cut, "kept",
        (json_int_t)kept, "dropped", dropped, "places", places, "kept_places",
        kept_places, "opposite_tones", share, "opposite_tones_places", tones);
}

static json_t *group_json(const CorpusGroup *group, int64_t duplicates)
{
    return json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "files",
                     (json_int_t)group->files, "read", (json_int_t)group->read, "kept",
                     (json_int_t)group->kept, "dropped", dropped_json(group->dropped),
                     "duplicates", (json_int_t)duplicates, "characters",
                     (json_int_t)group->characters, "han", (json_int_t)group->han,
                     "notes_removed", (json_int_t)group->notes, "converted_poems",
                     (json_int_t)group->converted_poems, "converted_characters",
                     (json_int_t)group->converted_points);
}

static json_t *groups_json(const PrepareReport *report)
{
    json_t *object = json_object();
    for (size_t i = 0; i < report->corpus.group_count; i++) {
        const CorpusGroup *group = &report->corpus.groups[i];
        json_object_set_new(object, group->name,
                            group_json(group, report->group_duplicates[i]));
    }
    return object;
}

static json_t *notes_json(const CorpusNote *notes, size_t count)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(object, notes[i].path, json_string(notes[i].reason));
    return object;
}

/* A file may have several warnings, so they are a list. */
static json_t *warnings_json(const CorpusNote *notes, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "file", notes[i].path,
                                              "warning", notes[i].reason));
    return list;
}

static json_t *options_json(const PrepareOptions *options, int64_t minimum_count)
{
    json_t *sources = json_array();
    for (int i = 0; i < options->source_count; i++)
        json_array_append_new(sources, json_string(options->sources[i]));
    return json_pack("{s:o, s:I, s:b, s:b, s:I}", "sources", sources, "min_count",
                     (json_int_t)minimum_count, "lenient", options->lenient, "stream",
                     options->stream, "seed", (json_int_t)options->seed);
}

Status stats_to_json(json_t **out, const PrepareReport *report,
                     const PrepareOptions *options, Error *err)
{
    const CorpusStats *corpus = &report->corpus;
    *out = json_pack(
        "{s:I, s:I, s:o, s:I, s:I, s:I, s:i, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I},"
        " s:o, s:b, s:o, s:o}",
        "read", (json_int_t)corpus->read, "kept", (json_int_t)corpus->kept, "dropped",
        dropped_json(corpus->dropped), "duplicates", (json_int_t)report->duplicates,
        "characters", (json_int_t)corpus->characters, "han", (json_int_t)corpus->han,
        "vocab_size", (int)report->vocab_size, "train",
        part_json(&report->parts[PART_TRAIN], options->pairs), "val",
        part_json(&report->parts[PART_VALIDATION], options->pairs), "test",
        part_json(&report->parts[PART_TEST], options->pairs), "groups",
        groups_json(report), "skipped",
        notes_json(corpus->skipped, corpus->skipped_count), "split", "clusters",
        (json_int_t)report->clusters, "clustered_poems", (json_int_t)report->clustered,
        "options", options_json(options, report->minimum_count), "stream",
        options->stream, "input_digest", digest_json(report->input_digest), "warnings",
        warnings_json(corpus->warnings, corpus->warning_count));
    if (*out != NULL && options->pairs != PAIRS_NONE &&
        json_object_set_new(*out, "pairs",
                            pairs_json(&report->pairs, options->pairs)) != 0) {
        json_decref(*out);
        *out = NULL;
    }
    if (*out == NULL)
        return error_set(err, STATUS_MEMORY,
                         "stats.json can't be made: out of memory, "
                         "or a file name that is not UTF-8");
    return STATUS_OK;
}

/* ---- reading ------------------------------------------------------------------------ */

static Status load_digest(uint64_t *digest, const json_t *object, const char *key,
                          const char *name, const char *path, Error *err)
{
    const char *text;
    TRY(json_get_text(&text, object, key, path, err));
    if (strncmp(text, "xxh3:", 5) != 0 || strlen(text) != 21 ||
        strspn(text + 5, "0123456789abcdef") != 16)
        return error_set(err, STATUS_INPUT,
                         "%s: %s.%s must be xxh3: and 16 hexadecimal digits", path,
                         name, key);
    *digest = strtoull(text + 5, NULL, 16);
    return STATUS_OK;
}

static Status load_part(PartStats *part, const json_t *root, const char *name,
                        bool pairs, const char *path, Error *err)
{
    const json_t *object;
    TRY(json_get_object(&object, root, name, path, err));
    TRY(json_get_int(&part->poems, object, "poems", 0, INT32_MAX, path, err));
    TRY(json_get_int(&part->tokens, object, "tokens", 0, INT64_MAX / 2, path, err));
    TRY(json_get_int(&part->body_tokens, object, "body_tokens", 0, part->tokens, path,
                     err));
    TRY(load_digest(&part->digest, object, "digest", name, path, err));
    if (!pairs)
        return STATUS_OK;
    TRY(json_get_int(&part->pairs, object, "pairs", 0, INT32_MAX, path, err));
    return load_digest(&part->origins_digest, object, "origins_digest", name, path,
                       err);
}

Status stats_load(SetStats *stats, const char *path, Error *err)
{
    *stats = (SetStats){0};
    json_t *root;
    TRY(json_read_file(&root, path, err));
    Status status =
        json_get_int(&stats->vocab_size, root, "vocab_size", 1, 65536, path, err);
    if (status == STATUS_OK)
        status = json_get_bool(&stats->stream, root, "stream", path, err);
    stats->pairs = json_has(root, "pairs");
    if (status == STATUS_OK && stats->pairs && stats->stream)
        status = error_set(err, STATUS_INPUT,
                           "%s: a set has \"pairs\" or is a stream, not both", path);
    for (int part = 0; part < PART_COUNT && status == STATUS_OK; part++)
        status = load_part(&stats->parts[part], root, part_name((Part)part),
                           stats->pairs, path, err);
    json_decref(root);
    return status;
}
