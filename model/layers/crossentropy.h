/* Output head and loss in one: logits z = f W_E^T, loss_n = log sum_v exp z_nv - z_n,target.
 *   f (N, C)   W_E (V, C)   z (N, V), never held for more than a block of rows
 *
 *   dz = (softmax(z) - onehot(target)) scale                                 (a)
 *   df = dz W_E                                                              (b)
 *   dW_E += dz^T f                                                           (c)
 * Identities: sum_v dz_nv = 0; sum_nc df_nc f_nc = sum_vc dW_vc W_vc when dW started at 0.
 *
 * Rows without a target cost nothing: those with one are gathered first. The work goes by
 * blocks of rows and, inside, by blocks of columns, so that what is in hand stays in the
 * second-level cache, and a block keeps e = exp(z - m_n), never z. m_n is the maximum of the
 * row's first block: any number near the largest logit serves, so that each logit costs one
 * exp although no maximum is known while it is at hand. (A block whose maximum is far above
 * m_n takes its own and is brought to the others' later.) When the row is complete,
 *   l_n = m_n + log sum_v e_nv,   softmax(z)_nv = e_nv exp(m_n - l_n)        (d)
 * and with g_n = scale exp(m_n - l_n) the softmax itself need not be formed:
 *   df_n = g_n (e W_E)_n - scale W_target,   dW_E = e^T (g f) - onehot^T (scale f)   (e) */
#ifndef JUEJU_MODEL_LAYERS_CROSSENTROPY_H
#define JUEJU_MODEL_LAYERS_CROSSENTROPY_H

#include <stdint.h>

#include "model/base/real.h"

enum {
    CROSSENTROPY_ROWS = 256,    /* rows of logits held at a time */
    CROSSENTROPY_COLUMNS = 256, /* columns of them worked on at a time */
};

/* Reals of scratch for N rows. */
int64_t crossentropy_scratch(int64_t N, int64_t C, int64_t V);

/* Sum of the losses of rows whose target is not negative; token_nats (N), if not NULL,
 * takes each (0 where there is no target). df (N, C) is written and dweight (V, C) added
 * to, unless df is NULL (forward only). A logit that is not finite makes the loss NaN. */
double crossentropy_head(real *df, real *dweight, real *token_nats, const real *f,
                         const real *weight, const int32_t *targets, real scale,
                         real *scratch, int64_t N, int64_t C, int64_t V);

#endif
