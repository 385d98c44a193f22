#include "data/twins.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "data/fold.h"
#include "model/base/memory.h"

static const uint32_t UNKNOWN = 0xFFFD;

/* One clause, or the whole folded text, of a poem of the searched part. */
typedef struct {
    uint64_t hash;
    uint32_t poem;
    uint32_t length;
} Entry;

typedef struct {
    Entry *items;
    size_t count, capacity;
} Entries;

typedef struct {
    PoemList bodies; /* all parts, one behind the other; only body is set */
    size_t starts[PART_COUNT + 1];
    Folded folded;
    Entries clauses; /* of the searched part, by hash */
    Entries texts;
    Entries own, hits; /* of the poem at hand */
} Check;

static int compare_entries(const void *first, const void *second)
{
    const Entry *a = first;
    const Entry *b = second;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->poem > b->poem) - (a->poem < b->poem);
}

static int compare_hits(const void *first, const void *second)
{
    const Entry *a = first;
    const Entry *b = second;
    return (a->poem > b->poem) - (a->poem < b->poem);
}

static Status add_entry(Entries *entries, Entry entry, Error *err)
{
    TRY(memory_reserve(&entries->items, &entries->capacity, entries->count + 1,
                       sizeof *entries->items, "the check of the split", err));
    entries->items[entries->count++] = entry;
    return STATUS_OK;
}

static Entry make_entry(const Folded *folded, size_t poem, Text text)
{
    return (Entry){.hash = XXH3_64bits(folded->points + text.start,
                                       text.length * sizeof *folded->points),
                   .poem = (uint32_t)poem,
                   .length = (uint32_t)text.length};
}

/* Adds the different clauses of a poem. */
static Status add_clauses(Entries *entries, const Folded *folded, size_t poem,
                          Error *err)
{
    size_t start = entries->count;
    for (size_t i = folded->first[poem]; i < folded->first[poem + 1]; i++)
        TRY(add_entry(entries, make_entry(folded, poem, folded->clauses[i]), err));
    if (entries->count == start)
        return STATUS_OK;
    qsort(entries->items + start, entries->count - start, sizeof *entries->items,
          compare_entries);
    size_t kept = start + 1;
    for (size_t i = start + 1; i < entries->count; i++) {
        if (entries->items[i].hash != entries->items[kept - 1].hash)
            entries->items[kept++] = entries->items[i];
    }
    entries->count = kept;
    return STATUS_OK;
}

/* ---- the set's bodies --------------------------------------------------------------- */

static Status decode_part(Check *check, const PreparedSet *set, Part part, Error *err)
{
    const PoemSet *poems = &set->parts[part];
    PoemList *list = &check->bodies;
    for (int64_t i = 0; i < poems->poems; i++) {
        const uint16_t *sequence = poems->ids + poems->offsets[i];
        int64_t length = (int64_t)(poems->offsets[i + 1] - poems->offsets[i]);
        SequenceParts parts;
        TRY(pack_parse(&parts, sequence, length, err));
        Poem poem = {.body.start = list->points_used};
        for (int64_t k = parts.bos + 1; k < length - 1; k++) {
            uint32_t point = tokenizer_code_point(&set->tokenizer, sequence[k]);
            Text added;
            TRY(poem_list_text(list, point != 0 ? &point : &UNKNOWN, 1, &added, err));
        }
        poem.body.length = list->points_used - poem.body.start;
        TRY(poem_list_add(list, &poem, err));
    }
    check->starts[part + 1] = list->count;
    return STATUS_OK;
}

static Status fold_set(Check *check, const PreparedSet *set, Error *err)
{
    for (int part = 0; part < PART_COUNT; part++)
        TRY(decode_part(check, set, (Part)part, err));
    size_t count = check->bodies.count;
    Text *bodies;
    TRY(memory_allocate(&bodies, count, sizeof *bodies, "the bodies", err));
    for (size_t i = 0; i < count; i++)
        bodies[i] = check->bodies.items[i].body;
    Status status =
        folded_build(&check->folded, check->bodies.points, bodies, count, err);
    memory_free(bodies);
    return status;
}

/* ---- the search --------------------------------------------------------------------- */

static Status index_part(Check *check, Part part, Error *err)
{
    check->clauses.count = 0;
    check->texts.count = 0;
    for (size_t poem = check->starts[part]; poem < check->starts[part + 1]; poem++) {
        TRY(add_clauses(&check->clauses, &check->folded, poem, err));
        Text text = check->folded.texts[poem];
        if (text.length > 0)
            TRY(add_entry(&check->texts, make_entry(&check->folded, poem, text), err));
    }
    if (check->clauses.count > 0)
        qsort(check->clauses.items, check->clauses.count, sizeof(Entry),
              compare_entries);
    if (check->texts.count > 0)
        qsort(check->texts.items, check->texts.count, sizeof(Entry), compare_entries);
    return STATUS_OK;
}

/* First entry with this hash or a larger one. */
static size_t lower_bound(const Entries *entries, uint64_t hash)
{
    size_t low = 0;
    size_t high = entries->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries->items[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* *twin = a near-duplicate of poem in the part that is indexed, or -1. */
static Status find_twin(Check *check, size_t poem, int64_t *twin, Error *err)
{
    const Folded *folded = &check->folded;
    *twin = -1;
    Text text = folded->texts[poem];
    Entry whole = make_entry(folded, poem, text);
    size_t at = lower_bound(&check->texts, whole.hash);
    if (text.length > 0 && at < check->texts.count &&
        check->texts.items[at].hash == whole.hash) {
        *twin = check->texts.items[at].poem;
        return STATUS_OK;
    }

    check->own.count = 0;
    check->hits.count = 0;
    TRY(add_clauses(&check->own, folded, poem, err));
    for (size_t i = 0; i < check->own.count; i++) {
        uint64_t hash = check->own.items[i].hash;
        for (size_t k = lower_bound(&check->clauses, hash);
             k < check->clauses.count && check->clauses.items[k].hash == hash; k++)
            TRY(add_entry(&check->hits, check->clauses.items[k], err));
    }
    if (check->hits.count == 0)
        return STATUS_OK;
    qsort(check->hits.items, check->hits.count, sizeof(Entry), compare_hits);
    for (size_t i = 0, next; i < check->hits.count; i = next) {
        uint32_t other = check->hits.items[i].poem;
        size_t weight = 0;
        for (next = i;
             next < check->hits.count && check->hits.items[next].poem == other; next++)
            weight += check->hits.items[next].length;
        size_t shorter = folded->texts[other].length < text.length
                             ? folded->texts[other].length
                             : text.length;
        if (next - i >= 2 && 2 * weight >= shorter) {
            *twin = other;
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

static Status search_train(Check *check, TwinReport *report, Error *err)
{
    TRY(index_part(check, PART_TRAIN, err));
    for (size_t poem = check->starts[PART_VALIDATION]; poem < check->starts[PART_COUNT];
         poem++) {
        int64_t twin;
        TRY(find_twin(check, poem, &twin, err));
        report->held_out++;
        if (twin < 0)
            continue;
        if (report->in_train++ == 0) {
            bool test = poem >= check->starts[PART_TEST];
            report->example_part = test ? PART_TEST : PART_VALIDATION;
            report->example = (int64_t)(poem - check->starts[report->example_part]);
            report->example_partner = twin - (int64_t)check->starts[PART_TRAIN];
        }
    }
    return STATUS_OK;
}

static Status search_validation(Check *check, TwinReport *report, Error *err)
{
    TRY(index_part(check, PART_VALIDATION, err));
    for (size_t poem = check->starts[PART_TEST]; poem < check->starts[PART_COUNT];
         poem++) {
        int64_t twin;
        TRY(find_twin(check, poem, &twin, err));
        report->test++;
        report->in_validation += twin >= 0;
    }
    return STATUS_OK;
}

Status twins_find(TwinReport *report, const PreparedSet *set, Error *err)
{
    *report = (TwinReport){0};
    if (set->stream)
        return error_set(
            err, STATUS_USAGE,
            "%s is a running text, cut in order: --check-split is for sets "
            "of poems",
            set->path);
    Check check = {0};
    Status status = fold_set(&check, set, err);
    if (status == STATUS_OK)
        status = search_train(&check, report, err);
    if (status == STATUS_OK)
        status = search_validation(&check, report, err);
    poem_list_free(&check.bodies);
    folded_free(&check.folded);
    memory_free(check.clauses.items);
    memory_free(check.texts.items);
    memory_free(check.own.items);
    memory_free(check.hits.items);
    return status;
}
