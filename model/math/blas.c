#include "model/math/blas.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <omp.h>
#include <string.h>

#include "model/math/product.h"

#ifdef JUEJU_REAL_DOUBLE
#define CBLAS_GEMM cblas_dgemm
#else
#define CBLAS_GEMM cblas_sgemm
#endif

/* Not in every version's cblas.h. */
char *openblas_get_corename(void);
int openblas_get_parallel(void);

/* Outside a parallel region the OpenMP build of OpenBLAS takes as many threads as OpenMP
 * would give (newer versions whatever openblas_set_num_threads said), and the bits of a
 * product then depend on them. Inside one it takes one. */
static int leave_one_thread(void)
{
    int threads = omp_in_parallel() ? 1 : omp_get_max_threads();
    if (threads > 1)
        omp_set_num_threads(1);
    return threads;
}

void matmul(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, real alpha,
            const real *a, int64_t lda, const real *b, int64_t ldb, real beta, real *c,
            int64_t ldc)
{
    if (m == 0 || n == 0)
        return;
    if ((beta == 0 || beta == 1) && product_fits(ta, m, n, k, lda))
        product_matmul(ta, tb, m, n, k, alpha, a, lda, b, ldb,
                       (TileStart){beta == 1 ? c : NULL, ldc}, c, ldc);
    else
        matmul_blas(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void matmul_bias(Transpose tb, int64_t m, int64_t n, int64_t k, const real *a,
                 int64_t lda, const real *b, int64_t ldb, const real *bias, real *c,
                 int64_t ldc)
{
    if (bias != NULL && product_fits(PLAIN, m, n, k, lda)) {
        product_matmul(PLAIN, tb, m, n, k, 1, a, lda, b, ldb, (TileStart){bias, 0}, c,
                       ldc);
        return;
    }
    for (int64_t i = 0; bias != NULL && i < m; i++)
        memcpy(c + i * ldc, bias, (size_t)n * sizeof(real));
    matmul(PLAIN, tb, m, n, k, 1, a, lda, b, ldb, bias != NULL, c, ldc);
}

void matmul_blas(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                 real alpha, const real *a, int64_t lda, const real *b, int64_t ldb,
                 real beta, real *c, int64_t ldc)
{
    assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX);
    assert(lda <= INT_MAX && ldb <= INT_MAX && ldc <= INT_MAX);
    int threads = leave_one_thread();
    CBLAS_GEMM(CblasRowMajor, ta == PLAIN ? CblasNoTrans : CblasTrans,
               tb == PLAIN ? CblasNoTrans : CblasTrans, (int)m, (int)n, (int)k, alpha,
               a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
    if (threads > 1)
        omp_set_num_threads(threads);
}

void matmul_plain(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k,
                  real alpha, const real *a, int64_t lda, const real *b, int64_t ldb,
                  real beta, real *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            real sum = 0;
            for (int64_t p = 0; p < k; p++) {
                real x = ta == PLAIN ? a[i * lda + p] : a[p * lda + i];
                real y = tb == PLAIN ? b[p * ldb + j] : b[j * ldb + p];
                sum += x * y;
            }
            real old = beta == 0 ? 0 : beta * c[i * ldc + j];
            c[i * ldc + j] = old + alpha * sum;
        }
    }
}

BlasInfo blas_info(void)
{
    static const char *const THREADING[] = {"serial", "pthread", "OpenMP"};
    int parallel = openblas_get_parallel();
    return (BlasInfo){
        .kernels = openblas_get_corename(),
        .threading = parallel >= 0 && parallel <= 2 ? THREADING[parallel] : "unknown",
    };
}

void blas_single_thread(void)
{
    openblas_set_num_threads(1);
}

bool blas_thread_safe(void)
{
    return openblas_get_parallel() != 0;
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(name, *list) == 0)
            return true;
    }
    return false;
}

const char *blas_better_kernels(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    static const char *const WITH_AVX512[] = {"SkylakeX", "Cooperlake",
                                              "SapphireRapids", "Zen", NULL};
    static const char *const WITH_AVX2[] = {
        "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", NULL};
    const char *name = openblas_get_corename();
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return is_one_of(name, WITH_AVX512) ? NULL : "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return is_one_of(name, WITH_AVX2) ? NULL : "Haswell";
#endif
    return NULL;
}
