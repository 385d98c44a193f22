#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/split.h"
#include "data/twins.h"
#include "tests/data/made.h"

/* A prepared set in memory: the poems of a list in the parts that are given. */
typedef struct {
    MadeSet parts[PART_COUNT];
    PreparedSet set;
} Fixture;

static void fixture_make(Fixture *fixture, const PoemList *list, const uint8_t *parts)
{
    *fixture = (Fixture){0};
    int64_t *counts;
    MUST(memory_allocate(&counts, CODE_POINTS, sizeof *counts, "test", NULL));
    for (size_t i = 0; i < list->points_used; i++)
        counts[list->points[i]]++;
    MUST(tokenizer_build(&fixture->set.tokenizer, counts, 1, NULL));
    memory_free(counts);
    for (int part = 0; part < PART_COUNT; part++)
        MUST(memory_reserve(&fixture->parts[part].offsets,
                            &fixture->parts[part].offsets_capacity, 1, sizeof(uint64_t),
                            "test", NULL));
    for (size_t i = 0; i < list->count; i++) {
        if (parts[i] == PART_DUPLICATE)
            continue;
        MadeSet *made = &fixture->parts[parts[i]];
        Text body = list->items[i].body;
        made_token(made, TOKEN_BOS);
        for (size_t k = 0; k < body.length; k++)
            made_token(made, tokenizer_id(&fixture->set.tokenizer,
                                          list->points[body.start + k]));
        made_token(made, TOKEN_EOS);
        made_end(made);
    }
    for (int part = 0; part < PART_COUNT; part++)
        fixture->set.parts[part] = made_view(&fixture->parts[part]);
}

static void fixture_free(Fixture *fixture)
{
    for (int part = 0; part < PART_COUNT; part++)
        made_free(&fixture->parts[part]);
    tokenizer_free(&fixture->set.tokenizer);
}

static const char *const TWINS[][2] = {
    {"春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。",
     "春眠不覺曉，處處聞啼鳥。夜深風雨急，花落有誰知。"},
    {"空山不見人，但聞人語響。返景入深林，復照青苔上。",
     "空山不見人，但聞人語響。返影入深林，復照莓苔上。"},
    {"白日依山盡，黃河入海流。欲窮千里目，更上一層樓。", "白日依山盡，黃河入海流。"},
    {"千山鳥飛絕，萬徑人蹤滅。孤舟蓑笠翁，獨釣寒江雪。",
     "千山鳥飛絕，萬徑人蹤滅。孤舟簑笠翁，獨釣寒江雪。"},
    {"床前看月光，疑是地上霜。舉頭望山月，低頭思故鄉。",
     "紅豆生南國，秋來發幾枝。舉頭望山月，勸君多采擷。"}, /* no twins: one clause */
};
enum { PAIRS = sizeof TWINS / sizeof *TWINS, REAL_PAIRS = PAIRS - 1 };

static void made_pairs(PoemList *list)
{
    for (int i = 0; i < PAIRS; i++) {
        made_poem(list, TWINS[i][0]);
        made_poem(list, TWINS[i][1]);
    }
}

static void a_leaky_split_is_counted_exactly(void **state)
{
    (void)state;
    PoemList list = {0};
    made_pairs(&list);
    for (uint64_t seed = 0; seed < 200; seed++) {
        Rng rng = rng_stream(seed, 1);
        uint8_t parts[2 * PAIRS];
        for (int i = 0; i < 2 * PAIRS; i++)
            parts[i] = (uint8_t)rng_below(&rng, PART_COUNT);
        int64_t held_out = 0, in_train = 0, in_validation = 0;
        for (int i = 0; i < 2 * PAIRS; i++) {
            held_out += parts[i] != PART_TRAIN;
            if (i / 2 < REAL_PAIRS) {
                in_train += parts[i] != PART_TRAIN && parts[i ^ 1] == PART_TRAIN;
                in_validation +=
                    parts[i] == PART_TEST && parts[i ^ 1] == PART_VALIDATION;
            }
        }
        Fixture fixture;
        fixture_make(&fixture, &list, parts);
        TwinReport report;
        MUST(twins_find(&report, &fixture.set, NULL));
        assert_int_equal(report.held_out, held_out);
        assert_int_equal(report.in_train, in_train);
        assert_int_equal(report.in_validation, in_validation);
        fixture_free(&fixture);
    }
    poem_list_free(&list);
}

static void the_example_is_a_pair(void **state)
{
    (void)state;
    PoemList list = {0};
    made_pairs(&list);
    uint8_t parts[2 * PAIRS] = {PART_VALIDATION};
    parts[1] = PART_VALIDATION;
    parts[5] = PART_TEST; /* its twin is poem 4, the third of train after 2 and 3 */
    Fixture fixture;
    fixture_make(&fixture, &list, parts);
    TwinReport report;
    MUST(twins_find(&report, &fixture.set, NULL));
    assert_int_equal(report.in_train, 1);
    assert_int_equal(report.example_part, PART_TEST);
    assert_int_equal(report.example, 0);
    assert_int_equal(report.example_partner, 2);
    fixture_free(&fixture);
    poem_list_free(&list);
}

/* Texts of few clauses, so that chance makes many twins. */
static void made_related(PoemList *list, uint64_t seed, int count)
{
    Rng rng = rng_stream(seed, 2);
    for (int i = 0; i < count; i++) {
        Poem poem = {.body.start = list->points_used};
        uint64_t clauses = 2 + rng_below(&rng, 7);
        for (uint64_t k = 0; k < clauses; k++) {
            uint64_t number = rng_below(&rng, 900);
            uint32_t points[6];
            for (uint32_t j = 0; j < 5; j++)
                points[j] = (uint32_t)(0x4E00 + number * 5 + j);
            points[5] = 0x3002;
            Text text;
            MUST(poem_list_text(list, points, 6, &text, NULL));
        }
        poem.body.length = list->points_used - poem.body.start;
        MUST(poem_list_add(list, &poem, NULL));
    }
}

static void split_poems_leaves_none_and_a_random_split_some(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        PoemList list = {0};
        made_related(&list, seed, 600);
        Split split;
        TwinReport report;
        Fixture fixture;
        MUST(split_poems(&split, &list, seed, NULL));
        fixture_make(&fixture, &list, split.parts);
        MUST(twins_find(&report, &fixture.set, NULL));
        assert_true(report.held_out > 0);
        assert_int_equal(report.in_train, 0);
        assert_int_equal(report.in_validation, 0);
        fixture_free(&fixture);

        Rng rng = rng_stream(seed, 3);
        for (size_t i = 0; i < list.count; i++)
            split.parts[i] =
                (uint8_t)(rng_below(&rng, 10) == 0 ? PART_TEST : PART_TRAIN);
        fixture_make(&fixture, &list, split.parts);
        MUST(twins_find(&report, &fixture.set, NULL));
        assert_true(report.in_train > 0);
        fixture_free(&fixture);
        split_free(&split);
        poem_list_free(&list);
    }
}

static void a_running_text_has_no_such_proof(void **state)
{
    (void)state;
    PreparedSet set = {.stream = true};
    TwinReport report;
    assert_int_equal(twins_find(&report, &set, NULL), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaky_split_is_counted_exactly),
        cmocka_unit_test(the_example_is_a_pair),
        cmocka_unit_test(split_poems_leaves_none_and_a_random_split_some),
        cmocka_unit_test(a_running_text_has_no_such_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
