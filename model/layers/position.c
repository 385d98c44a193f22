#include "model/layers/position.h"

#include <math.h>

static const double LONGEST = 10000; /* the slowest wave has nearly 2 pi times this */

void position_sinusoidal(real *table, int64_t T, int64_t C)
{
    int64_t half = (C + 1) / 2;
    for (int64_t j = 0; j < C; j++) {
        int64_t i = j < half ? j : j - half;
        double speed = pow(LONGEST, -2 * (double)i / (double)C);
        for (int64_t p = 0; p < T; p++) {
            double angle = (double)p * speed;
            table[p * C + j] = (real)(j < half ? sin(angle) : cos(angle));
        }
    }
}
