#include "model/heads/entropy.h"

#include <math.h>

double entropy_sum(const real *weights, int64_t n, int64_t *rows)
{
    double sum = 0;
    for (int64_t i = 1; i < n; i++) {
        double entropy = 0;
        for (int64_t j = 0; j <= i; j++) {
            double p = (double)weights[i * n + j];
            if (p != 0) /* a NaN comes through */
                entropy -= p * log(p);
        }
        sum += entropy / log((double)(i + 1));
    }
    *rows += n > 1 ? n - 1 : 0;
    return sum;
}
