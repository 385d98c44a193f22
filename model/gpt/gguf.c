#include "model/gpt/gguf.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/base/memory.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers go to the file as they are: little-endian");

static const char MAGIC[4] = {'G', 'G', 'U', 'F'};

/* ---- bytes -------------------------------------------------------------------------- */

static Status append(GgufBytes *to, const void *bytes, size_t size, Error *err)
{
    size_t need;
    if (!size_add(&need, to->size, size))
        return error_set(err, STATUS_MEMORY,
                         "out of memory: the header of a GGUF file");
    TRY(memory_reserve(&to->bytes, &to->capacity, need, 1, "the header of a GGUF file",
                       err));
    if (size > 0)
        memcpy(to->bytes + to->size, bytes, size);
    to->size = need;
    return STATUS_OK;
}

static Status append_u32(GgufBytes *to, uint32_t value, Error *err)
{
    return append(to, &value, sizeof value, err);
}

static Status append_u64(GgufBytes *to, uint64_t value, Error *err)
{
    return append(to, &value, sizeof value, err);
}

static Status append_text(GgufBytes *to, const char *text, Error *err)
{
    size_t length = strlen(text);
    TRY(append_u64(to, length, err));
    return append(to, text, length, err);
}

static size_t padded(size_t size)
{
    return (size + GGUF_ALIGNMENT - 1) / GGUF_ALIGNMENT * GGUF_ALIGNMENT;
}

/* ---- metadata ----------------------------------------------------------------------- */

static bool is_key(const char *key)
{
    bool between = true; /* a word has yet to begin */
    for (const char *at = key; *at != '\0'; at++) {
        bool dot = *at == '.';
        bool letter =
            (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '_';
        if ((!dot && !letter) || (dot && between))
            return false;
        between = dot;
    }
    return !between;
}

static bool has_key(const GgufWriter *writer, const char *key)
{
    const char *names = (const char *)writer->names.bytes;
    for (size_t at = 0; at < writer->names.size; at += strlen(names + at) + 1)
        if (strcmp(names + at, key) == 0)
            return true;
    return false;
}

/* Key and type of the next value, which the caller appends. */
static Status put_key(GgufWriter *writer, const char *key, GgufType type, Error *err)
{
    assert(!writer->started);
    if (!is_key(key))
        return error_set(err, STATUS_INPUT,
                         "%s: \"%.100s\" is no key: expected words of a-z, 0-9 and _ "
                         "between dots",
                         writer->file.path, key);
    if (has_key(writer, key))
        return error_set(err, STATUS_INPUT, "%s: the key \"%s\" is there already",
                         writer->file.path, key);
    TRY(append(&writer->names, key, strlen(key) + 1, err));
    TRY(append_text(&writer->keys, key, err));
    writer->key_count++;
    return append_u32(&writer->keys, type, err);
}

static Status put_array(GgufWriter *writer, const char *key, GgufType type,
                        size_t count, Error *err)
{
    TRY(put_key(writer, key, GGUF_TYPE_ARRAY, err));
    TRY(append_u32(&writer->keys, type, err));
    return append_u64(&writer->keys, count, err);
}

Status gguf_put_u32(GgufWriter *writer, const char *key, int64_t value, Error *err)
{
    if (value < 0 || value > UINT32_MAX)
        return error_set(err, STATUS_INPUT,
                         "%s: %s: expected a number of 32 bits, found %lld",
                         writer->file.path, key, (long long)value);
    TRY(put_key(writer, key, GGUF_TYPE_U32, err));
    return append_u32(&writer->keys, (uint32_t)value, err);
}

Status gguf_put_f32(GgufWriter *writer, const char *key, double value, Error *err)
{
    float narrow = (float)value;
    TRY(put_key(writer, key, GGUF_TYPE_F32, err));
    return append(&writer->keys, &narrow, sizeof narrow, err);
}

Status gguf_put_bool(GgufWriter *writer, const char *key, bool value, Error *err)
{
    unsigned char byte = value ? 1 : 0;
    TRY(put_key(writer, key, GGUF_TYPE_BOOL, err));
    return append(&writer->keys, &byte, 1, err);
}

Status gguf_put_text(GgufWriter *writer, const char *key, const char *text, Error *err)
{
    TRY(put_key(writer, key, GGUF_TYPE_TEXT, err));
    return append_text(&writer->keys, text, err);
}

Status gguf_put_texts(GgufWriter *writer, const char *key, const char *const *texts,
                      size_t count, Error *err)
{
    TRY(put_array(writer, key, GGUF_TYPE_TEXT, count, err));
    for (size_t i = 0; i < count; i++)
        TRY(append_text(&writer->keys, texts[i], err));
    return STATUS_OK;
}

Status gguf_put_f32s(GgufWriter *writer, const char *key, const float *values,
                     size_t count, Error *err)
{
    TRY(put_array(writer, key, GGUF_TYPE_F32, count, err));
    return append(&writer->keys, values, count * sizeof *values, err);
}

Status gguf_put_i32s(GgufWriter *writer, const char *key, const int32_t *values,
                     size_t count, Error *err)
{
    TRY(put_array(writer, key, GGUF_TYPE_I32, count, err));
    return append(&writer->keys, values, count * sizeof *values, err);
}

/* ---- tensors ------------------------------------------------------------------------ */

static size_t number_size(GgufDtype dtype)
{
    return dtype == GGUF_F16 ? sizeof(uint16_t) : sizeof(float);
}

static Status check_tensor(size_t *count, const GgufWriter *writer, const char *name,
                           int rank, const int64_t *shape, Error *err)
{
    size_t length = strlen(name);
    if (length == 0 || length > GGUF_NAME_MAX)
        return error_set(err, STATUS_INPUT,
                         "%s: tensor \"%.100s\": expected a name of 1 to %d bytes, "
                         "found %zu",
                         writer->file.path, name, GGUF_NAME_MAX, length);
    for (size_t i = 0; i < writer->tensor_count; i++)
        if (strcmp(writer->tensors[i].name, name) == 0)
            return error_set(err, STATUS_INPUT, "%s: tensor \"%s\" is there already",
                             writer->file.path, name);
    *count = 1;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 1 || (uint64_t)shape[i] > SIZE_MAX ||
            !size_multiply(count, *count, (size_t)shape[i]))
            return error_set(err, STATUS_INPUT, "%s: tensor \"%s\": impossible shape",
                             writer->file.path, name);
    return STATUS_OK;
}

Status gguf_describe(GgufWriter *writer, const char *name, GgufDtype dtype, int rank,
                     const int64_t *shape, Error *err)
{
    assert(!writer->started && rank >= 1 && rank <= GGUF_RANK_MAX);
    size_t count, bytes, end;
    TRY(check_tensor(&count, writer, name, rank, shape, err));
    if (!size_multiply(&bytes, count, number_size(dtype)) ||
        !size_add(&end, writer->data_size, bytes) || end > INT64_MAX - GGUF_ALIGNMENT)
        return error_set(err, STATUS_INPUT, "%s: tensor \"%s\": impossible shape",
                         writer->file.path, name);
    TRY(memory_reserve(&writer->tensors, &writer->tensor_capacity,
                       writer->tensor_count + 1, sizeof *writer->tensors,
                       "the list of tensors", err));
    GgufBytes *infos = &writer->infos;
    TRY(append_text(infos, name, err));
    TRY(append_u32(infos, (uint32_t)rank, err));
    for (int i = rank - 1; i >= 0; i--)
        TRY(append_u64(infos, (uint64_t)shape[i], err));
    TRY(append_u32(infos, dtype, err));
    TRY(append_u64(infos, writer->data_size, err));
    GgufTensor *tensor = &writer->tensors[writer->tensor_count++];
    *tensor = (GgufTensor){.dtype = dtype, .count = count};
    strcpy(tensor->name, name);
    writer->data_size = padded(end);
    return STATUS_OK;
}

uint16_t gguf_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    double size = fabs((double)value);
    if (isnan(value))
        return (uint16_t)(sign | 0x7E00);
    if (size >= 65520)
        return (uint16_t)(sign | 0x7C00);
    /* Steps of 2^-24 below 2^-14; above, 1024 of them from one power of two to the next.
     * nearbyint rounds ties to even. What reaches the next power carries into the
     * exponent, which stands right above the fraction. */
    int exponent;
    frexp(size, &exponent); /* size < 2^exponent */
    int step = size < 0x1p-14 ? -24 : exponent - 11;
    uint32_t steps = (uint32_t)nearbyint(ldexp(size, -step));
    return (uint16_t)(sign | (((uint32_t)(step + 24) << 10) + steps));
}

/* ---- the file ----------------------------------------------------------------------- */

static Status release(GgufWriter *writer, Status status)
{
    memory_free(writer->keys.bytes);
    memory_free(writer->infos.bytes);
    memory_free(writer->names.bytes);
    memory_free(writer->tensors);
    *writer = (GgufWriter){0};
    return status;
}

Status gguf_open(GgufWriter *writer, const char *path, Error *err)
{
    *writer = (GgufWriter){0};
    TRY(file_writer_open(&writer->file, path, err));
    Status status = gguf_put_u32(writer, "general.alignment", GGUF_ALIGNMENT, err);
    if (status != STATUS_OK)
        gguf_abort(writer);
    return status;
}

static Status put_bytes(GgufWriter *writer, const void *bytes, size_t size, Error *err)
{
    if (size > 0 && fwrite(bytes, 1, size, writer->file.stream) != size)
        return error_errno(err, "%s: cannot write", writer->file.path);
    return STATUS_OK;
}

static Status put_padding(GgufWriter *writer, size_t size, Error *err)
{
    static const unsigned char ZEROS[GGUF_ALIGNMENT];
    return put_bytes(writer, ZEROS, padded(size) - size, err);
}

Status gguf_start(GgufWriter *writer, Error *err)
{
    assert(!writer->started);
    writer->started = true;
    GgufBytes head = {0};
    Status status = append(&head, MAGIC, sizeof MAGIC, err);
    if (status == STATUS_OK)
        status = append_u32(&head, GGUF_VERSION, err);
    if (status == STATUS_OK)
        status = append_u64(&head, writer->tensor_count, err);
    if (status == STATUS_OK)
        status = append_u64(&head, writer->key_count, err);
    if (status == STATUS_OK)
        status = put_bytes(writer, head.bytes, head.size, err);
    memory_free(head.bytes);
    TRY(status);
    TRY(put_bytes(writer, writer->keys.bytes, writer->keys.size, err));
    TRY(put_bytes(writer, writer->infos.bytes, writer->infos.size, err));
    return put_padding(writer, head.size + writer->keys.size + writer->infos.size, err);
}

/* One number in the tensor's type, at bytes; false when it is not finite there. */
static bool convert(unsigned char *bytes, GgufDtype dtype, real number)
{
    float value = (float)number;
    if (dtype == GGUF_F16) {
        uint16_t half = gguf_half(value);
        memcpy(bytes, &half, sizeof half);
        return (half & 0x7C00) != 0x7C00;
    }
    memcpy(bytes, &value, sizeof value);
    return isfinite(value);
}

Status gguf_write(GgufWriter *writer, const real *values, Error *err)
{
    assert(writer->started && writer->written < writer->tensor_count);
    const GgufTensor *tensor = &writer->tensors[writer->written++];
    size_t size = number_size(tensor->dtype);
    unsigned char buffer[4096];
    for (size_t i = 0, used = 0; i < tensor->count; i++) {
        if (!convert(buffer + used, tensor->dtype, values[i]))
            return error_set(err, STATUS_NUMERIC,
                             "%s: tensor \"%s\": value %zu is %g, not finite in %s",
                             writer->file.path, tensor->name, i, (double)values[i],
                             tensor->dtype == GGUF_F16 ? "f16" : "f32");
        used += size;
        if (used == sizeof buffer || i + 1 == tensor->count) {
            TRY(put_bytes(writer, buffer, used, err));
            used = 0;
        }
    }
    return put_padding(writer, tensor->count * size, err);
}

Status gguf_commit(GgufWriter *writer, Error *err)
{
    assert(writer->started && writer->written == writer->tensor_count);
    return release(writer, file_writer_commit(&writer->file, err));
}

void gguf_abort(GgufWriter *writer)
{
    file_writer_abort(&writer->file);
    release(writer, STATUS_OK);
}
