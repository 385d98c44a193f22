#include "data/pair_cut.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "data/clean.h"
#include "data/fold.h"
#include "model/base/memory.h"

static const uint32_t PAUSE = 0x3001; /* 、 */

void pair_list_free(PairList *list)
{
    memory_free(list->items);
    *list = (PairList){0};
}

/* ---- cutting ----------------------------------------------------------------------- */

/* The form of a poem that is one of the four, else FORM_COUNT. A 詞 of eight equal clauses
 * has its 詞牌 for a form. */
static Form couplet_form(const PoemList *poems, const Poem *poem)
{
    Form form = form_find(poems->points + poem->body.start, poem->body.length);
    if (form != FORM_WUJUE && form != FORM_QIJUE && form != FORM_WULU &&
        form != FORM_QILU)
        return FORM_COUNT;
    size_t length;
    const uint32_t *name = form_points(form, &length);
    bool named =
        poem->form.length == length &&
        memcmp(poems->points + poem->form.start, name, length * sizeof *name) == 0;
    return named ? form : FORM_COUNT;
}

/* The next clause at or behind *at, as form_find counts them; *at moves past it. */
static Text next_line(const PoemList *poems, size_t *at, size_t end)
{
    const uint32_t *points = poems->points;
    while (*at < end && clean_mark(points[*at]) != 0 && points[*at] != PAUSE)
        (*at)++;
    size_t start = *at;
    while (*at < end && (clean_mark(points[*at]) == 0 || points[*at] == PAUSE))
        (*at)++;
    return (Text){.start = start, .length = *at - start};
}

/* PAIR_REASONS when the line is fine. */
static PairReason line_fault(const PoemList *poems, Text line)
{
    for (size_t i = line.start; i < line.start + line.length; i++) {
        if (poems->points[i] == PAUSE)
            return PAIR_MARKED;
        if (!clean_is_han(poems->points[i]))
            return PAIR_FOREIGN;
    }
    return PAIR_REASONS;
}

static Status cut_poem(PairList *list, const PoemList *poems, size_t poem, uint8_t part,
                       int64_t number, PairChoice choice, Error *err)
{
    Text body = poems->items[poem].body;
    Form form = couplet_form(poems, &poems->items[poem]);
    if (form == FORM_COUNT) {
        list->counts.other_poems++;
        return STATUS_OK;
    }
    list->counts.poems++;
    bool regulated = pair_couplets(form) == PAIR_COUPLETS;
    size_t at = body.start;
    for (int couplet = 0; couplet < pair_couplets(form); couplet++) {
        Text upper = next_line(poems, &at, body.start + body.length);
        Text lower = next_line(poems, &at, body.start + body.length);
        list->counts.places[form][couplet]++;
        PairReason fault = line_fault(poems, upper);
        if (fault == PAIR_REASONS)
            fault = line_fault(poems, lower);
        if (choice == PAIRS_PARALLEL && !pair_couplet_parallel(form, couplet))
            fault = PAIR_UNCHOSEN;
        if (fault != PAIR_REASONS) {
            list->counts.dropped[fault]++;
            continue;
        }
        TRY(memory_reserve(&list->items, &list->capacity, list->count + 1,
                           sizeof *list->items, "the pairs", err));
        list->items[list->count++] =
            (Pair){.upper = upper,
                   .lower = lower,
                   .origin = pair_origin_pack(number, regulated, couplet),
                   .poem = (uint32_t)poem,
                   .part = part};
    }
    return STATUS_OK;
}

static Status cut_poems(PairList *list, const PoemList *poems, const uint8_t *parts,
                        PairChoice choice, Error *err)
{
    int64_t numbers[PART_COUNT] = {0};
    for (size_t i = 0; i < poems->count; i++) {
        if (parts[i] >= PART_COUNT)
            continue;
        if (numbers[parts[i]] > PAIR_POEMS_MAXIMUM)
            return error_set(err, STATUS_INPUT, "pairs: more than %d poems in one part",
                             PAIR_POEMS_MAXIMUM + 1);
        TRY(cut_poem(list, poems, i, parts[i], numbers[parts[i]]++, choice, err));
    }
    return STATUS_OK;
}

/* ---- what stays -------------------------------------------------------------------- */

/* A pair or one of its lines by its hash: 64 bits, so that among a million different lines
 * two look equal once in forty million times (and then a pair is lost, no more). */
typedef struct {
    uint64_t hash;
    uint32_t pair;
    uint8_t part;
} Key;

static int compare_keys(const void *first, const void *second)
{
    const Key *a = first;
    const Key *b = second;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return (a->pair > b->pair) - (a->pair < b->pair);
}

static Key make_key(const Folded *folded, const PairList *list, size_t pair, Text text)
{
    return (Key){.hash = XXH3_64bits(folded->points + text.start,
                                     text.length * sizeof *folded->points),
                 .pair = (uint32_t)pair,
                 .part = list->items[pair].part};
}

/* Line 2 i is the upper one of pair i, line 2 i + 1 the lower one behind it. */
static Text whole_pair(const Folded *folded, size_t pair)
{
    Text upper = folded->texts[2 * pair];
    Text lower = folded->texts[2 * pair + 1];
    assert(lower.start == upper.start + upper.length);
    return (Text){.start = upper.start, .length = upper.length + lower.length};
}

static void drop(PairList *list, uint8_t *gone, uint32_t pair, PairReason reason)
{
    list->counts.dropped[reason] += gone[pair] == 0;
    gone[pair] = 1;
}

/* (a) */
static void drop_duplicates(PairList *list, uint8_t *gone, Key *keys,
                            const Folded *folded)
{
    for (size_t i = 0; i < list->count; i++)
        keys[i] = make_key(folded, list, i, whole_pair(folded, i));
    qsort(keys, list->count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < list->count; i++) {
        if (keys[i].hash == keys[i - 1].hash)
            drop(list, gone, keys[i].pair, PAIR_DUPLICATE);
    }
}

/* (b), part by part: a validation pair that went for its line keeps no test pair away. */
static void drop_known_lines(PairList *list, uint8_t *gone, Key *keys,
                             const Folded *folded)
{
    for (int part = PART_VALIDATION; part < PART_COUNT; part++) {
        size_t count = 0;
        for (size_t line = 0; line < 2 * list->count; line++) {
            if (!gone[line / 2] && list->items[line / 2].part <= part)
                keys[count++] = make_key(folded, list, line / 2, folded->texts[line]);
        }
        qsort(keys, count, sizeof *keys, compare_keys);
        uint8_t earliest = 0;
        for (size_t i = 0; i < count; i++) {
            if (i == 0 || keys[i].hash != keys[i - 1].hash)
                earliest = keys[i].part;
            if (keys[i].part == part && earliest < part)
                drop(list, gone, keys[i].pair, PAIR_LINE_ELSEWHERE);
        }
    }
}

static Status fold_lines(Folded *folded, const PairList *list, const PoemList *poems,
                         Error *err)
{
    Text *lines;
    TRY(memory_allocate(&lines, 2 * list->count, sizeof *lines, "the lines of pairs",
                        err));
    for (size_t i = 0; i < list->count; i++) {
        lines[2 * i] = list->items[i].upper;
        lines[2 * i + 1] = list->items[i].lower;
    }
    Status status = folded_build(folded, poems->points, lines, 2 * list->count, err);
    memory_free(lines);
    return status;
}

static Status select_pairs(PairList *list, const PoemList *poems, Error *err)
{
    Folded folded;
    TRY(fold_lines(&folded, list, poems, err));
    Key *keys = NULL;
    uint8_t *gone = NULL;
    Status status =
        memory_allocate(&keys, 2 * list->count, sizeof *keys, "the pairs", err);
    if (status == STATUS_OK)
        status = memory_allocate(&gone, list->count, 1, "the pairs", err);
    if (status == STATUS_OK) {
        drop_duplicates(list, gone, keys, &folded);
        drop_known_lines(list, gone, keys, &folded);
        size_t kept = 0;
        for (size_t i = 0; i < list->count; i++) {
            if (!gone[i])
                list->items[kept++] = list->items[i];
        }
        list->count = kept;
    }
    memory_free(gone);
    memory_free(keys);
    folded_free(&folded);
    return status;
}

Status pairs_cut(PairList *list, const PoemList *poems, const uint8_t *parts,
                 PairChoice choice, Error *err)
{
    assert(choice != PAIRS_NONE && list->items == NULL);
    TRY(cut_poems(list, poems, parts, choice, err));
    TRY(select_pairs(list, poems, err));
    for (size_t i = 0; i < list->count; i++) {
        const Pair *pair = &list->items[i];
        Form form = pair_form((int64_t)pair->upper.length, (pair->origin & 4) != 0);
        uint32_t couplet = pair->origin % PAIR_COUPLETS;
        list->counts.kept[form][couplet]++;
        tone_tally_add(&list->counts.tones[form][couplet],
                       poems->points + pair->upper.start,
                       poems->points + pair->lower.start, pair->upper.length);
    }
    return STATUS_OK;
}
