#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/characters.h"
#include "data/corpus.h"
#include "data/pair_cut.h"
#include "data/tones.h"
#include "model/base/memory.h"
#include "tests/data/texts.h"

static void assert_tones(const char *characters, Tone expected)
{
    Points points = {0};
    text_points(&points, characters);
    for (size_t i = 0; i < points.used; i++) {
        if (tone_find(points.points[i]) != expected)
            fail_msg("U+%04X: expected %d, found %d", (unsigned)points.points[i],
                     (int)expected, (int)tone_find(points.points[i]));
    }
    points_free(&points);
}

static void characters_of_each_tone_have_its_kind(void **state)
{
    (void)state;
    assert_tones("天東山風人明春秋江南花來時何雲", TONE_LEVEL); /* 平 */
    assert_tones("水酒野老鳥柳古海草雨晚", TONE_OBLIQUE);       /* 上 */
    assert_tones("夜樹路暮去萬歲地見事", TONE_OBLIQUE);         /* 去 */
    /* 入, also those that are level in Mandarin */
    assert_tones("一七八十白國竹石急獨別日月木入雪落客色玉北", TONE_OBLIQUE);
    assert_tones("看思聽過教論", TONE_BOTH);
}

static void variants_that_the_rhyme_book_lacks_have_the_tone_of_verse(void **state)
{
    (void)state;
    assert_tones("間峰窗魂鞍裙棋", TONE_LEVEL);
    assert_tones("衆劍皓樣", TONE_OBLIQUE);
}

static void what_is_no_character_has_no_tone(void **state)
{
    (void)state;
    const uint32_t others[] = {0,       'a',     0x33FF,  0xA000,    0xFF0C,    0x3002,
                               0x1FFFF, 0x2A6E0, 0x2FFFF, 0x110000U, UINT32_MAX};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(tone_find(others[i]), TONE_UNKNOWN);
    int64_t counts[4] = {0};
    for (uint32_t point = 0; point < 0x30000; point++) {
        Tone tone = tone_find(point);
        counts[tone]++;
        assert_true(tone == TONE_UNKNOWN || clean_is_han(point));
    }
    assert_true(counts[TONE_LEVEL] > 7000 && counts[TONE_OBLIQUE] > 11000);
    assert_true(counts[TONE_BOTH] > 1000 && counts[TONE_BOTH] < 2000);
}

static void opposition_needs_one_of_each_kind(void **state)
{
    (void)state;
    static const bool EXPECTED[4][4] = {/* unknown, level, oblique, both */
                                        {false, false, false, false},
                                        {false, false, true, true},
                                        {false, true, false, true},
                                        {false, true, true, true}};
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 4; b++)
            assert_int_equal(tones_opposite((Tone)a, (Tone)b), EXPECTED[a][b]);
    }
}

static void add(ToneTally *tally, const char *upper, const char *lower)
{
    Points a = {0}, b = {0};
    text_points(&a, upper);
    text_points(&b, lower);
    assert_int_equal(a.used, b.used);
    tone_tally_add(tally, a.points, b.points, a.used);
    points_free(&a);
    points_free(&b);
}

static void a_tally_counts_pairs_and_places(void **state)
{
    (void)state;
    ToneTally tally = {0};
    add(&tally, "國破山河在", "城春草木深");
    add(&tally, "白日依山盡", "黃河入海流");
    add(&tally, "無邊落木蕭蕭下", "不盡長江滾滾來");
    assert_int_equal(tally.pairs, 3);
    assert_int_equal(tally.opposite, 3);
    assert_int_equal(tally.known[2], 1);
    assert_true(tone_tally_share(&tally) == 1);
    add(&tally, "牀前看月光", "疑是地上霜"); /* 月 and 上 are oblique */
    assert_int_equal(tally.opposite, 3);
    assert_int_equal(tally.opposite_at[0], 4);
    assert_int_equal(tally.opposite_at[1], 3);
    assert_int_equal(tally.known[1], 4);
    assert_true(tone_tally_share(&tally) == 0.75);
}

static void only_the_even_places_count(void **state)
{
    (void)state;
    /* Level against level everywhere but at the places 2, 4, 6. */
    ToneTally tally = {0};
    add(&tally, "天山天山天山天", "天月天月天月天");
    assert_int_equal(tally.opposite, 1);
    add(&tally, "月山月山月", "月山天月天"); /* place 2 clashes */
    assert_int_equal(tally.opposite, 1);
    add(&tally, "天山天山天山天", "天月天月天山天"); /* place 6 */
    assert_int_equal(tally.opposite, 1);
    assert_int_equal(tally.opposite_at[2], 1);
    add(&tally, "天", "天"); /* no such place */
    assert_int_equal(tally.opposite, 2);
}

static void an_unknown_tone_is_left_open_unless_another_place_clashes(void **state)
{
    (void)state;
    ToneTally tally = {0};
    assert_true(tone_tally_share(&tally) == 0);
    add(&tally, "天a天山天", "天月天月天");
    assert_int_equal(tally.undecided, 1);
    assert_int_equal(tally.known[0], 0);
    assert_true(tone_tally_share(&tally) == 0);
    add(&tally, "天a天山天", "天月天山天");
    assert_int_equal(tally.undecided, 1);
    assert_int_equal(tally.opposite, 0);
    add(&tally, "天山天山天", "天月天月天");
    assert_true(tone_tally_share(&tally) == 0.5);
    ToneTally twice = tally;
    tone_tally_join(&twice, &tally);
    assert_int_equal(twice.pairs, 6);
    assert_int_equal(twice.undecided, 2);
    assert_int_equal(twice.known[1], 2 * tally.known[1]);
    assert_true(tone_tally_share(&twice) == 0.5);
}

/* The measure against the sample's own regulated verse, and against the same lines paired
 * at random, where every place is opposite about half of the time. */
static void regulated_verse_is_opposite_and_lines_at_random_are_not(void **state)
{
    (void)state;
    Reading reading;
    reading_open(&reading, "data/sample", NULL);
    assert_int_equal(reading.status, STATUS_OK);
    uint8_t *parts;
    assert_int_equal(memory_allocate(&parts, reading.list.count, 1, "test", NULL),
                     STATUS_OK);
    PairList list = {0};
    assert_int_equal(pairs_cut(&list, &reading.list, parts, PAIRS_PARALLEL, NULL),
                     STATUS_OK);
    ToneTally own = {0}, other = {0};
    const uint32_t *points = reading.list.points;
    for (size_t i = 0; i < list.count; i++) {
        const Pair *pair = &list.items[i];
        const Pair *next = &list.items[(i + 7) % list.count];
        tone_tally_add(&own, points + pair->upper.start, points + pair->lower.start,
                       pair->upper.length);
        if (next->upper.length == pair->upper.length)
            tone_tally_add(&other, points + pair->upper.start,
                           points + next->lower.start, pair->upper.length);
    }
    assert_true(own.pairs > 200 && own.undecided == 0 && other.pairs > 50);
    assert_true(tone_tally_share(&own) > 0.9);
    assert_true(tone_tally_share(&other) < 0.65);
    pair_list_free(&list);
    memory_free(parts);
    reading_close(&reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_of_each_tone_have_its_kind),
        cmocka_unit_test(variants_that_the_rhyme_book_lacks_have_the_tone_of_verse),
        cmocka_unit_test(what_is_no_character_has_no_tone),
        cmocka_unit_test(opposition_needs_one_of_each_kind),
        cmocka_unit_test(a_tally_counts_pairs_and_places),
        cmocka_unit_test(only_the_even_places_count),
        cmocka_unit_test(an_unknown_tone_is_left_open_unless_another_place_clashes),
        cmocka_unit_test(regulated_verse_is_opposite_and_lines_at_random_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
