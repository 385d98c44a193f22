#include "model/heads/probe.h"

#include <math.h>

#include "model/heads/entropy.h"
#include "model/heads/similarity.h"

static int64_t longest_segment(const TokenBatch *batch)
{
    int64_t longest = 1;
    for (int64_t s = 0; s < batch->segments; s++) {
        int64_t length = batch->starts[s + 1] - batch->starts[s];
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Adds one segment's maps of all heads of a layer to the sums; pairs is (H, H). */
static void add_segment(double *entropy, double *pairs, int64_t *rows, const real *maps,
                        int64_t n, int64_t H)
{
    int64_t unused = 0;
    for (int64_t h = 0; h < H; h++) {
        *entropy += entropy_sum(maps + h * n * n, n, &unused);
        for (int64_t g = 0; g < h; g++)
            pairs[h * H + g] +=
                distance_sum(maps + h * n * n, maps + g * n * n, n, &unused);
    }
    *rows += n > 1 ? n - 1 : 0;
}

static LayerProbe summary(double entropy, const double *pairs, int64_t rows, int64_t H)
{
    LayerProbe probe = {.entropy = 1, .min_distance = 1};
    if (rows == 0 || H == 0)
        return probe;
    probe.entropy = entropy / (double)(rows * H);
    for (int64_t h = 0; h < H; h++) {
        for (int64_t g = 0; g < h; g++) {
            double distance = pairs[h * H + g] / (double)rows;
            if (distance < probe.min_distance || isnan(distance))
                probe.min_distance = distance;
        }
    }
    return probe;
}

Status heads_probe(LayerProbe *layers, const Gpt *gpt, GptWork *work,
                   const TokenBatch *batch, Error *err)
{
    int64_t most = gpt->config.heads;
    int64_t D = gpt_value_size(&gpt->config);
    int64_t longest = longest_segment(batch);
    real *maps;
    TRY(memory_allocate(&maps, (size_t)(most * longest * longest + longest * D),
                        sizeof *maps, "attention maps", err));
    real *mixed = maps + most * longest * longest;
    double *pairs;
    Status status = memory_allocate(&pairs, (size_t)(most * most), sizeof *pairs,
                                    "attention maps", err);
    if (status != STATUS_OK) {
        memory_free(maps);
        return status;
    }
    gpt_loss(gpt, work, batch, NULL);
    for (int64_t l = 0; l < gpt->config.layers; l++) {
        double entropy = 0;
        int64_t rows = 0;
        int64_t H = gpt_layer_heads(&gpt->config, l);
        for (int64_t i = 0; i < H * H; i++)
            pairs[i] = 0;
        for (int64_t s = 0; s < batch->segments; s++) {
            int64_t n = batch->starts[s + 1] - batch->starts[s];
            for (int64_t h = 0; h < H; h++)
                gpt_attention_map(gpt, work, batch, l, h, s, maps + h * n * n, mixed);
            add_segment(&entropy, pairs, &rows, maps, n, H);
        }
        layers[l] = summary(entropy, pairs, rows, H);
    }
    memory_free(pairs);
    memory_free(maps);
    return STATUS_OK;
}
