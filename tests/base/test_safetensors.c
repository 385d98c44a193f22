#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/rng.h"
#include "model/base/safetensors.h"
#include "tests/base/scratch.h"

static char root[PATH_SIZE];
static char path[PATH_SIZE];

static int make_scratch(void **state)
{
    (void)state;
    scratch_create(root);
    scratch_path(path, root, "model.safetensors");
    return 0;
}

static int remove_scratch(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

/* ---- helpers ------------------------------------------------------------------------ */

/* A file of this header (not padded) and `size` bytes of data 0, 1, 2, ... */
static void write_raw(const char *header, size_t size)
{
    unsigned char bytes[8192];
    uint64_t length = strlen(header);
    assert_true(8 + length + size <= sizeof bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < size; i++)
        bytes[8 + length + i] = (unsigned char)i;
    scratch_write(path, bytes, 8 + length + size);
}

static void assert_opens(const char *header, size_t size)
{
    Error err = {.message = ""};
    SafeTensors file;
    write_raw(header, size);
    if (safetensors_open(&file, path, &err) != STATUS_OK)
        fail_msg("%s: %s", header, err.message);
    safetensors_close(&file);
}

/* Refused with the path and `words` in the message. */
static void assert_refused(const char *header, size_t size, const char *words)
{
    Error err = {.message = ""};
    SafeTensors file;
    write_raw(header, size);
    if (safetensors_open(&file, path, &err) != STATUS_INPUT)
        fail_msg("accepted: %s", header);
    if (strstr(err.message, path) != err.message || strstr(err.message, words) == NULL)
        fail_msg("expected \"%s\" in: %s", words, err.message);
    safetensors_close(&file); /* closed already: harmless */
}

/* The one tensor "w", in a file of 24 bytes of data. */
static void assert_tensor_refused(const char *dtype, const char *shape,
                                  const char *offsets, const char *words)
{
    char header[512];
    snprintf(header, sizeof header,
             "{\"w\":{\"dtype\":%s,\"shape\":%s,\"data_offsets\":%s}}", dtype, shape,
             offsets);
    assert_refused(header, 24, words);
}

static void write_sample(void)
{
    static const real weights[6] = {1, -2, 0.5, 3, 4, 5};
    static const real bias[3] = {7, 8, 9};
    const Tensor tensors[] = {
        tensor_of_reals("layer.weight", weights, 2, (const int64_t[]){2, 3}),
        tensor_of_reals("a.bias", bias, 1, (const int64_t[]){3}),
    };
    const Metadata metadata[] = {{"format", "pt"}, {"詩", "絕句"}};
    Error err;
    if (safetensors_write(path, tensors, 2, metadata, 2, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

/* ---- writing and reading back ------------------------------------------------------- */

static void a_round_trip_keeps_every_bit(void **state)
{
    (void)state;
    real values[1000];
    real back[1000];
    Rng rng = rng_stream(1, 1);
    for (int i = 0; i < 1000; i++)
        values[i] = (real)rng_normal(&rng);
    values[0] = (real)-0.0;
    values[1] = (real)1e-40; /* subnormal in float */
    values[2] = (real)INFINITY;
    values[3] = (real)NAN;
    int64_t steps[3] = {INT64_MIN, 0, INT64_MAX};
    Tensor counts = {
        .name = "步", .dtype = DTYPE_I64, .rank = 1, .shape = {3}, .data = steps};
    const Tensor tensors[] = {
        counts,
        tensor_of_reals("z", values, 3, (const int64_t[]){10, 25, 4}),
        tensor_of_reals("scalar", values + 7, 0, NULL),
        tensor_of_reals("empty", NULL, 2, (const int64_t[]){0, 5}),
    };
    assert_int_equal(safetensors_write(path, tensors, 4, NULL, 0, NULL), STATUS_OK);

    SafeTensors file;
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    assert_int_equal(file.count, 4);
    assert_int_equal(safetensors_read_real(back, &file, "z", 3,
                                           (const int64_t[]){10, 25, 4}, false, NULL),
                     STATUS_OK);
    assert_memory_equal(back, values, sizeof values);
    assert_int_equal(safetensors_read_real(back, &file, "scalar", 0, NULL, true, NULL),
                     STATUS_OK);
    assert_memory_equal(back, values + 7, sizeof *back);
    assert_int_equal(safetensors_read_real(back, &file, "empty", 2,
                                           (const int64_t[]){0, 5}, true, NULL),
                     STATUS_OK);
    const Tensor *found = safetensors_find(&file, "步");
    assert_non_null(found);
    assert_int_equal(found->dtype, DTYPE_I64);
    assert_memory_equal(found->data, steps, sizeof steps);
    assert_null(safetensors_find(&file, "y"));
    assert_null(safetensors_find(&file, "zz"));
    assert_null(safetensors_metadata(&file, "format"));
    safetensors_close(&file);
}

static void the_file_is_laid_out_as_the_format_says(void **state)
{
    (void)state;
    write_sample();
    FileMap map;
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    uint64_t length;
    memcpy(&length, map.data, 8);
    assert_int_equal(length % 8, 0);
    assert_int_equal(map.data[8], '{');
    assert_int_equal(map.size, 8 + length + 9 * sizeof(real));
    size_t end = 8 + length;
    while (map.data[end - 1] == ' ')
        end--;
    assert_int_equal(map.data[end - 1], '}');
    assert_true(8 + length - end < 8);
    real first; /* in the order given, not by name */
    memcpy(&first, map.data + 8 + length, sizeof first);
    assert_true(first == 1);
    file_unmap(&map);

    SafeTensors file;
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    assert_string_equal(safetensors_metadata(&file, "format"), "pt");
    assert_string_equal(safetensors_metadata(&file, "詩"), "絕句");
    assert_null(safetensors_metadata(&file, "other"));
    safetensors_close(&file);
}

static void same_tensors_give_the_same_bytes(void **state)
{
    (void)state;
    FileMap map;
    write_sample();
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    unsigned char first[1024];
    size_t size = map.size;
    assert_true(size <= sizeof first);
    memcpy(first, map.data, size);
    file_unmap(&map);
    write_sample();
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    assert_int_equal(map.size, size);
    assert_memory_equal(map.data, first, size);
    file_unmap(&map);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    Error err;
    const real value[4] = {0};
    const int64_t one[] = {1};
    const int64_t negative[] = {-1};
    const int64_t huge[] = {INT64_MAX / 2, 4};
    Tensor tensors[2];
    tensors[0] = tensor_of_reals("w", value, 1, one);
    tensors[1] = tensor_of_reals("w", value, 1, one);
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "\"w\""));
    tensors[1] = tensor_of_reals("__metadata__", value, 1, one);
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, &err), STATUS_INPUT);
    tensors[1] = tensor_of_reals("\xff", value, 1, one);
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, &err), STATUS_INPUT);
    tensors[1] = tensor_of_reals("v", value, 1, negative);
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, &err), STATUS_INPUT);
    tensors[1] = tensor_of_reals("v", value, 2, huge);
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, &err), STATUS_INPUT);
    const Metadata metadata = {"key", "\xc3"};
    assert_int_equal(safetensors_write(path, tensors, 1, &metadata, 1, &err),
                     STATUS_INPUT);
    tensors[0] = (Tensor){
        .name = "flag", .dtype = DTYPE_U8, .rank = 1, .shape = {1}, .data = value};
    tensors[1] = tensor_of_reals("v", value, 1, one);
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "aligned"));
    assert_false(file_exists(path));
    assert_int_equal(safetensors_write("/dev/full", tensors, 1, NULL, 0, &err),
                     STATUS_IO);
}

static void other_number_types_become_reals(void **state)
{
    (void)state;
    const double wide[3] = {0.1, -1e30, 5e-324};
    const float narrow[3] = {0.1F, -1e30F, 3e-45F};
    /* 1, -2, the largest half 65504, the smallest 2^-24, 1/3 as a half */
    const uint16_t half[5] = {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x3555};
    const double half_values[5] = {1, -2, 65504, 0x1p-24, 0.333251953125};
    /* 1, -2, 3.140625, the largest */
    const uint16_t brain[4] = {0x3F80, 0xC000, 0x4049, 0x7F7F};
    const double brain_values[4] = {1, -2, 3.140625, 0x1.FEp127};
    const Tensor tensors[] = {
        {.name = "wide", .dtype = DTYPE_F64, .rank = 1, .shape = {3}, .data = wide},
        {.name = "narrow", .dtype = DTYPE_F32, .rank = 1, .shape = {3}, .data = narrow},
        {.name = "half", .dtype = DTYPE_F16, .rank = 1, .shape = {5}, .data = half},
        {.name = "brain", .dtype = DTYPE_BF16, .rank = 1, .shape = {4}, .data = brain},
        {.name = "bytes", .dtype = DTYPE_U8, .rank = 1, .shape = {3}, .data = wide},
    };
    assert_int_equal(safetensors_write(path, tensors, 5, NULL, 0, NULL), STATUS_OK);
    SafeTensors file;
    Error err;
    real out[5];
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    const int64_t shape[] = {3};
    assert_int_equal(safetensors_read_real(out, &file, "wide", 1, shape, true, &err),
                     STATUS_OK);
    for (int i = 0; i < 3; i++)
        assert_true(out[i] == (real)wide[i]);
    assert_int_equal(safetensors_read_real(out, &file, "narrow", 1, shape, true, &err),
                     STATUS_OK);
    for (int i = 0; i < 3; i++)
        assert_true(out[i] == (real)narrow[i]);
    assert_int_equal(
        safetensors_read_real(out, &file, "half", 1, (const int64_t[]){5}, true, &err),
        STATUS_OK);
    for (int i = 0; i < 5; i++)
        assert_true(out[i] == (real)half_values[i]);
    assert_int_equal(
        safetensors_read_real(out, &file, "brain", 1, (const int64_t[]){4}, true, &err),
        STATUS_OK);
    for (int i = 0; i < 4; i++)
        assert_true(out[i] == (real)brain_values[i]);
    assert_int_equal(safetensors_read_real(out, &file, "bytes", 1, shape, true, &err),
                     STATUS_INPUT);
    assert_non_null(strstr(err.message, "U8"));
    safetensors_close(&file);
}

static void a_number_that_is_not_finite_is_named(void **state)
{
    (void)state;
    const float narrow[4] = {0, 1, NAN, 2};
    const uint16_t half[2] = {0x3C00, 0xFC00}; /* 1, -inf */
    const uint16_t brain[2] = {0x7FC0, 0};     /* NaN */
    const double wide[1] = {1e300};            /* fits a double only */
    const Tensor tensors[] = {
        {.name = "wide", .dtype = DTYPE_F64, .rank = 1, .shape = {1}, .data = wide},
        {.name = "narrow", .dtype = DTYPE_F32, .rank = 1, .shape = {4}, .data = narrow},
        {.name = "half", .dtype = DTYPE_F16, .rank = 1, .shape = {2}, .data = half},
        {.name = "brain", .dtype = DTYPE_BF16, .rank = 1, .shape = {2}, .data = brain},
    };
    assert_int_equal(safetensors_write(path, tensors, 4, NULL, 0, NULL), STATUS_OK);
    SafeTensors file;
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        Error err;
        real out[4];
        if (tensors[i].dtype == DTYPE_F64 && sizeof(real) == 8)
            continue;
        assert_int_equal(safetensors_read_real(out, &file, tensors[i].name, 1,
                                               tensors[i].shape, false, &err),
                         STATUS_OK);
        assert_int_equal(safetensors_read_real(out, &file, tensors[i].name, 1,
                                               tensors[i].shape, true, &err),
                         STATUS_INPUT);
        assert_non_null(strstr(err.message, tensors[i].name));
        assert_non_null(strstr(err.message, "not finite"));
    }
    safetensors_close(&file);
}

static void another_shape_is_refused_with_both(void **state)
{
    (void)state;
    write_sample();
    SafeTensors file;
    Error err;
    real out[6];
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    assert_int_equal(safetensors_read_real(out, &file, "layer.weight", 2,
                                           (const int64_t[]){3, 2}, true, &err),
                     STATUS_INPUT);
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, "layer.weight"));
    assert_non_null(strstr(err.message, "expected shape (3,2), found (2,3)"));
    assert_int_equal(safetensors_read_real(out, &file, "layer.weight", 1,
                                           (const int64_t[]){6}, true, &err),
                     STATUS_INPUT);
    assert_int_equal(safetensors_read_real(out, &file, "layer.bias", 1,
                                           (const int64_t[]){3}, true, &err),
                     STATUS_INPUT);
    assert_non_null(strstr(err.message, "layer.bias"));
    assert_non_null(strstr(err.message, "missing"));
    safetensors_close(&file);
}

/* ---- files of others ---------------------------------------------------------------- */

static void what_the_reference_takes_is_taken(void **state)
{
    (void)state;
    assert_opens("{}", 0);
    assert_opens("{}      ", 0);
    assert_opens("{\"__metadata__\":{}}", 0);
    assert_opens("{\"w\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4);
    assert_opens("{\"w\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[0,0]}}",
                 0);
    assert_opens("{\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]},"
                 "\"a\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
                 5);
    /* An empty one between two others; a key that is not ours. */
    assert_opens(
        "{\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]},"
        "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]},"
        "\"a\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[0,2],\"x\":1}}",
        5);
}

/* An odd header length leaves the numbers unaligned; they are read all the same. */
static void unaligned_numbers_are_read(void **state)
{
    (void)state;
    for (int spaces = 0; spaces < 8; spaces++) {
        char header[256];
        snprintf(header, sizeof header,
                 "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                 "\"h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[8,12]}}%*s",
                 spaces, "");
        write_raw(header, 12);
        const unsigned char bytes[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        float expected[2];
        memcpy(expected, bytes, 8);
        SafeTensors file;
        real out[2];
        assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
        assert_int_equal(
            safetensors_read_real(out, &file, "w", 1, (const int64_t[]){2}, true, NULL),
            STATUS_OK);
        assert_true(out[0] == (real)expected[0] && out[1] == (real)expected[1]);
        assert_int_equal(
            safetensors_read_real(out, &file, "h", 1, (const int64_t[]){2}, true, NULL),
            STATUS_OK);
        safetensors_close(&file);
    }
}

static void headers_that_are_wrong_are_refused(void **state)
{
    (void)state;
    assert_refused("", 0, "begin with {");
    assert_refused(" {}", 0, "begin with {");
    assert_refused("[]", 0, "begin with {");
    assert_refused("{", 0, "line 1");
    assert_refused("{} x", 0, "end of file");
    assert_refused("{\"\xff\":1}", 0, "line 1");
    assert_refused("{}", 1, "end at byte 0");
    assert_refused("{\"__metadata__\":[]}", 0, "an array");
    assert_refused("{\"__metadata__\":{\"step\":3}}", 0, "\"step\"");
    assert_refused("{\"w\":3}", 0, "expected an object");
    assert_refused("{\"w\":{}}", 0, "\"dtype\" is missing");
    assert_refused("{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                   "\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                   2, "duplicate");
    assert_refused("{\"w\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],"
                   "\"data_offsets\":[0,1]}}",
                   1, "duplicate");
    char deep[6000];
    memset(deep, '[', sizeof deep - 1);
    memcpy(deep, "{\"w\":", 5);
    deep[sizeof deep - 1] = '\0';
    assert_refused(deep, 0, "depth");
}

static void tensors_that_are_wrong_are_refused(void **state)
{
    (void)state;
    const char *f32 = "\"F32\"";
    assert_tensor_refused("\"F31\"", "[6]", "[0,24]", "F31");
    assert_tensor_refused("\"f32\"", "[6]", "[0,24]", "f32");
    assert_tensor_refused("32", "[6]", "[0,24]", "dtype");
    assert_tensor_refused("null", "[6]", "[0,24]", "dtype");
    assert_tensor_refused(f32, "6", "[0,24]", "\"shape\"");
    assert_tensor_refused(f32, "[6.0]", "[0,24]", "\"shape\"");
    assert_tensor_refused(f32, "[\"6\"]", "[0,24]", "\"shape\"");
    assert_tensor_refused(f32, "[-6]", "[0,24]", "\"shape\"");
    assert_tensor_refused(f32, "[-2,-3]", "[0,24]", "\"shape\"");
    assert_tensor_refused(f32, "[1,1,1,1,1,1,1,1,6]", "[0,24]", "\"shape\"");
    assert_tensor_refused(f32, "[5]", "[0,24]", "(5) of F32");
    assert_tensor_refused(f32, "[7]", "[0,24]", "(7) of F32");
    assert_tensor_refused(f32, "[]", "[0,24]", "() of F32");
    assert_tensor_refused(f32, "[6,0]", "[0,24]", "(6,0) of F32");
    assert_tensor_refused("\"F64\"", "[6]", "[0,24]", "(6) of F64");
    /* 2^62 x 4 bytes and 2^32 x 2^32 x 4 are 0 in 64 bits. */
    assert_tensor_refused(f32, "[4611686018427387904]", "[0,0]", "shape");
    assert_tensor_refused(f32, "[4294967296,4294967296]", "[0,0]", "shape");
    assert_tensor_refused(f32, "[4611686018427387910]", "[0,24]", "shape");
    assert_tensor_refused(f32, "[18446744073709551622]", "[0,24]", "line 1");
    assert_tensor_refused(f32, "[6]", "24", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[24]", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[0,24,48]", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[0,24.0]", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[-24,0]", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[24,0]", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[1,25]", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[0,28]", "\"data_offsets\"");
    assert_tensor_refused(f32, "[6]", "[9223372036854775800,9223372036854775807]",
                          "\"data_offsets\"");
    assert_tensor_refused(f32, "[5]", "[0,20]", "end at byte 20");
    assert_tensor_refused(f32, "[5]", "[4,24]", "begins at byte 4");
}

static void holes_and_overlaps_are_refused(void **state)
{
    (void)state;
    static const char two[] =
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[%d,8]}}";
    for (int begin = 0; begin <= 8; begin++) {
        char header[256];
        snprintf(header, sizeof header, two, 8 - begin, begin);
        if (begin == 4)
            assert_opens(header, 8);
        else
            assert_refused(header, 8, "tensor \"");
    }
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                   "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
                   4, "begins at byte 0");
}

static void header_lengths_beyond_the_file_are_refused(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {
        3, 100, 100000000, 100000001, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63,
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        unsigned char bytes[10] = {0};
        memcpy(bytes, &lengths[i], 8);
        memcpy(bytes + 8, "{}", 2);
        scratch_write(path, bytes, sizeof bytes);
        Error err;
        SafeTensors file;
        assert_int_equal(safetensors_open(&file, path, &err), STATUS_INPUT);
        assert_non_null(strstr(err.message, path));
    }
}

/* ---- damage ------------------------------------------------------------------------- */

/* Opens the file and, if that works, looks at every byte of every tensor. */
static Status use_all(Error *err)
{
    SafeTensors file;
    TRY(safetensors_open(&file, path, err));
    for (size_t i = 0; i < file.count; i++) {
        const Tensor *tensor = &file.tensors[i];
        size_t bytes = 0;
        assert_true(tensor_bytes(&bytes, tensor));
        const unsigned char *data = tensor->data;
        assert_true(data >= file.map.data &&
                    data + bytes <= file.map.data + file.map.size);
        real out[64];
        if (bytes / dtype_size(tensor->dtype) <= 64)
            safetensors_read_real(out, &file, tensor->name, tensor->rank, tensor->shape,
                                  true, err);
        assert_ptr_equal(safetensors_find(&file, tensor->name), tensor);
    }
    safetensors_close(&file);
    return STATUS_OK;
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    unsigned char bytes[1024];
    FileMap map;
    write_sample();
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    size_t size = map.size;
    assert_true(size <= sizeof bytes);
    memcpy(bytes, map.data, size);
    file_unmap(&map);
    for (size_t length = 0; length < size; length++) {
        Error err = {.message = ""};
        scratch_write(path, bytes, length);
        assert_int_equal(use_all(&err), STATUS_INPUT);
        assert_non_null(strstr(err.message, path));
    }
    scratch_write(path, bytes, size);
    assert_int_equal(use_all(NULL), STATUS_OK);
    bytes[size] = 0;
    scratch_write(path, bytes, size + 1);
    assert_int_equal(use_all(NULL), STATUS_INPUT);
}

/* Flipped bits, overwritten bytes, runs taken out: an error or a consistent file. */
static void damaged_files_never_crash_the_reader(void **state)
{
    (void)state;
    unsigned char good[1024];
    unsigned char bad[1024];
    FileMap map;
    write_sample();
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    size_t size = map.size;
    memcpy(good, map.data, size);
    file_unmap(&map);
    size_t header = size - 9 * sizeof(real);
    int refused = 0;
    for (size_t bit = 0; bit < header * 8; bit++) {
        memcpy(bad, good, size);
        bad[bit / 8] ^= (unsigned char)(1 << bit % 8);
        scratch_write(path, bad, size);
        refused += use_all(NULL) != STATUS_OK;
    }
    assert_true(refused > (int)header * 3); /* most of a header matters */

    static const char letters[] = "0123456789-.eE\"\\{}[]:,null \0\xff";
    Rng rng = rng_stream(30, 1);
    for (int round = 0; round < 3000; round++) {
        size_t length = size;
        memcpy(bad, good, size);
        for (uint64_t changes = 1 + rng_below(&rng, 4); changes > 0; changes--) {
            size_t at = 8 + (size_t)rng_below(&rng, length - 8);
            if (rng_below(&rng, 4) == 0) {
                memmove(bad + at, bad + at + 1, length - at - 1);
                length--;
            } else {
                bad[at] = (unsigned char)letters[rng_below(&rng, sizeof letters - 1)];
            }
        }
        scratch_write(path, bad, length);
        use_all(NULL);
    }
}

static void files_that_cannot_be_mapped_are_errors(void **state)
{
    (void)state;
    Error err;
    SafeTensors file;
    assert_int_equal(safetensors_open(&file, path, &err), STATUS_IO);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(safetensors_open(&file, root, &err), STATUS_INPUT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)
    const struct CMUnitTest tests[] = {
        TEST(a_round_trip_keeps_every_bit),
        TEST(the_file_is_laid_out_as_the_format_says),
        TEST(same_tensors_give_the_same_bytes),
        TEST(what_cannot_be_written_is_refused),
        TEST(other_number_types_become_reals),
        TEST(a_number_that_is_not_finite_is_named),
        TEST(another_shape_is_refused_with_both),
        TEST(what_the_reference_takes_is_taken),
        TEST(unaligned_numbers_are_read),
        TEST(headers_that_are_wrong_are_refused),
        TEST(tensors_that_are_wrong_are_refused),
        TEST(holes_and_overlaps_are_refused),
        TEST(header_lengths_beyond_the_file_are_refused),
        TEST(every_truncation_is_refused),
        TEST(damaged_files_never_crash_the_reader),
        TEST(files_that_cannot_be_mapped_are_errors),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
