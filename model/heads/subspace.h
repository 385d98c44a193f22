/* What a head's matrices span: norms, angles between heads, rank of the score matrix.
 *
 * A head's W (C, D) reads (Q, K, V) or writes (O, transposed) a D-dimensional subspace of
 * the residual stream. All matrices are column-major doubles (model/math/svd.h).
 *
 * Principal angles t_1 <= t_2 <= ... between the spans of A and B, with orthonormal bases
 * U_A, U_B (Bjoerck and Golub 1973):  cos t_i = the singular values of U_A^T U_B.
 *   overlap = mean cos^2 t_i = |U_A^T U_B|_F^2 / k:   0 orthogonal ... 1 the same subspace
 * Two random D-dimensional subspaces of C dimensions overlap by D/C.
 *
 * Stable rank of M = W_Q W_K^T, the matrix that all scores of the head come from:
 *   |M|_F^2 / |M|_2^2 = sum s_i^2 / s_1^2:   1 one direction decides ... D all alike
 * Its rank is at most D (Bhojanapalli et al. 2020, arXiv:2002.07028). */
#ifndef JUEJU_MODEL_HEADS_SUBSPACE_H
#define JUEJU_MODEL_HEADS_SUBSPACE_H

#include <stdint.h>

#include "model/base/error.h"

/* An orthonormal basis of the span of a matrix's columns, with what it takes to form
 * products of matrices again: W = U diag(s) V^T. Directions with s_i <= 1e-10 s_1 are no
 * part of the span. */
typedef struct {
    int64_t rows, columns; /* C, D */
    int64_t k;             /* min(C, D) */
    int64_t rank;          /* of them the first `rank` count */
    double *u;             /* (C, k), owned, with the two below */
    double *s;             /* (k) */
    double *vt;            /* (k, D) */
} Subspace;

Status subspace_create(Subspace *space, const double *w, int64_t rows, int64_t columns,
                       Error *err);
void subspace_destroy(Subspace *space);

/* Frobenius norm, sqrt(sum s_i^2). */
double subspace_norm(const Subspace *space);

typedef struct {
    double overlap;           /* mean cos^2; 0 when one span is empty */
    double smallest, largest; /* angles in radians, 0 ... pi/2 */
} SubspaceAngles;

/* Of spans in the same space (equal rows); min of the two ranks angles. */
Status subspace_angles(SubspaceAngles *out, const Subspace *a, const Subspace *b,
                       Error *err);

/* Of W_Q W_K^T, columns equal; 0 when it is zero. */
Status subspace_stable_rank(double *out, const Subspace *q, const Subspace *k,
                            Error *err);

/* Of how many heads' worth a symmetric, positive semidefinite similarity matrix (n, n) with
 * ones on its diagonal is: exp of the entropy of the eigenvalues of S/n (the Vendi score,
 * Friedman and Dieng 2022, arXiv:2210.02410).  1 all alike ... n no two alike;
 * 0 with n = 0. */
Status effective_number(double *out, const double *similarity, int64_t n, Error *err);

#endif
