/* Start values. Every tensor, and with per-head Xavier every head of it, draws from a random
 * stream of its own, so that changing one never changes another.
 *
 * Xavier-uniform (Glorot and Bengio 2010): U(-b, b), b = sqrt(6 / (fan_in + fan_out)),
 * variance 2 / (fan_in + fan_out). For C = 128, D = 32 the three readings of "fan" give
 *   per head   W_Q, W_K, W_V of each head: fan_in C, fan_out D      b = 0.1936
 *   whole      a (C, C) matrix                                      b = 0.1531
 *   packed     the (C, 3C) matrix, as PyTorch's in_proj             b = 0.1083
 * Weights that write into the residual stream are scaled by 1 / sqrt(2L) (GPT-2; in a
 * decoder with cross-attention, which has three branches a block, by 1 / sqrt(3L)), gains
 * start at 1, biases at 0, embeddings at N(0, 0.02^2). */
#ifndef JUEJU_MODEL_GPT_INIT_H
#define JUEJU_MODEL_GPT_INIT_H

#include "model/gpt/gpt.h"

typedef enum {
    INIT_XAVIER_PER_HEAD, /* the default */
    INIT_XAVIER_PACKED,
    INIT_NORMAL,          /* GPT-2: N(0, 0.02^2) for every matrix */
    INIT_IDENTICAL_HEADS, /* every head as head 0, its rows of W_O too: heads stay equal */
} InitKind;

extern const char *const INIT_NAMES[]; /* "xavier-per-head", ..., NULL */

void gpt_init(Gpt *gpt, InitKind kind, uint64_t seed);

/* One head's (rows, width) slice of a matrix whose rows are `stride` apart: U(-b, b) with
 * fan_in = rows and fan_out = width, from the stream (seed, name). */
void init_xavier_slice(real *slice, int64_t stride, int64_t rows, int64_t width,
                       uint64_t seed, uint64_t name);

#endif
