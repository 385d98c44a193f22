/* Matrix products. blas.c is the only file that includes cblas.h.
 *
 * All matrices are row-major; ld is the distance between rows in reals. Calls are meant to
 * run inside one thread: parallelism lives above, in shards of a batch. */
#ifndef JUEJU_MODEL_MATH_BLAS_H
#define JUEJU_MODEL_MATH_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/real.h"

typedef enum { PLAIN, TRANSPOSED } Transpose;

/* Takes whichever is faster for these shapes, OpenBLAS or model/math/product.h.
 * One thread, whatever the BLAS would like: parallelism lives above.
 * C = beta C + alpha op(A) op(B);   op(A) (m, k)  op(B) (k, n)  C (m, n).
 * beta = 0 overwrites C, whatever it held. C must not overlap A or B. */
void matmul(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, real alpha,
            const real *a, int64_t lda, const real *b, int64_t ldb, real beta, real *c,
            int64_t ldc);

/* C = bias + A op(B), the bias (n) added to every row; NULL is none. */
void matmul_bias(Transpose tb, int64_t m, int64_t n, int64_t k, const real *a,
                 int64_t lda, const real *b, int64_t ldb, const real *bias, real *c,
                 int64_t ldc);

/* The same as matmul by OpenBLAS whatever the shapes. */
void matmul_blas(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                 real alpha, const real *a, int64_t lda, const real *b, int64_t ldb,
                 real beta, real *c, int64_t ldc);

/* The same as matmul by three loops: the readable reference that a test holds equal. */
void matmul_plain(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                  real alpha, const real *a, int64_t lda, const real *b, int64_t ldb,
                  real beta, real *c, int64_t ldc);

/* What the BLAS says of itself, for the first line of a training log. */
typedef struct {
    const char *kernels;   /* "SkylakeX" */
    const char *threading; /* "serial", "pthread", "OpenMP" */
} BlasInfo;

BlasInfo blas_info(void);

/* Call once, before threads start: keeps a pthread build of OpenBLAS to one thread a call. */
void blas_single_thread(void);

/* Whether several threads may call the BLAS at once. OpenBLAS' serial build is made without
 * locks around its buffers (Debian's is): two threads in it overwrite each other. */
bool blas_thread_safe(void);

/* OpenBLAS before 0.3.22 does not know some newer CPUs and then runs its slowest kernels
 * (30 instead of 148 GFLOP/s). Returns the kernel name that it should be made to use
 * (environment variable OPENBLAS_CORETYPE, read when the library loads), or NULL when its
 * own choice fits this CPU. */
const char *blas_better_kernels(void);

#endif
