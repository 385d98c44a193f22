#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/variants.h"
#include "tests/base/scratch.h"
#include "tests/data/texts.h"

static char root[PATH_SIZE];
static char file[PATH_SIZE];

/* A small vocabulary with counts of tang 0-49000 where they matter. */
static const struct {
    const char *character;
    int64_t count;
} VOCABULARY[] = {
    {"舉", 1100},  {"頭", 4300}, {"望", 4000}, {"明", 6000}, {"月", 9000}, {"，", 9999},
    {"低", 700},   {"思", 3000}, {"故", 3000}, {"鄉", 1200}, {"想", 700},  {"衣", 3000},
    {"雲", 11847}, {"云", 656},  {"裳", 400},  {"花", 8000}, {"容", 1500}, {"子", 5000},
    {"曰", 200},   {"詩", 3000}, {"閑", 4395}, {"閒", 6},    {"里", 4069}, {"裏", 2884},
    {"荆", 765},   {"占", 350},  {"牀", 904},  {"床", 42},   {"前", 4000}, {"千", 4000},
    {"還", 3000},  {"", 0},
};

static int make_variants(void **state)
{
    static Variants variants;
    Points points = {0}, one = {0};
    int64_t counts[64];
    size_t count = 0;
    scratch_create(root);
    scratch_path(file, root, "variants.json");
    for (; VOCABULARY[count].count > 0; count++) {
        text_points(&one, VOCABULARY[count].character);
        assert_int_equal(points_push(&points, one.points[0], NULL), STATUS_OK);
        counts[count] = VOCABULARY[count].count;
    }
    assert_int_equal(variants_build(&variants, points.points, counts, count, NULL),
                     STATUS_OK);
    points_free(&points);
    points_free(&one);
    *state = &variants;
    return 0;
}

static int free_variants(void **state)
{
    variants_free(*state);
    scratch_remove(root);
    return 0;
}

static void assert_mapped(const Variants *variants, const char *prompt,
                          const char *expected, const char *unknown)
{
    Points points = {0};
    MappedPrompt mapped;
    text_points(&points, prompt);
    assert_int_equal(
        variants_map_prompt(&mapped, variants, points.points, points.used, NULL),
        STATUS_OK);
    assert_int_equal(mapped.count, points.used);
    assert_points(mapped.points, mapped.count, expected);
    Points left = {0};
    size_t changed = 0;
    for (size_t i = 0; i < mapped.change_count; i++) {
        const PromptChange *change = &mapped.changes[i];
        assert_int_equal(change->from, points.points[change->index]);
        assert_int_equal(change->to, mapped.points[change->index]);
        assert_true(change->unknown == (change->from == change->to));
        changed += !change->unknown;
        if (change->unknown)
            assert_int_equal(points_push(&left, change->from, NULL), STATUS_OK);
    }
    assert_points(left.points, left.used, unknown);
    for (size_t i = 0; i < points.used; i++)
        changed -= points.points[i] != mapped.points[i];
    assert_int_equal(changed, 0); /* every change is listed */
    points_free(&left);
    points_free(&points);
    mapped_prompt_free(&mapped);
}

static void candidates_come_by_falling_count(void **state)
{
    const Variants *variants = *state;
    const Variant *members;
    size_t known, count = variants_candidates(variants, 0x4E91, &members, &known);
    assert_true(count >= 2);
    assert_int_equal(known, 2);
    assert_int_equal(members[0].point, 0x96F2);
    assert_int_equal(members[0].count, 11847);
    assert_int_equal(members[1].point, 0x4E91);
    for (size_t i = 1; i < count; i++)
        assert_true(members[i].count <= members[i - 1].count);
    /* 荊 isn't in the vocabulary and belongs to the class of 荆 all the same. */
    count = variants_candidates(variants, 0x834A, &members, &known);
    assert_int_equal(known, 1);
    assert_int_equal(members[0].point, 0x8346);
    assert_int_equal(variants_candidates(variants, 0x554A, &members, &known), 0);
}

/* tests/corpora/38_mixed_script_prompt.txt, whole and line by line. */
static void the_mixed_prompt_is_mapped_as_expected(void **state)
{
    const Variants *variants = *state;
    FileMap map;
    char text[256];
    assert_int_equal(file_map(&map, "tests/corpora/38_mixed_script_prompt.txt", NULL),
                     STATUS_OK);
    assert_true(map.size < sizeof text);
    memcpy(text, map.data, map.size);
    text[map.size] = '\0';
    file_unmap(&map);
    assert_mapped(
        variants, text,
        "舉頭望明月，低頭思故鄉\n舉頭望明月，低頭思故鄉\n雲想衣裳花想容\n子曰詩云\n",
        "");
    assert_mapped(variants, "举头望明月，低头思故乡", "舉頭望明月，低頭思故鄉", "");
    assert_mapped(variants, "云想衣裳花想容", "雲想衣裳花想容", "");
    assert_mapped(variants, "子曰詩云", "子曰詩云", "");
}

static void a_line_of_either_script_goes_with_the_rest(void **state)
{
    const Variants *variants = *state;
    assert_mapped(variants, "子曰詩云\n云想衣裳", "子曰詩云\n云想衣裳", "");
    assert_mapped(variants, "举头\n云想衣裳", "舉頭\n雲想衣裳", "");
}

static void simplified_lines_take_the_most_frequent_variant(void **state)
{
    const Variants *variants = *state;
    assert_mapped(variants, "千里还", "千里還", "");
    assert_mapped(variants, "举头床前", "舉頭牀前", "");
    assert_mapped(variants, "閒云还", "閑雲還", "");
}

static void traditional_lines_change_only_where_something_is_unknown(void **state)
{
    const Variants *variants = *state;
    assert_mapped(variants, "詩閒床云裏", "詩閒床云裏", "");
    assert_mapped(variants, "詩荊佔裡", "詩荆占里", "");
    assert_mapped(variants, "詩,月", "詩，月", "");
}

static void what_no_class_knows_is_reported(void **state)
{
    const Variants *variants = *state;
    assert_mapped(variants, "啊月 x\n吧！", "啊月 x\n吧！", "啊x吧！");
    assert_mapped(variants, "", "", "");
}

static void writing_and_loading_changes_nothing(void **state)
{
    const Variants *variants = *state;
    Variants loaded;
    assert_int_equal(variants_write(variants, file, NULL), STATUS_OK);
    assert_int_equal(variants_load(&loaded, file, NULL), STATUS_OK);
    assert_int_equal(loaded.class_count, variants->class_count);
    assert_int_equal(loaded.member_count, variants->member_count);
    for (size_t i = 0; i < loaded.class_count; i++) {
        assert_int_equal(loaded.classes[i].key, variants->classes[i].key);
        assert_int_equal(loaded.classes[i].start, variants->classes[i].start);
        assert_int_equal(loaded.classes[i].length, variants->classes[i].length);
    }
    for (size_t i = 0; i < loaded.member_count; i++) {
        assert_int_equal(loaded.members[i].point, variants->members[i].point);
        assert_int_equal(loaded.members[i].count, variants->members[i].count);
    }
    assert_mapped(&loaded, "举头荊", "舉頭荆", "");
    variants_free(&loaded);
}

static void odd_vocabularies_survive_the_file(void **state)
{
    (void)state;
    const uint32_t points[] = {'\n', '"', '\\', 'a', 0x7F, 0xE9, 0x20BB7, 0x1F600};
    const int64_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8};
    Variants variants, loaded;
    assert_int_equal(variants_build(&variants, points, counts, 8, NULL), STATUS_OK);
    assert_int_equal(variants_write(&variants, file, NULL), STATUS_OK);
    assert_int_equal(variants_load(&loaded, file, NULL), STATUS_OK);
    for (size_t i = 0; i < 8; i++) {
        const Variant *members;
        size_t known;
        assert_true(variants_candidates(&loaded, points[i], &members, &known) >= 1);
        assert_int_equal(members[0].point, points[i]);
        assert_int_equal(members[0].count, counts[i]);
    }
    variants_free(&loaded);
    variants_free(&variants);
    const int64_t none[] = {0};
    assert_int_equal(variants_build(&variants, points, none, 1, NULL), STATUS_INPUT);
    assert_int_equal(variants_build(&variants, points, counts, 0, NULL), STATUS_OK);
    assert_mapped(&variants, "月", "月", "月");
    variants_free(&variants);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "",
        "[]",
        "{}",
        "{\"version\":2,\"classes\":{}}",
        "{\"version\":\"1\",\"classes\":{}}",
        "{\"version\":1}",
        "{\"version\":1,\"classes\":[]}",
        "{\"version\":1,\"classes\":{\"云\":{}}}",
        "{\"version\":1,\"classes\":{\"云\":[]}}",
        "{\"version\":1,\"classes\":{\"云\":[\"雲\"]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\"]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",1,2]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",1.5]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",-1]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",0]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲云\",1]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"\",1]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[7,1]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",1],[\"云\",2]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",2],[\"雲\",1]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",2]],\"头\":[[\"雲\",1]]}}",
        "{\"version\":1,\"classes\":{\"头\":[[\"頭\",2]],\"云\":[[\"雲\",1]]}}",
        "{\"version\":1,\"classes\":{\"云头\":[[\"雲\",2]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",99999999999999999999]]}}",
        "{\"version\":1,\"classes\":{\"云\":[[\"雲\",2]]}} x",
        "{\"version\":1,\"classes\":{\"云\":[[\"\xFF\",2]]}}",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        Variants variants;
        Error error;
        scratch_text(file, TEXTS[i]);
        if (variants_load(&variants, file, &error) != STATUS_INPUT)
            fail_msg("accepted: %s", TEXTS[i]);
        assert_non_null(strstr(error.message, "variants.json"));
        assert_null(variants.classes);
    }
    Variants variants;
    scratch_text(file, "{\"version\":1,\"classes\":{\"云\":[[\"雲\",2],[\"云\",0]]}}");
    assert_int_equal(variants_load(&variants, file, NULL), STATUS_OK);
    variants_free(&variants);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_come_by_falling_count),
        cmocka_unit_test(the_mixed_prompt_is_mapped_as_expected),
        cmocka_unit_test(a_line_of_either_script_goes_with_the_rest),
        cmocka_unit_test(simplified_lines_take_the_most_frequent_variant),
        cmocka_unit_test(traditional_lines_change_only_where_something_is_unknown),
        cmocka_unit_test(what_no_class_knows_is_reported),
        cmocka_unit_test(writing_and_loading_changes_nothing),
        cmocka_unit_test(odd_vocabularies_survive_the_file),
        cmocka_unit_test(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, make_variants, free_variants);
}
