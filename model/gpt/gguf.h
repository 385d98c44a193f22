/* GGUF version 3: metadata and tensors in one file, as llama.cpp reads it (ggml-org/ggml,
 * docs/gguf.md). Written only; everything is little-endian.
 *
 *     "GGUF"  u32 version 3  u64 tensors  u64 keys
 *     keys      string key, u32 type, value; an array: u32 type, u64 length, values
 *     tensors   string name, u32 rank, u64 sizes, fastest first, u32 number type, u64 offset
 *     padding   zeros up to a multiple of 32
 *     data      tensor by tensor, each padded with zeros to a multiple of 32; offsets count
 *               from the first byte of the data
 * A string is u64 length and that many bytes of UTF-8, without a NUL.
 *
 *     TRY(gguf_open(&writer, path, err));
 *     gguf_put_text(&writer, "general.architecture", "gpt2", err), ...
 *     gguf_describe(&writer, "token_embd.weight", GGUF_F32, 2, shape, err), ...
 *     gguf_start(&writer, err);
 *     gguf_write(&writer, values, err);           once a tensor, in the order described
 *     gguf_commit(&writer, err);                  or gguf_abort
 * The file appears with the commit, as a whole. After any call that fails: gguf_abort. */
#ifndef JUEJU_MODEL_GPT_GGUF_H
#define JUEJU_MODEL_GPT_GGUF_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"
#include "model/base/files.h"
#include "model/base/real.h"

enum { GGUF_VERSION = 3, GGUF_ALIGNMENT = 32, GGUF_RANK_MAX = 4, GGUF_NAME_MAX = 63 };

typedef enum { GGUF_F32 = 0, GGUF_F16 = 1 } GgufDtype; /* ggml's numbers */

typedef enum { /* the format's numbers */
               GGUF_TYPE_U32 = 4,
               GGUF_TYPE_I32 = 5,
               GGUF_TYPE_F32 = 6,
               GGUF_TYPE_BOOL = 7,
               GGUF_TYPE_TEXT = 8,
               GGUF_TYPE_ARRAY = 9,
} GgufType;

typedef struct {
    unsigned char *bytes;
    size_t size, capacity;
} GgufBytes;

typedef struct {
    char name[GGUF_NAME_MAX + 1];
    GgufDtype dtype;
    size_t count; /* numbers */
} GgufTensor;

typedef struct {
    FileWriter file;
    GgufBytes keys, infos; /* the two lists as they will stand in the file */
    GgufBytes names;       /* of the keys, each with its NUL */
    uint64_t key_count;
    GgufTensor *tensors; /* (tensor_count) */
    size_t tensor_count, tensor_capacity;
    size_t written;   /* tensors whose data are written */
    size_t data_size; /* of all tensors, padding included */
    bool started;
} GgufWriter;

/* Also puts general.alignment. The folder of path must exist. */
Status gguf_open(GgufWriter *writer, const char *path, Error *err);

/* Metadata, before gguf_start. A key is lower-case words of a-z 0-9 _ between dots.
 * STATUS_INPUT: another key, or one that is there already; a number that does not fit in 32
 * bits. Texts and arrays are copied. */
Status gguf_put_u32(GgufWriter *writer, const char *key, int64_t value, Error *err);
Status gguf_put_f32(GgufWriter *writer, const char *key, double value, Error *err);
Status gguf_put_bool(GgufWriter *writer, const char *key, bool value, Error *err);
Status gguf_put_text(GgufWriter *writer, const char *key, const char *text, Error *err);
Status gguf_put_texts(GgufWriter *writer, const char *key, const char *const *texts,
                      size_t count, Error *err);
Status gguf_put_f32s(GgufWriter *writer, const char *key, const float *values,
                     size_t count, Error *err);
Status gguf_put_i32s(GgufWriter *writer, const char *key, const int32_t *values,
                     size_t count, Error *err);

/* The next tensor, before gguf_start. shape is given as everywhere in this project, slowest
 * index first: (rows, columns); the file has it the other way round. STATUS_INPUT: a name
 * that is empty, longer than GGUF_NAME_MAX or there already, a size under 1, too many
 * numbers. */
Status gguf_describe(GgufWriter *writer, const char *name, GgufDtype dtype, int rank,
                     const int64_t *shape, Error *err);

/* Writes all that comes before the data. */
Status gguf_start(GgufWriter *writer, Error *err);

/* The numbers of the next tensor, as many as its shape says. STATUS_NUMERIC names the
 * tensor with a value that is not finite, or too large for its number type. */
Status gguf_write(GgufWriter *writer, const real *values, Error *err);

/* The data of every tensor must have been written (asserted). */
Status gguf_commit(GgufWriter *writer, Error *err);
void gguf_abort(GgufWriter *writer);

/* The half nearest to value, ties to even; infinite from 65520 on. */
uint16_t gguf_half(float value);

#endif
