/* Where a number that is not finite came from. */
#ifndef JUEJU_TRAIN_FAULTS_H
#define JUEJU_TRAIN_FAULTS_H

#include "model/gpt/gpt.h"

/* Fills err with the step, the loss (a mean), the norm and the first tensor, in the order of
 * the forward pass, whose weights or else whose gradients are not finite; when all are, the
 * tensor with the largest weight. STATUS_NUMERIC. */
Status faults_explain(const Gpt *gpt, const real *grads, double loss, double norm,
                      int64_t step, double rate, Error *err);

/* STATUS_NUMERIC, naming step and tensor, when a weight is not finite. */
Status faults_check_weights(const Gpt *gpt, int64_t step, Error *err);

#endif
