#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/form.h"
#include "data/pair_cut.h"
#include "data/pair_twins.h"
#include "tests/data/made.h"
#include "tests/data/texts.h"

static const char *WULU = "國破山河在，城春草木深。感時花濺淚，恨別鳥驚心。"
                          "烽火連三月，家書抵萬金。白頭搔更短，渾欲不勝簪。";
static const char *QIJUE = "朝辭白帝彩雲間，千里江陵一日還。"
                           "兩岸猿聲啼不住，輕舟已過萬重山。";

/* Adds a poem with the form that readers give it, or with a 詞牌. */
static void add_poem(PoemList *list, const char *body, const char *tune)
{
    Poem poem = {.body = made_text(list, body)};
    if (tune != NULL) {
        poem.form = made_text(list, tune);
    } else {
        size_t length;
        const uint32_t *form = form_points(
            form_find(list->points + poem.body.start, poem.body.length), &length);
        MUST(poem_list_text(list, form, length, &poem.form, NULL));
    }
    MUST(poem_list_add(list, &poem, NULL));
}

/* A 五絕 of two couplets; NULL for the second: one of its own. */
static void add_couplets(PoemList *list, const char *first, const char *second)
{
    char body[256];
    snprintf(body, sizeof body, "%s。%s。", first, second);
    add_poem(list, body, NULL);
    assert_int_equal(list->items[list->count - 1].form.length, 2);
}

static void cut(PairList *pairs, const PoemList *poems, const uint8_t *parts,
                PairChoice choice)
{
    *pairs = (PairList){0};
    MUST(pairs_cut(pairs, poems, parts, choice, NULL));
}

/* Couplets that there are, that were dropped, and pairs. */
static void check_counts(const PairList *pairs)
{
    int64_t places = 0, kept = 0, dropped = 0, tones = 0;
    for (int form = 0; form < FORM_COUNT; form++) {
        for (int couplet = 0; couplet < PAIR_COUPLETS; couplet++) {
            places += pairs->counts.places[form][couplet];
            kept += pairs->counts.kept[form][couplet];
            tones += pairs->counts.tones[form][couplet].pairs;
        }
    }
    for (int reason = 0; reason < PAIR_REASONS; reason++)
        dropped += pairs->counts.dropped[reason];
    assert_int_equal(kept, pairs->count);
    assert_int_equal(tones, pairs->count);
    assert_int_equal(places, kept + dropped);
}

static void couplets_are_cut_in_order_with_their_places(void **state)
{
    (void)state;
    PoemList poems = {0};
    add_poem(&poems, QIJUE, NULL);
    add_poem(&poems, WULU, NULL);
    const uint8_t parts[] = {PART_TRAIN, PART_TRAIN};
    PairList pairs;
    cut(&pairs, &poems, parts, PAIRS_ALL);
    check_counts(&pairs);
    assert_int_equal(pairs.count, 6);
    assert_text(&poems, pairs.items[0].upper, "朝辭白帝彩雲間");
    assert_text(&poems, pairs.items[0].lower, "千里江陵一日還");
    assert_text(&poems, pairs.items[3].upper, "感時花濺淚");
    assert_text(&poems, pairs.items[3].lower, "恨別鳥驚心");
    assert_int_equal(pairs.items[1].origin, pair_origin_pack(0, false, 1));
    assert_int_equal(pairs.items[3].origin, pair_origin_pack(1, true, 1));
    assert_int_equal(pairs.counts.kept[FORM_QIJUE][1], 1);
    assert_int_equal(pairs.counts.kept[FORM_WULU][3], 1);
    pair_list_free(&pairs);

    cut(&pairs, &poems, parts, PAIRS_PARALLEL);
    check_counts(&pairs);
    assert_int_equal(pairs.count, 2);
    assert_text(&poems, pairs.items[0].upper, "感時花濺淚");
    assert_text(&poems, pairs.items[1].lower, "家書抵萬金");
    assert_int_equal(pairs.counts.dropped[PAIR_UNCHOSEN], 4);
    pair_list_free(&pairs);
    poem_list_free(&poems);
}

static void what_is_no_couplet_is_counted_and_left_out(void **state)
{
    (void)state;
    PoemList poems = {0};
    add_poem(&poems, QIJUE, "楊柳枝"); /* a 詞 with the clauses of a 七絕 */
    add_poem(&poems, "大江東去，浪淘盡。故壘西邊，人道是。", NULL);
    add_poem(&poems, "山、水、雲、月、風，天地玄黃日。甲乙丙丁戊，己庚辛壬癸。", NULL);
    add_poem(&poems, "hello，天地玄黃日。月水火木金，土子丑寅卯。", NULL);
    add_poem(&poems, "天地玄黃日。月水火木金。", NULL);
    add_poem(&poems, WULU, NULL); /* left out before: not counted */
    const uint8_t parts[] = {PART_TRAIN, PART_TRAIN, PART_TRAIN,
                             PART_TRAIN, PART_TRAIN, PART_DUPLICATE};
    PairList pairs;
    cut(&pairs, &poems, parts, PAIRS_ALL);
    check_counts(&pairs);
    assert_int_equal(pairs.counts.poems, 2);
    assert_int_equal(pairs.counts.other_poems, 3);
    assert_int_equal(pairs.counts.dropped[PAIR_MARKED], 1);
    assert_int_equal(pairs.counts.dropped[PAIR_FOREIGN], 1);
    assert_int_equal(pairs.count, 2);
    assert_text(&poems, pairs.items[0].upper, "甲乙丙丁戊");
    assert_text(&poems, pairs.items[1].lower, "土子丑寅卯");
    pair_list_free(&pairs);
    poem_list_free(&poems);
}

static void of_equal_pairs_the_earliest_stays(void **state)
{
    (void)state;
    PoemList poems = {0};
    add_couplets(&poems, "白雲依山盡，黃河入海流", "甲乙丙丁戊，己庚辛壬癸");
    add_couplets(&poems, "白雲依山盡，黃河入海流", "子丑寅卯辰，巳午未申酉");
    add_couplets(&poems, "白云依山盡，黃河入海流", "天地玄黃日，宇宙洪荒月");
    const uint8_t parts[] = {PART_TEST, PART_TRAIN, PART_TRAIN};
    PairList pairs;
    cut(&pairs, &poems, parts, PAIRS_ALL);
    check_counts(&pairs);
    assert_int_equal(pairs.counts.dropped[PAIR_DUPLICATE], 2);
    assert_int_equal(pairs.count, 4);
    assert_int_equal(pairs.items[1].poem, 1); /* training's first, not test's */
    assert_text(&poems, pairs.items[1].upper, "白雲依山盡");
    pair_list_free(&pairs);
    poem_list_free(&poems);
}

static void a_line_stays_in_one_part(void **state)
{
    (void)state;
    PoemList poems = {0};
    add_couplets(&poems, "白日依山盡，黃河入海流", "甲乙丙丁戊，己庚辛壬癸");
    add_couplets(&poems, "黃河入海流，天地玄黃日", "子丑寅卯辰，巳午未申酉");
    add_couplets(&poems, "天地玄黃日，風花雪月夜", "子丑寅卯辰，春夏秋冬歲");
    add_couplets(&poems, "白日依山盡，東西南北中", "紅橙黃綠青，金木水火土");
    const uint8_t parts[] = {PART_TRAIN, PART_VALIDATION, PART_TEST, PART_TRAIN};
    PairList pairs;
    cut(&pairs, &poems, parts, PAIRS_ALL);
    check_counts(&pairs);
    /* 黃河 of validation is in training; 子丑 of test is in validation. 天地 of test stood
     * only beside 黃河, which went; two training pairs may share 白日. */
    assert_int_equal(pairs.counts.dropped[PAIR_LINE_ELSEWHERE], 2);
    assert_int_equal(pairs.count, 6);
    assert_text(&poems, pairs.items[2].upper, "子丑寅卯辰");
    assert_text(&poems, pairs.items[3].upper, "天地玄黃日");
    assert_text(&poems, pairs.items[4].lower, "東西南北中");
    pair_list_free(&pairs);
    poem_list_free(&poems);
}

/* Poems of a few lines in random parts against the definition, pair by pair. */
enum { RANDOM_POEMS = 120 };

static bool same_line(const PoemList *poems, Text a, Text b)
{
    return a.length == b.length &&
           memcmp(poems->points + a.start, poems->points + b.start,
                  a.length * sizeof *poems->points) == 0;
}

static bool shares_line(const PoemList *poems, const Pair *a, const Pair *b)
{
    return same_line(poems, a->upper, b->upper) ||
           same_line(poems, a->upper, b->lower) ||
           same_line(poems, a->lower, b->upper) || same_line(poems, a->lower, b->lower);
}

static void random_poems(PoemList *poems, uint8_t *parts, Rng *rng, uint64_t lines)
{
    for (int i = 0; i < RANDOM_POEMS; i++) {
        uint32_t body[24];
        for (int line = 0; line < 4; line++) {
            uint32_t first = 0x4E00 + (uint32_t)rng_below(rng, lines) * 8;
            for (int k = 0; k < 5; k++)
                body[line * 6 + k] = first + (uint32_t)k;
            body[line * 6 + 5] = line % 2 == 0 ? 0xFF0C : 0x3002;
        }
        Poem poem = {0};
        size_t length;
        const uint32_t *form = form_points(FORM_WUJUE, &length);
        MUST(poem_list_text(poems, body, 24, &poem.body, NULL));
        MUST(poem_list_text(poems, form, length, &poem.form, NULL));
        MUST(poem_list_add(poems, &poem, NULL));
        parts[i] = (uint8_t)rng_below(rng, PART_COUNT + 1);
    }
}

static void no_line_is_shared_and_no_pair_dropped_without_need(void **state)
{
    (void)state;
    Rng rng = rng_stream(3, 3);
    int64_t elsewhere = 0;
    for (int round = 0; round < 20; round++) {
        PoemList poems = {0};
        uint8_t parts[RANDOM_POEMS];
        random_poems(&poems, parts, &rng, 40 + 40 * (uint64_t)round);
        PairList pairs;
        cut(&pairs, &poems, parts, PAIRS_ALL);
        check_counts(&pairs);
        elsewhere += pairs.counts.dropped[PAIR_LINE_ELSEWHERE];
        for (size_t i = 0; i < pairs.count; i++) {
            for (size_t k = 0; k < i; k++) {
                const Pair *a = &pairs.items[i];
                const Pair *b = &pairs.items[k];
                assert_true(a->part == b->part || !shares_line(&poems, a, b));
                assert_false(same_line(&poems, a->upper, b->upper) &&
                             same_line(&poems, a->lower, b->lower));
            }
        }
        /* Every pair that is not there shares a line with one of its own or an earlier
         * part that is. */
        for (size_t poem = 0; poem < poems.count; poem++) {
            for (size_t couplet = 0; couplet < 2 && parts[poem] < PART_COUNT;
                 couplet++) {
                size_t at = poems.items[poem].body.start + 12 * couplet;
                Pair pair = {.upper = {at, 5}, .lower = {at + 6, 5}};
                bool there = false, needed = false;
                for (size_t i = 0; i < pairs.count; i++) {
                    const Pair *other = &pairs.items[i];
                    there = there || other->upper.start == at;
                    needed = needed || (other->part <= parts[poem] &&
                                        shares_line(&poems, &pair, other));
                }
                assert_true(there || needed);
            }
        }
        pair_list_free(&pairs);
        poem_list_free(&poems);
    }
    assert_true(elsewhere > 100);
}

static void origins_come_back(void **state)
{
    (void)state;
    const int64_t poems[] = {0, 1, 1000, PAIR_POEMS_MAXIMUM};
    const uint16_t ids[2 * PAIR_LONGEST + 2] = {TOKEN_BOS};
    for (int64_t width = 5; width <= 7; width += 2) {
        uint64_t offsets[] = {0, 2 * (uint64_t)width + 2};
        for (int i = 0; i < 4; i++) {
            for (int place = 0; place < 8; place++) {
                uint32_t packed = pair_origin_pack(poems[i], place >= 4, place % 4);
                PairSet set = {
                    .ids = ids, .offsets = offsets, .origins = &packed, .pairs = 1};
                PairOrigin origin = pair_origin(&set, 0);
                assert_int_equal(origin.poem, poems[i]);
                assert_int_equal(origin.couplet, place % 4);
                assert_int_equal(origin.form, pair_form(width, place >= 4));
                assert_int_equal(pair_couplets(origin.form), place >= 4 ? 4 : 2);
                assert_int_equal(pair_couplet_parallel(origin.form, origin.couplet),
                                 place == 5 || place == 6);
            }
        }
    }
    assert_int_equal(pair_form(5, false), FORM_WUJUE);
    assert_int_equal(pair_form(7, false), FORM_QIJUE);
    assert_int_equal(pair_form(5, true), FORM_WULU);
    assert_int_equal(pair_form(7, true), FORM_QILU);
}

/* ---- twins -------------------------------------------------------------------------- */

typedef struct {
    MadeSet made[PART_COUNT];
    PreparedSet set;
} TwinSet;

static void twin_set_make(TwinSet *twins, const char *const bodies[PART_COUNT][3])
{
    *twins = (TwinSet){0};
    made_tokenizer(&twins->set.tokenizer, "白日依山盡黃河入海流甲乙丙丁戊己庚辛壬癸"
                                          "子丑寅卯辰巳午未申酉雲云");
    for (int part = 0; part < PART_COUNT; part++) {
        MadeSet *made = &twins->made[part];
        for (int i = 0; i < 3 && bodies[part][i] != NULL; i++)
            made_sequence(made, &twins->set.tokenizer, NULL, NULL, NULL,
                          bodies[part][i]);
        twins->set.pairs[part] = (PairSet){.ids = made->ids,
                                           .offsets = made->offsets,
                                           .pairs = made->poems,
                                           .tokens = (int64_t)made->used};
    }
}

static void twin_set_free(TwinSet *twins)
{
    for (int part = 0; part < PART_COUNT; part++)
        made_free(&twins->made[part]);
    tokenizer_free(&twins->set.tokenizer);
}

static void a_line_in_two_parts_is_found(void **state)
{
    (void)state;
    static const char *const APART[PART_COUNT][3] = {
        {"白日依山盡黃河入海流", "白日依山盡甲乙丙丁戊"},
        {"己庚辛壬癸子丑寅卯辰"},
        {"巳午未申酉日白山依盡", "甲乙丙丁己甲乙丙丁庚"}};
    TwinSet twins;
    TwinReport report;
    twin_set_make(&twins, APART);
    MUST(pair_twins_find(&report, &twins.set, NULL));
    assert_int_equal(report.held_out, 3);
    assert_int_equal(report.test, 2);
    assert_int_equal(report.in_train + report.in_validation, 0);
    twin_set_free(&twins);

    static const char *const TOGETHER[PART_COUNT][3] = {
        {"白日依山盡黃河入海流", "子丑寅卯辰甲乙云丁戊", "壬癸壬癸日一乙丙丁戊"},
        {"己庚辛壬癸子丑寅卯子", "壬癸壬癸子甲乙雲丁戊"}, /* a lower line */
        {"己庚辛壬癸日日日日日",                          /* in validation */
         "乙丙丁戊乙二乙丙丁戊",                          /* <unk> is equal to <unk> */
         "子丑寅卯辰月月月月月"}};
    twin_set_make(&twins, TOGETHER);
    MUST(pair_twins_find(&report, &twins.set, NULL));
    assert_int_equal(report.held_out, 5);
    assert_int_equal(report.in_train, 3);
    assert_int_equal(report.in_validation, 1);
    assert_int_equal(report.example_part, PART_VALIDATION);
    assert_int_equal(report.example, 1);
    assert_int_equal(report.example_partner, 1);
    twin_set_free(&twins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(couplets_are_cut_in_order_with_their_places),
        cmocka_unit_test(what_is_no_couplet_is_counted_and_left_out),
        cmocka_unit_test(of_equal_pairs_the_earliest_stays),
        cmocka_unit_test(a_line_stays_in_one_part),
        cmocka_unit_test(no_line_is_shared_and_no_pair_dropped_without_need),
        cmocka_unit_test(origins_come_back),
        cmocka_unit_test(a_line_in_two_parts_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
