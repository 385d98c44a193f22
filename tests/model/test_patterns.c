#include "model/heads/roles.h"
#include "model/heads/scores.h"
#include "tests/model/numeric.h"

/* 0   1  2  3  4  5  6  7  8  9
 * bos A  B  C  ，  D  B  A  E  。   E is the rarest; 5 is what no one knows in other texts */
enum { N = 10, BOS = 0, A = 11, B = 12, C = 10, D = 13, E = 99, COMMA = 8, STOP = 9 };

static const int32_t IDS[N] = {BOS, A, B, C, COMMA, D, B, A, E, STOP};
static const uint8_t KINDS[N] = {
    KIND_START,     KIND_CHARACTER, KIND_CHARACTER, KIND_CHARACTER, KIND_MARK,
    KIND_CHARACTER, KIND_CHARACTER, KIND_CHARACTER, KIND_CHARACTER, KIND_MARK};
static const HeadText VERSE = {.n = N, .ids = IDS, .kinds = KINDS, .rarity = IDS};

/* The keys that a query's row names, as text: "1 4" */
static void row_names(char *text, const uint8_t *mask, int64_t i)
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t j = 0; j < N; j++) {
        if (mask[i * N + j])
            used += (size_t)snprintf(text + used, 40 - used, "%s%d",
                                     used > 0 ? " " : "", (int)j);
    }
}

typedef struct {
    Pattern pattern;
    const char *rows[N];
} Expected;

static void patterns_name_the_keys_they_say(void **state)
{
    (void)state;
    static const Expected EXPECTED[] = {
        {PATTERN_SELF, {"", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
        {PATTERN_PREVIOUS, {"", "0", "1", "2", "3", "4", "5", "6", "7", "8"}},
        {PATTERN_NEAR,
         {"", "0", "0 1", "0 1 2", "1 2 3", "2 3 4", "3 4 5", "4 5 6", "5 6 7",
          "6 7 8"}},
        {PATTERN_START, {"", "0", "0", "0", "0", "0", "0", "0", "0", "0"}},
        {PATTERN_MARKS, {"", "", "", "", "4", "4", "4", "4", "4", "4 9"}},
        {PATTERN_SINK, {"", "0", "0", "0", "0 4", "0 4", "0 4", "0 4", "0 4", "0 4 9"}},
        /* E, the fourth of its line, has no fellow in a line of three. */
        {PATTERN_LINE, {"", "", "", "", "", "1", "2", "3", "", ""}},
        {PATTERN_LINE_NEXT, {"", "", "", "", "", "2", "3", "", "", ""}},
        {PATTERN_DUPLICATE, {"", "", "", "", "", "", "2", "1", "", ""}},
        {PATTERN_INDUCTION, {"", "", "", "", "", "", "3", "2", "", ""}},
        {PATTERN_RARE, {"", "", "2", "2", "2", "5", "5", "5", "8", "8"}},
    };
    uint8_t mask[N * N];
    assert_int_equal(sizeof EXPECTED / sizeof *EXPECTED, PATTERN_COUNT);
    for (int p = 0; p < PATTERN_COUNT; p++) {
        pattern_mask(mask, EXPECTED[p].pattern, &VERSE);
        for (int64_t i = 0; i < N; i++) {
            char names[40];
            row_names(names, mask, i);
            if (strcmp(names, EXPECTED[p].rows[i]) != 0)
                print_message("%s, row %d\n", PATTERN_NAMES[EXPECTED[p].pattern],
                              (int)i);
            assert_string_equal(names, EXPECTED[p].rows[i]);
        }
    }
}

/* The rarest character counts wherever it stands; so does every earlier fellow. */
static void equal_characters_share_a_pattern(void **state)
{
    (void)state;
    static const int32_t ids[] = {7, 5, 7, 7, 5};
    static const uint8_t kinds[] = {KIND_CHARACTER, KIND_CHARACTER, KIND_CHARACTER,
                                    KIND_CHARACTER, KIND_CHARACTER};
    const HeadText text = {.n = 5, .ids = ids, .kinds = kinds, .rarity = ids};
    uint8_t mask[25];
    pattern_mask(mask, PATTERN_DUPLICATE, &text);
    assert_true(mask[15] && !mask[16] && mask[17] && !mask[18]);
    pattern_mask(mask, PATTERN_RARE, &text);
    assert_true(mask[20] && !mask[21] && mask[22] && mask[23] && !mask[24]);
    /* A A: what followed is the query itself, which is nothing. */
    pattern_mask(mask, PATTERN_INDUCTION, &text);
    assert_true(!mask[15 + 3] && mask[15 + 1]);
}

static void unknown_characters_are_no_duplicates(void **state)
{
    (void)state;
    static const int32_t ids[] = {0, 0, 0};
    static const uint8_t kinds[] = {KIND_OTHER, KIND_OTHER, KIND_OTHER};
    const HeadText text = {.n = 3, .ids = ids, .kinds = kinds, .rarity = ids};
    uint8_t mask[9];
    static const Pattern NONE[] = {PATTERN_DUPLICATE, PATTERN_INDUCTION, PATTERN_RARE};
    for (int p = 0; p < 3; p++) {
        pattern_mask(mask, NONE[p], &text);
        for (int i = 0; i < 9; i++)
            assert_int_equal(mask[i], 0);
    }
}

static void marks_side_by_side_end_one_line(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {KIND_CHARACTER, KIND_MARK, KIND_MARK,
                                    KIND_CHARACTER};
    static const int32_t ids[] = {5, 6, 6, 7};
    const HeadText text = {.n = 4, .ids = ids, .kinds = kinds, .rarity = ids};
    uint8_t mask[16];
    pattern_mask(mask, PATTERN_LINE, &text);
    assert_true(mask[3 * 4 + 0] == 1);
}

/* ---- scores -------------------------------------------------------------------------- */

static void fill_uniform(real *map)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            map[i * N + j] = j <= i ? 1 / (real)(i + 1) : 0;
    }
}

/* All weight on the pattern's keys; where it has none, on the token itself. */
static void fill_perfect(real *map, const uint8_t *mask)
{
    for (int i = 0; i < N; i++) {
        int named = 0;
        for (int j = 0; j <= i; j++)
            named += mask[i * N + j];
        for (int j = 0; j < N; j++)
            map[i * N + j] = named > 0 ? (real)mask[i * N + j] / (real)named : j == i;
    }
}

static void a_perfect_head_scores_one(void **state)
{
    (void)state;
    uint8_t mask[N * N];
    real map[N * N];
    for (int p = 0; p < PATTERN_COUNT; p++) {
        ScoreSum sum = {0};
        pattern_mask(mask, (Pattern)p, &VERSE);
        fill_perfect(map, mask);
        score_add(&sum, map, mask, N);
        Score score = score_finish(&sum, (Pattern)p);
        assert_near(score.value, 1, 1e-6);
        assert_true(score.uniform < 0.7);
        /* A start that every row looks at cannot be told from chance by so few rows. */
        if (pattern_reads_text((Pattern)p))
            assert_near(score.excess, 1, 1e-6);
    }
}

static void even_attention_scores_its_baseline(void **state)
{
    (void)state;
    uint8_t mask[N * N];
    real map[N * N];
    fill_uniform(map);
    for (int p = 0; p < PATTERN_COUNT; p++) {
        ScoreSum sum = {0};
        pattern_mask(mask, (Pattern)p, &VERSE);
        score_add(&sum, map, mask, N);
        Score score = score_finish(&sum, (Pattern)p);
        assert_true(score.rows > 0);
        assert_near(score.value, score.uniform, 1e-6);
        assert_near(score.shuffled, score.uniform, 1e-3);
        assert_near(score.excess, 0, 1e-3);
    }
}

static void a_score_is_its_definition(void **state)
{
    (void)state;
    const real map[] = {1, 0,         0,         (real)0.25, (real)0.75,
                        0, (real)0.5, (real)0.2, (real)0.3};
    const uint8_t mask[] = {0, 0, 0, 0, 1, 0, 1, 0, 1};
    const uint8_t other[] = {0, 0, 0, 1, 0, 0, 0, 0, 0};
    ScoreSum sum = {0};
    score_add(&sum, map, mask, 3);
    score_add_shuffled(&sum, map, other, 3);
    Score score = score_finish(&sum, PATTERN_MARKS);
    assert_int_equal(score.rows, 2);
    assert_near(score.value, (0.75 + 0.8) / 2, 1e-6);
    assert_near(score.uniform, (1.0 / 2 + 2.0 / 3) / 2, 1e-12);
    assert_near(score.shuffled, 0.25, 1e-6); /* one row, not two */
    double base = score.uniform;
    assert_near(score.excess, (score.value - base) / (1 - base), 1e-12);
}

/* Dealing a row's weights anew: mean and variance over all subsets of two of four. */
static void the_chance_of_a_place_is_that_of_all_deals(void **state)
{
    (void)state;
    const double p[4] = {0.1, 0.6, 0.05, 0.25};
    real map[16] = {0};
    uint8_t mask[16] = {0};
    for (int j = 0; j < 4; j++)
        map[12 + j] = (real)p[j];
    mask[12] = mask[13] = 1;
    double mean = 0, square = 0;
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < a; b++) {
            mean += (p[a] + p[b]) / 6;
            square += (p[a] + p[b]) * (p[a] + p[b]) / 6;
        }
    }
    ScoreSum sum = {0};
    score_add(&sum, map, mask, 4);
    assert_near(sum.uniform, mean, 1e-12);
    assert_near(sum.variance, square - mean * mean, 1e-7);
    sum.rows = 100; /* so that the bound is under 1 */
    Score score = score_finish(&sum, PATTERN_NEAR);
    assert_near(score.shuffled, mean / 100 + 3 * sqrt(square - mean * mean) / 100,
                1e-6);
}

/* A head that looks two back follows duplicates by chance where the text has them there;
 * dealing the text anew tells. */
static void shuffled_text_shows_a_habit_of_place(void **state)
{
    (void)state;
    enum { LONG = 60 };
    int32_t ids[LONG], dealt[LONG], rarity[LONG];
    uint8_t kinds[LONG], dealt_kinds[LONG];
    static uint8_t mask[LONG * LONG];
    static real map[LONG * LONG];
    for (int i = 0; i < LONG; i++) {
        ids[i] = i % 2; /* A B A B ... */
        kinds[i] = KIND_CHARACTER;
        map[i * LONG + (i >= 2 ? i - 2 : 0)] = 1;
    }
    const HeadText text = {.n = LONG, .ids = ids, .kinds = kinds, .rarity = ids};
    const HeadText again = {
        .n = LONG, .ids = dealt, .kinds = dealt_kinds, .rarity = rarity};
    Rng rng = rng_stream(1, 1);
    ScoreSum sum = {0};
    pattern_mask(mask, PATTERN_DUPLICATE, &text);
    score_add(&sum, map, mask, LONG);
    for (int deal = 0; deal < 8; deal++) {
        head_text_shuffle(dealt, dealt_kinds, rarity, &text, &rng);
        pattern_mask(mask, PATTERN_DUPLICATE, &again);
        score_add_shuffled(&sum, map, mask, LONG);
    }
    Score score = score_finish(&sum, PATTERN_DUPLICATE);
    assert_near(score.value, 1, 1e-6);
    assert_true(score.shuffled > 0.4 && score.shuffled < 0.6);
}

static void a_shuffle_keeps_the_tokens_and_the_start(void **state)
{
    (void)state;
    int32_t ids[N], rarity[N];
    uint8_t kinds[N];
    Rng rng = rng_stream(5, 0);
    bool moved = false;
    for (int round = 0; round < 20; round++) {
        int64_t sum = 0;
        head_text_shuffle(ids, kinds, rarity, &VERSE, &rng);
        assert_true(ids[0] == BOS && kinds[0] == KIND_START);
        for (int i = 0; i < N; i++) {
            bool mark = ids[i] == COMMA || ids[i] == STOP;
            assert_true(rarity[i] == ids[i]);
            assert_true((kinds[i] == KIND_MARK) == mark);
            sum += ids[i] * ids[i];
            moved = moved || ids[i] != IDS[i];
        }
        int64_t before = 0;
        for (int i = 0; i < N; i++)
            before += IDS[i] * IDS[i];
        assert_int_equal(sum, before);
    }
    assert_true(moved);
}

static void the_profile_of_a_head_that_looks_two_back(void **state)
{
    (void)state;
    real map[N * N] = {0};
    ProfileSum sum = {0};
    for (int i = 0; i < N; i++)
        map[i * N + (i >= 2 ? i - 2 : 0)] = i % 3 == 0 ? (real)0.98 : 1;
    profile_add(&sum, map, N);
    assert_int_equal(sum.rows, N - 1);
    assert_int_equal(sum.saturated, N - 1 - 3); /* rows 3, 6, 9 stay under 0.99 */
    assert_int_equal(sum.offset_rows[0], N - 1);
    assert_int_equal(sum.offset_rows[2], N - 2);
    assert_near(sum.offsets[2], N - 2 - 3 * 0.02, 1e-6);
    assert_near(sum.offsets[1], 1, 1e-6); /* row 1 */
    assert_near(sum.offsets[3], 0, 1e-12);
    assert_near(sum.uniform[8], 1.0 / 9 + 1.0 / 10, 1e-12);
    assert_int_equal(sum.offset_rows[15], 0);
}

/* ---- roles --------------------------------------------------------------------------- */

static void fill_scores(Score scores[PATTERN_COUNT], double excess)
{
    for (int p = 0; p < PATTERN_COUNT; p++)
        scores[p] = (Score){.excess = excess, .rows = HEAD_ROLE_ROWS};
}

static void a_role_needs_its_threshold_and_enough_rows(void **state)
{
    (void)state;
    Score scores[PATTERN_COUNT];
    Score none = {0};
    for (int r = HEAD_ROLE_UNCLEAR + 1; r < HEAD_ROLE_COUNT; r++) {
        HeadRole role = (HeadRole)r;
        Score repeats = none;
        fill_scores(scores, 0);
        Score *score =
            role == HEAD_ROLE_INDUCTION ? &repeats : &scores[role_pattern(role)];
        score->rows = HEAD_ROLE_ROWS;
        score->excess = role_threshold(role);
        assert_int_equal(role_of(scores, &repeats), role);
        score->excess -= 1e-9;
        assert_int_equal(role_of(scores, &repeats), HEAD_ROLE_UNCLEAR);
        score->excess = 1;
        score->rows = HEAD_ROLE_ROWS - 1;
        assert_int_equal(role_of(scores, &repeats), HEAD_ROLE_UNCLEAR);
        score->rows = HEAD_ROLE_ROWS;
        score->excess = NAN;
        assert_int_equal(role_of(scores, &repeats), HEAD_ROLE_UNCLEAR);
    }
}

static void the_role_farthest_over_its_threshold_counts(void **state)
{
    (void)state;
    Score scores[PATTERN_COUNT];
    Score repeats = {.excess = 0.2, .rows = HEAD_ROLE_ROWS};
    fill_scores(scores, 0);
    scores[PATTERN_START].excess = 0.55;     /* 1.1 thresholds */
    scores[PATTERN_LINE_NEXT].excess = 0.25; /* 1.67 */
    assert_int_equal(role_of(scores, &repeats), HEAD_ROLE_LINE_NEXT);
    scores[PATTERN_INDUCTION].excess = 1; /* on poems it may be habit */
    assert_int_equal(role_of(scores, &repeats), HEAD_ROLE_LINE_NEXT);
    repeats.excess = 0.5;
    assert_int_equal(role_of(scores, &repeats), HEAD_ROLE_INDUCTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_name_the_keys_they_say),
        cmocka_unit_test(equal_characters_share_a_pattern),
        cmocka_unit_test(unknown_characters_are_no_duplicates),
        cmocka_unit_test(marks_side_by_side_end_one_line),
        cmocka_unit_test(a_perfect_head_scores_one),
        cmocka_unit_test(even_attention_scores_its_baseline),
        cmocka_unit_test(a_score_is_its_definition),
        cmocka_unit_test(the_chance_of_a_place_is_that_of_all_deals),
        cmocka_unit_test(shuffled_text_shows_a_habit_of_place),
        cmocka_unit_test(a_shuffle_keeps_the_tokens_and_the_start),
        cmocka_unit_test(the_profile_of_a_head_that_looks_two_back),
        cmocka_unit_test(a_role_needs_its_threshold_and_enough_rows),
        cmocka_unit_test(the_role_farthest_over_its_threshold_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
