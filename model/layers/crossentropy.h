/* Output head and loss in one: logits z = f W_E^T, loss_n = log sum_v exp z_nv - z_n,target.
 *   f (N, C)   W_E (V, C)   z (N, V), never held for more than a block of rows
 *
 *   dz = (softmax(z) - onehot(target)) scale                                 (a)
 *   df = dz W_E                                                              (b)
 *   dW_E += dz^T f                                                           (c)
 * Identities: sum_v dz_nv = 0; sum_nc df_nc f_nc = sum_vc dW_vc W_vc over one pass
 * whose dW started at 0 (both are <dz, z>). */
#ifndef JUEJU_MODEL_LAYERS_CROSSENTROPY_H
#define JUEJU_MODEL_LAYERS_CROSSENTROPY_H

#include <stdint.h>

#include "model/base/real.h"

enum { CROSSENTROPY_ROWS = 128 }; /* rows of logits held at a time */

/* Targets are below V (the caller has checked them). Logits that are not numbers give a loss
 * that is none.
 *
 * Turns the logits of `rows` rows in place into (a), and adds the losses of rows whose
 * target is not negative to *nats; other rows become 0. token_nats may be NULL. */
void crossentropy_rows(real *logits, double *nats, real *token_nats,
                       const int32_t *targets, real scale, int64_t rows, int64_t V);

/* The loss only; logits are left as scratch. */
void crossentropy_loss_rows(real *logits, double *nats, real *token_nats,
                            const int32_t *targets, int64_t rows, int64_t V);

/* Sum of the losses. df (N, C) is written and dweight (V, C) added to, unless df is NULL
 * (forward only). logits: scratch of (min(N, CROSSENTROPY_ROWS), V). */
double crossentropy_head(real *df, real *dweight, real *token_nats, const real *f,
                         const real *weight, const int32_t *targets, real scale,
                         real *logits, int64_t N, int64_t C, int64_t V);

#endif
