#include "model/heads/subspace.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/base/memory.h"
#include "model/math/svd.h"

static const double NEGLIGIBLE = 1e-10;

Status subspace_create(Subspace *space, const double *w, int64_t rows, int64_t columns,
                       Error *err)
{
    int64_t k = rows < columns ? rows : columns;
    *space = (Subspace){.rows = rows, .columns = columns, .k = k};
    double *copy;
    TRY(memory_allocate(&space->u, (size_t)(rows * k + k + k * columns),
                        sizeof *space->u, "a head's subspace", err));
    space->s = space->u + rows * k;
    space->vt = space->s + k;
    Status status = memory_allocate(&copy, (size_t)(rows * columns), sizeof *copy,
                                    "a head's subspace", err);
    if (status == STATUS_OK) {
        memcpy(copy, w, (size_t)(rows * columns) * sizeof *copy);
        status = svd(space->s, space->u, space->vt, copy, rows, columns, err);
        memory_free(copy);
    }
    if (status != STATUS_OK) {
        subspace_destroy(space);
        return status;
    }
    while (space->rank < k && space->s[space->rank] > NEGLIGIBLE * space->s[0])
        space->rank++;
    return STATUS_OK;
}

void subspace_destroy(Subspace *space)
{
    memory_free(space->u);
    *space = (Subspace){0};
}

static double sum_of_squares(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sum;
}

double subspace_norm(const Subspace *space)
{
    return sqrt(sum_of_squares(space->s, space->k));
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* An angle in 0 ... pi/2; rounding can carry a cosine over 1. */
static double angle_of(double cosine)
{
    return acos(cosine > 1 ? 1 : cosine);
}

Status subspace_angles(SubspaceAngles *out, const Subspace *a, const Subspace *b,
                       Error *err)
{
    assert(a->rows == b->rows);
    int64_t rows = a->rows;
    int64_t count = a->rank < b->rank ? a->rank : b->rank;
    *out = (SubspaceAngles){.smallest = acos(0), .largest = acos(0)};
    if (count == 0)
        return STATUS_OK;
    double *product;
    TRY(memory_allocate(&product, (size_t)(a->rank * b->rank + count), sizeof *product,
                        "principal angles", err));
    double *cosines = product + a->rank * b->rank;
    for (int64_t j = 0; j < b->rank; j++) {
        for (int64_t i = 0; i < a->rank; i++)
            product[j * a->rank + i] = dot(a->u + i * rows, b->u + j * rows, rows);
    }
    Status status = svd(cosines, NULL, NULL, product, a->rank, b->rank, err);
    if (status == STATUS_OK) {
        out->overlap = fmin(1, sum_of_squares(cosines, count) / (double)count);
        out->smallest = angle_of(cosines[0]);
        out->largest = angle_of(cosines[count - 1]);
    }
    memory_free(product);
    return status;
}

/* With W_Q = U_q S_q V_q^T and W_K likewise, the singular values of W_Q W_K^T are those of
 * the small matrix S_q V_q^T V_k S_k. */
Status subspace_stable_rank(double *out, const Subspace *q, const Subspace *k,
                            Error *err)
{
    assert(q->columns == k->columns);
    *out = 0;
    int64_t least = q->k < k->k ? q->k : k->k;
    double *core;
    TRY(memory_allocate(&core, (size_t)(q->k * k->k + least), sizeof *core,
                        "a head's rank", err));
    double *values = core + q->k * k->k;
    for (int64_t j = 0; j < k->k; j++) {
        for (int64_t i = 0; i < q->k; i++) {
            double sum = 0;
            for (int64_t d = 0; d < q->columns; d++)
                sum += q->vt[d * q->k + i] * k->vt[d * k->k + j];
            core[j * q->k + i] = q->s[i] * sum * k->s[j];
        }
    }
    Status status = svd(values, NULL, NULL, core, q->k, k->k, err);
    if (status == STATUS_OK && values[0] > 0)
        *out = sum_of_squares(values, least) / (values[0] * values[0]);
    memory_free(core);
    return status;
}

Status effective_number(double *out, const double *similarity, int64_t n, Error *err)
{
    double *copy;
    *out = 0;
    if (n == 0)
        return STATUS_OK;
    TRY(memory_allocate(&copy, (size_t)(n * n + n), sizeof *copy,
                        "the effective number of heads", err));
    double *eigenvalues = copy + n * n;
    memcpy(copy, similarity, (size_t)(n * n) * sizeof *copy);
    /* Of a positive semidefinite matrix the singular values are the eigenvalues. */
    Status status = svd(eigenvalues, NULL, NULL, copy, n, n, err);
    if (status == STATUS_OK) {
        double total = 0, entropy = 0;
        for (int64_t i = 0; i < n; i++)
            total += eigenvalues[i];
        for (int64_t i = 0; i < n; i++) {
            double p = eigenvalues[i] / total;
            if (p > 0)
                entropy -= p * log(p);
        }
        *out = exp(entropy);
    }
    memory_free(copy);
    return status;
}
