/* Output head and loss in one: logits z = f W_E^T, loss_n = log sum_v exp z_nv - z_n,target.
 *   f (N, C)   W_E (V, C)   z (N, V), never held for more than a block of rows
 *
 *   dz = (softmax(z) - onehot(target)) scale                                 (a)
 *   df = dz W_E                                                              (b)
 *   dW_E += dz^T f                                                           (c)
 * Identities: sum_v dz_nv = 0; sum_nc df_nc f_nc = sum_vc dW_vc W_vc when dW started at 0.
 *
 * The work goes by blocks of rows and, inside, by blocks of columns, so that what is in
 * hand stays in the second-level cache. Block b of row n keeps exp(z - m_nb) with its own
 * maximum m_nb and sum s_nb, as flash attention does; when the row is complete,
 *   l_n = log sum_b s_nb exp(m_nb),   softmax(z)_nv = exp(z_nv - m_nb) exp(m_nb - l_n)   (d)
 * so each logit costs one exp although no maximum is known while it is at hand. */
#ifndef JUEJU_MODEL_LAYERS_CROSSENTROPY_H
#define JUEJU_MODEL_LAYERS_CROSSENTROPY_H

#include <stdint.h>

#include "model/base/real.h"

enum {
    CROSSENTROPY_ROWS = 256,    /* rows of logits held at a time */
    CROSSENTROPY_COLUMNS = 512, /* columns of them worked on at a time */
};

/* Reals of scratch for N rows. */
int64_t crossentropy_scratch(int64_t N, int64_t V);

/* Sum of the losses of rows whose target is not negative; token_nats (N), if not NULL,
 * takes each (0 where there is no target). df (N, C) is written and dweight (V, C) added
 * to, unless df is NULL (forward only). A logit that is not finite makes the loss NaN. */
double crossentropy_head(real *df, real *dweight, real *token_nats, const real *f,
                         const real *weight, const int32_t *targets, real scale,
                         real *scratch, int64_t N, int64_t C, int64_t V);

#endif
