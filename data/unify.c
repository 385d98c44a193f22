/* One script for all poems: script_unify of data/script.h. */
#include <omp.h>
#include <string.h>

#include "data/clean.h"
#include "data/converter.h"
#include "data/script.h"
#include "data/utf8.h"
#include "model/base/memory.h"

enum {
    POINTS_TOTAL = 0x110000,
    PREFERRED_RATIO = 2, /* a variant gives way to one that is twice as frequent ... */
    PREFERRED_MINIMUM = 20, /* ... and seen so often */
    CHUNK = 1 << 20,        /* bytes of text converted in one call */
    FIELDS = 4,             /* lines of a poem in that text */
};

/* What is known of every code point in the poems. */
typedef struct {
    uint32_t *key;       /* script_fold; 0: not in the poems */
    uint32_t *preferred; /* what the traditional poems write for it; 0: itself */
    signed char *vote;   /* +1 only traditional, -1 simplified, 0 either */
    int64_t *count;      /* in the traditional poems */
} PointTable;

static void table_free(PointTable *table)
{
    memory_free(table->key);
    memory_free(table->preferred);
    memory_free(table->vote);
    memory_free(table->count);
}

static Status table_create(PointTable *table, Error *err)
{
    const char *what = "the table of variants";
    TRY(memory_allocate(&table->key, POINTS_TOTAL, sizeof *table->key, what, err));
    TRY(memory_allocate(&table->preferred, POINTS_TOTAL, sizeof *table->preferred, what,
                        err));
    TRY(memory_allocate(&table->vote, POINTS_TOTAL, sizeof *table->vote, what, err));
    return memory_allocate(&table->count, POINTS_TOTAL, sizeof *table->count, what,
                           err);
}

/* A character is traditional if folding changes it, simplified if folding keeps it and s2t
 * changes it. The latter is weak evidence for one character (云 峰 里 stand in traditional
 * text, too), but a traditional poem has many of the former. */
static Status table_fill(PointTable *table, const PoemList *list, Error *err)
{
    Points seen = {0};
    uint32_t *simplified = NULL, *traditional = NULL;
    Status status = STATUS_OK;
    for (size_t i = 0; i < list->points_used && status == STATUS_OK; i++) {
        uint32_t point = list->points[i];
        if (table->key[point] == 0) {
            table->key[point] = point;
            status = points_push(&seen, point, err);
        }
    }
    if (status == STATUS_OK)
        status = memory_allocate(&simplified, seen.used, sizeof *simplified,
                                 "characters", err);
    if (status == STATUS_OK)
        status = memory_allocate(&traditional, seen.used, sizeof *traditional,
                                 "characters", err);
    if (status == STATUS_OK)
        status = script_fold(simplified, seen.points, seen.used, err);
    if (status == STATUS_OK)
        status = converter_map("s2t.json", traditional, seen.points, seen.used, err);
    for (size_t i = 0; i < seen.used && status == STATUS_OK; i++) {
        uint32_t point = seen.points[i];
        table->key[point] = simplified[i];
        table->vote[point] = simplified[i] != point    ? 1
                             : traditional[i] != point ? -1
                                                       : 0;
    }
    memory_free(simplified);
    memory_free(traditional);
    points_free(&seen);
    return status;
}

static Script poem_script(const PointTable *table, const PoemList *list,
                          const Poem *poem, Script expected)
{
    const uint32_t *body = list->points + poem->body.start;
    size_t traditional = 0, simplified = 0;
    if (expected == SCRIPT_TRADITIONAL)
        return expected; /* stray simplified characters don't make it a simplified poem */
    for (size_t i = 0; i < poem->body.length; i++) {
        if (body[i] == '\n')
            return expected; /* a text kept as it is */
        traditional += table->vote[body[i]] > 0;
        simplified += table->vote[body[i]] < 0;
    }
    if (expected == SCRIPT_SIMPLIFIED)
        return traditional > simplified ? SCRIPT_TRADITIONAL : SCRIPT_SIMPLIFIED;
    return simplified > traditional   ? SCRIPT_SIMPLIFIED
           : traditional > simplified ? SCRIPT_TRADITIONAL
                                      : SCRIPT_MIXED;
}

static Script collection_script(const Poem *poem)
{
    const Collection *collection = collection_at(poem->collection);
    return collection != NULL ? collection->script : SCRIPT_MIXED;
}

/* Decides for each poem whether it is to be converted; *wanted tells whether any is. A
 * group of files counts as traditional by its collection, or by most of its poems. */
static Status choose_poems(bool *convert, bool *wanted, const PointTable *table,
                           const PoemList *list, const CorpusStats *stats, Error *err)
{
    int64_t *balance; /* of the groups: traditional poems minus simplified ones */
    bool traditional = false, simplified = false;
    TRY(memory_allocate(&balance, stats->group_count, sizeof *balance, "file groups",
                        err));
    for (size_t i = 0; i < list->count; i++) {
        const Poem *poem = &list->items[i];
        Script expected = collection_script(poem);
        Script script = poem_script(table, list, poem, expected);
        convert[i] = script == SCRIPT_SIMPLIFIED;
        simplified = simplified || convert[i];
        balance[poem->group] += script == SCRIPT_TRADITIONAL ? 1 : convert[i] ? -1 : 0;
    }
    for (size_t i = 0; i < stats->group_count; i++)
        traditional = traditional || balance[i] > 0;
    memory_free(balance);
    *wanted = traditional && simplified;
    return STATUS_OK;
}

static void count_traditional(PointTable *table, const PoemList *list,
                              const bool *convert)
{
    for (size_t i = 0; i < list->count; i++) {
        const Text *body = &list->items[i].body;
        for (size_t j = 0; !convert[i] && j < body->length; j++)
            table->count[list->points[body->start + j]]++;
    }
}

/* The most frequent member of each class; of equal ones the smallest code point. */
static Status find_preferred(PointTable *table, Error *err)
{
    uint32_t *best;
    TRY(memory_allocate(&best, POINTS_TOTAL, sizeof *best, "the best variants", err));
    for (uint32_t point = 1; point < POINTS_TOTAL; point++) {
        uint32_t key = table->key[point];
        if (key != 0 && table->count[point] > 0 &&
            (best[key] == 0 || table->count[point] > table->count[best[key]]))
            best[key] = point;
    }
    memcpy(table->preferred, best, POINTS_TOTAL * sizeof *best);
    memory_free(best); /* preferred is by key now */
    return STATUS_OK;
}

/* s2t may bring characters that no poem has; `key` knows them not. The round trip through
 * the key of the simplified character is what is wanted then. */
static uint32_t prefer(const PointTable *table, uint32_t converted, uint32_t original)
{
    uint32_t key = table->key[converted];
    if (key == 0)
        key = table->key[original];
    uint32_t best = key != 0 ? table->preferred[key] : 0;
    if (best == 0 || table->count[best] < PREFERRED_MINIMUM ||
        table->count[converted] * PREFERRED_RATIO >= table->count[best])
        return converted;
    return best;
}

/* A run of poems to convert, as text: body, title, author, form, a line each. */
typedef struct {
    size_t first, last; /* poems first .. last-1, those of them marked */
    Points result;      /* the converted text */
    Status status;
    Error error;
} Chunk;

static void poem_fields(const Poem *poem, const Text *fields[FIELDS])
{
    fields[0] = &poem->body;
    fields[1] = &poem->title;
    fields[2] = &poem->author;
    fields[3] = &poem->form;
}

static Status convert_chunk(Chunk *chunk, opencc_t converter, const PoemList *list,
                            const bool *convert, Error *err)
{
    size_t bytes = 0, used = 0;
    char *text;
    const Text *fields[FIELDS];
    for (size_t i = chunk->first; i < chunk->last; i++) {
        poem_fields(&list->items[i], fields);
        for (int field = 0; convert[i] && field < FIELDS; field++)
            bytes += 1 + UTF8_MAXIMUM * fields[field]->length;
    }
    TRY(memory_allocate(&text, bytes, 1, "text to convert", err));
    for (size_t i = chunk->first; i < chunk->last; i++) {
        poem_fields(&list->items[i], fields);
        for (int field = 0; convert[i] && field < FIELDS; field++) {
            used += utf8_write(text + used, list->points + fields[field]->start,
                               fields[field]->length);
            text[used++] = '\n';
        }
    }
    char *result = used > 0 ? opencc_convert_utf8(converter, text, used) : NULL;
    memory_free(text);
    if (used == 0)
        return STATUS_OK;
    if (result == NULL)
        return error_set(err, STATUS_IO, "OpenCC: cannot convert with s2t.json");
    Points *out = &chunk->result;
    Status status = utf8_append(&out->points, &out->used, &out->capacity,
                                (const unsigned char *)result, strlen(result),
                                "OpenCC's text", err);
    opencc_convert_utf8_free(result);
    return status;
}

/* Puts the converted line at *place into the field; a line of the same length (all of
 * them, with OpenCC 1.1) takes the place of the old one. */
static Status replace_field(PoemList *list, Text *field, const Chunk *chunk,
                            size_t *place, const PointTable *table, bool habits,
                            int64_t *changed, Error *err)
{
    const Points *text = &chunk->result;
    size_t start = *place, end = start;
    while (end < text->used && text->points[end] != '\n')
        end++;
    if (end == text->used)
        return error_set(err, STATUS_IO, "OpenCC: s2t.json lost the end of a line");
    *place = end + 1;
    if (end - start != field->length) {
        *changed += (int64_t)(end - start);
        return poem_list_text(list, text->points + start, end - start, field, err);
    }
    for (size_t i = 0; i < field->length; i++) {
        uint32_t *old = &list->points[field->start + i];
        uint32_t point = text->points[start + i];
        if (habits)
            point = prefer(table, point, *old);
        *changed += point != *old;
        *old = point;
    }
    return STATUS_OK;
}

static Status replace_chunk(PoemList *list, CorpusStats *stats, const Chunk *chunk,
                            const bool *convert, const PointTable *table, Error *err)
{
    size_t place = 0;
    for (size_t i = chunk->first; i < chunk->last; i++) {
        if (!convert[i])
            continue;
        Poem *poem = &list->items[i];
        CorpusGroup *group = &stats->groups[poem->group];
        int64_t changed = 0, fields = 0;
        TRY(replace_field(list, &poem->body, chunk, &place, table, true, &changed,
                          err));
        TRY(replace_field(list, &poem->title, chunk, &place, table, true, &fields,
                          err));
        TRY(replace_field(list, &poem->author, chunk, &place, table, true, &fields,
                          err));
        /* Forms keep OpenCC's characters: 七絕 must not become 七絶 for some poems. */
        TRY(replace_field(list, &poem->form, chunk, &place, table, false, &fields,
                          err));
        group->converted_poems++;
        group->converted_points += changed;
    }
    return STATUS_OK;
}

static Status cut_chunks(Chunk **chunks, size_t *count, const PoemList *list,
                         const bool *convert, Error *err)
{
    size_t capacity = 0, bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (*count == 0 || bytes > CHUNK) {
            TRY(memory_reserve(chunks, &capacity, *count + 1, sizeof **chunks,
                               "text to convert", err));
            (*chunks)[(*count)++] = (Chunk){.first = i, .last = i};
            bytes = 0;
        }
        if (convert[i])
            bytes += 3 * list->items[i].body.length;
        (*chunks)[*count - 1].last = i + 1;
    }
    return STATUS_OK;
}

/* A converter a thread: one handle isn't documented to be safe for several. They are
 * opened here, in one thread, as opencc_error isn't safe either. */
static Status convert_chunks(Chunk *chunks, size_t count, const PoemList *list,
                             const bool *convert, Error *err)
{
    opencc_t *converters;
    int threads = omp_get_max_threads();
    Status status = STATUS_OK;
    if ((size_t)threads > count)
        threads = (int)count;
    TRY(memory_allocate(&converters, (size_t)threads, sizeof *converters, "OpenCC",
                        err));
    for (int i = 0; i < threads && status == STATUS_OK; i++)
        status = converter_open(&converters[i], "s2t.json", err);
    if (status == STATUS_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < count; i++)
            chunks[i].status =
                convert_chunk(&chunks[i], converters[omp_get_thread_num()], list,
                              convert, &chunks[i].error);
    }
    for (int i = 0; i < threads; i++)
        converter_close(converters[i]);
    memory_free(converters);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = chunks[i].status;
        if (status != STATUS_OK && err != NULL)
            *err = chunks[i].error;
    }
    return status;
}

/* 1. look up every character of the poems   2. decide which poems to convert
 * 3. count the variants of the others       4. convert, and prefer what they write */
static Status unify(PoemList *list, CorpusStats *stats, PointTable *table,
                    bool *convert, Error *err)
{
    bool wanted;
    Chunk *chunks = NULL;
    size_t count = 0;
    TRY(table_create(table, err));
    TRY(table_fill(table, list, err));
    TRY(choose_poems(convert, &wanted, table, list, stats, err));
    if (!wanted)
        return STATUS_OK;
    count_traditional(table, list, convert);
    TRY(find_preferred(table, err));
    Status status = cut_chunks(&chunks, &count, list, convert, err);
    if (status == STATUS_OK)
        status = convert_chunks(chunks, count, list, convert, err);
    for (size_t i = 0; i < count; i++) {
        if (status == STATUS_OK)
            status = replace_chunk(list, stats, &chunks[i], convert, table, err);
        points_free(&chunks[i].result);
    }
    memory_free(chunks);
    return status;
}

Status script_unify(PoemList *list, CorpusStats *stats, Error *err)
{
    PointTable table = {0};
    bool *convert;
    size_t settled = 0;
    while (settled < list->count &&
           collection_script(&list->items[settled]) == SCRIPT_TRADITIONAL)
        settled++;
    if (settled == list->count)
        return STATUS_OK;
    TRY(memory_allocate(&convert, list->count, sizeof *convert, "the poems' scripts",
                        err));
    Status status = unify(list, stats, &table, convert, err);
    table_free(&table);
    memory_free(convert);
    return status;
}
