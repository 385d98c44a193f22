#include "train/optimizer.h"

#include <omp.h>

const char *const OPTIMIZER_NAMES[] = {"muon", "adamw", NULL};

static bool is_block_matrix(const ParamInfo *info)
{
    return info->kind == PARAM_HEADS || info->kind == PARAM_MATRIX ||
           info->kind == PARAM_RESIDUAL;
}

static int64_t scratch_of(const ParamInfo *info)
{
    int64_t most = 0;
    for (int p = 0; p < info->parts; p++) {
        int64_t cols = info->part[p].heads * info->part[p].width;
        int64_t need = info->rows * cols + muon_scratch(info->rows, cols);
        most = need > most ? need : most;
    }
    return most;
}

static Status create_scratch(Optimizer *optimizer, Error *err)
{
    int64_t need = 0;
    const ParamTable *table = &optimizer->gpt->table;
    for (int64_t i = 0; i < table->count; i++) {
        const ParamInfo *info = &table->items[i];
        if (is_block_matrix(info) && scratch_of(info) > need)
            need = scratch_of(info);
    }
    int threads = omp_get_max_threads();
    TRY(memory_allocate(&optimizer->scratch, (size_t)threads,
                        sizeof *optimizer->scratch, "Muon's scratch", err));
    for (; optimizer->threads < threads; optimizer->threads++)
        TRY(memory_allocate(&optimizer->scratch[optimizer->threads], (size_t)need,
                            sizeof(real), "Muon's scratch", err));
    return STATUS_OK;
}

static Status create_all(Optimizer *optimizer, Error *err)
{
    size_t total = optimizer->gpt->table.total;
    TRY(memory_allocate(&optimizer->m, total, sizeof(real), "the optimizer", err));
    TRY(memory_allocate(&optimizer->v, total, sizeof(real), "the optimizer", err));
    if (optimizer->options.kind == OPTIMIZER_MUON)
        TRY(create_scratch(optimizer, err));
    return STATUS_OK;
}

Status optimizer_create(Optimizer *optimizer, const Gpt *gpt,
                        const OptimizerOptions *options, Error *err)
{
    *optimizer = (Optimizer){.options = *options, .gpt = gpt};
    Status status = create_all(optimizer, err);
    if (status != STATUS_OK)
        optimizer_destroy(optimizer);
    return status;
}

void optimizer_destroy(Optimizer *optimizer)
{
    for (int i = 0; i < optimizer->threads; i++)
        memory_free(optimizer->scratch[i]);
    memory_free(optimizer->scratch);
    memory_free(optimizer->m);
    memory_free(optimizer->v);
    *optimizer = (Optimizer){0};
}

/* Every part of every block matrix, a part per thread at a time: parts are independent, so
 * who takes which changes no bit. */
static void update_muon(Optimizer *optimizer, Gpt *gpt, const real *grads,
                        double factor)
{
    const OptimizerOptions *options = &optimizer->options;
    MuonOptions muon = {.rate = options->muon_rate * factor,
                        .momentum = options->muon_momentum,
                        .decay = options->muon_decay};
    const ParamTable *table = &gpt->table;
#pragma omp parallel for schedule(dynamic, 1) num_threads(optimizer->threads)
    for (int64_t i = 0; i < table->count; i++) {
        const ParamInfo *info = &table->items[i];
        if (!is_block_matrix(info))
            continue;
        real *scratch = optimizer->scratch[omp_get_thread_num()];
        for (int p = 0; p < info->parts; p++) {
            const ParamPart *part = &info->part[p];
            size_t at = info->offset + (size_t)part->first;
            MuonShape shape = {.rows = info->rows,
                               .stride = info->cols,
                               .slices = part->heads,
                               .width = part->width,
                               .step = part->step};
            muon_update(gpt->values + at, optimizer->m + at, grads + at, &shape, &muon,
                        scratch);
        }
    }
}

static void update_adamw(Optimizer *optimizer, Gpt *gpt, const real *grads,
                         double factor)
{
    const OptimizerOptions *options = &optimizer->options;
    for (int64_t i = 0; i < gpt->table.count; i++) {
        const ParamInfo *info = &gpt->table.items[i];
        if (options->kind == OPTIMIZER_MUON && is_block_matrix(info))
            continue;
        AdamwOptions adamw = {.rate = options->rate * factor,
                              .beta1 = options->beta1,
                              .beta2 = options->beta2,
                              .eps = options->eps,
                              .decay = info->is_vector ? 0 : options->decay};
        adamw_update(gpt->values + info->offset, optimizer->m + info->offset,
                     optimizer->v + info->offset, grads + info->offset,
                     (size_t)(info->rows * info->cols), &adamw, optimizer->updates);
    }
}

void optimizer_update(Optimizer *optimizer, Gpt *gpt, const real *grads, double factor)
{
    optimizer->updates++;
    if (optimizer->options.kind == OPTIMIZER_MUON)
        update_muon(optimizer, gpt, grads, factor);
    update_adamw(optimizer, gpt, grads, factor);
}
