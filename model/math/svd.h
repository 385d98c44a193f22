/* Singular values and vectors, by LAPACK's dgesvd, which OpenBLAS brings along.
 *
 *   A = U diag(s) V^T,   A (m, n)  U (m, k)  s (k) falling  V^T (k, n),  k = min(m, n)
 *
 * In double whatever `real` is: angles between subspaces need the digits. Matrices are
 * column-major, as LAPACK has them: column j of A begins at a + j m. */
#ifndef JUEJU_MODEL_MATH_SVD_H
#define JUEJU_MODEL_MATH_SVD_H

#include <stdint.h>

#include "model/base/error.h"

/* Overwrites a. u and vt may both be NULL: values only. m, n >= 1. STATUS_NUMERIC: a holds
 * something that is not finite, or the iteration did not converge. */
Status svd(double *s, double *u, double *vt, double *a, int64_t m, int64_t n,
           Error *err);

#endif
