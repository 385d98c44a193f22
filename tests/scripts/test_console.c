/* Widths, times, safe printing and the progress line off a terminal. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scripts/console.h"

static void widths_count_columns_not_bytes(void **state)
{
    (void)state;
    assert_int_equal(console_width(""), 0);
    assert_int_equal(console_width("abc"), 3);
    assert_int_equal(console_width("床前明月光"), 10);
    assert_int_equal(console_width("，。"), 4);
    assert_int_equal(console_width("e\xcc\x81"), 1); /* combining acute */
    assert_int_equal(console_width("\xff\xfe"), 2);  /* no UTF-8: one each */
    assert_int_equal(console_width("𥫗"), 2);
}

static void fit_ends_at_a_whole_character(void **state)
{
    (void)state;
    assert_int_equal(console_fit("床前", 0), 0);
    assert_int_equal(console_fit("床前", 1), 0);
    assert_int_equal(console_fit("床前", 2), 3);
    assert_int_equal(console_fit("床前", 3), 3);
    assert_int_equal(console_fit("床前", 9), 6);
    assert_int_equal(console_fit("a\xe5", 5), 2); /* cut in the middle of a character */
    assert_int_equal(console_fit("abc", -1), 0);
}

static void times_are_read_at_a_glance(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } CASES[] = {{0, "0 s"},
                 {8.4, "8 s"},
                 {59.6, "1 min 00 s"},
                 {65, "1 min 05 s"},
                 {3599.7, "1 h 00 min"},
                 {7620, "2 h 07 min"},
                 {-1, ""},
                 {NAN, ""},
                 {INFINITY, ""},
                 {1e300, ""}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[32];
        console_time(text, CASES[i].seconds);
        assert_string_equal(text, CASES[i].text);
    }
}

/* What `write` printed to a stream in memory. */
typedef void Writer(FILE *stream, const void *argument);

static char *printed(Writer *write, const void *argument)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    write(stream, argument);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void write_safe(FILE *stream, const void *argument)
{
    console_print_safe(argument, stream);
}

static void nothing_printed_can_steer_the_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text, *safe;
    } CASES[] = {{"明月 ok\n", "明月 ok\n"},
                 {"\033[31m", "\\x1b[31m"},
                 {"a\rb\tc\177", "a\\x0db\\x09c\\x7f"},
                 {"\xc2\x9b"
                  "31m",
                  "\\xc2\\x9b31m"},                   /* C1 control */
                 {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* right-to-left override */
                 {"\xff\xe5\xba", "\\xff\\xe5\\xba"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char *text = printed(write_safe, CASES[i].text);
        assert_string_equal(text, CASES[i].safe);
        free(text);
    }
}

/* A stream of its own in a file: progress asks the descriptor whether it is a terminal. */
static void read_back(FILE *stream, char *text, size_t size)
{
    rewind(stream);
    text[fread(text, 1, size - 1, stream)] = '\0';
}

static void quick_work_off_a_terminal_leaves_no_trace(void **state)
{
    (void)state;
    FILE *stream = tmpfile();
    assert_non_null(stream);
    Progress progress = progress_start("read", stream);
    assert_false(progress.terminal);
    for (int i = 0; i <= 1000; i++)
        progress_update(&progress, i / 1000.0, NULL);
    progress_clear(&progress);
    char text[64];
    read_back(stream, text, sizeof text);
    assert_string_equal(text, "");
    fclose(stream);
}

static void off_a_terminal_progress_is_plain_lines(void **state)
{
    (void)state;
    FILE *stream = tmpfile();
    assert_non_null(stream);
    Progress progress = progress_start("train", stream);
    progress.interval = 0;
    progress_update(&progress, 0.25, "first");
    progress.started -= 50; /* a quarter of the work, from 0.25 on, took 50 s */
    progress_update(&progress, 0.5, "loss 4.5");
    progress_update(&progress, NAN, NULL);
    progress_update(&progress, 7, NULL);
    progress_clear(&progress);
    char text[512];
    read_back(stream, text, sizeof text);
    assert_string_equal(text, "train  25%  first\n"
                              "train  50%  1 min 40 s left  loss 4.5\n"
                              "train   0%\n"
                              "train 100%  0 s left\n");
    fclose(stream);
}

static void on_a_terminal_the_bar_is_drawn_over_and_taken_away(void **state)
{
    (void)state;
    FILE *stream = tmpfile();
    assert_non_null(stream);
    Progress progress = progress_start("train", stream);
    progress.terminal = true;
    progress.interval = 0;
    progress_update(&progress, 0,
                    "床前明月光疑是地上霜舉頭望明月低頭思故鄉床前明月光疑是");
    progress_update(&progress, 0.5, NULL);
    progress_clear(&progress);
    progress_clear(&progress);
    char text[1024];
    read_back(stream, text, sizeof text);
    assert_null(strchr(text, '\n'));
    const char *second = strchr(text + 1, '\r');
    assert_non_null(second);
    /* The first picture is cut to 79 columns of the 80 that a file counts as. */
    char first[512];
    snprintf(first, sizeof first, "%.*s", (int)(second - text - 3 - 1), text + 1);
    assert_in_range(console_width(first), 78, 79);
    assert_non_null(strstr(second, "[############------------]  50%"));
    const char *last = strrchr(text, '\r');
    assert_string_equal(last, "\r\033[K");
    fclose(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_count_columns_not_bytes),
        cmocka_unit_test(fit_ends_at_a_whole_character),
        cmocka_unit_test(times_are_read_at_a_glance),
        cmocka_unit_test(nothing_printed_can_steer_the_terminal),
        cmocka_unit_test(quick_work_off_a_terminal_leaves_no_trace),
        cmocka_unit_test(off_a_terminal_progress_is_plain_lines),
        cmocka_unit_test(on_a_terminal_the_bar_is_drawn_over_and_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
