#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/rng.h"

/* Statistics below are of fixed seeds, so they pass or fail for good; the bounds are five
 * standard deviations of the statistic under the hypothesis. */
enum { DRAWS = 1 << 18 };

static double chi_square(const int64_t *counts, int buckets, double expected)
{
    double sum = 0;
    for (int i = 0; i < buckets; i++) {
        double off = (double)counts[i] - expected;
        sum += off * off / expected;
    }
    return sum;
}

/* A chi-square variable of f degrees has mean f and variance 2f. Too even is as wrong. */
static void assert_plausible(double statistic, int degrees)
{
    double width = 5 * sqrt(2.0 * degrees);
    assert_true(statistic > degrees - width);
    assert_true(statistic < degrees + width);
}

/* The published outputs of SplitMix64 for the seed 1234567 (Rosetta Code,
 * "Pseudo-random numbers/Splitmix64") and the first of Vigna's for seed 0. */
static void stream_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    Rng rng = {.key = 1234567, .counter = 0};
    for (int i = 0; i < 5; i++)
        assert_true(rng_next(&rng) == expected[i]);
    Rng zero = {.key = 0, .counter = 0};
    assert_true(rng_next(&zero) == UINT64_C(0xE220A8397B1DCDAF));
}

/* Made by an independent Python version of rng.h's definitions; a change would silently
 * change every seeded result. */
static void derived_values_never_change(void **state)
{
    (void)state;
    Rng rng = rng_stream(42, 7);
    assert_true(rng.key == UINT64_C(0xC601454A4BFE649));
    assert_true(rng_uniform(&rng) == 0x1.56db27227c30bp-1);
    assert_int_equal(rng_below(&rng, 1000), 292);
    assert_true(fabs(rng_normal(&rng) - -1.36644924397707) < 1e-14);
    uint32_t items[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const uint32_t expected[8] = {2, 4, 3, 7, 0, 1, 5, 6};
    rng_shuffle(&rng, items, 8);
    assert_memory_equal(items, expected, sizeof items);
}

static void a_stream_is_addressed_by_its_counter(void **state)
{
    (void)state;
    Rng rng = rng_stream(11, 12);
    for (int i = 0; i < 100; i++)
        rng_next(&rng);
    Rng jumped = {.key = rng_stream(11, 12).key, .counter = 100};
    for (int i = 0; i < 100; i++)
        assert_true(rng_next(&rng) == rng_next(&jumped));
}

static void every_byte_is_uniform(void **state)
{
    (void)state;
    int64_t counts[8][256] = {{0}};
    Rng rng = rng_stream(1, 2);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t number = rng_next(&rng);
        for (int byte = 0; byte < 8; byte++)
            counts[byte][(number >> (8 * byte)) & 255]++;
    }
    for (int byte = 0; byte < 8; byte++)
        assert_plausible(chi_square(counts[byte], 256, DRAWS / 256.0), 255);
}

static void successive_numbers_are_independent(void **state)
{
    (void)state;
    int64_t counts[256] = {0};
    Rng rng = rng_stream(3, 4);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t first = rng_next(&rng) >> 60;
        counts[first * 16 + (rng_next(&rng) >> 60)]++;
    }
    assert_plausible(chi_square(counts, 256, DRAWS / 256.0), 255);
}

/* Streams with neighbouring names and neighbouring seeds, as heads and layers have. */
static void streams_are_independent(void **state)
{
    (void)state;
    for (uint64_t pair = 0; pair < 8; pair++) {
        Rng first = rng_stream(pair, 0);
        Rng second = pair % 2 == 0 ? rng_stream(pair, 1) : rng_stream(pair + 1, 0);
        int64_t counts[256] = {0};
        double sum = 0;
        for (int i = 0; i < DRAWS; i++) {
            double u = rng_uniform(&first);
            double v = rng_uniform(&second);
            counts[(int)(u * 16) * 16 + (int)(v * 16)]++;
            sum += (u - 0.5) * (v - 0.5);
        }
        assert_plausible(chi_square(counts, 256, DRAWS / 256.0), 255);
        /* The product of two independent uniforms around 0 has standard deviation 1/12. */
        assert_true(fabs(sum / DRAWS) < 5.0 / 12 / sqrt(DRAWS));
    }
}

static void names_do_not_collide(void **state)
{
    (void)state;
    uint64_t keys[1024];
    for (uint64_t i = 0; i < 1024; i++) {
        keys[i] = rng_stream(i / 32, i % 32).key;
        for (uint64_t j = 0; j < i; j++)
            assert_true(keys[i] != keys[j]);
    }
    assert_true(rng_hash(1, 2) != rng_hash(2, 1));
    assert_true(rng_hash(0, 0) != 0);
}

static void uniform_is_in_its_range(void **state)
{
    (void)state;
    Rng rng = rng_stream(5, 6);
    double sum = 0;
    double squares = 0;
    double smallest = 1;
    double largest = 0;
    for (int i = 0; i < DRAWS; i++) {
        double u = rng_uniform(&rng);
        assert_true(u >= 0 && u < 1);
        smallest = fmin(smallest, u);
        largest = fmax(largest, u);
        sum += u;
        squares += (u - 0.5) * (u - 0.5);
    }
    assert_true(fabs(sum / DRAWS - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS));
    assert_true(fabs(squares / DRAWS - 1.0 / 12) < 5 * sqrt(1.0 / 180 / DRAWS));
    assert_true(smallest < 1e-4 && largest > 1 - 1e-4);
}

static void below_is_uniform_for_small_bounds(void **state)
{
    (void)state;
    for (int bound = 2; bound < 40; bound++) {
        int64_t counts[40] = {0};
        Rng rng = rng_stream(7, (uint64_t)bound);
        for (int i = 0; i < 40000; i++) {
            uint64_t number = rng_below(&rng, (uint64_t)bound);
            assert_true(number < (uint64_t)bound);
            counts[number]++;
        }
        double statistic = chi_square(counts, bound, 40000.0 / bound);
        assert_true(statistic < bound - 1 + 6 * sqrt(2.0 * (bound - 1)));
    }
    Rng rng = rng_stream(7, 0);
    assert_int_equal(rng_below(&rng, 1), 0);
    assert_true(rng_below(&rng, UINT64_MAX) < UINT64_MAX);
}

/* With bound 3 * 2^62 a plain remainder would give numbers under 2^62 half of the time;
 * a third is right. */
static void below_has_no_bias_for_large_bounds(void **state)
{
    (void)state;
    uint64_t bound = UINT64_C(3) << 62;
    Rng rng = rng_stream(8, 9);
    int64_t low = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t number = rng_below(&rng, bound);
        assert_true(number < bound);
        low += number < UINT64_C(1) << 62;
    }
    double share = (double)low / DRAWS;
    assert_true(fabs(share - 1.0 / 3) < 5 * sqrt(2.0 / 9 / DRAWS));
}

static void normal_has_the_moments_of_a_normal(void **state)
{
    (void)state;
    Rng rng = rng_stream(10, 11);
    double sums[5] = {0};
    int64_t beyond_two = 0;
    for (int i = 0; i < DRAWS; i++) {
        double z = rng_normal(&rng);
        assert_true(isfinite(z));
        double power = 1;
        for (int k = 1; k < 5; k++) {
            power *= z;
            sums[k] += power;
        }
        beyond_two += fabs(z) > 2;
    }
    /* Variances of z, z^2, z^3, z^4: 1, 2, 15, 96. */
    assert_true(fabs(sums[1] / DRAWS) < 5 * sqrt(1.0 / DRAWS));
    assert_true(fabs(sums[2] / DRAWS - 1) < 5 * sqrt(2.0 / DRAWS));
    assert_true(fabs(sums[3] / DRAWS) < 5 * sqrt(15.0 / DRAWS));
    assert_true(fabs(sums[4] / DRAWS - 3) < 5 * sqrt(96.0 / DRAWS));
    double share = (double)beyond_two / DRAWS;
    assert_true(fabs(share - 0.0455003) < 5 * sqrt(0.0455 * 0.9545 / DRAWS));
}

/* The number of an order of 0..3 among the 24. */
static int order_number(const uint32_t items[4])
{
    int number = 0;
    for (int i = 0; i < 4; i++) {
        int smaller = 0;
        for (int j = i + 1; j < 4; j++)
            smaller += items[j] < items[i];
        number = number * (4 - i) + smaller;
    }
    return number;
}

static void every_order_is_equally_likely(void **state)
{
    (void)state;
    int64_t counts[24] = {0};
    Rng rng = rng_stream(12, 13);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t items[4] = {0, 1, 2, 3};
        rng_shuffle(&rng, items, 4);
        counts[order_number(items)]++;
    }
    assert_plausible(chi_square(counts, 24, DRAWS / 24.0), 23);
}

static void shuffling_loses_nothing(void **state)
{
    (void)state;
    uint32_t items[1000];
    for (uint32_t i = 0; i < 1000; i++)
        items[i] = i;
    Rng rng = rng_stream(14, 15);
    rng_shuffle(&rng, items, 1000);
    bool seen[1000] = {false};
    int fixed = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_false(seen[items[i]]);
        seen[items[i]] = true;
        fixed += items[i] == i;
    }
    assert_true(fixed < 10);
    rng_shuffle(&rng, items, 1);
    rng_shuffle(&rng, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_is_splitmix64),
        cmocka_unit_test(derived_values_never_change),
        cmocka_unit_test(a_stream_is_addressed_by_its_counter),
        cmocka_unit_test(every_byte_is_uniform),
        cmocka_unit_test(successive_numbers_are_independent),
        cmocka_unit_test(streams_are_independent),
        cmocka_unit_test(names_do_not_collide),
        cmocka_unit_test(uniform_is_in_its_range),
        cmocka_unit_test(below_is_uniform_for_small_bounds),
        cmocka_unit_test(below_has_no_bias_for_large_bounds),
        cmocka_unit_test(normal_has_the_moments_of_a_normal),
        cmocka_unit_test(every_order_is_equally_likely),
        cmocka_unit_test(shuffling_loses_nothing),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
