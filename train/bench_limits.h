/* What this machine can do at most, measured. */
#ifndef JUEJU_TRAIN_BENCH_LIMITS_H
#define JUEJU_TRAIN_BENCH_LIMITS_H

#include "model/base/error.h"
#include "model/base/real.h"

/* Machines are shared, and what a core can do changes from second to second: so limits are
 * sampled in turn with what is held against them, some 10 ms each time, and medians are
 * compared. */
enum { LIMITS_SAMPLES = 1001 };

typedef struct {
    int threads;
    real *memory; /* operands of the products, owned */
    int count;
    double peak[LIMITS_SAMPLES];
    double own[LIMITS_SAMPLES], blas[LIMITS_SAMPLES];
} Limits;

/* Operands for `threads` threads; nothing is measured yet. */
Status limits_create(Limits *limits, int threads, Error *err);
void limits_destroy(Limits *limits);

/* One more sample of each limit, all threads at once. */
void limits_sample(Limits *limits);

/* Median operations a second, of fused multiply-adds on registers alone. */
double limits_peak(Limits *limits);

/* The same of 768 x 768 x 768 products, each thread its own: the better of the BLAS and
 * model/math/product.h. */
double limits_product(Limits *limits);

/* Median of count > 0 numbers; sorts them. */
double limits_median(double *numbers, int count);

#endif
