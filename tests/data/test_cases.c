/* Damaged and odd input: tests/corpora with its table EXPECTED.tsv, and more of the same
 * kinds made here. The program runs from the root of the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/base/scratch_root.h"
#include "tests/data/texts.h"

/* One input and what becomes of it. Either `error` is part of the message, or the first
 * poem's body is `body` (NULL: no look at it) and `kept` of `read` works are kept. */
typedef struct {
    const char *name;
    const char *bytes; /* NULL: the file tests/corpora/NAME */
    size_t size;       /* 0: strlen(bytes) */
    const char *error;
    int64_t read, kept;
    const char *body;
} Case;

#define BYTES(literal) literal, sizeof literal - 1

static void check(const Case *one, bool lenient)
{
    CorpusOptions options = {.minimum_body = CORPUS_MINIMUM_BODY, .lenient = lenient};
    char path[PATH_SIZE];
    Reading reading;
    if (one->bytes != NULL)
        scratch_write(scratch_path(path, root, one->name), one->bytes,
                      one->size > 0 ? one->size : strlen(one->bytes));
    else
        scratch_path(path, "tests/corpora", one->name);
    reading_open(&reading, path, &options);
    if (one->error != NULL) {
        if (reading.status != STATUS_INPUT ||
            strstr(reading.error.message, one->error) == NULL ||
            strstr(reading.error.message, one->name) == NULL)
            fail_msg("%s: status %d, \"%s\", expected \"%s\"", one->name,
                     reading.status, reading.error.message, one->error);
    } else if (reading.status != STATUS_OK) {
        fail_msg("%s: %s", one->name, reading.error.message);
    }
    int64_t dropped = 0;
    for (int i = 0; i < DROP_REASONS; i++)
        dropped += reading.stats.dropped[i];
    assert_int_equal(reading.stats.read, reading.stats.kept + dropped);
    if (reading.stats.read != one->read || reading.stats.kept != one->kept)
        fail_msg("%s: %lld of %lld kept, expected %lld of %lld", one->name,
                 (long long)reading.stats.kept, (long long)reading.stats.read,
                 (long long)one->kept, (long long)one->read);
    assert_int_equal(reading.list.count, one->kept);
    if (one->body != NULL)
        assert_text(&reading.list, reading.list.items[0].body, one->body);
    if (one->bytes != NULL)
        unlink(path);
    reading_close(&reading);
}

static const char *const MOONLIGHT = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。";

static void the_committed_cases_behave_as_expected(void **state)
{
    (void)state;
    const Case cases[] = {
        {.name = "01_truncated.json",
         .error = "unexpected end of input at byte 149 (line 1, column 92)"},
        {.name = "03_invalid_utf8_middle.json", .error = "invalid UTF-8 at byte 44"},
        {"06_surrogate_pair_ok.json", NULL, 0, NULL, 1, 1, "𠮷明月光，疑是地上霜。"},
        {.name = "11_empty_array.json", .error = "no poems"},
        {"12_empty_bodies.json", NULL, 0, "no poems", 4, 0, NULL},
        {.name = "13_nul_bytes.json", .error = "a NUL byte at byte 47"},
        {"15_bom.json", NULL, 0, NULL, 1, 1, MOONLIGHT},
        {.name = "16_utf16le.json", .error = "looks like UTF-16; convert it to UTF-8"},
        {.name = "18_whitespace_only.json", .error = "empty input"},
        {.name = "19_zero_bytes.json", .error = "empty input"},
        {"23_one_char_poem.json", NULL, 0, "2 placeholder, 1 too short", 3, 0, NULL},
        {"24_longer_than_context.json", NULL, 0, NULL, 1, 1, NULL},
        {"25_editorial_noise.json", NULL, 0, "no poems", 1, 0, NULL},
        {"27_halfwidth_crlf.json", NULL, 0, NULL, 1, 1,
         "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉！"},
        {.name = "29_ndjson.json", .error = "trailing data after value at line 2"},
        {.name = "30_trailing_garbage.json",
         .error = "trailing data after value at line 2, column 1 (byte 187)"},
        {"32_wrong_types.json", NULL, 0, NULL, 6, 1, "床前明月光，疑是地上霜。"},
        {.name = "33_authors_file.json", .error = "biographies"},
        {"34_escapes.json", NULL, 0, NULL, 1, 1, "床前明月光，疑是地上霜。"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], false);
}

static void lenient_reading_keeps_what_is_whole_and_counts_the_rest(void **state)
{
    (void)state;
    const Case cases[] = {
        {"01_truncated.json", NULL, 0, "1 damaged input", 1, 0, NULL},
        {"03_invalid_utf8_middle.json", NULL, 0, "1 damaged input", 1, 0, NULL},
        {"13_nul_bytes.json", NULL, 0, "1 damaged input", 1, 0, NULL},
        {"29_ndjson.json", NULL, 0, NULL, 3, 3, MOONLIGHT},
        {"30_trailing_garbage.json", NULL, 0, NULL, 2, 1, MOONLIGHT},
        {"cut.json",
         "[{\"paragraphs\":\"床前明月光，疑是地上霜。\"},\n"
         "{\"paragraphs\":\"a\\\"}]{[\"},{\"paragraphs\":[\"舉頭望",
         0, NULL, 3, 1, "床前明月光，疑是地上霜。"},
        {"one bad.json",
         "[{\"paragraphs\":\"\xFF明月光，疑是地上霜。\"},"
         "{\"paragraphs\":\"\\ud842明月光，疑是地上霜。\"},"
         "{\"paragraphs\":\"床前明月光，疑是地上霜。\"}]",
         0, NULL, 3, 1, "床前明月光，疑是地上霜。"},
        {.name = "utf16.json", BYTES("\xFF\xFE[\0]\0"), .error = "UTF-16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], true);
}

static void other_damaged_json_is_refused_with_its_place(void **state)
{
    (void)state;
    const Case cases[] = {
        {.name = "lone high.json",
         BYTES("[{\"paragraphs\":\"\\ud842明\"}]"),
         .error = "at byte"},
        {.name = "lone low.json", BYTES("[\"\\udfb7\"]"), .error = "at byte"},
        {.name = "overlong.json",
         BYTES("[\"\xC0\xAF\"]"),
         .error = "invalid UTF-8 at byte 2"},
        {.name = "surrogate.json",
         BYTES("[\n\"\xED\xA0\x80\"]"),
         .error = "invalid UTF-8 at byte 3 (line 2, column 2)"},
        {.name = "too high.json",
         BYTES("[\"\xF4\x90\x80\x80\"]"),
         .error = "invalid UTF-8 at byte 2"},
        {.name = "bom.json", BYTES("\xEF\xBB\xBF"), .error = "empty input"},
        {.name = "bom bad.json",
         BYTES("\xEF\xBB\xBF[\xFF"),
         .error = "invalid UTF-8 at byte 4"},
        {.name = "utf16be.json", BYTES("\xFE\xFF\0[\0]"), .error = "UTF-16"},
        {.name = "utf16 bare.json", BYTES("[\0{\0}\0]\0"), .error = "UTF-16"},
        {.name = "utf16be bare.json", BYTES("\0[\0{\0}\0]"), .error = "UTF-16"},
        {.name = "utf32.json", BYTES("\xFF\xFE\0\0[\0\0\0]\0\0\0"), .error = "UTF-32"},
        {.name = "utf32be.json", BYTES("\0\0\xFE\xFF\0\0\0["), .error = "UTF-32"},
        {.name = "number.json", BYTES("5"), .error = "neither an array nor an object"},
        {.name = "comma.json", BYTES("[{\"paragraphs\":[]},]"), .error = "at byte"},
        {.name = "open.json", BYTES("["), .error = "unexpected end of input at byte 1"},
        {.name = "huge.json",
         BYTES("[{\"id\":1e999,\"paragraphs\":[]}]"),
         .error = "at byte"},
        {.name = "raw newline.json",
         BYTES("[{\"paragraphs\":\"a\nb\"}]"),
         .error = "at byte"},
        {.name = "single quotes.json",
         BYTES("[{'paragraphs':'a'}]"),
         .error = "at byte 3"},
        {.name = "nan.json", BYTES("[NaN]"), .error = "at byte"},
        {.name = "nul end.json", BYTES("[]\0"), .error = "a NUL byte at byte 2"},
        {.name = "text nul.txt",
         BYTES("床前明月光\0疑是地上霜"),
         .error = "a NUL byte at byte 15"},
        {.name = "text bad.txt",
         BYTES("床前\xE6\x98"),
         .error = "invalid UTF-8 at byte 6"},
        {.name = "text empty.txt", BYTES("\r\n\t \n"), .error = "empty input"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], false);
}

static void odd_but_valid_json_is_read(void **state)
{
    (void)state;
    const Case cases[] = {
        {.name = "nul escape.json",
         BYTES("[{\"paragraphs\":[\"床前明\\u0000月光，疑是地上霜。\"]}]"),
         .read = 1,
         .kept = 1,
         .body = "床前明月光，疑是地上霜。"},
        {.name = "twice.json",
         BYTES("[{\"paragraphs\":[\"甲\"],\"paragraphs\":[\"床前明月光，疑是地上霜。\"]"
               "}]"),
         .read = 1,
         .kept = 1,
         .body = "床前明月光，疑是地上霜。"},
        {.name = "one object.json",
         BYTES("{\"title\":\"靜夜思\",\"paragraphs\":[\"床前明月光，疑是地上霜。\"]}"
               "\r\n"),
         .read = 1,
         .kept = 1,
         .body = "床前明月光，疑是地上霜。"},
        {.name = "book.json",
         BYTES("{\"title\":\"x\",\"author\":\"李白\",\"content\":[{\"type\":\"五絕\","
               "\"content\":[{\"chapter\":\"靜夜思\",\"paragraphs\":[\"床前明月光\","
               "\"疑是地上霜\"]},7,{\"chapter\":\"y\",\"paragraphs\":null}]}]}"),
         .read = 3,
         .kept = 1,
         .body = "床前明月光。疑是地上霜。"},
        {.name = "nested wrongly.json",
         BYTES("[{\"paragraphs\":[[\"床\"],\"前\"]},{\"paragraphs\":{\"a\":1}},"
               "{\"paragraphs\":7},{\"paragraphs\":true},{\"content\":[{\"a\":1}]},"
               "{\"para\":\"床前明月光，疑是地上霜。\"}]"),
         .read = 6,
         .kept = 1,
         .body = "床前明月光，疑是地上霜。"},
        {.name = "long number.json",
         BYTES("[{\"id\":-0.000000000000000000000000000001,"
               "\"paragraphs\":[\"床前明月光，疑是地上霜。\"]}]"),
         .read = 1,
         .kept = 1,
         .body = "床前明月光，疑是地上霜。"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], false);
}

static void text_files_in_any_line_ends_are_read(void **state)
{
    (void)state;
    const Case cases[] = {
        {.name = "crlf.txt",
         BYTES("\xEF\xBB\xBF靜夜思\r\n床前明月光，\r\n疑是地上霜。\r\n \r\n\r\n"
               "白日依山盡，黃河入海流。\r\n"),
         .read = 2,
         .kept = 2,
         .body = "床前明月光，疑是地上霜。"},
        {.name = "cr.txt",
         BYTES("床前明月光，\r疑是地上霜。\r\r白日依山盡，黃河入海流。"),
         .read = 2,
         .kept = 2,
         .body = "床前明月光，疑是地上霜。"},
        {.name = "no newline.txt",
         BYTES("床前明月光，疑是地上霜"),
         .read = 1,
         .kept = 1,
         .body = "床前明月光，疑是地上霜。"},
        {.name = "english.txt",
         BYTES("Shall I compare\r\nthee?\r\n\r\nThou  art.\n"),
         .read = 2,
         .kept = 2,
         .body = "Shall I compare\nthee?"},
        {.name = "accent.txt",
         BYTES("cafe\xCC\x81 \xD0\xB9"),
         .read = 1,
         .kept = 1,
         .body = "caf\u00E9 \u0439"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], false);
}

static void a_damaged_block_of_text_is_dropped_leniently(void **state)
{
    (void)state;
    const Case cases[] = {
        {.name = "blocks.txt",
         BYTES("床前\xFF月光，疑是地上霜。\n\n白日依山盡，黃河入海流。\n\n甲\0乙"),
         .read = 3,
         .kept = 1,
         .body = "白日依山盡，黃河入海流。"},
    };
    check(&cases[0], true);
}

static void a_running_text_is_one_item_kept_as_it_is(void **state)
{
    (void)state;
    CorpusOptions options = {.stream = true, .minimum_body = CORPUS_MINIMUM_BODY};
    char path[PATH_SIZE];
    Reading reading;
    scratch_text(scratch_path(path, root, "stream.txt"), "A  b,\r\n\r\n\r\n床。\tc\n");
    reading_open(&reading, path, &options);
    assert_int_equal(reading.status, STATUS_OK);
    assert_int_equal(reading.list.count, 1);
    assert_text(&reading.list, reading.list.items[0].body, "A  b,\n\n\n床。\tc\n");
    reading_close(&reading);
    reading_open(&reading, "tests/corpora/15_bom.json", &options);
    assert_int_equal(reading.status, STATUS_USAGE);
    reading_close(&reading);
}

/* ---- the big ones --------------------------------------------------------------------- */

static double seconds_of(const char *path, Reading *reading)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    reading_open(reading, path, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) +
           1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

static void write_repeated(const char *path, const char *head, const char *middle,
                           size_t times, const char *tail)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    fputs(head, stream);
    for (size_t i = 0; i < times; i++)
        fputs(middle, stream);
    fputs(tail, stream);
    assert_int_equal(fclose(stream), 0);
}

static void nesting_without_end_is_refused(void **state)
{
    (void)state;
    static const char *const OPENINGS[] = {"[", "{\"a\":", "[{\"paragraphs\":"};
    char path[PATH_SIZE];
    scratch_path(path, root, "deep.json"); /* 07 */
    for (size_t i = 0; i < 3; i++) {
        Reading reading;
        write_repeated(path, "", OPENINGS[i], 100000, "");
        reading_open(&reading, path, NULL);
        assert_int_equal(reading.status, STATUS_INPUT);
        assert_non_null(strstr(reading.error.message, "nesting too deep"));
        reading_close(&reading);
    }
    unlink(path);
}

static void a_string_of_megabytes_takes_linear_time(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    Reading reading;
    double seconds[2];
    scratch_path(path, root, "giant.json"); /* 09 */
    for (size_t i = 0; i < 2; i++) {
        size_t times = i == 0 ? 350000 : 1400000;
        write_repeated(path, "[{\"title\":\"長\",\"paragraphs\":[\"", "山", times,
                       "。\"]}]");
        seconds[i] = seconds_of(path, &reading);
        assert_int_equal(reading.status, STATUS_OK);
        assert_int_equal(reading.list.items[0].body.length, times + 1);
        reading_close(&reading);
    }
    assert_true(seconds[1] <
                12 * seconds[0] + 0.5); /* 16 times and more if quadratic */
    unlink(path);
}

static void many_tiny_works_are_all_too_short(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    Reading reading;
    write_repeated(scratch_path(path, root, "tiny.json"),
                   "[{\"paragraphs\":[]}", /* 37 */
                   ",{\"paragraphs\":[\"山水。\"]}", 50000, "]");
    reading_open(&reading, path, NULL);
    assert_int_equal(reading.status, STATUS_INPUT);
    assert_int_equal(reading.stats.dropped[DROP_SHORT], 50000);
    assert_int_equal(reading.stats.dropped[DROP_EMPTY], 1);
    reading_close(&reading);
    unlink(path);
}

/* ---- what is no file, or not ours to read ---------------------------------------------- */

static void folders_pipes_and_missing_files_are_named(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    Reading reading;
    scratch_path(path, root, "pipe.json");
    assert_int_equal(mkfifo(path, 0600), 0);
    reading_open(&reading, path, NULL);
    assert_int_equal(reading.status, STATUS_INPUT);
    assert_non_null(strstr(reading.error.message, "a pipe"));
    reading_close(&reading);
    unlink(path);
    scratch_path(path, root, "folder.json");
    assert_int_equal(mkdir(path, 0700), 0);
    reading_open(&reading, path, NULL); /* an empty folder */
    assert_int_equal(reading.status, STATUS_INPUT);
    assert_non_null(strstr(reading.error.message, "no .json or .txt file"));
    reading_close(&reading);
    rmdir(path);
    reading_open(&reading, path, NULL);
    assert_int_equal(reading.status, STATUS_INPUT);
    assert_non_null(strstr(reading.error.message, "no such file"));
    reading_close(&reading);
    reading_open(&reading, "tsang", NULL);
    assert_int_equal(reading.status, STATUS_INPUT);
    assert_non_null(strstr(reading.error.message, "neither a collection"));
    reading_close(&reading);
    reading_open(&reading, "/dev/null", NULL);
    assert_int_equal(reading.status, STATUS_INPUT);
    reading_close(&reading);
}

/* 21: root may read everything, so a child without its rights tries. */
static void an_unreadable_file_says_permission_denied(void **state)
{
    (void)state;
    enum { NOBODY = 65534, DENIED = 10, UNABLE = 11, WRONG = 12 };
    char path[PATH_SIZE];
    scratch_text(scratch_path(path, root, "unreadable.json"), "[]");
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(root, 0755), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        Reading reading;
        if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(UNABLE);
        CorpusOptions options = {.threads = 1, .lenient = true};
        reading_open(&reading, path, &options);
        _exit(reading.status == STATUS_IO &&
                      strstr(reading.error.message, "ermission denied") != NULL &&
                      strstr(reading.error.message, "unreadable.json") != NULL
                  ? DENIED
                  : WRONG);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    unlink(path);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == UNABLE) {
        print_message("the rights of root can't be given up here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(result), DENIED);
}

static void every_cut_of_a_file_is_an_error_or_a_smaller_reading(void **state)
{
    (void)state;
    const char whole[] =
        "[{\"title\":\"靜\\u591c思\",\"paragraphs\":[\"床前明月光，\","
        "\"疑是地上霜。\"]},{\"paragraphs\":[\"白日依山盡，黃河入\"]}]";
    char path[PATH_SIZE];
    CorpusOptions options = {.minimum_body = CORPUS_MINIMUM_BODY};
    scratch_path(path, root, "cut.json");
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        Reading reading;
        scratch_write(path, whole, size);
        options.lenient = false;
        reading_open(&reading, path, &options);
        assert_int_equal(reading.status, STATUS_INPUT);
        assert_int_equal(reading.list.count, 0);
        reading_close(&reading);
        options.lenient = true;
        reading_open(&reading, path, &options);
        assert_in_range(reading.list.count, 0, 2);
        assert_int_equal(reading.status,
                         reading.list.count > 0 ? STATUS_OK : STATUS_INPUT);
        reading_close(&reading);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_committed_cases_behave_as_expected),
        cmocka_unit_test(lenient_reading_keeps_what_is_whole_and_counts_the_rest),
        cmocka_unit_test(other_damaged_json_is_refused_with_its_place),
        cmocka_unit_test(odd_but_valid_json_is_read),
        cmocka_unit_test(text_files_in_any_line_ends_are_read),
        cmocka_unit_test(a_damaged_block_of_text_is_dropped_leniently),
        cmocka_unit_test(a_running_text_is_one_item_kept_as_it_is),
        cmocka_unit_test(nesting_without_end_is_refused),
        cmocka_unit_test(a_string_of_megabytes_takes_linear_time),
        cmocka_unit_test(many_tiny_works_are_all_too_short),
        cmocka_unit_test(folders_pipes_and_missing_files_are_named),
        cmocka_unit_test(an_unreadable_file_says_permission_denied),
        cmocka_unit_test(every_cut_of_a_file_is_an_error_or_a_smaller_reading),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
