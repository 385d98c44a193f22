#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/base/error.h"

/* Whether every character of text is whole: lead bytes with their continuations. */
static bool is_whole(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        int more = *at >= 0xF0 ? 3 : *at >= 0xE0 ? 2 : *at >= 0xC0 ? 1 : 0;
        if (more == 0 && *at >= 0x80)
            return false;
        for (at++; more > 0; more--, at++) {
            if ((*at & 0xC0) != 0x80)
                return false;
        }
    }
    return true;
}

static void message_and_status_are_set(void **state)
{
    (void)state;
    Error err;
    assert_int_equal(error_set(&err, STATUS_USAGE, "--%s: %d", "top-k", -3),
                     STATUS_USAGE);
    assert_int_equal(err.status, STATUS_USAGE);
    assert_string_equal(err.message, "--top-k: -3");
    assert_int_equal(error_set(NULL, STATUS_MEMORY, "%d", 1), STATUS_MEMORY);
}

static void errno_is_explained(void **state)
{
    (void)state;
    Error err;
    errno = ENOENT;
    assert_int_equal(error_errno(&err, "%s: cannot open", "poems.json"), STATUS_IO);
    assert_int_equal(err.status, STATUS_IO);
    assert_string_equal(err.message,
                        "poems.json: cannot open: No such file or directory");
    errno = ENOENT;
    assert_int_equal(error_errno(NULL, "%s", "x"), STATUS_IO);
}

static void context_goes_in_front_and_keeps_the_status(void **state)
{
    (void)state;
    Error err;
    error_set(&err, STATUS_MEMORY, "out of memory");
    assert_int_equal(error_context(&err, "step %d", 7), STATUS_MEMORY);
    assert_int_equal(err.status, STATUS_MEMORY);
    assert_string_equal(err.message, "step 7: out of memory");
}

static Status fail_at(int step, int *reached, Error *err)
{
    for (*reached = 0; *reached < 10; ++*reached)
        TRY(*reached == step ? error_set(err, STATUS_INPUT, "here") : STATUS_OK);
    return STATUS_OK;
}

static void try_leaves_at_the_first_failure(void **state)
{
    (void)state;
    Error err;
    int reached;
    assert_int_equal(fail_at(4, &reached, &err), STATUS_INPUT);
    assert_int_equal(reached, 4);
    assert_int_equal(fail_at(99, &reached, &err), STATUS_OK);
    assert_int_equal(reached, 10);
}

/* Characters of 1 to 4 bytes, at every place relative to the buffer's end: the cut falls
 * between characters and loses no character that had room. */
static void long_messages_are_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"a", "é", "絕", "𠀀"};
    for (size_t c = 0; c < 4; c++) {
        size_t width = strlen(characters[c]);
        for (size_t pad = 0; pad < 8; pad++) {
            char text[2048] = "........";
            text[pad] = '\0';
            while (strlen(text) + width < 1100)
                strcat(text, characters[c]);
            Error err;
            error_set(&err, STATUS_INPUT, "%s", text);
            size_t room = sizeof err.message - 1;
            assert_int_equal(strlen(err.message), pad + (room - pad) / width * width);
            assert_true(is_whole(err.message));
            assert_memory_equal(err.message, text, strlen(err.message));

            error_context(&err, "%s", "in front");
            assert_true(is_whole(err.message));
            assert_true(strlen(err.message) > room - width);
        }
    }
}

/* What just fits is not touched. */
static void messages_that_fit_stay_whole(void **state)
{
    (void)state;
    Error err;
    for (size_t pad = 0; pad < 3; pad++) {
        char text[1024] = "..";
        text[pad] = '\0';
        while (strlen(text) + 3 <= sizeof err.message - 1)
            strcat(text, "詩");
        error_set(&err, STATUS_INPUT, "%s", text);
        assert_string_equal(err.message, text);
    }
    error_set(&err, STATUS_INPUT, "%s", "");
    assert_string_equal(err.message, "");
}

/* A file name that is no UTF-8 at all must not send the trimming out of the buffer. */
static void bytes_that_are_no_text_are_survived(void **state)
{
    (void)state;
    Error err;
    char text[1500];
    memset(text, 0x80, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(&err, STATUS_INPUT, "%s", text);
    assert_true(strlen(err.message) < sizeof err.message);
    error_context(&err, "%s", text);
    assert_true(strlen(err.message) < sizeof err.message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_and_status_are_set),
        cmocka_unit_test(errno_is_explained),
        cmocka_unit_test(context_goes_in_front_and_keeps_the_status),
        cmocka_unit_test(try_leaves_at_the_first_failure),
        cmocka_unit_test(long_messages_are_cut_between_characters),
        cmocka_unit_test(messages_that_fit_stay_whole),
        cmocka_unit_test(bytes_that_are_no_text_are_survived),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
