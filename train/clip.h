/* Clipping by the global norm (Pascanu et al. 2013): when the norm of all gradients
 * together is over `limit`, every gradient is scaled by limit / norm. */
#ifndef JUEJU_TRAIN_CLIP_H
#define JUEJU_TRAIN_CLIP_H

#include <stddef.h>

#include "model/base/real.h"

/* The norm before clipping. Adds up in double over fixed pieces, so that the result has the
 * same bits for any number of threads. limit <= 0: no clipping. A norm that is not finite
 * is returned and nothing is scaled. */
double clip_global_norm(real *grads, size_t count, double limit);

#endif
