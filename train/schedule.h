/* Learning rate over a run: linear warm-up, then a cosine (Loshchilov and Hutter 2017).
 *
 *   step < warmup:  (step + 1) / warmup
 *   else:           final + (1 - final) (1 + cos(pi progress)) / 2,
 *                   progress = (step - warmup) / (steps - warmup)
 * as a factor of the peak rate; step counts from 0. */
#ifndef JUEJU_TRAIN_SCHEDULE_H
#define JUEJU_TRAIN_SCHEDULE_H

#include <stdint.h>

double schedule_factor(int64_t step, int64_t steps, int64_t warmup, double final);

#endif
