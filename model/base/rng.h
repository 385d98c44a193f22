/* Random numbers: SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014), addressed by (key, counter).
 *
 * Number i of a stream is a pure function of its key and i. So every use can have a stream
 * of its own (each head's weights, each poem's fields, each step's dropout), adding a
 * stream never disturbs another, and a stream's whole state is two integers. */
#ifndef JUEJU_MODEL_BASE_RNG_H
#define JUEJU_MODEL_BASE_RNG_H

#include <stdint.h>

typedef struct {
    uint64_t key;
    uint64_t counter;
} Rng;

/* Mixes two numbers into one: chain it to name a stream by several numbers. */
uint64_t rng_hash(uint64_t a, uint64_t b);

/* The stream `name` of a seed, at its start. */
Rng rng_stream(uint64_t seed, uint64_t name);

uint64_t rng_next(Rng *rng);
double rng_uniform(Rng *rng);                 /* [0, 1), 53 bits */
uint64_t rng_below(Rng *rng, uint64_t bound); /* 0 .. bound-1 without bias; bound > 0 */
double rng_normal(Rng *rng);                  /* mean 0, variance 1 (Box-Muller) */

/* Fisher-Yates over `count` 32-bit items. */
void rng_shuffle(Rng *rng, uint32_t *items, int64_t count);

#endif
