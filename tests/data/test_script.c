#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/script.h"
#include "model/base/memory.h"
#include "tests/base/scratch_root.h"
#include "tests/data/texts.h"

static void assert_folded(const char *text, const char *expected)
{
    Points points = {0};
    text_points(&points, text);
    assert_int_equal(script_fold(points.points, points.points, points.used, NULL),
                     STATUS_OK);
    assert_points(points.points, points.used, expected);
    points_free(&points);
}

static void folding_joins_variants_and_keeps_the_rest(void **state)
{
    (void)state;
    assert_folded("雲云迴回峯峰牀床爲為裏裡衆眾", "云云回回峰峰床床为为里里众众");
    assert_folded("山水，。a\né𠮷", "山水，。a\né𠮷");
    assert_folded("", "");
}

/* But for chains in OpenCC's own table (薴 to 苧, 苧 to 苎). */
static void folding_twice_is_folding_once(void **state)
{
    (void)state;
    Points once = {0};
    for (uint32_t point = 0x3400; point < 0xA000; point++)
        if (clean_is_han(point))
            assert_int_equal(points_push(&once, point, NULL), STATUS_OK);
    assert_int_equal(script_fold(once.points, once.points, once.used, NULL), STATUS_OK);
    Points twice = {0};
    assert_int_equal(
        memory_reserve(&twice.points, &twice.capacity, once.used, 4, "", NULL),
        STATUS_OK);
    assert_int_equal(script_fold(twice.points, once.points, once.used, NULL),
                     STATUS_OK);
    for (size_t i = 0; i < once.used; i++)
        if (twice.points[i] != once.points[i] && once.points[i] != 0x82E7)
            fail_msg("U+%04X folds on to U+%04X", once.points[i], twice.points[i]);
    points_free(&once);
    points_free(&twice);
}

/* Graphic variants beyond t2s fall together with what people type. */
static void the_pairs_that_t2s_leaves_apart_are_folded(void **state)
{
    (void)state;
    assert_folded("劒疎鴈遶櫂埽徧猨碁煖暎隣邨慙窓塲嬾帬竝廻谿堦妬媿",
                  "剑疏雁绕棹扫遍猿棋暖映邻村惭窗场懒裙并回溪阶妒愧");
}

/* ---- one script ------------------------------------------------------------------------ */

static void put(const char *name, const char *text)
{
    char path[PATH_SIZE], folder[PATH_SIZE];
    scratch_path(path, root, name);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(folder_create(folder, NULL), STATUS_OK);
    scratch_text(path, text);
}

static void read_sources(Reading *reading, const char *const *sources, int count)
{
    CorpusOptions options = {.root = root, .minimum_body = CORPUS_MINIMUM_BODY};
    *reading = (Reading){0};
    reading->status = corpus_read(&reading->list, &reading->stats, sources, count,
                                  &options, &reading->error);
    assert_int_equal(reading->status, STATUS_OK);
}

/* 閑 (s2t would write 閒) and 峰 (s2t: 峯), often enough to be a habit. */
static void put_collections(void)
{
    char text[8192] = "[";
    for (int i = 0; i < 40; i++)
        strcat(text, "{\"paragraphs\":[\"雲閑峰靜鳥聲長，萬里無人月滿牀。\"]},");
    strcat(text, "{\"title\":\"髮\",\"paragraphs\":[\"白髮三千丈，緣愁似箇長。\"]}]");
    put("quantangshi/poet.tang.0.json", text);
    put("songci/ci.song.0.json", "[{\"author\":\"苏轼\",\"rhythmic\":\"菩萨蛮\","
                                 "\"paragraphs\":[\"闲云归远峰，头白发生。"
                                 "万里床前月，皇后不知。\"]}]");
}

static void simplified_sets_take_the_variants_of_the_traditional_ones(void **state)
{
    (void)state;
    const char *sources[] = {"tang", "songci"};
    Reading reading;
    put_collections();
    read_sources(&reading, sources, 2);
    assert_int_equal(reading.list.count, 42);
    const Poem *poem = &reading.list.items[41];
    assert_text(&reading.list, poem->body,
                "閑雲歸遠峰，頭白髮生。萬里牀前月，皇后不知。");
    assert_text(&reading.list, poem->author, "蘇軾");
    assert_text(&reading.list, poem->form, "菩薩蠻");
    assert_text(&reading.list, reading.list.items[40].body, "白髮三千丈，緣愁似箇長。");
    assert_int_equal(reading.stats.groups[0].converted_poems, 0);
    assert_int_equal(reading.stats.groups[1].converted_poems, 1);
    assert_int_equal(reading.stats.groups[1].converted_points, 8);
    reading_close(&reading);
}

static void a_simplified_set_alone_stays_as_it_is(void **state)
{
    (void)state;
    const char *sources[] = {"songci"};
    Reading reading;
    put_collections();
    read_sources(&reading, sources, 1);
    assert_text(&reading.list, reading.list.items[0].body,
                "闲云归远峰，头白发生。万里床前月，皇后不知。");
    assert_int_equal(reading.stats.groups[0].converted_poems, 0);
    reading_close(&reading);
}

static void files_of_unknown_script_are_told_apart_by_their_poems(void **state)
{
    (void)state;
    char first[PATH_SIZE], second[PATH_SIZE];
    put("a.txt", "白髮三千丈，緣愁似箇長。\n\n不知明鏡裏，何處得秋霜。\n");
    put("b.txt", "举头望明月，低头思故乡。\n");
    const char *sources[] = {scratch_path(first, root, "a.txt"),
                             scratch_path(second, root, "b.txt")};
    Reading reading;
    read_sources(&reading, sources, 2);
    assert_text(&reading.list, reading.list.items[2].body, "舉頭望明月，低頭思故鄉。");
    assert_text(&reading.list, reading.list.items[0].body, "白髮三千丈，緣愁似箇長。");
    reading_close(&reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_joins_variants_and_keeps_the_rest),
        cmocka_unit_test(folding_twice_is_folding_once),
        cmocka_unit_test(the_pairs_that_t2s_leaves_apart_are_folded),
        cmocka_unit_test(simplified_sets_take_the_variants_of_the_traditional_ones),
        cmocka_unit_test(a_simplified_set_alone_stays_as_it_is),
        cmocka_unit_test(files_of_unknown_script_are_told_apart_by_their_poems),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
