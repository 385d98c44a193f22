#include "model/generate/sampler.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/base/memory.h"

enum { CHUNK = 64 }; /* weights that are added up at a time */

Status sampler_settings_check(const SamplerSettings *settings, int64_t V, Error *err)
{
    if (!(settings->temperature >= 0 && isfinite(settings->temperature)))
        return error_set(
            err, STATUS_USAGE,
            "the temperature must be 0 (greedy) or more and finite, but it is "
            "%g",
            settings->temperature);
    if (settings->top_k < 0 || settings->top_k > V)
        return error_set(
            err, STATUS_USAGE,
            "top-k must be 0 (no limit) .. %lld (the vocabulary), but it is "
            "%lld",
            (long long)V, (long long)settings->top_k);
    if (!(settings->top_p > 0 && settings->top_p <= 1))
        return error_set(err, STATUS_USAGE,
                         "top-p must be over 0 and at most 1 (no limit), but it is %g",
                         settings->top_p);
    if (!(settings->repetition_penalty >= SAMPLER_PENALTY_MINIMUM &&
          settings->repetition_penalty <= SAMPLER_PENALTY_MAXIMUM))
        return error_set(
            err, STATUS_USAGE,
            "the repetition penalty must be %g .. %g (1 is none), but it is %g",
            SAMPLER_PENALTY_MINIMUM, SAMPLER_PENALTY_MAXIMUM,
            settings->repetition_penalty);
    return STATUS_OK;
}

Status sampler_create(Sampler *sampler, int64_t V, Error *err)
{
    *sampler = (Sampler){.V = V};
    size_t count = (size_t)V;
    Status status = memory_allocate(&sampler->scores, count, sizeof *sampler->scores,
                                    "scores of the vocabulary", err);
    if (status == STATUS_OK)
        status = memory_allocate(&sampler->weights, count, sizeof *sampler->weights,
                                 "weights of the vocabulary", err);
    if (status == STATUS_OK)
        status = memory_allocate(&sampler->order, count, sizeof *sampler->order,
                                 "an order of the vocabulary", err);
    if (status != STATUS_OK)
        sampler_destroy(sampler);
    return status;
}

void sampler_destroy(Sampler *sampler)
{
    memory_free(sampler->scores);
    memory_free(sampler->weights);
    memory_free(sampler->order);
    *sampler = (Sampler){0};
}

/* exp(x) for x <= 0, relative error under 1e-15, 0 below -708. The C library's is not
 * vectorised, and a draw needs two for each of V logits. As vec_exp_one, in double:
 * exp(x) = 2^n exp(r), |r| <= 0.3466, Taylor's polynomial of degree 13 (remainder under
 * 0.3466^14 / 14! = 5e-18); adding 1.5 2^52 rounds to an integer and leaves it in the low
 * bits. */
static inline double exp_negative(double x)
{
    const double round_magic = 6755399441055744.0;
    double low = x < -708.0 ? -708.0 : x;
    double shifted = low * 1.4426950408889634 + round_magic;
    double n = shifted - round_magic;
    double r = low - n * 6.93147180369123816490e-01;
    r = r - n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    uint64_t power = (bits << 52) + UINT64_C(0x3FF0000000000000);
    double scale;
    memcpy(&scale, &power, sizeof scale);
    return x < -708.0 ? 0.0 : p * scale;
}

/* Copies the logits as doubles; *top is the largest. False when one is not finite: then
 * its product with 0 is NaN. */
static bool read_logits(double *scores, double *top, const real *logits, int64_t V)
{
    double poison = 0;
    double largest = -HUGE_VAL;
#pragma omp simd reduction(+ : poison) reduction(max : largest)
    for (int64_t i = 0; i < V; i++) {
        double x = (double)logits[i];
        scores[i] = x;
        poison += x * 0;
        largest = x > largest ? x : largest;
    }
    *top = largest;
    return poison == 0;
}

/* w = exp((score - top) / temperature); returns the sum. weights may be NULL. */
static double exponentials(double *weights, const double *scores, double top,
                           double temperature, int64_t V)
{
    double sum = 0;
    if (weights == NULL) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < V; i++)
            sum += exp_negative((scores[i] - top) / temperature);
        return sum;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < V; i++) {
        double w = exp_negative((scores[i] - top) / temperature);
        weights[i] = w;
        sum += w;
    }
    return sum;
}

/* 1 and 2. A score is made from the logit again, so that a token that is listed twice is
 * not penalised twice. */
static void apply_limits(double *scores, const real *logits, double penalty,
                         const SamplerLimits *limits)
{
    for (int64_t i = 0; penalty != 1 && i < limits->repeated_count; i++) {
        int32_t id = limits->repeated[i];
        double x = (double)logits[id];
        scores[id] = x > 0 ? x / penalty : x * penalty;
    }
    for (int64_t i = 0; i < limits->banned_count; i++)
        scores[limits->banned[i]] = -HUGE_VAL;
}

/* -DBL_MAX or less when all scores are banned: a reduction may start there. */
static double largest_score(const double *scores, int64_t V)
{
    double largest = -HUGE_VAL;
#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < V; i++)
        largest = scores[i] > largest ? scores[i] : largest;
    return largest;
}

static int32_t first_equal(const double *scores, double wanted, int64_t V)
{
    int64_t i = 0;
    while (i < V - 1 && scores[i] != wanted)
        i++;
    return (int32_t)i;
}

static bool before(const double *weights, int32_t a, int32_t b)
{
    return weights[a] > weights[b] || (a < b && weights[a] == weights[b]);
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Reorders `order` (count > 0 ids) so that a prefix holds the largest weights: the shortest
 * that has at least `most` ids or at least the weight `mass`. Returns its length.
 *
 * Quickselect. order[0..low-1] are known to be in the prefix, `held` is their weight, and
 * those from `high` on are known not to be needed. The pivot, a median of three, moves to
 * its place `cut` among low .. high-1:
 *     prefix reached before the pivot   -> high = cut
 *     reached by the pivot              -> done
 *     else                              -> low = cut + 1 */
static int64_t select_largest(int32_t *order, int64_t count, const double *weights,
                              int64_t most, double mass)
{
    int64_t low = 0;
    int64_t high = count;
    double held = 0;
    while (low < high) {
        int32_t *a = &order[low];
        int32_t *b = &order[low + (high - low) / 2];
        int32_t *c = &order[high - 1];
        if (before(weights, *b, *a))
            swap(a, b);
        if (before(weights, *c, *b))
            swap(b, c);
        if (before(weights, *b, *a))
            swap(a, b);
        swap(b, c); /* the median is the pivot and waits at the end */
        int32_t pivot = order[high - 1];
        int64_t cut = low;
        double above = held;
        for (int64_t i = low; i < high - 1; i++) {
            if (before(weights, order[i], pivot)) {
                above += weights[order[i]];
                swap(&order[i], &order[cut++]);
            }
        }
        swap(&order[cut], &order[high - 1]);
        if (cut > 0 && (cut >= most || above >= mass)) {
            high = cut;
        } else if (cut + 1 >= most || above + weights[pivot] >= mass) {
            return cut + 1;
        } else {
            low = cut + 1;
            held = above + weights[pivot];
        }
    }
    return low;
}

/* 4 and 5: weights of tokens that leave become 0. Returns the sum of the others. */
static double keep_largest(Sampler *sampler, const SamplerSettings *settings,
                           double sum)
{
    double *weights = sampler->weights;
    int32_t *order = sampler->order;
    int64_t V = sampler->V;
    int64_t k = settings->top_k > 0 ? settings->top_k : V;
    if (k >= V && settings->top_p >= 1)
        return sum;
    /* Weights under (1-p) sum / V add up to less than (1-p) sum: all of them may leave at
     * once, which spares the selection most of the vocabulary. A little less than that, so
     * that rounding never lets all of equal weights leave. */
    double floor = k < V ? 0 : 0.999 * (1 - settings->top_p) * sum / (double)V;
    int64_t count = 0;
    for (int64_t i = 0; i < V; i++) {
        order[count] = (int32_t)i;
        count += weights[i] > 0 && weights[i] >= floor;
    }
    if (k < count)
        count = select_largest(order, count, weights, k, HUGE_VAL);
    if (settings->top_p < 1) {
        if (k < V) {
            sum = 0;
            for (int64_t i = 0; i < count; i++)
                sum += weights[order[i]];
        }
        count = select_largest(order, count, weights, V, settings->top_p * sum);
    }
    /* The last of the prefix is the smallest, but the rest is in no order. */
    int32_t last = order[0];
    double kept = 0;
    for (int64_t i = 0; i < count; i++) {
        last = before(weights, last, order[i]) ? order[i] : last;
        kept += weights[order[i]];
    }
    double smallest = weights[last];
    for (int64_t i = 0; i < V; i++) {
        bool stays = weights[i] > smallest || (i <= last && weights[i] == smallest);
        weights[i] = stays ? weights[i] : 0;
    }
    return kept;
}

static double chunk_sum(const double *weights, int64_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++)
        sum += weights[i];
    return sum;
}

/* 6. The first token at which the sum of weights passes `target`: whole chunks first, then
 * one by one. Should rounding carry the target past the end, the last token with a weight
 * is taken. */
static int32_t token_at(const double *weights, int64_t V, double target)
{
    int32_t last = 0;
    for (int64_t first = 0; first < V; first += CHUNK) {
        int64_t count = V - first < CHUNK ? V - first : CHUNK;
        double sum = chunk_sum(weights + first, count);
        if (sum <= 0)
            continue;
        if (target >= sum && first + count < V) {
            target -= sum;
            last = (int32_t)first; /* a chunk with a weight: looked at again below */
            continue;
        }
        for (int64_t i = first; i < first + count; i++) {
            if (weights[i] <= 0)
                continue;
            last = (int32_t)i;
            if (target < weights[i])
                return last;
            target -= weights[i];
        }
        return last;
    }
    /* The end of the vocabulary has no weight: the last token that has. */
    int32_t found = last;
    for (int64_t i = last; i < V && i < last + CHUNK; i++)
        found = weights[i] > 0 ? (int32_t)i : found;
    return found;
}

/* Whether the token is known to stay in 4 and 5, by the number and the weight of those
 * before it: a pass instead of a selection.
 *
 * A token drawn from all that stays is taken; only when it leaves, the rest is cut away and
 * a second one drawn. With S the share of the weight that stays, token i of those that stay
 * comes up with probability w_i + (1 - S) w_i / S = w_i / S, which is 6. */
static bool is_among_largest(const double *weights, int32_t token,
                             const SamplerSettings *settings, double sum, int64_t V)
{
    bool few = settings->top_k > 0 && settings->top_k < V;
    if (!few && settings->top_p >= 1)
        return true;
    if (few && settings->top_p < 1)
        return false; /* top-p counts from the weight of the k largest, still unknown */
    double weight = weights[token];
    double mass = 0;
    double count = 0;
#pragma omp simd reduction(+ : mass, count)
    for (int64_t i = 0; i < V; i++) {
        bool above = (weights[i] > weight) | ((weights[i] == weight) & (i < token));
        mass += above ? weights[i] : 0;
        count += above ? 1 : 0;
    }
    return few ? count < (double)settings->top_k : mass < settings->top_p * sum;
}

Status sampler_draw(Sampler *sampler, int32_t *token, double *nats, const real *logits,
                    const SamplerSettings *settings, const SamplerLimits *limits,
                    Rng *rng, Error *err)
{
    int64_t V = sampler->V;
    double *scores = sampler->scores;
    double top;
    if (!read_logits(scores, &top, logits, V))
        return error_set(
            err, STATUS_NUMERIC,
            "the model gave a logit that is not a finite number: its weights "
            "are damaged");
    bool own = settings->temperature == 1;
    bool limited =
        limits != NULL && (limits->banned_count > 0 || limits->repeated_count > 0);
    double partition =
        exponentials(own && !limited ? sampler->weights : NULL, scores, top, 1, V);
    double log_partition = top + log(partition);
    double largest = top;
    if (limited) {
        apply_limits(scores, logits, settings->repetition_penalty, limits);
        largest = largest_score(scores, V);
        if (!(largest > -DBL_MAX))
            return error_set(err, STATUS_USAGE,
                             "none of the %lld tokens of the vocabulary may be drawn",
                             (long long)V);
    }
    double uniform = rng_uniform(rng);
    double second = rng_uniform(rng);
    if (settings->temperature == 0) {
        *token = first_equal(scores, largest, V);
    } else {
        double sum = partition;
        if (!own || limited)
            sum = exponentials(sampler->weights, scores, largest, settings->temperature,
                               V);
        *token = token_at(sampler->weights, V, uniform * sum);
        if (!is_among_largest(sampler->weights, *token, settings, sum, V)) {
            sum = keep_largest(sampler, settings, sum);
            *token = token_at(sampler->weights, V, second * sum);
        }
    }
    *nats = log_partition - (double)logits[*token];
    return STATUS_OK;
}
