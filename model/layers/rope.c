#include "model/layers/rope.h"

#include <assert.h>
#include <math.h>

void rope_table(real *table, double theta, int64_t T, int64_t D)
{
    assert(theta > 0 && D % 2 == 0);
    int64_t half = D / 2;
    for (int64_t i = 0; i < half; i++) {
        double speed = pow(theta, -2 * (double)i / (double)D);
        for (int64_t p = 0; p < T; p++) {
            table[p * D + i] = (real)cos((double)p * speed);
            table[p * D + half + i] = (real)sin((double)p * speed);
        }
    }
}

/* (a); with sign = -1 it is (b), for cos(-t) = cos(t) and sin(-t) = -sin(t). */
static void turn_halves(real *x, const real *cosine, const real *sine, real sign,
                        int64_t half)
{
#pragma omp simd
    for (int64_t i = 0; i < half; i++) {
        real a = x[i], b = x[half + i];
        real s = sign * sine[i];
        x[i] = a * cosine[i] - b * s;
        x[half + i] = a * s + b * cosine[i];
    }
}

static void turn_pairs(real *x, const real *cosine, const real *sine, real sign,
                       int64_t half)
{
#pragma omp simd
    for (int64_t i = 0; i < half; i++) {
        real a = x[2 * i], b = x[2 * i + 1];
        real s = sign * sine[i];
        x[2 * i] = a * cosine[i] - b * s;
        x[2 * i + 1] = a * s + b * cosine[i];
    }
}

void rope_apply(real *x, int64_t stride, int64_t heads, int64_t head_stride,
                const int32_t *positions, const real *table, RopeLayout layout,
                RopeDirection direction, int64_t N, int64_t D)
{
    assert(D % 2 == 0);
    real sign = direction == ROPE_FORWARD ? 1 : -1;
    int64_t half = D / 2;
    for (int64_t n = 0; n < N; n++) {
        const real *cosine = table + positions[n] * D;
        const real *sine = cosine + half;
        for (int64_t h = 0; h < heads; h++) {
            real *head = x + n * stride + h * head_stride;
            if (layout == ROPE_HALVES)
                turn_halves(head, cosine, sine, sign, half);
            else
                turn_pairs(head, cosine, sine, sign, half);
        }
    }
}
