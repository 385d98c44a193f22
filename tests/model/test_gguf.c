#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/gpt/gguf.h"
#include "tests/base/scratch_root.h"
#include "tests/model/gguf_reader.h"

static char path[PATH_SIZE];

static const real NUMBERS[] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13};

static int open_scratch(void **state)
{
    make_scratch(state);
    scratch_path(path, root, "model.gguf");
    return 0;
}

static void must(Status status, const Error *err)
{
    if (status != STATUS_OK)
        fail_msg("%s", err->message);
}

static GgufWriter open_writer(void)
{
    GgufWriter writer;
    Error err;
    must(gguf_open(&writer, path, &err), &err);
    return writer;
}

static void describe(GgufWriter *writer, const char *name, GgufDtype dtype, int rank,
                     int64_t a, int64_t b, int64_t c)
{
    Error err;
    const int64_t shape[] = {a, b, c};
    must(gguf_describe(writer, name, dtype, rank, shape, &err), &err);
}

/* Three tensors whose sizes are no multiples of 32 bytes, and a few keys. */
static void write_file(void)
{
    GgufWriter writer = open_writer();
    Error err;
    const char *const texts[] = {"月", "", "<bos>"};
    must(gguf_put_text(&writer, "general.name", "唐", &err), &err);
    must(gguf_put_u32(&writer, "a.b_2.c", UINT32_MAX, &err), &err);
    must(gguf_put_f32(&writer, "a.f", 0.1, &err), &err);
    must(gguf_put_bool(&writer, "a.yes", true, &err), &err);
    must(gguf_put_bool(&writer, "a.no", false, &err), &err);
    must(gguf_put_texts(&writer, "texts", texts, 3, &err), &err);
    must(gguf_put_f32s(&writer, "floats", (const float[]){1, -2}, 2, &err), &err);
    must(gguf_put_i32s(&writer, "whole", (const int32_t[]){-7, 8, 9}, 3, &err), &err);
    must(gguf_put_i32s(&writer, "none", NULL, 0, &err), &err);
    describe(&writer, "vector", GGUF_F32, 1, 13, 0, 0);
    describe(&writer, "halves", GGUF_F16, 2, 3, 2, 0);
    describe(&writer, "block", GGUF_F32, 3, 2, 3, 2);
    must(gguf_start(&writer, &err), &err);
    for (int i = 0; i < 3; i++)
        must(gguf_write(&writer, NUMBERS, &err), &err);
    must(gguf_commit(&writer, &err), &err);
}

/* ---- what was written is read ------------------------------------------------------- */

static void counts_and_version_stand_in_front(void **state)
{
    (void)state;
    Reader reader;
    write_file();
    reader_open(&reader, path);
    assert_int_equal(reader.version, 3);
    assert_int_equal(reader.tensor_count, 3);
    assert_int_equal(reader.key_count, 10); /* general.alignment is put by itself */
    assert_int_equal(reader_number(&reader, "general.alignment"), 32);
    reader_close(&reader);
}

static void values_keep_their_types(void **state)
{
    (void)state;
    Reader reader;
    write_file();
    reader_open(&reader, path);
    assert_true(reader_is_text(&reader, "general.name", "唐"));
    assert_int_equal(reader_number(&reader, "a.b_2.c"), UINT32_MAX);
    assert_true(reader_float(&reader, "a.f") == 0.1F);
    assert_true(reader_bool(&reader, "a.yes"));
    assert_false(reader_bool(&reader, "a.no"));
    reader_close(&reader);
}

static void arrays_say_type_and_length(void **state)
{
    (void)state;
    Reader reader;
    int32_t whole[3];
    float floats[2];
    char text[8];
    write_file();
    reader_open(&reader, path);
    const FoundKey *key = reader_find_key(&reader, "texts");
    assert_int_equal(key->type, 9);
    assert_int_equal(key->item_type, 8);
    assert_int_equal(key->length, 3);
    reader.at = key->place;
    reader_text(&reader, text, sizeof text);
    assert_string_equal(text, "月");
    reader_text(&reader, text, sizeof text);
    assert_string_equal(text, "");
    reader_text(&reader, text, sizeof text);
    assert_string_equal(text, "<bos>");

    key = reader_find_key(&reader, "floats");
    assert_int_equal(key->item_type, 6);
    memcpy(floats, reader.map.data + key->place, sizeof floats);
    assert_true(key->length == 2 && floats[0] == 1 && floats[1] == -2);
    key = reader_find_key(&reader, "whole");
    assert_int_equal(key->item_type, 5);
    memcpy(whole, reader.map.data + key->place, sizeof whole);
    assert_true(key->length == 3 && whole[0] == -7 && whole[1] == 8 && whole[2] == 9);
    assert_int_equal(reader_find_key(&reader, "none")->length, 0);
    reader_close(&reader);
}

static void sizes_are_stored_fastest_first(void **state)
{
    (void)state;
    Reader reader;
    write_file();
    reader_open(&reader, path);
    const FoundTensor *block = reader_find_tensor(&reader, "block");
    assert_int_equal(block->rank, 3);
    assert_int_equal(block->sizes[0], 2);
    assert_int_equal(block->sizes[1], 3);
    assert_int_equal(block->sizes[2], 2);
    const FoundTensor *halves = reader_find_tensor(&reader, "halves");
    assert_int_equal(halves->rank, 2);
    assert_int_equal(halves->dtype, 1);
    assert_int_equal(halves->sizes[0], 2);
    assert_int_equal(halves->sizes[1], 3);
    reader_close(&reader);
}

static void data_are_aligned_without_overlap(void **state)
{
    (void)state;
    Reader reader;
    write_file();
    reader_open(&reader, path);
    uint64_t next = 0;
    for (uint64_t i = 0; i < reader.tensor_count; i++) {
        const FoundTensor *tensor = &reader.tensors[i];
        assert_int_equal(tensor->offset % 32, 0);
        assert_int_equal(tensor->offset, next);
        next = (tensor->offset + reader_bytes(tensor) + 31) / 32 * 32;
    }
    assert_int_equal(reader.data + next, reader.map.size);
    reader_close(&reader);
}

static void gaps_are_zero(void **state)
{
    (void)state;
    Reader reader;
    write_file();
    reader_open(&reader, path);
    for (size_t i = reader.at; i < reader.data; i++)
        assert_int_equal(reader.map.data[i], 0);
    size_t gaps = 0;
    for (uint64_t i = 0; i < reader.tensor_count; i++) {
        const FoundTensor *tensor = &reader.tensors[i];
        size_t at = reader.data + (size_t)tensor->offset + reader_bytes(tensor);
        for (; at % 32 != 0; at++, gaps++)
            assert_int_equal(reader.map.data[at], 0);
    }
    assert_true(gaps > 0);
    reader_close(&reader);
}

static void numbers_come_back(void **state)
{
    (void)state;
    Reader reader;
    write_file();
    reader_open(&reader, path);
    for (uint64_t i = 0; i < 13; i++)
        assert_true(reader_value(&reader, &reader.tensors[0], i) == (float)NUMBERS[i]);
    for (uint64_t i = 0; i < 12; i++)
        assert_true(reader_value(&reader, &reader.tensors[2], i) == (float)NUMBERS[i]);
    /* 1, -2, 3 as halves */
    const uint16_t expected[] = {0x3C00, 0xC000, 0x4200};
    assert_memory_equal(reader.map.data + reader.data + reader.tensors[1].offset,
                        expected, sizeof expected);
    reader_close(&reader);
}

/* More numbers than pass through the writer's buffer at once. */
static void long_tensors_come_back(void **state)
{
    (void)state;
    enum { COUNT = 5003 };
    static real values[COUNT];
    Reader reader;
    Error err;
    for (int i = 0; i < COUNT; i++)
        values[i] = (real)(i * 3 - 7000);
    GgufWriter writer = open_writer();
    describe(&writer, "long", GGUF_F32, 1, COUNT, 0, 0);
    must(gguf_start(&writer, &err), &err);
    must(gguf_write(&writer, values, &err), &err);
    must(gguf_commit(&writer, &err), &err);
    reader_open(&reader, path);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(reader_value(&reader, &reader.tensors[0], i) == (float)values[i]);
    reader_close(&reader);
}

/* ---- halves ------------------------------------------------------------------------- */

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    int fraction = bits & 1023;
    double size =
        exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 != 0 ? -size : size;
}

static void every_half_is_itself(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++)
        if ((bits & 0x7C00) != 0x7C00)
            assert_int_equal(gguf_half((float)half_value((uint16_t)bits)), bits);
}

/* Between neighbours: the nearer one, and in the middle the even one. */
static void halves_are_the_nearest(void **state)
{
    (void)state;
    for (uint16_t bits = 0; bits < 0x7BFF; bits++) {
        double low = half_value(bits);
        double high = half_value((uint16_t)(bits + 1));
        float middle = (float)((low + high) / 2);
        uint16_t even = (uint16_t)(bits % 2 == 0 ? bits : bits + 1);
        assert_int_equal(gguf_half(middle), even);
        assert_int_equal(gguf_half(-middle), even | 0x8000);
        assert_int_equal(gguf_half(nextafterf(middle, 0)), bits);
        assert_int_equal(gguf_half(nextafterf(middle, INFINITY)), bits + 1);
    }
}

static void halves_end_at_65520(void **state)
{
    (void)state;
    assert_int_equal(gguf_half(nextafterf(65520, 0)), 0x7BFF);
    assert_int_equal(gguf_half(65520), 0x7C00);
    assert_int_equal(gguf_half(-INFINITY), 0xFC00);
    assert_int_equal(gguf_half(NAN) & 0x7C00, 0x7C00);
    assert_true((gguf_half(NAN) & 0x03FF) != 0);
}

/* ---- what is refused ---------------------------------------------------------------- */

static void expect(Status expected, Status found, const Error *err, const char *words)
{
    assert_int_equal(found, expected);
    if (strstr(err->message, words) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", words, err->message);
}

static void keys_are_words_between_dots(void **state)
{
    (void)state;
    static const char *const WRONG[] = {"", ".a", "a.", "a..b", "A", "a b", "月"};
    GgufWriter writer = open_writer();
    Error err;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        expect(STATUS_INPUT, gguf_put_u32(&writer, WRONG[i], 1, &err), &err,
               "is no key");
    gguf_abort(&writer);
}

static void names_are_taken_once(void **state)
{
    (void)state;
    GgufWriter writer = open_writer();
    Error err;
    const int64_t shape[] = {2};
    must(gguf_put_u32(&writer, "a.bc", 1, &err), &err);
    must(gguf_put_u32(&writer, "a.b", 1, &err), &err); /* a prefix is another key */
    expect(STATUS_INPUT, gguf_put_bool(&writer, "a.bc", true, &err), &err, "\"a.bc\"");
    describe(&writer, "x", GGUF_F32, 1, 2, 0, 0);
    expect(STATUS_INPUT, gguf_describe(&writer, "x", GGUF_F16, 1, shape, &err), &err,
           "\"x\" is there already");
    gguf_abort(&writer);
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    GgufWriter writer = open_writer();
    Error err;
    expect(STATUS_INPUT, gguf_put_u32(&writer, "a", -1, &err), &err, "found -1");
    expect(STATUS_INPUT, gguf_put_u32(&writer, "a", INT64_C(1) << 32, &err), &err,
           "found 4294967296");
    gguf_abort(&writer);
}

static void impossible_tensors_are_refused(void **state)
{
    (void)state;
    GgufWriter writer = open_writer();
    Error err;
    char name[GGUF_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[GGUF_NAME_MAX + 1] = '\0';
    const int64_t empty[] = {3, 0};
    const int64_t negative[] = {-1, 3};
    const int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    const int64_t large[] = {INT64_C(1) << 31, INT64_C(1) << 30};
    const int64_t fine[] = {1, 1};
    expect(STATUS_INPUT, gguf_describe(&writer, "a", GGUF_F32, 2, empty, &err), &err,
           "\"a\": impossible shape");
    expect(STATUS_INPUT, gguf_describe(&writer, "a", GGUF_F32, 2, negative, &err), &err,
           "impossible shape");
    expect(STATUS_INPUT, gguf_describe(&writer, "a", GGUF_F32, 2, huge, &err), &err,
           "impossible shape");
    expect(STATUS_INPUT, gguf_describe(&writer, "a", GGUF_F32, 2, large, &err), &err,
           "impossible shape");
    expect(STATUS_INPUT, gguf_describe(&writer, name, GGUF_F32, 2, fine, &err), &err,
           "found 64");
    expect(STATUS_INPUT, gguf_describe(&writer, "", GGUF_F32, 2, fine, &err), &err,
           "found 0");
    must(gguf_describe(&writer, name + 1, GGUF_F32, 2, fine, &err), &err);
    gguf_abort(&writer);
}

static void write_one(GgufDtype dtype, real second, Status expected, const char *words)
{
    const real values[] = {1, second};
    GgufWriter writer = open_writer();
    Error err = {.message = ""};
    describe(&writer, "w", dtype, 1, 2, 0, 0);
    must(gguf_start(&writer, &err), &err);
    expect(expected, gguf_write(&writer, values, &err), &err, words);
    gguf_abort(&writer);
}

static void values_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    write_one(GGUF_F32, (real)NAN, STATUS_NUMERIC, "\"w\": value 1 is nan");
    write_one(GGUF_F32, (real)INFINITY, STATUS_NUMERIC, "value 1 is inf");
    write_one(GGUF_F32, (real)70000, STATUS_OK, "");
    write_one(GGUF_F16, (real)70000, STATUS_NUMERIC, "not finite in f16");
    write_one(GGUF_F16, (real)-65504, STATUS_OK, "");
}

/* ---- one step ----------------------------------------------------------------------- */

static void nothing_is_seen_before_the_commit(void **state)
{
    (void)state;
    scratch_text(path, "old");
    GgufWriter writer = open_writer();
    Error err;
    describe(&writer, "w", GGUF_F32, 1, 2, 0, 0);
    must(gguf_start(&writer, &err), &err);
    must(gguf_write(&writer, NUMBERS, &err), &err);
    assert_true(scratch_holds(path, "old"));
    gguf_abort(&writer);
    assert_true(scratch_holds(path, "old"));
    gguf_abort(&writer); /* does nothing */
}

static void a_missing_folder_is_named(void **state)
{
    (void)state;
    char inside[PATH_SIZE];
    Error err;
    GgufWriter writer;
    scratch_path(inside, root, "none/model.gguf");
    assert_int_not_equal(gguf_open(&writer, inside, &err), STATUS_OK);
    assert_non_null(strstr(err.message, "none/model.gguf"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_and_version_stand_in_front),
        TEST(values_keep_their_types),
        TEST(arrays_say_type_and_length),
        TEST(sizes_are_stored_fastest_first),
        TEST(data_are_aligned_without_overlap),
        TEST(gaps_are_zero),
        TEST(numbers_come_back),
        TEST(long_tensors_come_back),
        TEST(every_half_is_itself),
        TEST(halves_are_the_nearest),
        TEST(halves_end_at_65520),
        TEST(keys_are_words_between_dots),
        TEST(names_are_taken_once),
        TEST(numbers_that_do_not_fit_are_refused),
        TEST(impossible_tensors_are_refused),
        TEST(values_that_are_not_finite_are_refused),
        TEST(nothing_is_seen_before_the_commit),
        TEST(a_missing_folder_is_named),
    };
    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
