#include "scripts/eval_couplets.h"

#include <stdio.h>

Status eval_couplets(CoupletReport *report, const Gpt *gpt, const Tokenizer *tokenizer,
                     const PairSet *set, Error *err)
{
    CoupletSettings settings = {
        .sampler = {.temperature = 0, .top_p = 1, .repetition_penalty = 1},
        .repeats = true};
    report->truth = couplet_score_truth(tokenizer, set);
    TRY(couplet_score_model(&report->greedy, gpt, tokenizer, set, &settings,
                            report->seed, err));
    settings.sampler.temperature = report->temperature;
    return couplet_score_model(&report->drawn, gpt, tokenizer, set, &settings,
                               report->seed, err);
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void print_score(const char *label, const CoupletScore *score)
{
    const ToneTally *tones = &score->tones;
    printf("  %-22s %8.1f%%", label, 100 * tone_tally_share(tones));
    for (int i = 0; i < TONE_PLACES; i++)
        printf(" %6.1f%%", 100 * share(tones->opposite_at[i], tones->known[i]));
    printf(" %10.1f%% %7.1f%%\n", 100 * share(score->repeating, tones->pairs),
           100 * share(score->exact, tones->pairs));
}

void eval_couplets_print(const CoupletReport *report)
{
    char label[40];
    snprintf(label, sizeof label, "drawn (temperature %g)", report->temperature);
    printf("second lines for %lld first lines\n", (long long)report->truth.tones.pairs);
    printf("  %-22s %9s %7s %7s %7s %11s %8s\n", "", "opposite", "at 2", "at 4", "at 6",
           "repeating", "exact");
    print_score("true lines", &report->truth);
    print_score("likeliest", &report->greedy);
    print_score(label, &report->drawn);
}

static json_t *score_json(const CoupletScore *score)
{
    const ToneTally *tones = &score->tones;
    double at[TONE_PLACES];
    for (int i = 0; i < TONE_PLACES; i++)
        at[i] = share(tones->opposite_at[i], tones->known[i]);
    return json_pack("{s:I, s:f, s:[f, f, f], s:f, s:f}", "pairs",
                     (json_int_t)tones->pairs, "opposite_tones",
                     tone_tally_share(tones), "opposite_tones_places", at[0], at[1],
                     at[2], "repeating", share(score->repeating, tones->pairs), "exact",
                     share(score->exact, tones->pairs));
}

json_t *eval_couplets_json(const CoupletReport *report)
{
    return json_pack("{s:f, s:o, s:o, s:o}", "temperature", report->temperature, "true",
                     score_json(&report->truth), "greedy", score_json(&report->greedy),
                     "drawn", score_json(&report->drawn));
}
