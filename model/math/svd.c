#include "model/math/svd.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "model/base/memory.h"

/* Not in every version's headers. The last two arguments are the lengths of the two texts,
 * which Fortran compilers pass unseen. */
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
             const int *lda, double *s, double *u, const int *ldu, double *vt,
             const int *ldvt, double *work, const int *lwork, int *info, size_t ulength,
             size_t vtlength);

static Status check_finite(const double *a, int64_t count, Error *err)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(a[i]))
            return error_set(err, STATUS_NUMERIC,
                             "singular values: expected finite numbers, found %g",
                             a[i]);
    }
    return STATUS_OK;
}

Status svd(double *s, double *u, double *vt, double *a, int64_t m, int64_t n,
           Error *err)
{
    assert(m >= 1 && n >= 1 && m <= INT_MAX && n <= INT_MAX);
    TRY(check_finite(a, m * n, err));
    const char *job = u != NULL ? "S" : "N";
    const int rows = (int)m;
    const int columns = (int)n;
    const int k = rows < columns ? rows : columns;
    const int ask = -1;
    double unused = 0;
    double *left = u != NULL ? u : &unused;
    double *right = vt != NULL ? vt : &unused;
    int info;
    /* With lwork -1 it only says how much it would like. */
    double best;
    dgesvd_(job, job, &rows, &columns, a, &rows, s, left, &rows, right, &k, &best, &ask,
            &info, 1, 1);
    const int length = (int)best;
    double *work;
    TRY(memory_allocate(&work, (size_t)length, sizeof *work, "singular values", err));
    dgesvd_(job, job, &rows, &columns, a, &rows, s, left, &rows, right, &k, work,
            &length, &info, 1, 1);
    memory_free(work);
    if (info != 0)
        return error_set(err, STATUS_NUMERIC,
                         "singular values of a %lld x %lld matrix: no convergence",
                         (long long)m, (long long)n);
    return STATUS_OK;
}
