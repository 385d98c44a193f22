#include "model/heads/similarity.h"

#include <math.h>

/* p log(p / m), 0 at p = 0; a NaN comes through. */
static double divergence_term(double p, double m)
{
    return p == 0 ? 0 : p * log(p / m);
}

static double row_distance(const real *p, const real *q, int64_t count)
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
    return js < 0 ? 0 : sqrt(js / log(2));
}

double distance_sum(const real *a, const real *b, int64_t n, int64_t *rows)
{
    double sum = 0;
    for (int64_t i = 1; i < n; i++)
        sum += row_distance(a + i * n, b + i * n, i + 1);
    *rows += n > 1 ? n - 1 : 0;
    return sum;
}
