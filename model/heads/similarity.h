/* How differently two heads look at the same text.
 *
 * For rows p and q the Jensen-Shannon distance (Lin 1991; Endres and Schindelin 2003) is
 *   d(p, q) = sqrt(JS / log 2),  JS = (KL(p | m) + KL(q | m)) / 2,  m = (p + q) / 2
 * a metric between 0 (equal) and 1 (disjoint). Two heads' distance is the mean over the
 * rows i >= 1 of their causal maps.
 *
 * The Jensen-Shannon kernel (Martins et al. 2009) is k(p, q) = 1 - JS / log 2 = 1 - d^2:
 * 1 equal, 0 disjoint. It is positive definite, so a matrix of its means has no eigenvalue
 * under 0 (model/heads/collapse.h needs that; 1 - d has no such promise). */
#ifndef JUEJU_MODEL_HEADS_SIMILARITY_H
#define JUEJU_MODEL_HEADS_SIMILARITY_H

#include <stdint.h>

#include "model/base/real.h"

/* Sum of d over rows 1 .. n-1 of two maps (n, n); *rows gains n-1. */
double distance_sum(const real *a, const real *b, int64_t n, int64_t *rows);

/* The same of k. */
double kernel_sum(const real *a, const real *b, int64_t n, int64_t *rows);

#endif
