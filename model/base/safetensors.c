#include "model/base/safetensors.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/memory.h"

/* ---- reading ------------------------------------------------------------------------ */

typedef struct {
    Tensor tensor;
    uint64_t begin, end; /* in the data */
} Entry;

static Status read_dtype(Dtype *out, const json_t *info, const char *where, Error *err)
{
    const char *name;
    TRY(json_get_text(&name, info, "dtype", where, err));
    if (dtype_find(out, name))
        return STATUS_OK;
    return error_set(err, STATUS_INPUT, "%s: unknown dtype \"%.40s\"", where, name);
}

/* Up to `limit` integers >= 0 from the array info[key]. */
static Status read_sizes(int64_t *out, int *count, int limit, const json_t *info,
                         const char *key, const char *where, Error *err)
{
    const json_t *array = json_object_get(info, key);
    if (!json_is_array(array))
        return error_set(err, STATUS_INPUT, "%s: \"%s\": expected an array, found %s",
                         where, key, json_kind(array));
    size_t length = json_array_size(array);
    if (length > (size_t)limit)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": expected at most %d numbers, found %zu", where,
                         key, limit, length);
    for (size_t i = 0; i < length; i++) {
        const json_t *number = json_array_get(array, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return error_set(err, STATUS_INPUT,
                             "%s: \"%s\": entry %zu is not an integer of 0 or more",
                             where, key, i);
        out[i] = json_integer_value(number);
    }
    *count = (int)length;
    return STATUS_OK;
}

static Status read_entry(Entry *entry, const char *name, const json_t *info,
                         const unsigned char *data, size_t data_size, const char *path,
                         Error *err)
{
    char where[sizeof err->message];
    snprintf(where, sizeof where, "%s: tensor \"%.200s\"", path, name);
    if (!json_is_object(info))
        return error_set(err, STATUS_INPUT, "%s: expected an object, found %s", where,
                         json_kind(info));
    Tensor *tensor = &entry->tensor;
    *tensor = (Tensor){.name = name};
    TRY(read_dtype(&tensor->dtype, info, where, err));
    TRY(read_sizes(tensor->shape, &tensor->rank, TENSOR_RANK_MAX, info, "shape", where,
                   err));
    int64_t offsets[2];
    int count;
    TRY(read_sizes(offsets, &count, 2, info, "data_offsets", where, err));
    if (count != 2 || offsets[0] > offsets[1] || (uint64_t)offsets[1] > data_size)
        return error_set(
            err, STATUS_INPUT,
            "%s: \"data_offsets\": expected [begin, end] with begin <= end "
            "<= %zu (the bytes of data in the file)",
            where, data_size);
    entry->begin = (uint64_t)offsets[0];
    entry->end = (uint64_t)offsets[1];
    tensor->data = data + offsets[0];

    size_t bytes;
    if (!tensor_bytes(&bytes, tensor) || bytes != entry->end - entry->begin) {
        char shape[SHAPE_TEXT_SIZE];
        return error_set(err, STATUS_INPUT,
                         "%s: shape %s of %s does not take the %" PRIu64
                         " bytes of its data_offsets",
                         where, tensor_shape_text(shape, tensor->rank, tensor->shape),
                         dtype_name(tensor->dtype), entry->end - entry->begin);
    }
    return STATUS_OK;
}

static int by_offset(const void *first, const void *second)
{
    const Entry *a = first;
    const Entry *b = second;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return strcmp(a->tensor.name, b->tensor.name);
}

static int by_name(const void *first, const void *second)
{
    return strcmp(((const Tensor *)first)->name, ((const Tensor *)second)->name);
}

/* In the order of offsets, each tensor must begin where the one before it ended. */
static Status check_layout(Entry *entries, size_t count, size_t data_size,
                           const char *path, Error *err)
{
    qsort(entries, count, sizeof *entries, by_offset);
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].begin != end)
            return error_set(err, STATUS_INPUT,
                             "%s: tensor \"%.200s\": begins at byte %" PRIu64
                             " of the data, the one before it ends at %" PRIu64,
                             path, entries[i].tensor.name, entries[i].begin, end);
        end = entries[i].end;
    }
    if (end != data_size)
        return error_set(err, STATUS_INPUT,
                         "%s: its tensors end at byte %" PRIu64
                         " of the data, the file has %zu",
                         path, end, data_size);
    return STATUS_OK;
}

static Status check_metadata(const json_t *header, const char *path, Error *err)
{
    json_t *metadata = json_object_get(header, SAFETENSORS_METADATA);
    if (metadata == NULL)
        return STATUS_OK;
    if (!json_is_object(metadata))
        return error_set(err, STATUS_INPUT, "%s: %s: expected an object, found %s",
                         path, SAFETENSORS_METADATA, json_kind(metadata));
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, STATUS_INPUT,
                             "%s: %s: \"%.200s\": expected a text, found %s", path,
                             SAFETENSORS_METADATA, key, json_kind(value));
    }
    return STATUS_OK;
}

/* Fills file->tensors from the header; entries has room for all its keys. */
static Status read_entries(SafeTensors *file, Entry *entries, const unsigned char *data,
                           size_t data_size, Error *err)
{
    size_t count = 0;
    const char *name;
    json_t *info;
    json_object_foreach(file->header, name, info)
    {
        if (strcmp(name, SAFETENSORS_METADATA) != 0)
            TRY(read_entry(&entries[count++], name, info, data, data_size, file->path,
                           err));
    }
    TRY(check_layout(entries, count, data_size, file->path, err));
    TRY(memory_allocate(&file->tensors, count, sizeof *file->tensors, file->path, err));
    for (size_t i = 0; i < count; i++)
        file->tensors[i] = entries[i].tensor;
    qsort(file->tensors, count, sizeof *file->tensors, by_name);
    file->count = count;
    return STATUS_OK;
}

static Status read_header(SafeTensors *file, Error *err)
{
    const unsigned char *bytes = file->map.data;
    size_t size = file->map.size;
    uint64_t length;
    if (size < sizeof length)
        return error_set(err, STATUS_INPUT,
                         "%s: not a safetensors file: only %zu bytes long", file->path,
                         size);
    memcpy(&length, bytes, sizeof length);
    bytes += sizeof length;
    size -= sizeof length;
    if (length > SAFETENSORS_HEADER_MAX)
        return error_set(err, STATUS_INPUT,
                         "%s: not a safetensors file: its header would have %" PRIu64
                         " bytes (at most %zu are allowed)",
                         file->path, length, SAFETENSORS_HEADER_MAX);
    if (length > size)
        return error_set(err, STATUS_INPUT,
                         "%s: cut off: a header of %" PRIu64
                         " bytes, but only %zu are there",
                         file->path, length, size);
    if (length == 0 || bytes[0] != '{')
        return error_set(err, STATUS_INPUT,
                         "%s: not a safetensors file: its header does not begin with {",
                         file->path);
    TRY(json_read_text(&file->header, (const char *)bytes, (size_t)length, file->path,
                       err));
    TRY(check_metadata(file->header, file->path, err));
    Entry *entries;
    TRY(memory_allocate(&entries, json_object_size(file->header), sizeof *entries,
                        file->path, err));
    Status status =
        read_entries(file, entries, bytes + length, size - (size_t)length, err);
    memory_free(entries);
    return status;
}

Status safetensors_open(SafeTensors *file, const char *path, Error *err)
{
    *file = (SafeTensors){.header = NULL};
    TRY(file_map(&file->map, path, err));
    snprintf(file->path, sizeof file->path, "%s", path);
    Status status = read_header(file, err);
    if (status != STATUS_OK)
        safetensors_close(file);
    return status;
}

void safetensors_close(SafeTensors *file)
{
    memory_free(file->tensors);
    json_decref(file->header);
    file_unmap(&file->map);
    file->tensors = NULL;
    file->header = NULL;
    file->count = 0;
}

const Tensor *safetensors_find(const SafeTensors *file, const char *name)
{
    if (file->count == 0)
        return NULL;
    const Tensor wanted = {.name = name};
    return bsearch(&wanted, file->tensors, file->count, sizeof wanted, by_name);
}

const char *safetensors_metadata(const SafeTensors *file, const char *key)
{
    return json_string_value(
        json_object_get(json_object_get(file->header, SAFETENSORS_METADATA), key));
}

Status safetensors_expect_real(const SafeTensors *file, const char *name, int rank,
                               const int64_t *shape, Error *err)
{
    char wanted[SHAPE_TEXT_SIZE];
    char found[SHAPE_TEXT_SIZE];
    assert(rank >= 0 && rank <= TENSOR_RANK_MAX);
    tensor_shape_text(wanted, rank, shape);
    const Tensor *tensor = safetensors_find(file, name);
    if (tensor == NULL)
        return error_set(err, STATUS_INPUT,
                         "%s: tensor \"%s\" is missing (expected shape %s)", file->path,
                         name, wanted);
    bool same = tensor->rank == rank;
    for (int i = 0; i < rank && same; i++)
        same = tensor->shape[i] == shape[i];
    if (!same)
        return error_set(err, STATUS_INPUT,
                         "%s: tensor \"%s\": expected shape %s, found %s", file->path,
                         name, wanted,
                         tensor_shape_text(found, tensor->rank, tensor->shape));
    if (!dtype_is_real(tensor->dtype))
        return error_set(
            err, STATUS_INPUT,
            "%s: tensor \"%s\": expected dtype F64, F32, F16 or BF16, found %s",
            file->path, name, dtype_name(tensor->dtype));
    return STATUS_OK;
}

Status safetensors_read_real(real *out, const SafeTensors *file, const char *name,
                             int rank, const int64_t *shape, bool finite, Error *err)
{
    TRY(safetensors_expect_real(file, name, rank, shape, err));
    const Tensor *tensor = safetensors_find(file, name);
    size_t bytes = 0;
    tensor_bytes(&bytes, tensor);
    size_t count = bytes / dtype_size(tensor->dtype);
    tensor_copy_reals(out, tensor);
    for (size_t i = 0; finite && i < count; i++)
        if (!isfinite(out[i]))
            return error_set(err, STATUS_INPUT,
                             "%s: tensor \"%s\": value %zu of %zu is %f, not finite",
                             file->path, name, i, count, (double)out[i]);
    return STATUS_OK;
}
