/* Rotary positions (RoPE). Su et al. 2021, arXiv:2104.09864.
 *
 * The D channels of a head are D/2 pairs (a_i, b_i). At position p, pair i is turned by the
 * angle p w_i, with w_i = theta^(-2i/D): fast for the first pairs, slow for the last.
 *   a'_i = a_i cos(p w_i) - b_i sin(p w_i)
 *   b'_i = a_i sin(p w_i) + b_i cos(p w_i)                                   (a)
 * A turn's transpose is the turn back, so the gradient is turned by minus the angle:
 *   da_i =  da'_i cos(p w_i) + db'_i sin(p w_i)
 *   db_i = -da'_i sin(p w_i) + db'_i cos(p w_i)                              (b)
 * Identities: |x'| = |x|; <q' at p, k' at s> depends on p - s only; p = 0 changes nothing;
 * (b) after (a) gives x back.
 *
 * There are no parameters and nothing is saved: (b) needs positions and the table only. */
#ifndef JUEJU_MODEL_LAYERS_ROPE_H
#define JUEJU_MODEL_LAYERS_ROPE_H

#include <stdint.h>

#include "model/base/real.h"

/* Which channels are a pair. The two differ by a fixed order of a head's channels, so that
 * weights of one can be reordered into the other. */
typedef enum {
    ROPE_HALVES, /* (i, i + D/2): Llama in the Hugging Face layout */
    ROPE_PAIRS,  /* (2i, 2i + 1): the paper, GPT-J, DeepSeek's checkpoints */
} RopeLayout;

typedef enum {
    ROPE_FORWARD,  /* (a) */
    ROPE_BACKWARD, /* (b) */
} RopeDirection;

/* table (T, D): row p has the D/2 cosines, then the D/2 sines. Angles are computed in
 * double, and rounded once. theta > 0, D even. */
void rope_table(real *table, double theta, int64_t T, int64_t D);

/* Turns, in place, `heads` heads in each of N rows. Rows begin stride numbers apart, heads
 * of a row head_stride apart (D, or more where only a part of a head is turned: x then
 * points to the first such part). positions (N), each in 0 .. T-1 of the table. */
void rope_apply(real *x, int64_t stride, int64_t heads, int64_t head_stride,
                const int32_t *positions, const real *table, RopeLayout layout,
                RopeDirection direction, int64_t N, int64_t D);

#endif
