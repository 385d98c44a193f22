#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/pack.h"
#include "tests/data/made.h"

enum { VOCABULARY = 40, FIRST_STOP = TOKEN_SPECIALS, FIRST_COMMA = TOKEN_SPECIALS + 1 };

/* Of the random sets: one token ends sentences, one ends clauses. */
static const uint8_t CUTS[VOCABULARY] = {
    [FIRST_STOP] = CUT_SENTENCE, [FIRST_COMMA] = CUT_CLAUSE};

static PackOptions options(int32_t row_tokens, double keep, bool shuffle)
{
    return (PackOptions){.row_tokens = row_tokens,
                         .seed = 11,
                         .keep_form = keep,
                         .keep_title = keep,
                         .keep_author = keep,
                         .shuffle = shuffle,
                         .cut_classes = CUTS};
}

static void make_random_set(MadeSet *set, uint64_t seed, int poems, int64_t longest)
{
    Rng rng = rng_stream(seed, 0);
    for (int i = 0; i < poems; i++)
        made_random_sequence(set, &rng, VOCABULARY, longest);
}

/* Pieces of one poem come one behind the other in `pieces` and in `made`. Follows them
 * through the set and checks every promise of pack.h. */
static void check_pieces(const Packing *packing, const PoemSet *set,
                         const PackOptions *option)
{
    size_t at = 0;
    for (int64_t poem = 0; poem < set->poems; poem++) {
        const uint16_t *sequence = set->ids + set->offsets[poem];
        int64_t length = (int64_t)(set->offsets[poem + 1] - set->offsets[poem]);
        SequenceParts parts;
        MUST(pack_parse(&parts, sequence, length, NULL));
        int64_t next = parts.bos + 1; /* the body token that must be the next target */
        for (bool first = true; next < length; first = false, at++) {
            assert_true(at < packing->piece_count);
            const Piece *piece = &packing->pieces[at];
            const uint16_t *tokens = packing->made + piece->start;
            assert_in_range(piece->length, 1, option->row_tokens);
            assert_in_range(piece->silent, 0, first ? option->row_tokens / 2 : 0);
            assert_true(piece->silent < piece->length);
            assert_int_equal(tokens[piece->silent] == TOKEN_BOS, first);
            for (int32_t i = piece->silent; i < piece->length; i++)
                assert_int_equal(tokens[i + 1], sequence[next++]);
            /* A cut inside a poem is at the best mark that was in reach. */
            if (next < length && CUTS[tokens[piece->length]] != CUT_SENTENCE) {
                for (int32_t i = piece->silent + 1; i < piece->length; i++)
                    assert_int_not_equal(CUTS[tokens[i]], CUT_SENTENCE);
            }
        }
        assert_int_equal(sequence[next - 1], TOKEN_EOS);
    }
    assert_int_equal(at, packing->piece_count);
}

/* Every piece is in one row, and no row is too long. */
static void check_rows(const Packing *packing, int32_t row_tokens)
{
    uint8_t *seen;
    MUST(memory_allocate(&seen, packing->piece_count, 1, "test", NULL));
    assert_int_equal(packing->rows[0], 0);
    assert_int_equal(packing->rows[packing->row_count], packing->piece_count);
    for (int64_t row = 0; row < packing->row_count; row++) {
        int64_t tokens = 0;
        assert_true(packing->rows[row] < packing->rows[row + 1]);
        for (int64_t i = packing->rows[row]; i < packing->rows[row + 1]; i++) {
            tokens += packing->pieces[packing->order[i]].length;
            assert_int_equal(seen[packing->order[i]]++, 0);
        }
        assert_true(tokens <= row_tokens);
    }
    memory_free(seen);
}

static void every_body_token_is_a_target_exactly_once(void **state)
{
    (void)state;
    static const int32_t SIZES[] = {2, 3, 4, 5, 8, 16, 31, 64, 128};
    MadeSet made = {0};
    make_random_set(&made, 1, 700, 150);
    PoemSet set = made_view(&made);
    int64_t targets = 0;
    for (int64_t i = 0; i < set.poems; i++) {
        SequenceParts parts;
        int64_t length = (int64_t)(set.offsets[i + 1] - set.offsets[i]);
        MUST(pack_parse(&parts, set.ids + set.offsets[i], length, NULL));
        targets += length - parts.bos - 1;
    }
    Packing packing = {0};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        for (int mode = 0; mode < 6; mode++) {
            PackOptions option = options(SIZES[i], (mode % 3) * 0.5, mode < 3);
            MUST(pack_epoch(&packing, &set, &option, 4, NULL));
            assert_int_equal(packing.targets, targets);
            check_pieces(&packing, &set, &option);
            check_rows(&packing, SIZES[i]);
        }
    }
    packing_free(&packing);
    made_free(&made);
}

static void rows_in_order_keep_the_pieces_in_order(void **state)
{
    (void)state;
    MadeSet made = {0};
    make_random_set(&made, 2, 300, 90);
    PoemSet set = made_view(&made);
    PackOptions option = options(64, 0, false);
    Packing packing = {0};
    MUST(pack_epoch(&packing, &set, &option, 0, NULL));
    for (size_t i = 0; i < packing.piece_count; i++) {
        assert_int_equal(packing.order[i], i);
        assert_int_equal(packing.pieces[i].silent, 0);
    }
    packing_free(&packing);
    made_free(&made);
}

static bool same_rows(const Packing *a, const Packing *b)
{
    return a->row_count == b->row_count && a->piece_count == b->piece_count &&
           a->made_count == b->made_count &&
           memcmp(a->made, b->made, a->made_count * sizeof *a->made) == 0 &&
           memcmp(a->order, b->order, a->piece_count * sizeof *a->order) == 0;
}

static void an_epoch_is_a_function_of_seed_and_number(void **state)
{
    (void)state;
    MadeSet made = {0};
    make_random_set(&made, 3, 300, 60);
    PoemSet set = made_view(&made);
    PackOptions option = options(64, 0.5, true);
    Packing first = {0}, second = {0};
    MUST(pack_epoch(&first, &set, &option, 7, NULL));
    MUST(pack_epoch(&second, &set, &option, 3, NULL)); /* what was there before ... */
    assert_false(same_rows(&first, &second));
    MUST(pack_epoch(&second, &set, &option, 7, NULL)); /* ... leaves no trace */
    assert_true(same_rows(&first, &second));
    option.seed++;
    MUST(pack_epoch(&second, &set, &option, 7, NULL));
    assert_false(same_rows(&first, &second));
    packing_free(&first);
    packing_free(&second);
    made_free(&made);
}

static void fields_are_kept_as_often_as_asked_and_apart_from_each_other(void **state)
{
    (void)state;
    enum { POEMS = 4000 };
    Tokenizer tokenizer;
    made_tokenizer(&tokenizer, "甲乙丙丁。");
    MadeSet made = {0};
    for (int i = 0; i < POEMS; i++)
        made_sequence(&made, &tokenizer, "甲", "乙", "丙", "丁。");
    PoemSet set = made_view(&made);
    PackOptions option = options(32, 0, false);
    option.keep_form = 0.8;
    option.keep_title = 0.5;
    option.keep_author = 0.3;
    Packing packing = {0};
    MUST(pack_epoch(&packing, &set, &option, 0, NULL));
    int counts[3] = {0}, both = 0;
    for (size_t i = 0; i < packing.piece_count; i++) {
        const uint16_t *tokens = packing.made + packing.pieces[i].start;
        bool kept[3] = {false};
        for (int32_t k = 0; k < packing.pieces[i].silent; k += 2) {
            int field = tokens[k] == TOKEN_FORM ? 0 : tokens[k] == TOKEN_TITLE ? 1 : 2;
            kept[field] = true;
        }
        for (int field = 0; field < 3; field++)
            counts[field] += kept[field];
        both += kept[0] && kept[1];
    }
    /* four standard deviations */
    assert_in_range(counts[0], 3100, 3300);
    assert_in_range(counts[1], 1874, 2126);
    assert_in_range(counts[2], 1085, 1315);
    assert_in_range(both, 1477, 1723);
    packing_free(&packing);
    made_free(&made);
    tokenizer_free(&tokenizer);
}

static void long_fields_leave_half_a_row_to_the_body(void **state)
{
    (void)state;
    Tokenizer tokenizer;
    made_tokenizer(&tokenizer, "甲乙丙丁。");
    MadeSet made = {0};
    made_sequence(&made, &tokenizer, "甲甲", "乙乙乙乙乙乙乙乙乙乙乙乙乙", "丙丙",
                  "丁。");
    made_sequence(&made, &tokenizer, "甲甲", NULL, "丙丙丙丙丙丙丙丙", "丁。");
    PoemSet set = made_view(&made);
    PackOptions option = options(20, 1, false);
    Packing packing = {0};
    MUST(pack_epoch(&packing, &set, &option, 0, NULL));
    const uint16_t *tokens = packing.made + packing.pieces[0].start;
    assert_int_equal(packing.pieces[0].silent, 10); /* 3 + 3, and 4 of the title */
    assert_int_equal(tokens[0], TOKEN_FORM);
    assert_int_equal(tokens[3], TOKEN_TITLE);
    assert_int_equal(tokens[7], TOKEN_AUTHOR);
    tokens = packing.made + packing.pieces[1].start;
    assert_int_equal(packing.pieces[1].silent, 3); /* the author would be a torn name */
    assert_int_equal(tokens[0], TOKEN_FORM);
    packing_free(&packing);
    made_free(&made);
    tokenizer_free(&tokenizer);
}

static void rows_of_short_poems_are_nearly_full(void **state)
{
    (void)state;
    MadeSet made = {0};
    make_random_set(&made, 5, 5000, 60);
    PoemSet set = made_view(&made);
    PackOptions option = options(128, 0.5, true);
    Packing packing = {0};
    MUST(pack_epoch(&packing, &set, &option, 0, NULL));
    double fill = (double)packing.inputs / (double)(packing.row_count * 128);
    assert_true(fill > 0.98);
    packing_free(&packing);
    made_free(&made);
}

static void a_malformed_sequence_is_refused(void **state)
{
    (void)state;
    enum { A = TOKEN_SPECIALS };
    static const struct {
        uint16_t ids[8];
        int64_t length;
        bool fine;
    } CASES[] = {
        {{TOKEN_BOS, A, TOKEN_EOS}, 3, true},
        {{TOKEN_BOS, TOKEN_UNK, TOKEN_EOS}, 3, true},
        {{TOKEN_FORM, A, TOKEN_AUTHOR, A, TOKEN_BOS, A, TOKEN_EOS}, 7, true},
        {{0}, 0, false},
        {{TOKEN_BOS}, 1, false},
        {{TOKEN_BOS, TOKEN_EOS}, 2, false},
        {{TOKEN_BOS, A}, 2, false},
        {{A, TOKEN_BOS, A, TOKEN_EOS}, 4, false},
        {{TOKEN_BOS, A, TOKEN_EOS, A}, 4, false},
        {{TOKEN_BOS, A, TOKEN_EOS, TOKEN_EOS}, 4, false},
        {{TOKEN_BOS, A, TOKEN_BOS, A, TOKEN_EOS}, 5, false},
        {{TOKEN_BOS, TOKEN_TITLE, A, TOKEN_EOS}, 4, false},
        {{TOKEN_TITLE, A, TOKEN_FORM, A, TOKEN_BOS, A, TOKEN_EOS}, 7, false},
        {{TOKEN_TITLE, A, TOKEN_TITLE, A, TOKEN_BOS, A, TOKEN_EOS}, 7, false},
        {{TOKEN_TITLE, A, A, A}, 4, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        SequenceParts parts;
        Status status = pack_parse(&parts, CASES[i].ids, CASES[i].length, NULL);
        if ((status == STATUS_OK) != CASES[i].fine)
            fail_msg("case %zu", i);
    }
}

static void cut_classes_know_the_marks_of_the_vocabulary(void **state)
{
    (void)state;
    Tokenizer tokenizer;
    made_tokenizer(&tokenizer, "絕。，\n");
    uint8_t *classes;
    MUST(pack_cut_classes(&classes, &tokenizer, NULL));
    assert_int_equal(classes[tokenizer_id(&tokenizer, 0x3002)], CUT_SENTENCE);
    assert_int_equal(classes[tokenizer_id(&tokenizer, '\n')], CUT_SENTENCE);
    assert_int_equal(classes[tokenizer_id(&tokenizer, 0xFF0C)], CUT_CLAUSE);
    assert_int_equal(classes[tokenizer_id(&tokenizer, 0x7D55)], CUT_NOWHERE);
    assert_int_equal(classes[TOKEN_UNK], CUT_NOWHERE);
    memory_free(classes);
    tokenizer_free(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_body_token_is_a_target_exactly_once),
        cmocka_unit_test(rows_in_order_keep_the_pieces_in_order),
        cmocka_unit_test(an_epoch_is_a_function_of_seed_and_number),
        cmocka_unit_test(fields_are_kept_as_often_as_asked_and_apart_from_each_other),
        cmocka_unit_test(long_fields_leave_half_a_row_to_the_body),
        cmocka_unit_test(rows_of_short_poems_are_nearly_full),
        cmocka_unit_test(a_malformed_sequence_is_refused),
        cmocka_unit_test(cut_classes_know_the_marks_of_the_vocabulary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
