#include "data/pair_twins.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/fold.h"
#include "model/base/memory.h"

static const uint32_t UNKNOWN = 0xFFFD;

/* A folded line; what is behind its end is 0. */
typedef struct {
    uint32_t points[PAIR_LONGEST];
    int64_t pair; /* number in its part */
} Line;

/* The lines of a part, two a pair. */
typedef struct {
    Line *items;
    size_t count;
} Lines;

static int compare_lines(const void *first, const void *second)
{
    const Line *a = first;
    const Line *b = second;
    for (int i = 0; i < PAIR_LONGEST; i++) {
        if (a->points[i] != b->points[i])
            return a->points[i] < b->points[i] ? -1 : 1;
    }
    return 0;
}

static int compare_lines_then_pairs(const void *first, const void *second)
{
    const Line *a = first;
    const Line *b = second;
    int order = compare_lines(a, b);
    return order != 0 ? order : (a->pair > b->pair) - (a->pair < b->pair);
}

/* points, texts: room for all lines of the part. */
static void decode_lines(uint32_t *points, Text *texts, const PreparedSet *set,
                         const PairSet *pairs)
{
    size_t used = 0;
    for (int64_t line = 0; line < 2 * pairs->pairs; line++) {
        PairLines lines = pair_lines(pairs, line / 2);
        const uint16_t *ids = line % 2 == 0 ? lines.upper : lines.lower;
        texts[line] = (Text){.start = used, .length = (size_t)lines.length};
        for (int64_t i = 0; i < lines.length; i++) {
            uint32_t point = tokenizer_code_point(&set->tokenizer, ids[i]);
            points[used++] = point != 0 ? point : UNKNOWN;
        }
    }
}

static Status fold_part(Lines *lines, Text *texts, uint32_t *points,
                        const PreparedSet *set, Part part, Error *err)
{
    const PairSet *pairs = &set->pairs[part];
    Folded folded;
    decode_lines(points, texts, set, pairs);
    TRY(folded_build(&folded, points, texts, lines->count, err));
    for (size_t i = 0; i < lines->count; i++) {
        Text text = folded.texts[i];
        size_t length = text.length < PAIR_LONGEST ? text.length : PAIR_LONGEST;
        memcpy(lines->items[i].points, folded.points + text.start,
               length * sizeof *points);
        lines->items[i].pair = (int64_t)(i / 2);
    }
    folded_free(&folded);
    return STATUS_OK;
}

static Status read_lines(Lines *lines, const PreparedSet *set, Part part, Error *err)
{
    lines->count = 2 * (size_t)set->pairs[part].pairs;
    uint32_t *points = NULL;
    Text *texts = NULL;
    Status status = memory_allocate(&lines->items, lines->count, sizeof *lines->items,
                                    "the lines of a part", err);
    if (status == STATUS_OK)
        status = memory_allocate(&points, lines->count * PAIR_LONGEST, sizeof *points,
                                 "the lines of a part", err);
    if (status == STATUS_OK)
        status = memory_allocate(&texts, lines->count, sizeof *texts,
                                 "the lines of a part", err);
    if (status == STATUS_OK)
        status = fold_part(lines, texts, points, set, part, err);
    memory_free(texts);
    memory_free(points);
    return status;
}

/* The first pair of the sorted lines that has one of the two lines, or -1. */
static int64_t find_twin(const Lines *sorted, const Line two[2])
{
    for (int i = 0; i < 2; i++) {
        const Line *found =
            bsearch(&two[i], sorted->items, sorted->count, sizeof *two, compare_lines);
        while (found != NULL && found > sorted->items &&
               compare_lines(found, found - 1) == 0)
            found--;
        if (found != NULL)
            return found->pair;
    }
    return -1;
}

static void search(TwinReport *report, Lines parts[PART_COUNT])
{
    for (int part = PART_TRAIN; part < PART_TEST; part++) {
        /* Held-out lines stay in order until their own part is searched. */
        Lines *searched = &parts[part];
        qsort(searched->items, searched->count, sizeof *searched->items,
              compare_lines_then_pairs);
        for (int held = part + 1; held < PART_COUNT; held++) {
            for (size_t i = 0; i < parts[held].count; i += 2) {
                int64_t twin = find_twin(searched, &parts[held].items[i]);
                if (part == PART_VALIDATION) {
                    report->test++;
                    report->in_validation += twin >= 0;
                    continue;
                }
                report->held_out++;
                if (twin >= 0 && report->in_train++ == 0) {
                    report->example_part = (Part)held;
                    report->example = (int64_t)(i / 2);
                    report->example_partner = twin;
                }
            }
        }
    }
}

Status pair_twins_find(TwinReport *report, const PreparedSet *set, Error *err)
{
    *report = (TwinReport){0};
    Lines parts[PART_COUNT] = {0};
    Status status = STATUS_OK;
    for (int part = 0; part < PART_COUNT && status == STATUS_OK; part++)
        status = read_lines(&parts[part], set, (Part)part, err);
    if (status == STATUS_OK)
        search(report, parts);
    for (int part = 0; part < PART_COUNT; part++)
        memory_free(parts[part].items);
    return status;
}
