/* Draws: limits, ties, distributions and damaged logits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/base/rng.h"
#include "model/generate/sampler.h"

static const SamplerSettings PLAIN_SETTINGS = {
    .temperature = 1, .top_k = 0, .top_p = 1, .repetition_penalty = 1};

static Sampler sampler_of(int64_t V)
{
    Sampler sampler;
    Error err;
    assert_int_equal(sampler_create(&sampler, V, &err), STATUS_OK);
    return sampler;
}

static int32_t draw(Sampler *sampler, const real *logits,
                    const SamplerSettings *settings, const SamplerLimits *limits,
                    Rng *rng)
{
    int32_t token;
    double nats;
    Error err = {0};
    assert_int_equal(sampler_settings_check(settings, sampler->V, &err), STATUS_OK);
    assert_int_equal(
        sampler_draw(sampler, &token, &nats, logits, settings, limits, rng, &err),
        STATUS_OK);
    assert_true(token >= 0 && token < sampler->V);
    return token;
}

static void random_logits(real *logits, int64_t V, double spread, uint64_t seed)
{
    Rng rng = rng_stream(seed, 1);
    for (int64_t i = 0; i < V; i++)
        logits[i] = (real)(spread * rng_normal(&rng));
}

static int32_t argmax(const real *logits, int64_t V)
{
    int64_t best = 0;
    for (int64_t i = 1; i < V; i++)
        best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

/* Pearson's statistic of `draws` draws against probabilities p (V); tokens with p = 0 must
 * not be drawn at all. Under the hypothesis its mean is the degrees of freedom f and its
 * variance 2f; five deviations, of fixed seeds. */
static void assert_distribution(const SamplerSettings *settings,
                                const SamplerLimits *limits, const real *logits,
                                const double *p, int64_t V, uint64_t seed)
{
    enum { DRAWS = 200000, MOST = 64 };
    int64_t counts[MOST] = {0};
    assert_true(V <= MOST);
    Sampler sampler = sampler_of(V);
    Rng rng = rng_stream(seed, 0);
    for (int i = 0; i < DRAWS; i++)
        counts[draw(&sampler, logits, settings, limits, &rng)]++;
    double statistic = 0;
    int degrees = -1;
    for (int64_t i = 0; i < V; i++) {
        if (p[i] == 0) {
            assert_int_equal(counts[i], 0);
            continue;
        }
        double off = (double)counts[i] - DRAWS * p[i];
        statistic += off * off / (DRAWS * p[i]);
        degrees++;
    }
    double width = 5 * sqrt(2.0 * (degrees > 0 ? degrees : 1));
    assert_true(statistic < degrees + width);
    sampler_destroy(&sampler);
}

/* p = softmax(l / t) over tokens with keep[i]. */
static void expected_softmax(double *p, const double *logits, double temperature,
                             const bool *keep, int64_t V)
{
    double sum = 0;
    for (int64_t i = 0; i < V; i++) {
        p[i] = keep == NULL || keep[i] ? exp(logits[i] / temperature) : 0;
        sum += p[i];
    }
    for (int64_t i = 0; i < V; i++)
        p[i] /= sum;
}

static void zero_temperature_is_the_first_largest(void **state)
{
    (void)state;
    real logits[300];
    SamplerSettings greedy = PLAIN_SETTINGS;
    greedy.temperature = 0;
    Sampler sampler = sampler_of(300);
    Rng rng = rng_stream(1, 0);
    for (uint64_t seed = 0; seed < 50; seed++) {
        random_logits(logits, 300, 3, seed);
        int32_t best = argmax(logits, 300);
        assert_int_equal(draw(&sampler, logits, &greedy, NULL, &rng), best);
        logits[299] = logits[best]; /* a tie: the lowest id */
        assert_int_equal(draw(&sampler, logits, &greedy, NULL, &rng), best);
        logits[0] = logits[best];
        assert_int_equal(draw(&sampler, logits, &greedy, NULL, &rng), 0);
    }
    sampler_destroy(&sampler);
}

static void the_narrowest_limits_are_greedy(void **state)
{
    (void)state;
    static const SamplerSettings NARROW[] = {
        {.temperature = 1, .top_k = 1, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 5, .top_k = 1, .top_p = 0.5, .repetition_penalty = 1},
        {.temperature = 1, .top_k = 0, .top_p = 1e-300, .repetition_penalty = 1},
        {.temperature = 9, .top_k = 40, .top_p = 1e-9, .repetition_penalty = 1},
        {.temperature = 1e-6, .top_k = 0, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 5e-324, .top_k = 0, .top_p = 1, .repetition_penalty = 1},
    };
    real logits[777];
    Sampler sampler = sampler_of(777);
    Rng rng = rng_stream(2, 0);
    for (uint64_t seed = 0; seed < 50; seed++) {
        random_logits(logits, 777, seed == 0 ? 0 : 2, seed); /* 0: all are equal */
        for (size_t i = 0; i < sizeof NARROW / sizeof *NARROW; i++) {
            bool tie = seed == 0 && NARROW[i].temperature < 1;
            int32_t token = draw(&sampler, logits, &NARROW[i], NULL, &rng);
            if (!tie)
                assert_int_equal(token, argmax(logits, 777));
        }
    }
    sampler_destroy(&sampler);
}

static void temperature_scales_the_distribution(void **state)
{
    (void)state;
    enum { V = 40 };
    real logits[V];
    double wide[V], p[V];
    random_logits(logits, V, 1.5, 3);
    for (int i = 0; i < V; i++)
        wide[i] = (double)logits[i];
    static const double TEMPERATURES[] = {0.5, 1, 1.7, 50, 1e12};
    for (int t = 0; t < 5; t++) {
        SamplerSettings settings = PLAIN_SETTINGS;
        settings.temperature = TEMPERATURES[t];
        expected_softmax(p, wide, TEMPERATURES[t], NULL, V);
        assert_distribution(&settings, NULL, logits, p, V, (uint64_t)t);
    }
}

/* The kept set by sorting, as the definition says. */
static void kept_by_sorting(bool *keep, const double *logits, double temperature,
                            int64_t k, double top_p, int64_t V)
{
    int order[64];
    double w[64], sum = 0, held = 0;
    for (int i = 0; i < V; i++)
        order[i] = i;
    for (int i = 1; i < V; i++) { /* insertion sort keeps equals in order of id */
        for (int j = i; j > 0 && logits[order[j]] > logits[order[j - 1]]; j--) {
            int kept = order[j];
            order[j] = order[j - 1];
            order[j - 1] = kept;
        }
    }
    int64_t count = k > 0 && k < V ? k : V;
    memset(keep, 0, (size_t)V * sizeof *keep);
    for (int64_t i = 0; i < count; i++)
        sum += w[i] = exp(logits[order[i]] / temperature);
    for (int64_t i = 0; i < count && (i == 0 || held < top_p * sum); i++) {
        keep[order[i]] = true;
        held += w[i];
    }
}

static void top_k_and_top_p_keep_the_likeliest(void **state)
{
    (void)state;
    enum { V = 50 };
    static const SamplerSettings CASES[] = {
        {.temperature = 1, .top_k = 5, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 0.8, .top_k = 49, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 1, .top_k = 50, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 1, .top_k = 0, .top_p = 0.9, .repetition_penalty = 1},
        {.temperature = 1.3, .top_k = 0, .top_p = 0.3, .repetition_penalty = 1},
        {.temperature = 1, .top_k = 0, .top_p = 0.999, .repetition_penalty = 1},
        {.temperature = 0.9, .top_k = 12, .top_p = 0.7, .repetition_penalty = 1},
    };
    real logits[V];
    double wide[V], p[V];
    bool keep[V];
    for (int round = 0; round < 2; round++) {
        random_logits(logits, V, 1.2, 11);
        for (int i = 0; i < V; i++) {
            if (round == 1) /* many ties */
                logits[i] = (real)(i * 7 % 5);
            wide[i] = (double)logits[i];
        }
        for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++) {
            kept_by_sorting(keep, wide, CASES[c].temperature, CASES[c].top_k,
                            CASES[c].top_p, V);
            expected_softmax(p, wide, CASES[c].temperature, keep, V);
            assert_distribution(&CASES[c], NULL, logits, p, V, c);
        }
    }
}

static void banned_tokens_are_never_drawn(void **state)
{
    (void)state;
    enum { V = 20 };
    real logits[V];
    double wide[V], p[V];
    bool keep[V];
    random_logits(logits, V, 1, 4);
    logits[3] = 30; /* the likeliest by far is banned */
    static const int32_t BANNED[] = {3, 0, 3, 19, 7};
    const SamplerLimits limits = {.banned = BANNED, .banned_count = 5};
    for (int i = 0; i < V; i++) {
        wide[i] = (double)logits[i];
        keep[i] = i != 3 && i != 0 && i != 19 && i != 7;
    }
    expected_softmax(p, wide, 1, keep, V);
    assert_distribution(&PLAIN_SETTINGS, &limits, logits, p, V, 1);
    SamplerSettings settings = PLAIN_SETTINGS;
    settings.top_p = 0.999999;
    assert_distribution(&settings, &limits, logits, p, V, 2);

    Sampler sampler = sampler_of(V);
    Rng rng = rng_stream(5, 0);
    settings.temperature = 0;
    int32_t token = draw(&sampler, logits, &settings, &limits, &rng);
    assert_true(keep[token]);
    sampler_destroy(&sampler);
}

static void banning_everything_is_an_error(void **state)
{
    (void)state;
    real logits[3] = {1, 2, 3};
    static const int32_t ALL[] = {2, 1, 0};
    const SamplerLimits limits = {.banned = ALL, .banned_count = 3};
    Sampler sampler = sampler_of(3);
    Rng rng = rng_stream(5, 0);
    int32_t token;
    double nats;
    Error err;
    for (int t = 0; t < 2; t++) {
        SamplerSettings settings = PLAIN_SETTINGS;
        settings.temperature = t;
        assert_int_equal(sampler_draw(&sampler, &token, &nats, logits, &settings,
                                      &limits, &rng, &err),
                         STATUS_USAGE);
    }
    sampler_destroy(&sampler);
}

static void repeated_tokens_are_penalised_once(void **state)
{
    (void)state;
    enum { V = 6 };
    real logits[V] = {1, -1, 2, 0, (real)0.5, (real)-0.5};
    static const int32_t REPEATED[] = {2, 1, 2, 2};
    const SamplerLimits limits = {.repeated = REPEATED, .repeated_count = 4};
    double wide[V] = {1, -1 * 1.6, 2 / 1.6, 0, 0.5, -0.5};
    double p[V];
    SamplerSettings settings = PLAIN_SETTINGS;
    settings.repetition_penalty = 1.6;
    expected_softmax(p, wide, 1, NULL, V);
    assert_distribution(&settings, &limits, logits, p, V, 1);
}

static void nats_are_those_of_the_model_itself(void **state)
{
    (void)state;
    enum { V = 100 };
    real logits[V];
    static const int32_t BANNED[] = {1, 2};
    const SamplerLimits limits = {.banned = BANNED, .banned_count = 2};
    random_logits(logits, V, 2, 6);
    double sum = 0;
    for (int i = 0; i < V; i++)
        sum += exp((double)logits[i]);
    Sampler sampler = sampler_of(V);
    Rng rng = rng_stream(6, 0);
    for (int i = 0; i < 200; i++) {
        SamplerSettings settings = {.temperature = (i % 4) * 0.5,
                                    .top_k = i % 3 * 20,
                                    .top_p = 0.8,
                                    .repetition_penalty = 1};
        int32_t token;
        double nats;
        Error err;
        assert_int_equal(sampler_draw(&sampler, &token, &nats, logits, &settings,
                                      i % 2 ? &limits : NULL, &rng, &err),
                         STATUS_OK);
        assert_true(fabs(nats - (log(sum) - (double)logits[token])) < 1e-12);
    }
    sampler_destroy(&sampler);
}

static void a_draw_is_a_function_of_the_stream(void **state)
{
    (void)state;
    enum { V = 500 };
    real logits[V];
    random_logits(logits, V, 1, 7);
    Sampler a = sampler_of(V);
    Sampler b = sampler_of(V);
    Rng first = rng_stream(8, 0);
    Rng second = first;
    for (int i = 0; i < 300; i++) {
        SamplerSettings settings = PLAIN_SETTINGS;
        settings.temperature = i % 3 * 0.6;
        settings.top_p = i % 2 ? 0.7 : 1;
        uint64_t counter = first.counter;
        int32_t token = draw(&a, logits, &settings, NULL, &first);
        assert_int_equal(first.counter, counter + 2);
        assert_int_equal(draw(&b, logits, &settings, NULL, &second), token);
    }
    sampler_destroy(&a);
    sampler_destroy(&b);
}

static void logits_that_are_not_finite_are_an_error(void **state)
{
    (void)state;
    enum { V = 70 };
    static const real BAD[] = {(real)NAN, (real)INFINITY, (real)-INFINITY};
    Sampler sampler = sampler_of(V);
    for (int b = 0; b < 3; b++) {
        for (int place = 0; place < V; place += 23) {
            for (int t = 0; t < 2; t++) {
                real logits[V];
                random_logits(logits, V, 1, 9);
                logits[place] = BAD[b];
                SamplerSettings settings = PLAIN_SETTINGS;
                settings.temperature = t;
                Rng rng = rng_stream(1, 1);
                int32_t token;
                double nats;
                Error err;
                assert_int_equal(sampler_draw(&sampler, &token, &nats, logits,
                                              &settings, NULL, &rng, &err),
                                 STATUS_NUMERIC);
            }
        }
    }
    sampler_destroy(&sampler);
}

static void huge_logits_are_fine(void **state)
{
    (void)state;
    real logits[4] = {(real)3e38, (real)-3e38, (real)3e38, 0};
    double p[4] = {0.5, 0, 0.5, 0};
    assert_distribution(&PLAIN_SETTINGS, NULL, logits, p, 4, 1);
}

static void settings_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        SamplerSettings settings;
        const char *name;
    } CASES[] = {
        {{-0.1, 0, 1, 1}, "temperature"},
        {{NAN, 0, 1, 1}, "temperature"},
        {{INFINITY, 0, 1, 1}, "temperature"},
        {{1, -1, 1, 1}, "top-k"},
        {{1, 101, 1, 1}, "top-k"},
        {{1, 0, 0, 1}, "top-p"},
        {{1, 0, 1.01, 1}, "top-p"},
        {{1, 0, NAN, 1}, "top-p"},
        {{1, 0, -0.5, 1}, "top-p"},
        {{1, 0, 1, 0}, "repetition penalty"},
        {{1, 0, 1, -1}, "repetition penalty"},
        {{1, 0, 1, NAN}, "repetition penalty"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Error err = {0};
        assert_int_equal(sampler_settings_check(&CASES[i].settings, 100, &err),
                         STATUS_USAGE);
        assert_non_null(strstr(err.message, CASES[i].name));
    }
    SamplerSettings widest = {0, 100, 1, 1};
    assert_int_equal(sampler_settings_check(&widest, 100, NULL), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_temperature_is_the_first_largest),
        cmocka_unit_test(the_narrowest_limits_are_greedy),
        cmocka_unit_test(temperature_scales_the_distribution),
        cmocka_unit_test(top_k_and_top_p_keep_the_likeliest),
        cmocka_unit_test(banned_tokens_are_never_drawn),
        cmocka_unit_test(banning_everything_is_an_error),
        cmocka_unit_test(repeated_tokens_are_penalised_once),
        cmocka_unit_test(nats_are_those_of_the_model_itself),
        cmocka_unit_test(a_draw_is_a_function_of_the_stream),
        cmocka_unit_test(logits_that_are_not_finite_are_an_error),
        cmocka_unit_test(huge_logits_are_fine),
        cmocka_unit_test(settings_out_of_range_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
