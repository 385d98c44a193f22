/* JSON files with errors that name the file and the key: a few checked getters around
 * jansson. Strict: UTF-8 only, no duplicate keys, nothing behind the value.
 *
 *     json_t *config;                           where = what messages begin with
 *     TRY(json_read_file(&config, path, err));
 *     Status status = json_get_int(&layers, config, "n_layer", 1, 4096, path, err);
 *     ...
 *     json_decref(config); */
#ifndef JUEJU_MODEL_BASE_JSON_H
#define JUEJU_MODEL_BASE_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"

/* *out, a new reference, is an object; any other JSON is STATUS_INPUT. */
Status json_read_text(json_t **out, const char *text, size_t size, const char *where,
                      Error *err);
Status json_read_file(json_t **out, const char *path, Error *err);

/* Indented, keys in the order they were set, as one atomic replacement of path. */
Status json_write_file(const char *path, const json_t *value, Error *err);

/* Whether the key is there with a value other than null. */
bool json_has(const json_t *object, const char *key);

/* *out = object[key]; STATUS_INPUT when the key is missing or its value is of another type
 * or outside minimum .. maximum. Then *out is untouched. Text and objects are borrowed
 * from `object`. A real may be written as an integer; an integer never as a real. */
Status json_get_int(int64_t *out, const json_t *object, const char *key,
                    int64_t minimum, int64_t maximum, const char *where, Error *err);
Status json_get_real(double *out, const json_t *object, const char *key, double minimum,
                     double maximum, const char *where, Error *err);
Status json_get_bool(bool *out, const json_t *object, const char *key,
                     const char *where, Error *err);
Status json_get_text(const char **out, const json_t *object, const char *key,
                     const char *where, Error *err);
Status json_get_object(const json_t **out, const json_t *object, const char *key,
                       const char *where, Error *err);

/* "a number", "a text", ...: what a value is called in messages. */
const char *json_kind(const json_t *value);

#endif
