#include "model/layers/dropout.h"

#include "model/base/rng.h"

void dropout_apply(real *x, double p, uint64_t key, uint64_t first_row, int64_t N,
                   int64_t C)
{
    if (p <= 0)
        return;
    /* Four masks from each 64-bit number: keep when 16 of its bits are not below p 2^16. */
    uint32_t threshold = (uint32_t)(p * 65536);
    real scale = 1 / (1 - (real)threshold / 65536);
    for (int64_t n = 0; n < N; n++) {
        real *row = x + n * C;
        Rng rng = {.key = rng_hash(key, first_row + (uint64_t)n), .counter = 0};
        uint64_t bits = 0;
        for (int64_t j = 0; j < C; j++) {
            if (j % 4 == 0)
                bits = rng_next(&rng);
            row[j] = (bits & 0xFFFF) < threshold ? 0 : row[j] * scale;
            bits >>= 16;
        }
    }
}
