#include "model/layers/gelu.h"

#include "model/math/vec.h"

static const real ROOT_2_OVER_PI = (real)0.79788456080286536;
static const real CUBIC = (real)0.044715;

/* s = 1 / (1 + exp(-2t)). In float exp stays at e^88: s is 6e-39 at the least,
 * which is nothing for any u that a network has. */
static inline real gate(real u)
{
    real t = ROOT_2_OVER_PI * (u + CUBIC * u * u * u);
    return 1 / (1 + vec_exp_one(-2 * t));
}

void gelu_forward(real *y, const real *u, int64_t count)
{
    /* (a) y = u s */
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        y[i] = u[i] * gate(u[i]);
}

static inline real slope_of(real u, real s)
{
    real slope = ROOT_2_OVER_PI * (1 + 3 * CUBIC * u * u);
    return s + u * s * (1 - s) * 2 * slope;
}

void gelu_forward_slope(real *y, real *u, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        real s = gate(u[i]);
        y[i] = u[i] * s;
        u[i] = slope_of(u[i], s);
    }
}

void gelu_backward(real *dy, const real *u, int64_t count)
{
    /* (b) du = dy (s + u s (1 - s) 2t') */
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        dy[i] *= slope_of(u[i], gate(u[i]));
}
