#include "model/heads/similarity.h"

#include <math.h>

/* p log(p / m), 0 at p = 0; a NaN comes through. */
static double divergence_term(double p, double m)
{
    return p == 0 ? 0 : p * log(p / m);
}

/* JS / log 2, the square of the distance. */
static double row_divergence(const real *p, const real *q, int64_t count)
{
    double js = 0;
    for (int64_t j = 0; j < count; j++) {
        double a = (double)p[j];
        double b = (double)q[j];
        double m = (a + b) / 2;
        js += divergence_term(a, m) + divergence_term(b, m);
    }
    js /= 2;
    /* Equal rows can come out a rounding error below 0. */
    return js < 0 ? 0 : js / log(2);
}

double distance_sum(const real *a, const real *b, int64_t n, int64_t *rows)
{
    double sum = 0;
    for (int64_t i = 1; i < n; i++)
        sum += sqrt(row_divergence(a + i * n, b + i * n, i + 1));
    *rows += n > 1 ? n - 1 : 0;
    return sum;
}

double kernel_sum(const real *a, const real *b, int64_t n, int64_t *rows)
{
    double sum = 0;
    for (int64_t i = 1; i < n; i++)
        sum += 1 - row_divergence(a + i * n, b + i * n, i + 1);
    *rows += n > 1 ? n - 1 : 0;
    return sum;
}
