#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/rng.h"
#include "tests/data/texts.h"

static CleanReport clean(Points *out, const char *text, bool strict)
{
    Points in = {0};
    CleanReport report;
    text_points(&in, text);
    assert_int_equal(clean_body(out, &report, in.points, in.used, strict, NULL),
                     STATUS_OK);
    points_free(&in);
    return report;
}

static void assert_clean(const char *text, const char *expected)
{
    Points out = {0};
    CleanReport report = clean(&out, text, false);
    assert_int_equal(report.fault, BODY_KEPT);
    assert_points(out.points, out.used, expected);
    points_free(&out);
}

static void assert_dropped(const char *text, int reason)
{
    Points out = {0};
    int fault = clean(&out, text, false).fault;
    if (fault != reason)
        fail_msg("%s: dropped for %d, expected %d", text, fault, reason);
    points_free(&out);
}

static void a_clean_poem_stays_as_it_is(void **state)
{
    (void)state;
    assert_clean("牀前看月光，疑是地上霜。\n舉頭望山月，低頭思故鄉。",
                 "牀前看月光，疑是地上霜。舉頭望山月，低頭思故鄉。");
    assert_clean("㐂𠮷〇﨑，何處？", "㐂𠮷〇﨑，何處？");
}

static void notes_go_also_over_several_paragraphs(void **state)
{
    (void)state;
    assert_clean("邏人（一作「叉」）橫鳥道，江祖出魚梁。", "邏人橫鳥道，江祖出魚梁。");
    assert_clean(
        "甲乙。\n（〖1〗見《全唐詩》。\n按：□{x}校（又一）作「春」。）\n丙丁。",
        "甲乙。丙丁。");
    assert_clean("山(明明 一作：佼佼)水。", "山水。");
    assert_clean("甲〖1〗乙。〖2〗。", "甲乙。");
    assert_dropped("甲乙（丙。", DROP_MARKUP);
    assert_dropped("甲乙）丙。", DROP_MARKUP);
    assert_dropped("甲〖1乙。", DROP_MARKUP);
    assert_dropped("甲乙。（下缺）", DROP_LACUNA);
}

static void emendations_and_quotation_marks_lose_their_brackets(void **state)
{
    (void)state;
    assert_clean("[爽]節在重九，物華新雨餘。", "爽節在重九，物華新雨餘。");
    assert_clean("解吟《長恨曲》，「能唱」『琵琶』“篇”。", "解吟長恨曲，能唱琵琶篇。");
    assert_clean("〔圜鍾爲宮三奏〕蒐講上儀。", "蒐講上儀。");
    assert_clean("清凉〔態〕。", "清凉態。");
    assert_dropped("甲[乙。", DROP_MARKUP);
    assert_dropped("人坐有[H。70x]氊。", DROP_MARKUP);
}

static void marks_become_full_width_and_single(void **state)
{
    (void)state;
    assert_clean("甲,乙.丙!丁?戊;己:庚｡", "甲，乙。丙！丁？戊；己：庚。");
    assert_clean("甲，，乙。。丙，。丁。，戊！？", "甲，乙。丙。丁。戊！");
    assert_clean("，。甲乙。", "甲乙。");
    assert_clean("甲乙，", "甲乙。");
    assert_clean("甲乙", "甲乙。");
    assert_clean("望明月 ,\t低頭\u3000思\u00A0故鄉\u200B!\r\n", "望明月，低頭思故鄉！");
}

static void paragraphs_get_a_mark_where_the_poem_has_none(void **state)
{
    (void)state;
    assert_clean("甲乙\n丙丁\n戊己", "甲乙。丙丁。戊己。");
    assert_clean("甲乙。\n丙\n丁。\n戊己。", "甲乙。丙丁。戊己。"); /* broken once */
    assert_clean("甲乙\n\n\n", "甲乙。");
}

static void what_stands_for_a_missing_character_drops_the_poem(void **state)
{
    (void)state;
    static const char *const LACUNA[] = {"甲□乙。", "甲●乙。", "甲○乙。", "甲……乙。",
                                         "甲*乙。"};
    static const char *const GAIJI[] = {"綠{𥫗/戢}。",  "甲\uE829乙。", "甲⿰木養。",
                                        "甲血／與乙。", "缇[糹習]。",   "氵屈其泥。",
                                        "冤⻊乙。"};
    static const char *const ENCODING[] = {"甲\uFFFD乙。", "花け乙。", "пь甲。",
                                           "甲Ｂ乙。",     "甲ㄓ乙。", "甲┾乙。",
                                           "甲Θ。"};
    static const char *const MARKUP[] = {"茗旗香。ff。", "甲7乙。", "甲<乙>。",
                                         "=甲。"};
    for (size_t i = 0; i < sizeof LACUNA / sizeof *LACUNA; i++)
        assert_dropped(LACUNA[i], DROP_LACUNA);
    for (size_t i = 0; i < sizeof GAIJI / sizeof *GAIJI; i++)
        assert_dropped(GAIJI[i], DROP_GAIJI);
    for (size_t i = 0; i < sizeof ENCODING / sizeof *ENCODING; i++)
        assert_dropped(ENCODING[i], DROP_ENCODING);
    for (size_t i = 0; i < sizeof MARKUP / sizeof *MARKUP; i++)
        assert_dropped(MARKUP[i], DROP_MARKUP);
    assert_clean("月光，/\t\b疑是。",
                 "月光，疑是。"); /* beside a mark it is harmless */
    assert_clean("朝々暮々。", "朝朝暮暮。");
}

static void placeholders_and_nothing_are_told_apart(void **state)
{
    (void)state;
    static const char *const PLACEHOLDERS[] = {"空。", "無正文。", "詩見張繼先三。",
                                               "闕。"};
    static const char *const NOTHING[] = {"", " \u3000\n", "，。", "（見上）"};
    for (size_t i = 0; i < sizeof PLACEHOLDERS / sizeof *PLACEHOLDERS; i++)
        assert_dropped(PLACEHOLDERS[i], DROP_PLACEHOLDER);
    for (size_t i = 0; i < sizeof NOTHING / sizeof *NOTHING; i++)
        assert_dropped(NOTHING[i], DROP_EMPTY);
    assert_clean("空山不見人，但聞人語響。", "空山不見人，但聞人語響。");
}

static void strict_cleaning_leaves_no_commentary(void **state)
{
    (void)state;
    Points out = {0};
    assert_int_equal(clean(&out, "此詩又見《廬山記》。", true).fault, DROP_MARKUP);
    assert_int_equal(clean(&out, "甲乙[一二]丙。", true).fault, BODY_KEPT);
    assert_points(out.points, out.used, "甲乙丙。");
    points_free(&out);
}

/* Whatever comes in: a kept body is of the alphabet and its marks stand alone. */
static void kept_bodies_keep_the_promise_of_the_header(void **state)
{
    (void)state;
    static const uint32_t ALPHABET[] = {
        0x7532, 0x4E59, 0x20BB7, 0x3007, 0xFF0C, 0x3002, 0xFF01, 0xFF1F, 0x3001, 0xFF1B,
        0xFF1A, ',',    '.',     '\n',   ' ',    '(',    ')',    0xFF08, 0xFF09, '[',
        ']',    0x3014, 0x3015,  0x3016, 0x3017, 0x300A, 0x201C, '/',    0x3005, '-',
        0x2014, '\n',   0x7532,  0x4E59, 0x7532, 0x4E59, 0x4E00, '1'};
    enum { KINDS = sizeof ALPHABET / sizeof *ALPHABET, LONGEST = 24, TRIALS = 200000 };
    Rng rng = rng_stream(5, 1);
    Points out = {0};
    int kept = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        uint32_t in[LONGEST];
        size_t count = (size_t)rng_below(&rng, LONGEST + 1);
        int64_t han = 0;
        CleanReport report;
        for (size_t i = 0; i < count; i++)
            in[i] = ALPHABET[rng_below(&rng, KINDS)];
        assert_int_equal(clean_body(&out, &report, in, count, trial % 2, NULL),
                         STATUS_OK);
        if (report.fault != BODY_KEPT)
            continue;
        kept++;
        assert_true(out.used > 1 && clean_is_han(out.points[0]));
        for (size_t i = 0; i < out.used; i++) {
            bool is_han = clean_is_han(out.points[i]);
            assert_true(is_han || clean_mark(out.points[i]) == out.points[i]);
            assert_true(is_han || clean_is_han(out.points[i - 1]));
            han += is_han;
        }
        uint32_t last = out.points[out.used - 1];
        assert_true(last == 0x3002 || last == 0xFF01 || last == 0xFF1F);
        assert_int_equal(report.han, han);
        /* Cleaning again changes nothing. */
        Points again = {0};
        assert_int_equal(clean_body(&again, &report, out.points, out.used, false, NULL),
                         STATUS_OK);
        assert_int_equal(again.used, out.used);
        assert_memory_equal(again.points, out.points, out.used * sizeof *out.points);
        points_free(&again);
    }
    assert_true(kept > TRIALS / 20);
    points_free(&out);
}

static void assert_title(const char *text, const char *expected, bool is_damaged)
{
    Points in = {0}, out = {0};
    bool damaged;
    text_points(&in, text);
    assert_int_equal(clean_title(&out, &damaged, in.points, in.used, NULL), STATUS_OK);
    assert_points(out.points, out.used, expected);
    assert_int_equal(damaged, is_damaged);
    points_free(&in);
    points_free(&out);
}

static void titles_are_cleaned_gently(void **state)
{
    (void)state;
    assert_title("看花（一）", "看花", false);
    assert_title("佚名〖1〗", "佚名", false);
    assert_title("寓言二首 一", "寓言二首一", false);
    assert_title("[嚴]續姬", "嚴續姬", false);
    assert_title("句  其一○", "句其一", false);
    assert_title("吴氏2", "吴氏", false);
    assert_title("題壁（未完", "題壁", false);
    assert_title("賀知章、源乾曜", "賀知章、源乾曜", false);
    assert_title("趙希□", "", true);
    assert_title("渾{山/淪}語頌", "", true);
    assert_title("", "", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_poem_stays_as_it_is),
        cmocka_unit_test(notes_go_also_over_several_paragraphs),
        cmocka_unit_test(emendations_and_quotation_marks_lose_their_brackets),
        cmocka_unit_test(marks_become_full_width_and_single),
        cmocka_unit_test(paragraphs_get_a_mark_where_the_poem_has_none),
        cmocka_unit_test(what_stands_for_a_missing_character_drops_the_poem),
        cmocka_unit_test(placeholders_and_nothing_are_told_apart),
        cmocka_unit_test(strict_cleaning_leaves_no_commentary),
        cmocka_unit_test(kept_bodies_keep_the_promise_of_the_header),
        cmocka_unit_test(titles_are_cleaned_gently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
