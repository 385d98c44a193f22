#include "train/adamw.h"

#include <math.h>

/* Values that a thread takes at a time. A fixed size, so that each value goes through the
 * same instructions whatever the number of threads. */
enum { PIECE = 4096 };

static inline real root(real x)
{
#ifdef JUEJU_REAL_DOUBLE
    return sqrt(x);
#else
    return sqrtf(x);
#endif
}

void adamw_update(real *values, real *m, real *v, const real *grads, size_t count,
                  const AdamwOptions *options, int64_t t)
{
    real b1 = (real)options->beta1;
    real b2 = (real)options->beta2;
    real eps = (real)options->eps;
    real keep = (real)(1 - options->rate * options->decay);
    /* rate mhat / (sqrt(vhat) + eps) = step m / (sqrt(v) scale + eps) */
    real step = (real)(options->rate / (1 - pow(options->beta1, (double)t)));
    real scale = (real)(1 / sqrt(1 - pow(options->beta2, (double)t)));
#pragma omp parallel for schedule(static) if (count > PIECE)
    for (size_t start = 0; start < count; start += PIECE) {
        size_t end = start + PIECE < count ? start + PIECE : count;
#pragma omp simd
        for (size_t i = start; i < end; i++) {
            real g = grads[i];
            m[i] = b1 * m[i] + (1 - b1) * g;
            v[i] = b2 * v[i] + (1 - b2) * g * g;
            values[i] = keep * values[i] - step * m[i] / (root(v[i]) * scale + eps);
        }
    }
}
