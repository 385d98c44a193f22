/* Transposing small blocks in registers, for the copies that model/math/product.c makes. */
#ifndef JUEJU_MODEL_MATH_TRANSPOSE_H
#define JUEJU_MODEL_MATH_TRANSPOSE_H

#include <stdint.h>

#include "model/base/real.h"

/* to[c ld_to + r] = scale from[r ld_from + c],  r < rows, c < cols. No overlap. */
void transpose_copy(real *to, int64_t ld_to, const real *from, int64_t ld_from,
                    int64_t rows, int64_t cols, real scale);

#endif
