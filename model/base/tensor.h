/* Tensor: name, number type, shape and place of an array, as files describe it. */
#ifndef JUEJU_MODEL_BASE_TENSOR_H
#define JUEJU_MODEL_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/real.h"

typedef enum {
    DTYPE_BOOL,
    DTYPE_U8,
    DTYPE_I8,
    DTYPE_F8_E5M2,
    DTYPE_F8_E4M3,
    DTYPE_I16,
    DTYPE_U16,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_F32,
    DTYPE_I64,
    DTYPE_U64,
    DTYPE_F64,
    DTYPE_COUNT,
#ifdef JUEJU_REAL_DOUBLE
    DTYPE_REAL = DTYPE_F64,
#else
    DTYPE_REAL = DTYPE_F32,
#endif
} Dtype;

const char *dtype_name(Dtype dtype);
bool dtype_find(Dtype *out, const char *name); /* false: no such dtype */
bool dtype_is_real(Dtype dtype);               /* F64, F32, F16 or BF16 */
size_t dtype_size(Dtype dtype);                /* bytes of one number */

enum { TENSOR_RANK_MAX = 8 };

typedef struct {
    const char *name;
    Dtype dtype;
    int rank; /* 0: a single number */
    int64_t shape[TENSOR_RANK_MAX];
    const void *data; /* perhaps unaligned when read from a file of others */
} Tensor;

/* The description of an array of reals; shape has `rank` numbers. */
Tensor tensor_of_reals(const char *name, const real *data, int rank,
                       const int64_t *shape);

/* *bytes = product of shape x number size; false when that is negative or too large. */
bool tensor_bytes(size_t *bytes, const Tensor *tensor);

/* "(3,4)" for messages. Returns text. */
enum { SHAPE_TEXT_SIZE = 200 };
const char *tensor_shape_text(char text[SHAPE_TEXT_SIZE], int rank,
                              const int64_t *shape);

/* out (product of shape) = the numbers of a tensor whose dtype_is_real. One too large for
 * real becomes infinite. */
void tensor_copy_reals(real *out, const Tensor *tensor);

#endif
