#include "data/fold.h"

#include <stdbool.h>
#include <string.h>
#include <utf8proc.h>

#include "data/script.h"
#include "model/base/memory.h"

enum { POINTS_TOTAL = 0x110000 };

typedef enum { KIND_CHARACTER, KIND_SPACE, KIND_MARK } Kind;

static Kind kind_of(uint32_t point)
{
    if ((point >= 0x4E00 && point < 0xA000) || point == 0xFFFD)
        return KIND_CHARACTER;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    if (category == UTF8PROC_CATEGORY_ZS)
        return KIND_SPACE;
    bool character =
        (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO);
    return character ? KIND_CHARACTER : KIND_MARK;
}

static Status add_clause(Folded *folded, size_t start, size_t end, Error *err)
{
    if (end - start < CLAUSE_MINIMUM)
        return STATUS_OK;
    TRY(memory_reserve(&folded->clauses, &folded->clause_capacity,
                       folded->clause_count + 1, sizeof *folded->clauses,
                       "the clauses of the poems", err));
    folded->clauses[folded->clause_count++] =
        (Text){.start = start, .length = end - start};
    return STATUS_OK;
}

static Status fold_body(Folded *folded, size_t *used, const uint32_t *table,
                        const uint32_t *body, size_t length, Text *text, Error *err)
{
    size_t start = *used;
    size_t clause = *used;
    for (size_t i = 0; i < length; i++) {
        uint32_t point = body[i] < POINTS_TOTAL ? table[body[i]] : 0;
        Kind kind = kind_of(point);
        if (kind == KIND_CHARACTER) {
            folded->points[(*used)++] = point;
        } else if (kind == KIND_MARK) {
            TRY(add_clause(folded, clause, *used, err));
            clause = *used;
        }
    }
    TRY(add_clause(folded, clause, *used, err));
    *text = (Text){.start = start, .length = *used - start};
    return STATUS_OK;
}

/* table[point] = folded form, 0 for points that do not occur. OpenCC is slow and a text has
 * few different characters: each is asked for once. */
static Status fold_characters(uint32_t *table, const uint32_t *points,
                              const Text *bodies, size_t count, Error *err)
{
    uint32_t *occurring = NULL;
    size_t used = 0;
    size_t capacity = 0;
    Status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        for (size_t k = 0; k < bodies[i].length && status == STATUS_OK; k++) {
            uint32_t point = points[bodies[i].start + k];
            if (point >= POINTS_TOTAL || table[point] != 0)
                continue;
            table[point] = point;
            status = memory_reserve(&occurring, &capacity, used + 1, sizeof *occurring,
                                    "the characters of the poems", err);
            if (status == STATUS_OK)
                occurring[used++] = point;
        }
    }
    uint32_t *folded = NULL;
    if (status == STATUS_OK)
        status = memory_allocate(&folded, used, sizeof *folded,
                                 "the characters of the poems", err);
    if (status == STATUS_OK && used > 0)
        status = script_fold(folded, occurring, used, err);
    for (size_t i = 0; i < used && status == STATUS_OK; i++)
        table[occurring[i]] = folded[i];
    memory_free(folded);
    memory_free(occurring);
    return status;
}

static Status build(Folded *folded, uint32_t *table, const uint32_t *points,
                    const Text *bodies, Error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < folded->count; i++)
        total += bodies[i].length;
    TRY(memory_allocate(&folded->points, total, sizeof *folded->points,
                        "the folded text", err));
    TRY(memory_allocate(&folded->texts, folded->count, sizeof *folded->texts,
                        "the folded text", err));
    TRY(memory_allocate(&folded->first, folded->count + 1, sizeof *folded->first,
                        "the clauses of the poems", err));
    TRY(fold_characters(table, points, bodies, folded->count, err));
    size_t used = 0;
    for (size_t i = 0; i < folded->count; i++) {
        folded->first[i] = folded->clause_count;
        TRY(fold_body(folded, &used, table, points + bodies[i].start, bodies[i].length,
                      &folded->texts[i], err));
    }
    folded->first[folded->count] = folded->clause_count;
    return STATUS_OK;
}

Status folded_build(Folded *folded, const uint32_t *points, const Text *bodies,
                    size_t count, Error *err)
{
    *folded = (Folded){.count = count};
    uint32_t *table;
    TRY(memory_allocate(&table, POINTS_TOTAL, sizeof *table, "the folded text", err));
    Status status = build(folded, table, points, bodies, err);
    memory_free(table);
    if (status != STATUS_OK)
        folded_free(folded);
    return status;
}

void folded_free(Folded *folded)
{
    memory_free(folded->points);
    memory_free(folded->texts);
    memory_free(folded->clauses);
    memory_free(folded->first);
    *folded = (Folded){0};
}

int folded_compare(const Folded *folded, Text a, Text b)
{
    const uint32_t *first = folded->points + a.start;
    const uint32_t *second = folded->points + b.start;
    for (size_t i = 0; i < a.length && i < b.length; i++) {
        if (first[i] != second[i])
            return first[i] < second[i] ? -1 : 1;
    }
    return (a.length > b.length) - (a.length < b.length);
}
