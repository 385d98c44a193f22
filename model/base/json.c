#include "model/base/json.h"

#include <inttypes.h>

#include "model/base/files.h"
#include "model/base/memory.h"

const char *json_kind(const json_t *value)
{
    if (value == NULL)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    }
    return "something unknown";
}

Status json_read_text(json_t **out, const char *text, size_t size, const char *where,
                      Error *err)
{
    json_error_t failure;
    json_t *value =
        json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &failure);
    if (value == NULL)
        return error_set(err, STATUS_INPUT, "%s: line %d, column %d: %s", where,
                         failure.line, failure.column, failure.text);
    if (!json_is_object(value)) {
        Status status = error_set(err, STATUS_INPUT, "%s: expected an object, found %s",
                                  where, json_kind(value));
        json_decref(value);
        return status;
    }
    *out = value;
    return STATUS_OK;
}

Status json_read_file(json_t **out, const char *path, Error *err)
{
    FileMap map;
    TRY(file_map(&map, path, err));
    Status status = json_read_text(out, (const char *)map.data, map.size, path, err);
    file_unmap(&map);
    return status;
}

Status json_write_file(const char *path, const json_t *value, Error *err)
{
    const size_t flags = JSON_INDENT(2) | JSON_ENCODE_ANY;
    size_t size = json_dumpb(value, NULL, 0, flags);
    if (size == 0)
        return error_set(err, STATUS_MEMORY, "%s: cannot be put into JSON", path);
    char *text;
    TRY(memory_allocate(&text, size + 1, 1, path, err));
    json_dumpb(value, text, size, flags);
    text[size] = '\n';
    Status status = file_write(path, text, size + 1, err);
    memory_free(text);
    return status;
}

bool json_has(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value != NULL && !json_is_null(value);
}

static Status wrong_kind(const json_t *value, const char *key, const char *expected,
                         const char *where, Error *err)
{
    if (value == NULL)
        return error_set(err, STATUS_INPUT, "%s: \"%s\" is missing (expected %s)",
                         where, key, expected);
    return error_set(err, STATUS_INPUT, "%s: \"%s\": expected %s, found %s", where, key,
                     expected, json_kind(value));
}

Status json_get_int(int64_t *out, const json_t *object, const char *key,
                    int64_t minimum, int64_t maximum, const char *where, Error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return wrong_kind(value, key, "an integer", where, err);
    int64_t number = json_integer_value(value);
    if (number < minimum || number > maximum)
        return error_set(err, STATUS_INPUT,
                         "%s: \"%s\": expected %" PRId64 " to %" PRId64
                         ", found %" PRId64,
                         where, key, minimum, maximum, number);
    *out = number;
    return STATUS_OK;
}

Status json_get_real(double *out, const json_t *object, const char *key, double minimum,
                     double maximum, const char *where, Error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        return wrong_kind(value, key, "a number", where, err);
    double number = json_number_value(value);
    if (!(number >= minimum && number <= maximum))
        return error_set(err, STATUS_INPUT, "%s: \"%s\": expected %g to %g, found %g",
                         where, key, minimum, maximum, number);
    *out = number;
    return STATUS_OK;
}

Status json_get_bool(bool *out, const json_t *object, const char *key,
                     const char *where, Error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        return wrong_kind(value, key, "true or false", where, err);
    *out = json_is_true(value);
    return STATUS_OK;
}

Status json_get_text(const char **out, const json_t *object, const char *key,
                     const char *where, Error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return wrong_kind(value, key, "a text", where, err);
    *out = json_string_value(value);
    return STATUS_OK;
}

Status json_get_object(const json_t **out, const json_t *object, const char *key,
                       const char *where, Error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_object(value))
        return wrong_kind(value, key, "an object", where, err);
    *out = value;
    return STATUS_OK;
}
