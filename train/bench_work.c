#include "train/bench_work.h"

/* Keys that a query of a row of T tokens sees on average. */
static double keys_seen(const GptConfig *config, int64_t layer)
{
    double T = (double)config->context;
    double W = (double)gpt_layer_window(config, layer);
    if (W == 0 || W >= T)
        return (T + 1) / 2;
    return (W * (W + 1) / 2 + (T - W) * W) / T;
}

BenchWork bench_work(const GptConfig *config)
{
    double C = (double)config->width, F = (double)config->mlp_width;
    double L = (double)config->layers, H = (double)config->heads;
    double G = (double)config->kv_heads, V = (double)config->vocab_size;
    double D = (double)gpt_score_size(config), E = (double)gpt_value_size(config);
    double Rq = (double)config->q_rank, R = (double)config->kv_rank;
    double P = (double)config->nope_size, O = (double)config->rope_size;
    double gates = config->mlp == MLP_SWIGLU ? 2 : 1;
    BenchWork work = {.of = {[WORK_QKV] = 2 * L * C * (H + 2 * G) * D,
                             [WORK_OUT] = 2 * L * H * E * C,
                             [WORK_UP] = 2 * L * gates * C * F,
                             [WORK_DOWN] = 2 * L * F * C,
                             [WORK_HEAD] = 2 * C * V}};
    if (config->attention == ATTENTION_MLA) {
        double queries = Rq > 0 ? C * Rq + Rq * H * D : C * H * D;
        work.of[WORK_QKV] = 2 * L * (queries + C * (R + O) + R * H * (P + E));
    }
    for (int64_t l = 0; l < config->layers; l++)
        work.of[WORK_SCORES] += 2 * H * (D + E) * keys_seen(config, l);
    return work;
}
