/* The writing half of safetensors.h. */
#include "model/base/safetensors.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/memory.h"

/* Adds a tensor to the header and moves *offset behind it. */
static Status describe(json_t *header, size_t *offset, const Tensor *tensor,
                       const char *path, Error *err)
{
    size_t bytes;
    size_t end;
    if (!tensor_bytes(&bytes, tensor) || !size_add(&end, *offset, bytes) ||
        end > INT64_MAX)
        return error_set(err, STATUS_INPUT, "%s: tensor \"%s\": impossible shape", path,
                         tensor->name);
    if (*offset % dtype_size(tensor->dtype) != 0)
        return error_set(err, STATUS_INPUT,
                         "%s: tensor \"%s\": %s at byte %zu is not aligned; wide types "
                         "come first",
                         path, tensor->name, dtype_name(tensor->dtype), *offset);
    if (strcmp(tensor->name, SAFETENSORS_METADATA) == 0 ||
        json_object_get(header, tensor->name) != NULL)
        return error_set(err, STATUS_INPUT, "%s: tensor \"%s\": the name is taken",
                         path, tensor->name);
    json_t *shape = json_array();
    for (int i = 0; i < tensor->rank; i++)
        json_array_append_new(shape, json_integer(tensor->shape[i]));
    json_t *info =
        json_pack("{s:s, s:o, s:[I,I]}", "dtype", dtype_name(tensor->dtype), "shape",
                  shape, "data_offsets", (json_int_t)*offset, (json_int_t)end);
    if (info == NULL || json_object_set_new(header, tensor->name, info) != 0)
        return error_set(err, STATUS_INPUT,
                         "%s: tensor \"%s\": the name is not valid UTF-8", path,
                         tensor->name);
    *offset = end;
    return STATUS_OK;
}

static Status describe_all(json_t *header, const Tensor *tensors, size_t count,
                           const Metadata *metadata, size_t metadata_count,
                           const char *path, Error *err)
{
    if (metadata_count > 0) {
        json_t *object = json_object();
        json_object_set_new(header, SAFETENSORS_METADATA, object);
        for (size_t i = 0; i < metadata_count; i++)
            if (json_object_set_new(object, metadata[i].key,
                                    json_string(metadata[i].value)) != 0)
                return error_set(err, STATUS_INPUT,
                                 "%s: metadata \"%s\": not valid UTF-8", path,
                                 metadata[i].key);
    }
    size_t offset = 0;
    for (size_t i = 0; i < count; i++)
        TRY(describe(header, &offset, &tensors[i], path, err));
    return STATUS_OK;
}

/* Length, header, padding and data; a short fwrite is reported by commit. */
static Status write_all(FILE *stream, const json_t *header, const Tensor *tensors,
                        size_t count, const char *path, Error *err)
{
    size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
    size_t padded = (length + 7) / 8 * 8;
    if (length == 0 || padded > SAFETENSORS_HEADER_MAX)
        return error_set(err, STATUS_INPUT, "%s: the header would have %zu bytes", path,
                         padded);
    char *text;
    TRY(memory_allocate(&text, padded, 1, path, err));
    memset(text, ' ', padded);
    json_dumpb(header, text, length, JSON_COMPACT);
    uint64_t prefix = padded;
    bool written = fwrite(&prefix, sizeof prefix, 1, stream) == 1 &&
                   fwrite(text, 1, padded, stream) == padded;
    memory_free(text);
    for (size_t i = 0; i < count && written; i++) {
        size_t bytes = 0;
        tensor_bytes(&bytes, &tensors[i]);
        written = bytes == 0 || fwrite(tensors[i].data, 1, bytes, stream) == bytes;
    }
    return written ? STATUS_OK : error_errno(err, "%s: cannot write", path);
}

Status safetensors_write(const char *path, const Tensor *tensors, size_t count,
                         const Metadata *metadata, size_t metadata_count, Error *err)
{
    json_t *header = json_object();
    if (header == NULL)
        return error_set(err, STATUS_MEMORY, "out of memory: header of %s", path);
    Status status =
        describe_all(header, tensors, count, metadata, metadata_count, path, err);
    FileWriter writer;
    if (status == STATUS_OK)
        status = file_writer_open(&writer, path, err);
    if (status == STATUS_OK) {
        status = write_all(writer.stream, header, tensors, count, path, err);
        if (status == STATUS_OK)
            status = file_writer_commit(&writer, err);
        else
            file_writer_abort(&writer);
    }
    json_decref(header);
    return status;
}
