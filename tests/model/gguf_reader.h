/* A reader of GGUF files for tests, written from the format's description alone: it shares
 * nothing with the writer. Every length is asserted to lie inside the file. */
#ifndef JUEJU_TESTS_MODEL_GGUF_READER_H
#define JUEJU_TESTS_MODEL_GGUF_READER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/base/files.h"

enum { READER_KEYS = 64, READER_TENSORS = 256 };

typedef struct {
    char key[128];
    uint32_t type;
    uint32_t item_type; /* of an array */
    uint64_t length;    /* of an array */
    size_t place;       /* of the value, or of an array's first item */
} FoundKey;

typedef struct {
    char name[64];
    uint32_t rank, dtype;
    uint64_t sizes[4]; /* fastest first */
    uint64_t offset;
} FoundTensor;

typedef struct {
    FileMap map;
    size_t at;
    uint32_t version;
    uint64_t tensor_count, key_count;
    FoundKey keys[READER_KEYS];
    FoundTensor tensors[READER_TENSORS];
    size_t data; /* place of the first tensor's numbers */
} Reader;

static inline void reader_take(Reader *reader, void *out, size_t size)
{
    assert_true(size <= reader->map.size - reader->at);
    memcpy(out, reader->map.data + reader->at, size);
    reader->at += size;
}

static inline uint32_t reader_u32(Reader *reader)
{
    uint32_t value;
    reader_take(reader, &value, sizeof value);
    return value;
}

static inline uint64_t reader_u64(Reader *reader)
{
    uint64_t value;
    reader_take(reader, &value, sizeof value);
    return value;
}

static inline void reader_text(Reader *reader, char *out, size_t room)
{
    uint64_t length = reader_u64(reader);
    assert_true(length < room);
    reader_take(reader, out, (size_t)length);
    out[length] = '\0';
}

static inline void reader_skip(Reader *reader, uint32_t type)
{
    char text[1024];
    unsigned char bytes[8];
    switch (type) {
    case 7: /* bool */
        reader_take(reader, bytes, 1);
        assert_true(bytes[0] <= 1);
        break;
    case 4:
    case 5:
    case 6: /* u32, i32, f32 */
        reader_take(reader, bytes, 4);
        break;
    case 8:
        reader_text(reader, text, sizeof text);
        break;
    default:
        fail_msg("value type %u", (unsigned)type);
    }
}

static inline void reader_key(Reader *reader, FoundKey *key)
{
    reader_text(reader, key->key, sizeof key->key);
    key->type = reader_u32(reader);
    key->place = reader->at;
    if (key->type != 9) {
        reader_skip(reader, key->type);
        return;
    }
    key->item_type = reader_u32(reader);
    key->length = reader_u64(reader);
    key->place = reader->at;
    for (uint64_t i = 0; i < key->length; i++)
        reader_skip(reader, key->item_type);
}

static inline void reader_tensor(Reader *reader, FoundTensor *tensor)
{
    reader_text(reader, tensor->name, sizeof tensor->name);
    tensor->rank = reader_u32(reader);
    assert_in_range(tensor->rank, 1, 4);
    for (uint32_t i = 0; i < tensor->rank; i++)
        tensor->sizes[i] = reader_u64(reader);
    tensor->dtype = reader_u32(reader);
    tensor->offset = reader_u64(reader);
}

/* Bytes of a tensor's numbers: f32 is 0, f16 is 1. */
static inline size_t reader_bytes(const FoundTensor *tensor)
{
    assert_in_range(tensor->dtype, 0, 1);
    size_t bytes = tensor->dtype == 1 ? 2 : 4;
    for (uint32_t i = 0; i < tensor->rank; i++)
        bytes *= (size_t)tensor->sizes[i];
    return bytes;
}

/* Reads all but the numbers; reader_close when done. */
static inline void reader_open(Reader *reader, const char *path)
{
    Error err;
    char magic[4];
    memset(reader, 0, sizeof *reader);
    assert_int_equal(file_map(&reader->map, path, &err), STATUS_OK);
    reader_take(reader, magic, sizeof magic);
    assert_memory_equal(magic, "GGUF", 4);
    reader->version = reader_u32(reader);
    reader->tensor_count = reader_u64(reader);
    reader->key_count = reader_u64(reader);
    assert_true(reader->tensor_count <= READER_TENSORS);
    assert_true(reader->key_count <= READER_KEYS);
    for (uint64_t i = 0; i < reader->key_count; i++)
        reader_key(reader, &reader->keys[i]);
    for (uint64_t i = 0; i < reader->tensor_count; i++)
        reader_tensor(reader, &reader->tensors[i]);
    reader->data = (reader->at + 31) / 32 * 32;
    assert_true(reader->data <= reader->map.size);
}

static inline void reader_close(Reader *reader)
{
    file_unmap(&reader->map);
}

static inline const FoundKey *reader_find_key(const Reader *reader, const char *key)
{
    for (uint64_t i = 0; i < reader->key_count; i++)
        if (strcmp(reader->keys[i].key, key) == 0)
            return &reader->keys[i];
    fail_msg("no key %s", key);
    return NULL;
}

static inline bool reader_has_key(const Reader *reader, const char *key)
{
    for (uint64_t i = 0; i < reader->key_count; i++)
        if (strcmp(reader->keys[i].key, key) == 0)
            return true;
    return false;
}

static inline uint32_t reader_number(const Reader *reader, const char *key)
{
    const FoundKey *found = reader_find_key(reader, key);
    uint32_t value;
    assert_int_equal(found->type, 4);
    memcpy(&value, reader->map.data + found->place, sizeof value);
    return value;
}

static inline float reader_float(const Reader *reader, const char *key)
{
    const FoundKey *found = reader_find_key(reader, key);
    float value;
    assert_int_equal(found->type, 6);
    memcpy(&value, reader->map.data + found->place, sizeof value);
    return value;
}

static inline bool reader_bool(const Reader *reader, const char *key)
{
    const FoundKey *found = reader_find_key(reader, key);
    assert_int_equal(found->type, 7);
    return reader->map.data[found->place] == 1;
}

/* Whether the key is the text. */
static inline bool reader_is_text(const Reader *reader, const char *key,
                                  const char *text)
{
    const FoundKey *found = reader_find_key(reader, key);
    uint64_t length;
    assert_int_equal(found->type, 8);
    memcpy(&length, reader->map.data + found->place, sizeof length);
    return length == strlen(text) &&
           memcmp(reader->map.data + found->place + 8, text, strlen(text)) == 0;
}

static inline const FoundTensor *reader_find_tensor(const Reader *reader,
                                                    const char *name)
{
    for (uint64_t i = 0; i < reader->tensor_count; i++)
        if (strcmp(reader->tensors[i].name, name) == 0)
            return &reader->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

/* Number i of an f32 tensor, in the order of the file. */
static inline float reader_value(const Reader *reader, const FoundTensor *tensor,
                                 uint64_t i)
{
    float value;
    size_t place = reader->data + (size_t)tensor->offset + 4 * (size_t)i;
    assert_int_equal(tensor->dtype, 0);
    assert_true(4 * (size_t)i < reader_bytes(tensor));
    assert_true(place + 4 <= reader->map.size);
    memcpy(&value, reader->map.data + place, sizeof value);
    return value;
}

#endif
