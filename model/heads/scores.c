#include "model/heads/scores.h"

#include <math.h>

/* One row: the weight on the mask, and how many keys it names. */
static double row_share(int64_t *named, const real *weights, const uint8_t *mask,
                        int64_t count)
{
    double share = 0;
    *named = 0;
    for (int64_t j = 0; j < count; j++) {
        if (mask[j]) {
            share += (double)weights[j];
            ++*named;
        }
    }
    return share;
}

static double row_variance(const real *weights, int64_t named, int64_t count)
{
    double squares = 0;
    double N = (double)count;
    double m = (double)named;
    for (int64_t j = 0; j < count; j++)
        squares += (double)weights[j] * (double)weights[j];
    double variance = m * (N - m) / (N - 1) * (squares / N - 1 / (N * N));
    return variance > 0 ? variance : 0; /* even rows can come out under 0 */
}

void score_add(ScoreSum *sum, const real *map, const uint8_t *mask, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        int64_t named;
        double share = row_share(&named, map + i * n, mask + i * n, i + 1);
        if (named == 0)
            continue;
        sum->value += share;
        sum->uniform += (double)named / (double)(i + 1);
        sum->variance += row_variance(map + i * n, named, i + 1);
        sum->rows++;
    }
}

void score_add_shuffled(ScoreSum *sum, const real *map, const uint8_t *mask, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        int64_t named;
        double share = row_share(&named, map + i * n, mask + i * n, i + 1);
        if (named == 0)
            continue;
        sum->shuffled += share;
        sum->shuffled_rows++;
    }
}

Score score_finish(const ScoreSum *sum, Pattern pattern)
{
    Score score = {.rows = sum->rows};
    if (sum->rows == 0)
        return score;
    double rows = (double)sum->rows;
    score.value = sum->value / rows;
    score.uniform = sum->uniform / rows;
    score.shuffled = score.uniform;
    if (!pattern_reads_text(pattern))
        score.shuffled = fmin(1, score.uniform + 3 * sqrt(sum->variance) / rows);
    else if (sum->shuffled_rows > 0)
        score.shuffled = sum->shuffled / (double)sum->shuffled_rows;
    double base = fmax(score.uniform, score.shuffled);
    /* Where chance reaches everything there is nothing to tell. */
    score.excess = 1 - base > 1e-6 ? (score.value - base) / (1 - base) : 0;
    return score;
}

void head_text_shuffle(int32_t *ids, uint8_t *kinds, int32_t *rarity,
                       const HeadText *text, Rng *rng)
{
    int64_t n = text->n;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = text->ids[i];
        kinds[i] = text->kinds[i];
        rarity[i] = text->rarity[i];
    }
    int64_t first = n > 0 && kinds[0] == KIND_START;
    for (int64_t i = n - 1; i > first; i--) {
        int64_t j = first + (int64_t)rng_below(rng, (uint64_t)(i - first + 1));
        int32_t id = ids[i], rare = rarity[i];
        uint8_t kind = kinds[i];
        ids[i] = ids[j];
        kinds[i] = kinds[j];
        rarity[i] = rarity[j];
        ids[j] = id;
        kinds[j] = kind;
        rarity[j] = rare;
    }
}

/* ---- of a map alone ------------------------------------------------------------------ */

void profile_add(ProfileSum *sum, const real *map, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        bool saturated = false;
        for (int64_t j = 0; j <= i; j++)
            saturated = saturated || (double)map[i * n + j] > SATURATED_WEIGHT;
        sum->saturated += saturated;
        sum->rows++;
        for (int64_t o = 0; o < OFFSETS && o <= i; o++) {
            sum->offsets[o] += (double)map[i * n + i - o];
            sum->uniform[o] += 1 / (double)(i + 1);
            sum->offset_rows[o]++;
        }
    }
}
