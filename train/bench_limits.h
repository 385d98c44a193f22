/* What this machine can do at most, measured. */
#ifndef JUEJU_TRAIN_BENCH_LIMITS_H
#define JUEJU_TRAIN_BENCH_LIMITS_H

#include "model/base/error.h"

/* Operations a second of fused multiply-adds on registers alone, on `threads` threads. */
double limits_peak(int threads);

/* Operations a second of 768 x 768 x 768 products, each thread its own: the better of the
 * BLAS and model/math/product.h. */
Status limits_product(double *rate, int threads, Error *err);

/* Median of count > 0 numbers; sorts them. */
double limits_median(double *numbers, int count);

#endif
