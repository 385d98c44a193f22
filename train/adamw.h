/* AdamW. Kingma and Ba 2015, arXiv:1412.6980; decoupled decay: Loshchilov and Hutter 2019,
 * arXiv:1711.05101.
 *
 *   m = b1 m + (1 - b1) g
 *   v = b2 v + (1 - b2) g^2
 *   w = w - rate (decay w + mhat / (sqrt(vhat) + eps)),
 *   mhat = m / (1 - b1^t),  vhat = v / (1 - b2^t),  t = 1, 2, ... */
#ifndef JUEJU_TRAIN_ADAMW_H
#define JUEJU_TRAIN_ADAMW_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/real.h"

typedef struct {
    double rate;
    double beta1, beta2;
    double eps;
    double decay; /* 0 for gains and biases: the caller's choice */
} AdamwOptions;

/* One update of `count` values; t counts updates from 1. */
void adamw_update(real *values, real *m, real *v, const real *grads, size_t count,
                  const AdamwOptions *options, int64_t t);

#endif
