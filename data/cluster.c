#include "data/cluster.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/base/memory.h"

/* The search looks at few pairs and still finds every link.
 *
 * A text S of length L is linked to a text O at least as long if the clauses they share
 * weigh (characters) L/2 or more and are two or more. Sort the clauses of S from rare to
 * common. A tail of that list which has one clause only, or weighs less than L/2, cannot
 * hold all that is shared; so at least one shared clause is in the head before the longest
 * such tail. It is enough to look up the clauses of the head: common clauses are
 * hardly ever looked up, since they stand in the tail. (Prefix filtering: Chaudhuri, Ganti,
 * Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning", ICDE 2006.)
 *
 * Only components are wanted. A pair that is in one component already is passed over, and
 * once all texts behind a place in a clause's list are in one component (a refrain that a
 * thousand poems share), nobody scans that list from there again. */

typedef struct {
    uint32_t *items; /* lists one behind the other */
    size_t *starts;  /* list i is items[starts[i] .. starts[i+1]-1] */
} Lists;

typedef struct {
    const Folded *folded;
    Clusters
        *found; /* roots is the union-find: a root is the smallest text of its tree */

    uint32_t *clause_ids; /* (clauses of folded) number of each clause's words */
    uint32_t *weights;    /* (ids) characters */
    uint32_t *frequency;  /* (ids) texts that have it */
    uint32_t ids;
    Lists terms;     /* of each text: its different ids, rare ones first */
    Lists postings;  /* of each id: the texts that have it, short texts first */
    uint32_t *ranks; /* (texts) texts by length, then order */
} Search;

typedef struct {
    uint32_t major, minor, item;
} SortKey;

static int compare_keys(const void *first, const void *second)
{
    const SortKey *a = first;
    const SortKey *b = second;
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    return (a->minor > b->minor) - (a->minor < b->minor);
}

static Status lists_allocate(Lists *lists, size_t count, size_t items, Error *err)
{
    TRY(memory_allocate(&lists->starts, count + 1, sizeof *lists->starts,
                        "the search for duplicates", err));
    return memory_allocate(&lists->items, items, sizeof *lists->items,
                           "the search for duplicates", err);
}

static Status numbers(uint32_t **out, size_t count, Error *err)
{
    return memory_allocate(out, count, sizeof **out, "the search for duplicates", err);
}

/* ---- 1. equal texts ---------------------------------------------------------------- */

typedef struct {
    const Folded *folded;
    uint32_t poem;
} PoemRef;

static int compare_poems(const void *first, const void *second)
{
    const PoemRef *a = first;
    const PoemRef *b = second;
    const Folded *folded = a->folded;
    int order = folded_compare(folded, folded->texts[a->poem], folded->texts[b->poem]);
    return order != 0 ? order : (a->poem > b->poem) - (a->poem < b->poem);
}

/* A poem without a character (only signs) is equal to none. */
static bool same_text(const Folded *folded, uint32_t a, uint32_t b)
{
    return folded->texts[a].length > 0 &&
           folded_compare(folded, folded->texts[a], folded->texts[b]) == 0;
}

static Status number_texts(Search *search, Error *err)
{
    const Folded *folded = search->folded;
    PoemRef *refs;
    TRY(numbers(&search->found->text_of, folded->count, err));
    TRY(numbers(&search->found->first, folded->count, err));
    TRY(memory_allocate(&refs, folded->count, sizeof *refs, "the order of poems", err));
    for (size_t i = 0; i < folded->count; i++)
        refs[i] = (PoemRef){.folded = folded, .poem = (uint32_t)i};
    qsort(refs, folded->count, sizeof *refs, compare_poems);
    for (size_t i = 0; i < folded->count; i++) {
        uint32_t poem = refs[i].poem;
        if (i == 0 ||
            !same_text(folded, search->found->first[search->found->texts - 1], poem))
            search->found->first[search->found->texts++] = poem;
        search->found->text_of[poem] = search->found->texts - 1;
    }
    memory_free(refs);
    return STATUS_OK;
}

/* ---- 2. equal clauses -------------------------------------------------------------- */

/* Open addressing over the clauses of the kept poems; a slot is a clause + 1. */
static Status number_clauses(Search *search, Error *err)
{
    const Folded *folded = search->folded;
    size_t slots = 16;
    while (slots < folded->clause_count * 2)
        slots *= 2;
    uint32_t *table;
    TRY(numbers(&search->clause_ids, folded->clause_count, err));
    TRY(numbers(&search->weights, folded->clause_count, err));
    TRY(numbers(&table, slots, err));
    for (size_t i = 0; i < folded->clause_count; i++) {
        Text clause = folded->clauses[i];
        size_t slot = XXH3_64bits(folded->points + clause.start,
                                  clause.length * sizeof *folded->points) &
                      (slots - 1);
        while (table[slot] != 0 &&
               folded_compare(folded, folded->clauses[table[slot] - 1], clause) != 0)
            slot = (slot + 1) & (slots - 1);
        if (table[slot] == 0) {
            table[slot] = (uint32_t)i + 1;
            search->clause_ids[i] = search->ids;
            search->weights[search->ids++] = (uint32_t)clause.length;
        } else {
            search->clause_ids[i] = search->clause_ids[table[slot] - 1];
        }
    }
    memory_free(table);
    return STATUS_OK;
}

/* terms.items of a text: its different ids. Sorted by number first, by frequency when all
 * texts are counted. */
static Status list_terms(Search *search, Error *err)
{
    const Folded *folded = search->folded;
    Lists *terms = &search->terms;
    TRY(numbers(&search->frequency, search->ids, err));
    TRY(lists_allocate(terms, search->found->texts, folded->clause_count, err));
    uint32_t *seen; /* text + 1 that had the id last */
    TRY(numbers(&seen, search->ids, err));
    size_t used = 0;
    for (uint32_t text = 0; text < search->found->texts; text++) {
        uint32_t poem = search->found->first[text];
        terms->starts[text] = used;
        for (size_t i = folded->first[poem]; i < folded->first[poem + 1]; i++) {
            uint32_t id = search->clause_ids[i];
            if (seen[id] == text + 1)
                continue;
            seen[id] = text + 1;
            search->frequency[id]++;
            terms->items[used++] = id;
        }
    }
    terms->starts[search->found->texts] = used;
    memory_free(seen);
    return STATUS_OK;
}

static Status sort_terms(Search *search, Error *err)
{
    const Lists *terms = &search->terms;
    size_t longest = 0;
    for (uint32_t text = 0; text < search->found->texts; text++) {
        size_t length = terms->starts[text + 1] - terms->starts[text];
        longest = length > longest ? length : longest;
    }
    SortKey *keys;
    TRY(memory_allocate(&keys, longest, sizeof *keys, "the order of clauses", err));
    for (uint32_t text = 0; text < search->found->texts; text++) {
        uint32_t *items = terms->items + terms->starts[text];
        size_t count = terms->starts[text + 1] - terms->starts[text];
        for (size_t i = 0; i < count; i++)
            keys[i] = (SortKey){search->frequency[items[i]], items[i], items[i]};
        qsort(keys, count, sizeof *keys, compare_keys);
        for (size_t i = 0; i < count; i++)
            items[i] = keys[i].item;
    }
    memory_free(keys);
    return STATUS_OK;
}

static size_t text_length(const Search *search, uint32_t text)
{
    return search->folded->texts[search->found->first[text]].length;
}

static Status list_postings(Search *search, Error *err)
{
    const Lists *terms = &search->terms;
    Lists *postings = &search->postings;
    TRY(lists_allocate(postings, (size_t)search->ids + 1,
                       terms->starts[search->found->texts], err));
    TRY(numbers(&search->ranks, search->found->texts, err));
    SortKey *keys;
    TRY(memory_allocate(&keys, search->found->texts, sizeof *keys, "the order of texts",
                        err));
    for (uint32_t text = 0; text < search->found->texts; text++)
        keys[text] = (SortKey){(uint32_t)text_length(search, text), text, text};
    qsort(keys, search->found->texts, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < search->found->texts; i++)
        search->ranks[i] = keys[i].item;
    memory_free(keys);

    /* starts[id+1] runs from the start of the list to its end while it is filled. */
    for (uint32_t id = 0; id + 1 < search->ids; id++)
        postings->starts[id + 2] = postings->starts[id + 1] + search->frequency[id];
    for (uint32_t i = 0; i < search->found->texts; i++) {
        uint32_t text = search->ranks[i];
        for (size_t k = terms->starts[text]; k < terms->starts[text + 1]; k++)
            postings->items[postings->starts[terms->items[k] + 1]++] = text;
    }
    return STATUS_OK;
}

/* ---- 3. links ---------------------------------------------------------------------- */

static uint32_t find_root(uint32_t *roots, uint32_t text)
{
    while (roots[text] != text) {
        roots[text] = roots[roots[text]];
        text = roots[text];
    }
    return text;
}

static void unite(uint32_t *roots, uint32_t a, uint32_t b)
{
    a = find_root(roots, a);
    b = find_root(roots, b);
    if (a < b)
        roots[b] = a;
    else
        roots[a] = b;
}

/* How many of the text's terms, rare ones first, must be looked up. */
static size_t head_length(const Search *search, uint32_t text)
{
    const uint32_t *items = search->terms.items + search->terms.starts[text];
    size_t count = search->terms.starts[text + 1] - search->terms.starts[text];
    size_t length = text_length(search, text);
    size_t head = count;
    size_t tail_weight = 0;
    while (head > 0) {
        tail_weight += search->weights[items[head - 1]];
        if (count - head >= 1 && 2 * tail_weight >= length)
            break;
        head--;
    }
    return head;
}

typedef struct {
    uint32_t *marked; /* (ids) text + 1 whose term it is */
    uint32_t *tried;  /* (texts) text + 1 it was compared with last */
    uint32_t
        *settled; /* (ids) items of the list before its end that are one component */
} Marks;

static bool shares_half(const Search *search, const Marks *marks, uint32_t text,
                        uint32_t other)
{
    const Lists *terms = &search->terms;
    size_t shared = 0;
    size_t weight = 0;
    for (size_t k = terms->starts[other]; k < terms->starts[other + 1]; k++) {
        if (marks->marked[terms->items[k]] == text + 1) {
            shared++;
            weight += search->weights[terms->items[k]];
        }
    }
    return shared >= 2 && 2 * weight >= text_length(search, text);
}

/* Links text with the texts behind it in the list of id. */
static void scan_list(Search *search, Marks *marks, uint32_t text, uint32_t id,
                      size_t place)
{
    const Lists *postings = &search->postings;
    size_t end = postings->starts[id + 1];
    if (end - place <= marks->settled[id])
        return;
    bool one_component = true;
    for (size_t k = place + 1; k < end; k++) {
        uint32_t other = postings->items[k];
        search->found->steps++;
        if (find_root(search->found->roots, other) ==
            find_root(search->found->roots, text))
            continue;
        if (marks->tried[other] != text + 1) {
            marks->tried[other] = text + 1;
            if (shares_half(search, marks, text, other)) {
                unite(search->found->roots, text, other);
                continue;
            }
        }
        one_component = false;
    }
    if (one_component)
        marks->settled[id] = (uint32_t)(end - place);
}

static void link_texts(Search *search, Marks *marks, uint32_t *cursor)
{
    const Lists *terms = &search->terms;
    for (uint32_t i = 0; i < search->found->texts; i++) {
        uint32_t text = search->ranks[i];
        const uint32_t *items = terms->items + terms->starts[text];
        size_t count = terms->starts[text + 1] - terms->starts[text];
        size_t head = head_length(search, text);
        for (size_t k = 0; k < count; k++)
            marks->marked[items[k]] = text + 1;
        for (size_t k = 0; k < head; k++)
            scan_list(search, marks, text, items[k],
                      search->postings.starts[items[k]] + cursor[items[k]]);
        /* Texts come in the order of the lists: the next text with this id is one on. */
        for (size_t k = 0; k < count; k++)
            cursor[items[k]]++;
    }
}

static Status find_components(Search *search, Error *err)
{
    TRY(numbers(&search->found->roots, search->found->texts, err));
    for (uint32_t text = 0; text < search->found->texts; text++)
        search->found->roots[text] = text;
    Marks marks = {0};
    uint32_t *cursor = NULL;
    Status status = numbers(&marks.marked, search->ids, err);
    if (status == STATUS_OK)
        status = numbers(&marks.tried, search->found->texts, err);
    if (status == STATUS_OK)
        status = numbers(&marks.settled, search->ids, err);
    if (status == STATUS_OK)
        status = numbers(&cursor, search->ids, err);
    if (status == STATUS_OK)
        link_texts(search, &marks, cursor);
    memory_free(marks.marked);
    memory_free(marks.tried);
    memory_free(marks.settled);
    memory_free(cursor);
    return status;
}

/* Every text's root, no longer a path to it. */
static void flatten(Clusters *found)
{
    for (uint32_t text = 0; text < found->texts; text++)
        found->roots[text] = find_root(found->roots, text);
}

static Status run_search(Search *search, Error *err)
{
    TRY(number_texts(search, err));
    TRY(number_clauses(search, err));
    TRY(list_terms(search, err));
    TRY(sort_terms(search, err));
    TRY(list_postings(search, err));
    TRY(find_components(search, err));
    flatten(search->found);
    return STATUS_OK;
}

Status clusters_find(Clusters *clusters, const Folded *folded, Error *err)
{
    *clusters = (Clusters){0};
    Search search = {.folded = folded, .found = clusters};
    Status status = run_search(&search, err);
    memory_free(search.clause_ids);
    memory_free(search.weights);
    memory_free(search.frequency);
    memory_free(search.terms.items);
    memory_free(search.terms.starts);
    memory_free(search.postings.items);
    memory_free(search.postings.starts);
    memory_free(search.ranks);
    if (status != STATUS_OK)
        clusters_free(clusters);
    return status;
}

void clusters_free(Clusters *clusters)
{
    memory_free(clusters->text_of);
    memory_free(clusters->first);
    memory_free(clusters->roots);
    *clusters = (Clusters){0};
}
