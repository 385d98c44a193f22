#include "model/base/rng.h"

#include <math.h>

static const uint64_t GOLDEN = UINT64_C(0x9E3779B97F4A7C15);

/* The finaliser of SplitMix64: a bijection in which every input bit reaches every output
 * bit. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t rng_hash(uint64_t a, uint64_t b)
{
    return mix(mix(a + GOLDEN) ^ (b * GOLDEN + UINT64_C(0xD1B54A32D192ED03)));
}

Rng rng_stream(uint64_t seed, uint64_t name)
{
    return (Rng){.key = rng_hash(seed, name), .counter = 0};
}

uint64_t rng_next(Rng *rng)
{
    rng->counter++;
    return mix(rng->key + rng->counter * GOLDEN);
}

double rng_uniform(Rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1.0p-53;
}

uint64_t rng_below(Rng *rng, uint64_t bound)
{
    /* Numbers under 2^64 mod bound would make small results likelier: draw again. */
    uint64_t rest = (0 - bound) % bound;
    uint64_t number;
    do {
        number = rng_next(rng);
    } while (number < rest);
    return number % bound;
}

double rng_normal(Rng *rng)
{
    double radius = sqrt(-2.0 * log(1.0 - rng_uniform(rng)));
    return radius * cos(6.283185307179586 * rng_uniform(rng));
}

void rng_shuffle(Rng *rng, uint32_t *items, int64_t count)
{
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)rng_below(rng, (uint64_t)i + 1);
        uint32_t kept = items[i];
        items[i] = items[j];
        items[j] = kept;
    }
}
