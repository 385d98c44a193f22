#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/tokenizer.h"
#include "tests/base/scratch.h"
#include "tests/data/made.h"

static int64_t *new_counts(void)
{
    int64_t *counts;
    MUST(memory_allocate(&counts, CODE_POINTS, sizeof *counts, "test", NULL));
    return counts;
}

static void ids_fall_with_frequency_and_ties_rise_by_code_point(void **state)
{
    (void)state;
    int64_t *counts = new_counts();
    counts[0x6708] = 5; /* 月 */
    counts[0x5C71] = 9; /* 山 */
    counts[0x65E5] = 5; /* 日 */
    counts[0x20BB7] = 2;
    counts['x'] = 1; /* below the minimum */
    Tokenizer tokenizer;
    MUST(tokenizer_build(&tokenizer, counts, 2, NULL));
    assert_int_equal(tokenizer.size, TOKEN_SPECIALS + 4);
    assert_int_equal(tokenizer_id(&tokenizer, 0x5C71), TOKEN_SPECIALS);
    assert_int_equal(tokenizer_id(&tokenizer, 0x65E5), TOKEN_SPECIALS + 1);
    assert_int_equal(tokenizer_id(&tokenizer, 0x6708), TOKEN_SPECIALS + 2);
    assert_int_equal(tokenizer_id(&tokenizer, 0x20BB7), TOKEN_SPECIALS + 3);
    assert_int_equal(tokenizer_id(&tokenizer, 'x'), TOKEN_UNK);
    for (int32_t id = TOKEN_SPECIALS; id < tokenizer.size; id++)
        assert_int_equal(tokenizer_id(&tokenizer, tokenizer_code_point(&tokenizer, id)),
                         id);
    tokenizer_free(&tokenizer);
    memory_free(counts);
}

static void nul_and_surrogates_are_no_characters(void **state)
{
    (void)state;
    int64_t *counts = new_counts();
    counts[0] = counts[0xD800] = counts[0xDFFF] = 9;
    Tokenizer tokenizer;
    Error err;
    assert_int_equal(tokenizer_build(&tokenizer, counts, 2, &err), STATUS_INPUT);
    counts['a'] = 9;
    assert_int_equal(tokenizer_build(&tokenizer, counts, 2, &err), STATUS_OK);
    assert_int_equal(tokenizer.size, TOKEN_SPECIALS + 1);
    tokenizer_free(&tokenizer);
    memory_free(counts);
}

static void a_vocabulary_beyond_16_bits_names_the_count_that_would_do(void **state)
{
    (void)state;
    int64_t *counts = new_counts();
    for (uint32_t point = 0x20000; point < 0x20000 + 70000; point++)
        counts[point] = point < 0x20000 + 60000 ? 3 : 2;
    Tokenizer tokenizer;
    Error err;
    assert_int_equal(tokenizer_build(&tokenizer, counts, 2, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "--min-count 3 or more"));
    assert_int_equal(tokenizer_build(&tokenizer, counts, 3, &err), STATUS_OK);
    assert_int_equal(tokenizer.size, 60000 + TOKEN_SPECIALS);
    tokenizer_free(&tokenizer);
    memory_free(counts);
}

static void special_names_in_text_are_plain_characters(void **state)
{
    (void)state;
    Tokenizer tokenizer;
    made_tokenizer(&tokenizer, "<eos>");
    const uint32_t text[] = {'<', 'e', 'o', 's', '>', 0xFFFFFFFF, 0x110000};
    int32_t ids[7];
    tokenizer_encode(ids, &tokenizer, text, 7);
    for (int i = 0; i < 5; i++)
        assert_true(ids[i] >= TOKEN_SPECIALS);
    assert_int_equal(ids[5], TOKEN_UNK);
    assert_int_equal(ids[6], TOKEN_UNK);
    tokenizer_free(&tokenizer);
}

static void decoding_gives_back_the_text_and_specials_add_nothing(void **state)
{
    (void)state;
    Tokenizer tokenizer;
    made_tokenizer(&tokenizer, "a絕𠮷\n");
    char text[64] = "x";
    size_t used = 0;
    for (int32_t id = -1; id <= tokenizer.size; id++)
        used = tokenizer_decode_append(text, used, &tokenizer, id);
    assert_string_equal(text, "a絕𠮷\n");
    assert_int_equal(used, strlen(text));
    tokenizer_free(&tokenizer);
}

static void a_saved_tokenizer_loads_as_it_was(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    char path[PATH_SIZE];
    scratch_create(folder);
    scratch_path(path, folder, "tokenizer.json");
    Tokenizer tokenizer, loaded;
    made_tokenizer(&tokenizer, "。，\"\\\n\t <絕𠮷");
    MUST(tokenizer_save(&tokenizer, path, NULL));
    MUST(tokenizer_load(&loaded, path, NULL));
    assert_int_equal(loaded.size, tokenizer.size);
    assert_memory_equal(loaded.points, tokenizer.points,
                        (size_t)tokenizer.size * sizeof *loaded.points);
    assert_memory_equal(loaded.ids, tokenizer.ids, CODE_POINTS * sizeof *loaded.ids);
    tokenizer_free(&tokenizer);
    tokenizer_free(&loaded);
    scratch_remove(folder);
}

/* The whole file with one piece replaced. */
static char *edited(const char *path, const char *from, const char *to)
{
    FileMap map;
    MUST(file_map(&map, path, NULL));
    char *text, *result;
    MUST(memory_allocate(&text, map.size + 1, 1, "test", NULL));
    memcpy(text, map.data, map.size);
    file_unmap(&map);
    char *place = strstr(text, from);
    if (place == NULL)
        fail_msg("'%s' is not in the file", from);
    MUST(memory_allocate(&result, strlen(text) + strlen(to) + 1, 1, "test", NULL));
    memcpy(result, text, (size_t)(place - text));
    strcat(result, to);
    strcat(result, place + strlen(from));
    memory_free(text);
    return result;
}

static void every_other_tokenizer_is_refused_with_the_path(void **state)
{
    (void)state;
    static const char *const EDITS[][2] = {
        {"\"月\": 7", "\"月\": 6"},           /* an id twice, one missing */
        {"\"月\": 7", "\"月\": 8"},           /* a hole */
        {"\"月\": 7", "\"月\": -1"},          /* below */
        {"\"月\": 7", "\"月\": 7.0"},         /* no whole number */
        {"\"月\": 7", "\"月\": 99999999999"}, /* beyond */
        {"\"月\": 7", "\"月日\": 7"},         /* two characters */
        {"\"月\": 7", "\"\": 7"},             /* none */
        {"\"月\": 7", "\"山\": 7"},           /* a key twice */
        {"\"月\": 7", "\"a\\u0000b\": 7"},    /* NUL */
        {"\"<bos>\": 1", "\"<boss>\": 1"},    /* a special is missing */
        {"\"<bos>\": 1", "\"\xFF\": 1"},      /* no UTF-8 */
        {"\"content\": \"<eos>\"", "\"content\": \"<end>\""},
        {"\"special\": true", "\"special\": false"},
        {"WordLevel", "BPE"},
        {"NFC", "NFKC"},
        {"Isolated", "Removed"},
        {"[\\\\s\\\\S]", "[a-z]"},
        {"Fuse", "BPEDecoder"},
        {"\"unk_token\": \"<unk>\"", "\"unk_token\": \"?\""},
        {"\"vocab\": {", "\"words\": {"},
        {"\"version\"", "version"},
    };
    char folder[PATH_SIZE];
    char path[PATH_SIZE];
    scratch_create(folder);
    scratch_path(path, folder, "tokenizer.json");
    Tokenizer tokenizer;
    made_tokenizer(&tokenizer, "山月");
    for (size_t i = 0; i < sizeof EDITS / sizeof *EDITS; i++) {
        MUST(tokenizer_save(&tokenizer, path, NULL));
        char *text = edited(path, EDITS[i][0], EDITS[i][1]);
        scratch_text(path, text);
        memory_free(text);
        Tokenizer loaded;
        Error err = {0};
        if (tokenizer_load(&loaded, path, &err) != STATUS_INPUT)
            fail_msg("edit %zu (%s) was accepted", i, EDITS[i][1]);
        assert_non_null(strstr(err.message, path));
        assert_null(loaded.points);
    }
    for (const char *const *text = (const char *const[]){"", "[]", "{}", "null", NULL};
         *text; text++) {
        scratch_text(path, *text);
        Tokenizer loaded;
        assert_int_equal(tokenizer_load(&loaded, path, NULL), STATUS_INPUT);
    }
    tokenizer_free(&tokenizer);
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_fall_with_frequency_and_ties_rise_by_code_point),
        cmocka_unit_test(nul_and_surrogates_are_no_characters),
        cmocka_unit_test(a_vocabulary_beyond_16_bits_names_the_count_that_would_do),
        cmocka_unit_test(special_names_in_text_are_plain_characters),
        cmocka_unit_test(decoding_gives_back_the_text_and_specials_add_nothing),
        cmocka_unit_test(a_saved_tokenizer_loads_as_it_was),
        cmocka_unit_test(every_other_tokenizer_is_refused_with_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
