/* What a user types, as the model reads it and as it is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/utf8.h"
#include "scripts/sample_prompt.h"
#include "tests/scripts/tiny_checkpoint.h"

enum { ROOM = 4096 };

static int create(void **state)
{
    static Checkpoint checkpoint;
    tiny_tokenizer(&checkpoint.tokenizer);
    tiny_variants(&checkpoint.variants);
    *state = &checkpoint;
    return 0;
}

static int destroy(void **state)
{
    Checkpoint *checkpoint = *state;
    tokenizer_free(&checkpoint->tokenizer);
    variants_free(&checkpoint->variants);
    return 0;
}

/* Prepares text; printed = what is printed of it, notes = what was said. */
static Status prepare(const Checkpoint *checkpoint, const char *text, PromptText *out,
                      char printed[ROOM], char notes[ROOM], Error *err)
{
    char *said = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&said, &size);
    assert_non_null(stream);
    Status status = prompt_text_prepare(out, text, "--prompt", checkpoint, stream, err);
    fclose(stream);
    assert_true(size < ROOM && utf8_length(out->points, out->count) < ROOM);
    memcpy(notes, said, size + 1);
    free(said);
    printed[utf8_write(printed, out->points, out->count)] = '\0';
    return status;
}

static void assert_read(const Checkpoint *checkpoint, const char *text,
                        const char *expected, const char *expected_notes)
{
    PromptText out;
    char printed[ROOM], notes[ROOM];
    Error err = {0};
    assert_int_equal(prepare(checkpoint, text, &out, printed, notes, &err), STATUS_OK);
    assert_string_equal(printed, expected);
    assert_string_equal(notes, expected_notes);
    for (size_t i = 0; i < out.count; i++)
        assert_int_equal(out.ids[i],
                         tokenizer_id(&checkpoint->tokenizer, out.points[i]));
    prompt_text_free(&out);
}

static void traditional_text_stays(void **state)
{
    assert_read(*state, "舉頭望明月，", "舉頭望明月，", "");
    assert_read(*state, "", "", "");
    assert_read(*state, NULL, "", "");
}

static void simplified_text_becomes_the_models_variants(void **state)
{
    assert_read(*state, "举头望明月", "舉頭望明月",
                "note: --prompt: 举 read as 舉, 头 as 頭\n");
    /* each change is named once; 云 is a character of the model, but not in such a text */
    assert_read(*state, "举云举云", "舉雲舉雲",
                "note: --prompt: 举 read as 舉, 云 as 雲\n");
    assert_read(*state, "舉云", "舉云", "");
}

static void punctuation_widens_and_spaces_leave(void **state)
{
    assert_read(*state, " 舉頭\n望\t明月\r\n　", "舉頭望明月", "");
    assert_read(*state, "\xEF\xBB\xBF舉\xE2\x80\x8B頭", "舉頭", "");
    assert_read(*state, "月,月.月?月!", "月，月。月？月！", "");
    assert_read(*state, " \n ", "", "");
}

/* A line of its own script, as data/variants.h says, though the break leaves. */
static void lines_are_mapped_one_by_one(void **state)
{
    assert_read(*state, "舉云\n举云", "舉云舉雲",
                "note: --prompt: 举 read as 舉, 云 as 雲\n");
}

static void unknown_characters_are_named_and_stay_in_print(void **state)
{
    const Checkpoint *checkpoint = *state;
    PromptText out;
    char printed[ROOM], notes[ROOM];
    Error err = {0};
    assert_int_equal(prepare(checkpoint, "啊月吧啊", &out, printed, notes, &err),
                     STATUS_OK);
    assert_string_equal(printed, "啊月吧啊");
    assert_string_equal(notes, "warning: --prompt: the model does not know 啊, 吧 and "
                               "reads an unknown character there\n");
    assert_int_equal(out.ids[0], TOKEN_UNK);
    assert_int_not_equal(out.ids[1], TOKEN_UNK);
    prompt_text_free(&out);
}

static void special_tokens_cannot_be_typed(void **state)
{
    const Checkpoint *checkpoint = *state;
    PromptText out;
    char printed[ROOM], notes[ROOM];
    Error err = {0};
    assert_int_equal(prepare(checkpoint, "<eos>", &out, printed, notes, &err),
                     STATUS_OK);
    assert_int_equal(out.count, 5);
    for (size_t i = 0; i < out.count; i++)
        assert_int_equal(out.ids[i], TOKEN_UNK);
    prompt_text_free(&out);
}

static void long_lists_of_unknown_characters_are_cut(void **state)
{
    char text[ROOM] = "";
    for (uint32_t i = 0; i < 300; i++) {
        char bytes[UTF8_MAXIMUM + 1] = "";
        utf8_encode(bytes, 0xAC00 + i);
        strcat(text, bytes);
    }
    PromptText out;
    char printed[ROOM], notes[ROOM];
    Error err = {0};
    assert_int_equal(prepare(*state, text, &out, printed, notes, &err), STATUS_OK);
    assert_int_equal(out.count, 300);
    assert_non_null(strstr(notes, ", and more and reads"));
    assert_true(strlen(notes) < 300);
    prompt_text_free(&out);
}

static void damaged_text_is_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"\xFF", "byte 1 (0xFF)"},     {"舉\xE6\x9C", "byte 4 (0xE6)"},
        {"\xC0\x80", "byte 1 (0xC0)"}, {"\xED\xA0\x80", "byte 1 (0xED)"},
        {"舉\x1B[31m", "U+001B"},      {"舉\x7F", "U+007F"},
        {"舉\xC2\x9B頭", "U+009B"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        PromptText out;
        char printed[ROOM], notes[ROOM];
        Error err = {0};
        assert_int_equal(prepare(*state, CASES[i].text, &out, printed, notes, &err),
                         STATUS_USAGE);
        assert_non_null(strstr(err.message, "--prompt"));
        assert_non_null(strstr(err.message, CASES[i].message));
        assert_int_equal(out.count, 0);
    }
}

static void running_text_is_read_as_it_is(void **state)
{
    Checkpoint *checkpoint = *state;
    checkpoint->stream = true;
    assert_read(
        checkpoint, "举 月,\n月", "举 月,\n月",
        "warning: --prompt: the model does not know 举, U+0020, ,, U+000A and reads an "
        "unknown character there\n");
    checkpoint->stream = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traditional_text_stays),
        cmocka_unit_test(simplified_text_becomes_the_models_variants),
        cmocka_unit_test(punctuation_widens_and_spaces_leave),
        cmocka_unit_test(lines_are_mapped_one_by_one),
        cmocka_unit_test(unknown_characters_are_named_and_stay_in_print),
        cmocka_unit_test(special_tokens_cannot_be_typed),
        cmocka_unit_test(long_lists_of_unknown_characters_are_cut),
        cmocka_unit_test(damaged_text_is_refused),
        cmocka_unit_test(running_text_is_read_as_it_is),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
