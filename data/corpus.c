#include "data/corpus.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "data/document.h"
#include "data/plaintext.h"
#include "data/schema.h"
#include "data/script.h"
#include "data/sources.h"
#include "model/base/files.h"
#include "model/base/memory.h"

const char *drop_reason_name(DropReason reason)
{
    static const char *const NAMES[DROP_REASONS] = {
        [DROP_EMPTY] = "empty",         [DROP_PLACEHOLDER] = "placeholder",
        [DROP_SHORT] = "too short",     [DROP_LACUNA] = "lacuna",
        [DROP_GAIJI] = "gaiji",         [DROP_ENCODING] = "wrong encoding",
        [DROP_MARKUP] = "stray markup", [DROP_TYPE] = "wrong type",
        [DROP_INPUT] = "damaged input"};
    return NAMES[reason];
}

static void notes_free(CorpusNote *notes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memory_free(notes[i].path);
        memory_free(notes[i].reason);
    }
    memory_free(notes);
}

void corpus_stats_free(CorpusStats *stats)
{
    for (size_t i = 0; i < stats->group_count; i++)
        memory_free(stats->groups[i].name);
    memory_free(stats->groups);
    notes_free(stats->skipped, stats->skipped_count);
    notes_free(stats->warnings, stats->warning_count);
    *stats = (CorpusStats){0};
}

/* What one file gave; files are read in any order and joined in theirs. */
typedef struct {
    WorkReader reader;
    const char *skipped; /* why it holds no poems, or NULL */
    Error error;
    Status status;
} FileResult;

static Status read_json(FileResult *result, const Document *document, bool lenient,
                        Error *err)
{
    json_t *value = NULL;
    Status status = document_parse(&value, document, err);
    if (status == STATUS_INPUT && lenient)
        return document_salvage(document, schema_read_salvaged, &result->reader, err);
    TRY(status);
    result->skipped = schema_reject(value);
    if (result->skipped == NULL)
        status = schema_read(&result->reader, value, err);
    json_decref(value);
    return status;
}

static Status read_file(FileResult *result, const SourceFile *file,
                        const CorpusOptions *options, Error *err)
{
    FileMap map;
    Document document;
    const Collection *collection = collection_at(file->collection);
    result->reader.collection = file->collection;
    result->reader.group = file->group;
    result->reader.minimum_body = options->minimum_body;
    result->reader.strict = collection != NULL && collection->boundary > 0 &&
                            file->number >= collection->boundary;
    if (options->stream && file->json)
        return error_set(err, STATUS_USAGE,
                         "%s: a running text was asked for, expected a text file, "
                         "found JSON",
                         file->path);
    TRY(file_map(&map, file->path, err));
    Status status =
        document_open(&document, file->path, map.data, map.size, options->lenient, err);
    if (status == STATUS_OK && file->json)
        status = read_json(result, &document, options->lenient, err);
    else if (status == STATUS_OK)
        status = plaintext_read(&result->reader, &document, options->stream, err);
    file_unmap(&map);
    return status;
}

/* Reads all files. After the first failure later files are left out, so that the failure
 * of the first file in order is the one reported, whatever the number of threads: files
 * are handed out in order, so every file before it has been started. */
static void read_files(FileResult *results, const SourceList *files,
                       const CorpusOptions *options)
{
    int64_t total = 0, done = 0;
    size_t failed = files->count;
    for (size_t i = 0; i < files->count; i++)
        total += files->items[i].size;
    int threads = options->threads > 0 ? options->threads : omp_get_max_threads();
    if ((size_t)threads > files->count && files->count > 0)
        threads = (int)files->count;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < files->count; i++) {
        bool skip;
#pragma omp critical(corpus_state)
        skip = i > failed;
        if (skip)
            continue;
        FileResult *result = &results[i];
        result->status = read_file(result, &files->items[i], options, &result->error);
#pragma omp critical(corpus_state)
        {
            bool forgiven = options->lenient && result->status == STATUS_INPUT;
            if (result->status != STATUS_OK && !forgiven && i < failed)
                failed = i;
            done += files->items[i].size;
            if (options->progress != NULL)
                options->progress(options->context, done, total);
        }
    }
}

static Status join_text(PoemList *list, const PoemList *from, Text *text, Error *err)
{
    const uint32_t *points = text->length > 0 ? from->points + text->start : NULL;
    return poem_list_text(list, points, text->length, text, err);
}

static Status join_poems(PoemList *list, const PoemList *from, Error *err)
{
    for (size_t i = 0; i < from->count; i++) {
        Poem poem = from->items[i];
        TRY(join_text(list, from, &poem.title, err));
        TRY(join_text(list, from, &poem.author, err));
        TRY(join_text(list, from, &poem.form, err));
        TRY(join_text(list, from, &poem.body, err));
        TRY(poem_list_add(list, &poem, err));
    }
    return STATUS_OK;
}

static void add_counts(CorpusGroup *group, const CorpusGroup *counts)
{
    group->files++;
    group->read += counts->read;
    group->kept += counts->kept;
    for (int i = 0; i < DROP_REASONS; i++)
        group->dropped[i] += counts->dropped[i];
    group->characters += counts->characters;
    group->han += counts->han;
    group->breaks += counts->breaks;
    group->notes += counts->notes;
    group->titles_emptied += counts->titles_emptied;
}

static Status warn(CorpusStats *stats, const char *path, const char *text, Error *err)
{
    return corpus_note(&stats->warnings, &stats->warning_count,
                       &stats->warning_capacity, path, text, err);
}

static Status join_file(PoemList *list, CorpusStats *stats, const SourceFile *file,
                        FileResult *result, bool lenient, Error *err)
{
    const CorpusGroup *counts = &result->reader.counts;
    if (result->status != STATUS_OK && !(lenient && result->status == STATUS_INPUT)) {
        if (err != NULL)
            *err = result->error;
        return result->status;
    }
    stats->bytes += file->size;
    const char *reason = result->skipped;
    if (result->status != STATUS_OK) { /* the message begins with the path again */
        size_t path = strlen(file->path);
        bool named = strncmp(result->error.message, file->path, path) == 0 &&
                     strncmp(result->error.message + path, ": ", 2) == 0;
        reason = result->error.message + (named ? path + 2 : 0);
    }
    if (reason != NULL) {
        TRY(corpus_note(&stats->skipped, &stats->skipped_count,
                        &stats->skipped_capacity, file->path, reason, err));
        return STATUS_OK;
    }
    add_counts(&stats->groups[file->group], counts);
    char text[128];
    if (counts->read == 0)
        TRY(warn(stats, file->path, "0 poems: the file holds no works", err));
    else if (counts->kept == 0) {
        snprintf(text, sizeof text, "0 poems: all %lld works were dropped",
                 (long long)counts->read);
        TRY(warn(stats, file->path, text, err));
    }
    if (counts->dropped[DROP_INPUT] > 0) {
        snprintf(text, sizeof text, "damaged; %lld works were lost",
                 (long long)counts->dropped[DROP_INPUT]);
        TRY(warn(stats, file->path, text, err));
    }
    return join_poems(list, &result->reader.list, err);
}

static void sum_groups(CorpusStats *stats)
{
    for (size_t i = 0; i < stats->group_count; i++) {
        const CorpusGroup *group = &stats->groups[i];
        stats->read += group->read;
        stats->kept += group->kept;
        for (int reason = 0; reason < DROP_REASONS; reason++)
            stats->dropped[reason] += group->dropped[reason];
        stats->characters += group->characters;
        stats->han += group->han;
    }
}

static Status no_poems(const CorpusStats *stats, const char *const *sources, int count,
                       Error *err)
{
    char dropped[256] = "";
    for (int i = 0; i < DROP_REASONS; i++) {
        size_t used = strlen(dropped);
        if (stats->dropped[i] > 0)
            snprintf(dropped + used, sizeof dropped - used, "%s%lld %s",
                     used > 0 ? ", " : "; dropped ", (long long)stats->dropped[i],
                     drop_reason_name((DropReason)i));
    }
    if (stats->read == 0 && stats->skipped_count == 1)
        return error_set(err, STATUS_INPUT, "%s: no poems: %s", stats->skipped[0].path,
                         stats->skipped[0].reason);
    return error_set(err, STATUS_INPUT, "%s%s: no poems: %lld works read%s", sources[0],
                     count > 1 ? " and the other sources" : "", (long long)stats->read,
                     dropped);
}

Status corpus_read(PoemList *list, CorpusStats *stats, const char *const *sources,
                   int count, const CorpusOptions *options, Error *err)
{
    SourceList files = {0};
    FileResult *results = NULL;
    Status status = sources_list(&files, stats, sources, count, options, err);
    if (status == STATUS_OK)
        status = memory_allocate(&results, files.count, sizeof *results,
                                 "the files' results", err);
    if (status == STATUS_OK)
        read_files(results, &files, options);
    for (size_t i = 0; results != NULL && i < files.count; i++) {
        if (status == STATUS_OK)
            status = join_file(list, stats, &files.items[i], &results[i],
                               options->lenient, err);
        work_reader_free(&results[i].reader);
    }
    memory_free(results);
    sources_free(&files);
    TRY(status);
    sum_groups(stats);
    if (list->count == 0)
        return no_poems(stats, sources, count, err);
    return options->stream ? STATUS_OK : script_unify(list, stats, err);
}
