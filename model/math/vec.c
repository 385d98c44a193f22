#include "model/math/vec.h"

real vec_dot(const real *a, const real *b, int64_t n)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

real vec_sum(const real *a, int64_t n)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

real vec_max(const real *a, int64_t n)
{
    /* One running maximum per lane: the form that both gcc and clang vectorise. A NaN
     * loses every comparison here and shows up in the exp that follows. */
    enum { LANES = 64 };
    real top[LANES];
    int64_t i = 0;
    for (int lane = 0; lane < LANES; lane++)
        top[lane] = a[0];
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++)
            top[lane] = a[i + lane] > top[lane] ? a[i + lane] : top[lane];
    }
    for (int lane = 0; i + lane < n; lane++)
        top[lane] = a[i + lane] > top[lane] ? a[i + lane] : top[lane];
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; lane++)
            top[lane] = top[lane + half] > top[lane] ? top[lane + half] : top[lane];
    }
    return top[0];
}

double vec_square_sum(const real *a, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)a[i];
    return sum;
}

void vec_add(real *y, const real *x, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

void vec_multiply(real *y, const real *x, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] *= x[i];
}

void vec_axpy(real *y, real a, const real *x, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

void vec_scale(real *y, real a, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] *= a;
}

real vec_exp_sum(real *y, const real *x, real shift, int64_t n)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        y[i] = vec_exp_one(x[i] - shift);
        sum += y[i];
    }
    return sum;
}
