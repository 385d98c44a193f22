#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/memory.h"
#include "tests/data/texts.h"

static void every_code_point_survives_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        char bytes[UTF8_MAXIMUM];
        uint32_t back = UINT32_MAX;
        size_t length = utf8_encode(bytes, point);
        size_t read = utf8_decode(&back, (unsigned char *)bytes, length);
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        if (read != (surrogate ? 0 : length) || (!surrogate && back != point))
            fail_msg("U+%04X: %zu bytes written, %zu read", point, length, read);
    }
}

/* A slow decoder by definition: the value of the bits, then the rules of RFC 3629. */
static size_t decode_by_definition(const unsigned char *text)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xC0 ? 0
                    : text[0] < 0xE0 ? 2
                    : text[0] < 0xF0 ? 3
                    : text[0] < 0xF8 ? 4
                                     : 0;
    if (length < 2)
        return length;
    uint32_t value = text[0] & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xBF)
            return 0;
        value = value * 64 + (text[i] & 63);
    }
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = value >= 0xD800 && value < 0xE000;
    return value < LEAST[length] || value > 0x10FFFF || surrogate ? 0 : length;
}

static void exactly_the_well_formed_sequences_are_read(void **state)
{
    (void)state;
    static const unsigned char THIRD[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0};
    for (unsigned first = 0; first < 256; first++)
        for (unsigned second = 0; second < 256; second++)
            for (size_t i = 0; i < sizeof THIRD; i++) {
                unsigned char text[] = {(unsigned char)first, (unsigned char)second,
                                        THIRD[i], 0x80};
                uint32_t point;
                assert_int_equal(utf8_decode(&point, text, sizeof text),
                                 decode_by_definition(text));
            }
}

static void a_sequence_cut_short_is_invalid(void **state)
{
    (void)state;
    const unsigned char text[] = "\xF0\xA0\xAE\xB7";
    uint32_t point;
    for (size_t size = 1; size < 4; size++)
        assert_int_equal(utf8_decode(&point, text, size), 0);
    assert_int_equal(utf8_decode(&point, text, 4), 4);
    assert_int_equal(point, 0x20BB7);
}

static void the_error_names_the_offset(void **state)
{
    (void)state;
    Points points = {0};
    Error error;
    assert_int_equal(utf8_append(&points.points, &points.used, &points.capacity,
                                 (const unsigned char *)"\xE5\xBA\x8A\xC0\xAF", 5,
                                 "a prompt", &error),
                     STATUS_INPUT);
    assert_string_equal(error.message, "a prompt: invalid UTF-8 at byte 3 (0xC0)");
    points_free(&points);
}

static void assert_normalized(const char *text, const char *expected)
{
    Points in = {0}, out = {0};
    text_points(&in, text);
    assert_int_equal(
        utf8_normalize(&out.points, &out.used, &out.capacity, in.points, in.used, NULL),
        STATUS_OK);
    assert_points(out.points, out.used, expected);
    points_free(&in);
    points_free(&out);
}

static void normalisation_composes_and_never_touches_compatibility(void **state)
{
    (void)state;
    assert_normalized("e\u0301", "\u00E9");
    assert_normalized("\uFA10\uF9C3", "\u585A\u907C"); /* singletons are decomposed */
    assert_normalized("，。！？、；：Ｂ①", "，。！？、；：Ｂ①");
    assert_normalized("\u1112\u1161\u11AB", "\uD55C");  /* Hangul, by rule */
    assert_normalized("a\u0315\u0300", "\u00E0\u0315"); /* marks in their order */
    assert_normalized("", "");
}

static void a_long_run_of_marks_is_put_in_order(void **state)
{
    (void)state;
    enum { PAIRS = 200000 };
    Points in = {0}, out = {0};
    assert_int_equal(points_push(&in, 'q', NULL), STATUS_OK);
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(points_push(&in, 0x0301, NULL), STATUS_OK); /* class 230 */
        assert_int_equal(points_push(&in, 0x0316, NULL), STATUS_OK); /* class 220 */
    }
    assert_int_equal(
        utf8_normalize(&out.points, &out.used, &out.capacity, in.points, in.used, NULL),
        STATUS_OK);
    assert_int_equal(out.used, in.used);
    for (size_t i = 1; i < out.used; i++)
        assert_int_equal(out.points[i], i <= PAIRS ? 0x0316 : 0x0301);
    points_free(&in);
    points_free(&out);
}

static void length_is_what_write_writes(void **state)
{
    (void)state;
    Points points = {0};
    char bytes[64];
    text_points(&points, "a\u00E9床𠮷");
    assert_int_equal(utf8_length(points.points, points.used), 1 + 2 + 3 + 4);
    assert_int_equal(utf8_write(bytes, points.points, points.used), 10);
    points_free(&points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives_the_round_trip),
        cmocka_unit_test(exactly_the_well_formed_sequences_are_read),
        cmocka_unit_test(a_sequence_cut_short_is_invalid),
        cmocka_unit_test(the_error_names_the_offset),
        cmocka_unit_test(normalisation_composes_and_never_touches_compatibility),
        cmocka_unit_test(a_long_run_of_marks_is_put_in_order),
        cmocka_unit_test(length_is_what_write_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
