/* Row operations that the compiler turns into vector instructions, and exp.
 *
 * The loops are plain C; sums that may be reordered say so (omp simd reduction), so no
 * -ffast-math is needed and NaN checks keep working. */
#ifndef JUEJU_MODEL_MATH_VEC_H
#define JUEJU_MODEL_MATH_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model/base/real.h"

/* exp(x) for x <= 88; 0 below -87; NaN stays NaN. Relative error under 1.2e-7 in float, where
 * x over 88 gives exp(88). In the double build it is the C library's.
 *
 * exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 with |r| <= 0.3466. ln 2 is taken
 * off in two parts, so that n ln2_high is exact. exp(r) is 1 + r + r^2 p(r) with the p of
 * degree 4 whose largest relative error on that range is least (Remez): 3e-9, so that only
 * rounding is left; Taylor's p has 1.6e-7. n goes straight into the exponent bits: adding
 * 1.5 2^23 rounds to an integer and leaves it in the low bits; 127 more is the exponent's
 * bias. Outside the range y is nonsense, and replaced. */
static inline real vec_exp_one(real x)
{
#ifdef JUEJU_REAL_DOUBLE
    return exp(x);
#else
    const float round_magic = 12582912.0f + 127;
    float shifted = x * 1.44269504f + round_magic;
    float n = shifted - round_magic;
    float r = x - n * 0.693145752f;
    r = r - n * 1.42860677e-6f;
    float p = 1.38145402e-3f;
    p = p * r + 8.36874511e-3f;
    p = p * r + 4.16683908e-2f;
    p = p * r + 1.66665204e-1f;
    p = p * r + 0.499999934f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    uint32_t power; /* 2^n */
    memcpy(&power, &shifted, sizeof power);
    power <<= 23;
    float scale;
    memcpy(&scale, &power, sizeof scale);
    float y = p * scale;
    y = x < -87.0f ? 0.0f : y;
    return x > 88.0f ? 1.65163626e38f : y;
#endif
}

real vec_dot(const real *a, const real *b, int64_t n);
real vec_sum(const real *a, int64_t n);

/* n > 0. A NaN is passed over, unless it is a[0]: then the result is NaN. */
real vec_max(const real *a, int64_t n);

double vec_square_sum(const real *a, int64_t n);          /* adds up in double */
void vec_add(real *y, const real *x, int64_t n);          /* y += x */
void vec_multiply(real *y, const real *x, int64_t n);     /* y *= x, each by its own */
void vec_axpy(real *y, real a, const real *x, int64_t n); /* y += a x */
void vec_scale(real *y, real a, int64_t n);               /* y *= a */

/* y = exp(x - shift); returns the sum of y. y may be x. */
real vec_exp_sum(real *y, const real *x, real shift, int64_t n);

#endif
