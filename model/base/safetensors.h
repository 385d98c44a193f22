/* safetensors: named tensors in one file, as the reference reader demands them
 * (huggingface/safetensors, safetensors/src/tensor.rs).
 *
 *     8 bytes   u64 little-endian: length n of the header, at most 100 MB
 *     n bytes   JSON: {"name": {"dtype": "F32", "shape": [..], "data_offsets": [a, b]},
 *               "__metadata__": {text: text}}; begins with {, padded with spaces so that
 *               the data start at a multiple of 8
 *     the rest  the data; tensor `name` is bytes a .. b-1. Offsets leave no holes, do not
 *               overlap and end where the file ends; b - a = product of shape x size.
 *
 * A file is validated as a whole before anything in it is used. */
#ifndef JUEJU_MODEL_BASE_SAFETENSORS_H
#define JUEJU_MODEL_BASE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"
#include "model/base/files.h"
#include "model/base/json.h"
#include "model/base/real.h"
#include "model/base/tensor.h"

#define SAFETENSORS_METADATA "__metadata__"
#define SAFETENSORS_HEADER_MAX ((size_t)100000000)

typedef struct {
    char path[PATH_SIZE];
    FileMap map;
    json_t *header;  /* names and metadata live here */
    Tensor *tensors; /* (count) by rising name (strcmp) */
    size_t count;
} SafeTensors;

/* STATUS_INPUT names the file, the tensor and what is wrong. On failure *file is closed. */
Status safetensors_open(SafeTensors *file, const char *path, Error *err);
void safetensors_close(SafeTensors *file);

/* NULL when there is none. Both live until close. */
const Tensor *safetensors_find(const SafeTensors *file, const char *name);
const char *safetensors_metadata(const SafeTensors *file, const char *key);

/* STATUS_INPUT unless the tensor is there with exactly this shape and a dtype of reals:
 * F64, F32, F16 or BF16. */
Status safetensors_expect_real(const SafeTensors *file, const char *name, int rank,
                               const int64_t *shape, Error *err);

/* out (product of shape) = the tensor, after safetensors_expect_real; STATUS_INPUT, too,
 * when `finite` is asked for and a value is not. */
Status safetensors_read_real(real *out, const SafeTensors *file, const char *name,
                             int rank, const int64_t *shape, bool finite, Error *err);

typedef struct {
    const char *key;
    const char *value;
} Metadata;

/* Writes the tensors in the given order, in one pass, as one atomic replacement of path.
 * The order must leave each aligned to its number size (wide types first). STATUS_INPUT for
 * names that are equal or not UTF-8, negative or overflowing shapes. */
Status safetensors_write(const char *path, const Tensor *tensors, size_t count,
                         const Metadata *metadata, size_t metadata_count, Error *err);

#endif
