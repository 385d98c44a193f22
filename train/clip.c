#include "train/clip.h"

#include <math.h>

#include "model/math/vec.h"

enum { PIECES = 64 };

double clip_global_norm(real *grads, size_t count, double limit)
{
    double sums[PIECES];
    size_t piece = (count + PIECES - 1) / PIECES;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < PIECES; i++) {
        size_t start = (size_t)i * piece < count ? (size_t)i * piece : count;
        size_t end = start + piece < count ? start + piece : count;
        sums[i] = vec_square_sum(grads + start, (int64_t)(end - start));
    }
    double total = 0;
    for (int i = 0; i < PIECES; i++)
        total += sums[i];
    double norm = sqrt(total);
    if (limit > 0 && norm > limit && norm <= DBL_MAX) {
        real scale = (real)(limit / norm);
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < count; i++)
            grads[i] *= scale;
    }
    return norm;
}
