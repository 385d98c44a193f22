#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/cluster.h"
#include "data/fold.h"
#include "data/split.h"
#include "tests/data/made.h"

static const uint32_t COMMA = 0xFF0C, STOP = 0x3002;

static void fold_list(Folded *folded, const PoemList *list)
{
    Text *bodies;
    MUST(memory_allocate(&bodies, list->count, sizeof *bodies, "test", NULL));
    for (size_t i = 0; i < list->count; i++)
        bodies[i] = list->items[i].body;
    MUST(folded_build(folded, list->points, bodies, list->count, NULL));
    memory_free(bodies);
}

/* ---- the definition, as plainly as it can be written ------------------------------- */

static bool has_clause(const Folded *folded, size_t poem, Text clause, size_t before)
{
    for (size_t i = folded->first[poem]; i < before; i++) {
        if (folded_compare(folded, folded->clauses[i], clause) == 0)
            return true;
    }
    return false;
}

static bool near_duplicates(const Folded *folded, size_t a, size_t b)
{
    if (folded_compare(folded, folded->texts[a], folded->texts[b]) == 0)
        return true;
    size_t shared = 0, weight = 0;
    for (size_t i = folded->first[a]; i < folded->first[a + 1]; i++) {
        Text clause = folded->clauses[i];
        if (!has_clause(folded, a, clause, i) &&
            has_clause(folded, b, clause, folded->first[b + 1])) {
            shared++;
            weight += clause.length;
        }
    }
    size_t shorter = folded->texts[a].length < folded->texts[b].length
                         ? folded->texts[a].length
                         : folded->texts[b].length;
    return shared >= 2 && 2 * weight >= shorter;
}

/* Poems of 1 .. longest clauses from `pool` different ones, 3 to 7 characters each. */
static void add_random_poems(PoemList *list, Rng *rng, int count, uint64_t pool,
                             uint64_t longest)
{
    for (int i = 0; i < count; i++) {
        Poem poem = {.body.start = list->points_used};
        uint64_t clauses = 1 + rng_below(rng, longest);
        for (uint64_t k = 0; k < clauses; k++) {
            /* Small numbers are common, as some clauses are. */
            uint64_t number = rng_below(rng, 1 + rng_below(rng, pool));
            uint32_t points[8];
            size_t length = 3 + number % 5;
            for (size_t j = 0; j < length; j++)
                points[j] = (uint32_t)(0x4E00 + (number * 8 + j));
            points[length] = k % 2 == 0 ? COMMA : STOP;
            Text text;
            MUST(poem_list_text(list, points, length + 1, &text, NULL));
        }
        poem.body.length = list->points_used - poem.body.start;
        MUST(poem_list_add(list, &poem, NULL));
    }
}

static size_t find(size_t *parents, size_t i)
{
    while (parents[i] != i)
        i = parents[i];
    return i;
}

static void clusters_are_the_components_of_the_definition(void **state)
{
    (void)state;
    enum { POEMS = 150 };
    for (uint64_t round = 0; round < 60; round++) {
        Rng rng = rng_stream(7, round);
        PoemList list = {0};
        add_random_poems(&list, &rng, POEMS, 20 + 40 * (round % 12), 2 + round % 9);
        Folded folded;
        fold_list(&folded, &list);
        size_t parents[POEMS];
        for (size_t i = 0; i < POEMS; i++)
            parents[i] = i;
        for (size_t a = 0; a < POEMS; a++) {
            for (size_t b = 0; b < a; b++) {
                if (near_duplicates(&folded, a, b))
                    parents[find(parents, a)] = find(parents, b);
            }
        }
        Clusters clusters;
        MUST(clusters_find(&clusters, &folded, NULL));
        for (size_t a = 0; a < POEMS; a++) {
            for (size_t b = 0; b < a; b++) {
                bool together = clusters.roots[clusters.text_of[a]] ==
                                clusters.roots[clusters.text_of[b]];
                assert_int_equal(together, find(parents, a) == find(parents, b));
            }
        }
        clusters_free(&clusters);
        folded_free(&folded);
        poem_list_free(&list);
    }
}

static void the_edge_of_the_definition(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool linked;
    } CASES[] = {
        /* two of four clauses: half of the characters */
        {"春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。",
         "春眠不覺曉，處處聞啼鳥。甲乙丙丁戊，己庚辛壬癸。", true},
        /* two of five */
        {"春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。東西南北中。",
         "春眠不覺曉，處處聞啼鳥。甲乙丙丁戊，己庚辛壬癸。子丑寅卯辰。", false},
        /* the shorter poem counts */
        {"春眠不覺曉，處處聞啼鳥。", "甲乙丙丁戊，處處聞啼鳥。春眠不覺曉，己庚辛壬癸。",
         true},
        /* one clause is not enough, even of a poem of one */
        {"春眠不覺曉。", "春眠不覺曉，甲乙丙丁戊。", false},
        /* the same clause twice is one clause */
        {"春眠不覺曉，春眠不覺曉。", "春眠不覺曉，甲乙丙丁戊，春眠不覺曉。", false},
        /* clauses of three characters do not count, though all are shared */
        {"君不見，天上來。奔流到，復回。", "奔流到，天上來。君不見，也。", false},
        /* variants and marks are folded away */
        {"白雲千里萬里，明月前溪後溪。", "白云千里萬里、明月前溪後溪！", true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        PoemList list = {0};
        made_poem(&list, CASES[i].first);
        made_poem(&list, CASES[i].second);
        Folded folded;
        Clusters clusters;
        fold_list(&folded, &list);
        MUST(clusters_find(&clusters, &folded, NULL));
        bool linked =
            clusters.roots[clusters.text_of[0]] == clusters.roots[clusters.text_of[1]];
        if (linked != CASES[i].linked)
            fail_msg("case %zu: linked is %d", i, linked);
        clusters_free(&clusters);
        folded_free(&folded);
        poem_list_free(&list);
    }
}

static void a_refrain_of_all_poems_costs_linear_time(void **state)
{
    (void)state;
    enum { POEMS = 20000 };
    PoemList list = {0};
    for (uint32_t i = 0; i < POEMS; i++) {
        uint32_t own = 0x4F00 + i % 100, also = 0x5000 + i / 100;
        const uint32_t body[] = {0x4E00, 0x4E01, 0x4E02, 0x4E03, COMMA,  0x4E08, 0x4E09,
                                 0x4E0A, 0x4E0B, STOP,   own,    also,   0x4E0D, 0x4E0E,
                                 COMMA,  also,   own,    0x4E0D, 0x4E0E, STOP};
        Poem poem = {0};
        MUST(poem_list_text(&list, body, sizeof body / sizeof *body, &poem.body, NULL));
        MUST(poem_list_add(&list, &poem, NULL));
    }
    Split split;
    MUST(split_poems(&split, &list, 0, NULL));
    assert_int_equal(split.clusters, 1);
    assert_int_equal(split.clustered, POEMS);
    assert_true(split.steps < 5 * POEMS);
    split_free(&split);
    poem_list_free(&list);
}

static void of_equal_folded_texts_the_first_stays(void **state)
{
    (void)state;
    PoemList list = {0};
    made_poem(&list, "白雲千里萬里，明月前溪後溪。");
    made_poem(&list, "獨坐幽篁裏，彈琴復長嘯。");
    made_poem(&list, "白云千里萬里，明月前溪後溪！");
    made_poem(&list, "☆");
    made_poem(&list, "☆"); /* no character: equal to nothing */
    Split split;
    MUST(split_poems(&split, &list, 0, NULL));
    assert_int_not_equal(split.parts[0], PART_DUPLICATE);
    assert_int_equal(split.parts[2], PART_DUPLICATE);
    assert_int_not_equal(split.parts[3], PART_DUPLICATE);
    assert_int_not_equal(split.parts[4], PART_DUPLICATE);
    assert_int_equal(split.poems[PART_DUPLICATE], 1);
    split_free(&split);
    poem_list_free(&list);
}

/* Part of the poem with that text. */
static Part part_of(const PoemList *list, const Split *split, const PoemList *of,
                    size_t poem)
{
    Text body = of->items[poem].body;
    for (size_t i = 0; i < list->count; i++) {
        Text other = list->items[i].body;
        if (other.length == body.length && split->parts[i] != PART_DUPLICATE &&
            memcmp(list->points + other.start, of->points + body.start,
                   body.length * sizeof *of->points) == 0)
            return (Part)split->parts[i];
    }
    return PART_COUNT;
}

static void parts_do_not_depend_on_the_order_of_poems(void **state)
{
    (void)state;
    Rng rng = rng_stream(3, 0);
    PoemList list = {0}, backwards = {0};
    add_random_poems(&list, &rng, 400, 3000, 8);
    for (size_t i = list.count; i-- > 0;) {
        Text body = list.items[i].body;
        Poem poem = {0};
        MUST(poem_list_text(&backwards, list.points + body.start, body.length,
                            &poem.body, NULL));
        MUST(poem_list_add(&backwards, &poem, NULL));
    }
    Split first, second, other;
    MUST(split_poems(&first, &list, 0, NULL));
    MUST(split_poems(&second, &backwards, 0, NULL));
    MUST(split_poems(&other, &list, 1, NULL));
    size_t moved = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (first.parts[i] == PART_DUPLICATE)
            continue;
        assert_int_equal(part_of(&backwards, &second, &list, i), first.parts[i]);
        moved += first.parts[i] != other.parts[i];
    }
    assert_true(moved > 0);
    split_free(&first);
    split_free(&second);
    split_free(&other);
    poem_list_free(&list);
    poem_list_free(&backwards);
}

static void shares_are_95_and_twice_two_and_a_half_percent(void **state)
{
    (void)state;
    enum { POEMS = 8000 };
    PoemList list = {0};
    for (uint32_t i = 0; i < POEMS; i++) {
        const uint32_t body[] = {0x4E00 + i, 0x4E01 + i, 0x4E02 + i, 0x4E00, STOP};
        Poem poem = {0};
        MUST(poem_list_text(&list, body, 5, &poem.body, NULL));
        MUST(poem_list_add(&list, &poem, NULL));
    }
    Split split;
    MUST(split_poems(&split, &list, 5, NULL));
    /* 200 expected, standard deviation 14 */
    assert_in_range(split.poems[PART_VALIDATION], 130, 270);
    assert_in_range(split.poems[PART_TEST], 130, 270);
    assert_int_equal(split.poems[PART_TRAIN] + split.poems[PART_VALIDATION] +
                         split.poems[PART_TEST],
                     POEMS);
    split_free(&split);
    poem_list_free(&list);
}

static void no_part_of_three_clusters_or_more_is_empty(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 12; count++) {
        for (uint64_t seed = 0; seed < 40; seed++) {
            PoemList list = {0};
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t body[] = {0x4E00 + i, 0x5E00 + i, 0x6E00, 0x6E01};
                Poem poem = {0};
                MUST(poem_list_text(&list, body, 4, &poem.body, NULL));
                MUST(poem_list_add(&list, &poem, NULL));
            }
            Split split;
            MUST(split_poems(&split, &list, seed, NULL));
            if (count < 3)
                assert_int_equal(split.poems[PART_TRAIN], count);
            for (int part = 0; part < PART_COUNT && count >= 3; part++)
                assert_true(split.poems[part] > 0);
            split_free(&split);
            poem_list_free(&list);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_the_components_of_the_definition),
        cmocka_unit_test(the_edge_of_the_definition),
        cmocka_unit_test(a_refrain_of_all_poems_costs_linear_time),
        cmocka_unit_test(of_equal_folded_texts_the_first_stays),
        cmocka_unit_test(parts_do_not_depend_on_the_order_of_poems),
        cmocka_unit_test(shares_are_95_and_twice_two_and_a_half_percent),
        cmocka_unit_test(no_part_of_three_clusters_or_more_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
