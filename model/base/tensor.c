#include "model/base/tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/base/memory.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are read from the file as they are: little-endian");

static const struct {
    const char *name;
    size_t size;
} DTYPES[DTYPE_COUNT] = {
    [DTYPE_BOOL] = {"BOOL", 1},       [DTYPE_U8] = {"U8", 1},
    [DTYPE_I8] = {"I8", 1},           [DTYPE_F8_E5M2] = {"F8_E5M2", 1},
    [DTYPE_F8_E4M3] = {"F8_E4M3", 1}, [DTYPE_I16] = {"I16", 2},
    [DTYPE_U16] = {"U16", 2},         [DTYPE_F16] = {"F16", 2},
    [DTYPE_BF16] = {"BF16", 2},       [DTYPE_I32] = {"I32", 4},
    [DTYPE_U32] = {"U32", 4},         [DTYPE_F32] = {"F32", 4},
    [DTYPE_I64] = {"I64", 8},         [DTYPE_U64] = {"U64", 8},
    [DTYPE_F64] = {"F64", 8},
};

const char *dtype_name(Dtype dtype)
{
    return DTYPES[dtype].name;
}

bool dtype_find(Dtype *out, const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(DTYPES[i].name, name) == 0) {
            *out = (Dtype)i;
            return true;
        }
    }
    return false;
}

bool dtype_is_real(Dtype dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_F32 || dtype == DTYPE_F16 ||
           dtype == DTYPE_BF16;
}

size_t dtype_size(Dtype dtype)
{
    return DTYPES[dtype].size;
}

Tensor tensor_of_reals(const char *name, const real *data, int rank,
                       const int64_t *shape)
{
    assert(rank >= 0 && rank <= TENSOR_RANK_MAX);
    Tensor tensor = {.name = name, .dtype = DTYPE_REAL, .rank = rank, .data = data};
    for (int i = 0; i < rank; i++)
        tensor.shape[i] = shape[i];
    return tensor;
}

bool tensor_bytes(size_t *bytes, const Tensor *tensor)
{
    size_t size = dtype_size(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] < 0 || (uint64_t)tensor->shape[i] > SIZE_MAX ||
            !size_multiply(&size, size, (size_t)tensor->shape[i]))
            return false;
    *bytes = size;
    return true;
}

const char *tensor_shape_text(char text[SHAPE_TEXT_SIZE], int rank,
                              const int64_t *shape)
{
    size_t used = 0;
    text[used++] = '(';
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, SHAPE_TEXT_SIZE - used, "%s%" PRId64,
                                 i > 0 ? "," : "", shape[i]);
    snprintf(text + used, SHAPE_TEXT_SIZE - used, ")");
    return text;
}

/* IEEE half: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static double half_value(uint16_t bits)
{
    int exponent = (bits >> 10) & 31;
    int fraction = bits & 1023;
    double value = exponent == 31  ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(1024 + fraction, exponent - 25);
    return (bits >> 15) != 0 ? -value : value;
}

/* bfloat16: the upper half of a float. */
static float brain_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

void tensor_copy_reals(real *out, const Tensor *tensor)
{
    size_t bytes = 0;
    bool sized = tensor_bytes(&bytes, tensor);
    assert(sized && dtype_is_real(tensor->dtype));
    (void)sized;
    if (tensor->dtype == DTYPE_REAL) {
        if (bytes > 0)
            memcpy(out, tensor->data, bytes);
        return;
    }
    size_t size = dtype_size(tensor->dtype);
    const unsigned char *at = tensor->data;
    for (size_t i = 0; i < bytes / size; i++, at += size) {
        double wide;
        float narrow;
        uint16_t half;
        switch (tensor->dtype) {
        case DTYPE_F64:
            memcpy(&wide, at, sizeof wide);
            out[i] = (real)wide;
            break;
        case DTYPE_F32:
            memcpy(&narrow, at, sizeof narrow);
            out[i] = (real)narrow;
            break;
        case DTYPE_F16:
            memcpy(&half, at, sizeof half);
            out[i] = (real)half_value(half);
            break;
        case DTYPE_BF16:
            memcpy(&half, at, sizeof half);
            out[i] = (real)brain_value(half);
            break;
        default:
            break;
        }
    }
}
