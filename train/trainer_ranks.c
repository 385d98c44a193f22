#include "train/trainer_ranks.h"

#include <stdio.h>

#include <xxhash.h>

#include "model/math/blas.h"

static void digest(char text[32], const void *data, size_t bytes)
{
    snprintf(text, 32, "%016llx", (unsigned long long)XXH3_64bits(data, bytes));
}

Status ranks_check_start(Trainer *trainer, Error *err)
{
    static const char SET[] = "prepare the set once and copy it to every host";
    Dist *dist = trainer->dist;
    const TrainData *data = &trainer->data;
    if (dist->ranks == 1)
        return STATUS_OK;
    TRY(dist_same(
        dist, "the kernels of OpenBLAS", blas_info().kernels,
        "give all hosts the slower one (mpirun -x OPENBLAS_CORETYPE=NAME), or "
        "use hosts with the same kind of processor",
        err));
    TRY(dist_same(dist, "the training data (by its digest)", data->fingerprint, SET,
                  err));
    char text[32];
    const PoemSet *validation = data->validation;
    digest(text, validation->ids,
           (size_t)validation->offsets[validation->poems] * sizeof *validation->ids);
    TRY(dist_same(dist, "the validation data (by its digest)", text, SET, err));
    digest(text, trainer->copied[0].data, trainer->copied[0].size);
    return dist_same(dist, "tokenizer.json of the set (by its digest)", text, SET, err);
}

Status ranks_check_weights(Trainer *trainer, Error *err)
{
    Dist *dist = trainer->dist;
    if (dist->ranks == 1)
        return STATUS_OK;
    uint64_t mine =
        XXH3_64bits(trainer->gpt.values, trainer->gpt.table.total * sizeof(real));
    uint64_t first = mine;
    dist_broadcast(dist, &first, sizeof first, 0);
    Status status = STATUS_OK;
    if (mine != first)
        status = error_set(err, STATUS_NUMERIC,
                           "step %lld: the weights are not those of rank 0 (digest "
                           "%016llx, expected %016llx): this host's processor or "
                           "libraries round differently; take hosts of one kind with "
                           "the same build; the checkpoints of before are kept",
                           (long long)trainer->place.step, (unsigned long long)mine,
                           (unsigned long long)first);
    return dist_agree(dist, status, err);
}

void ranks_take_state(Trainer *trainer)
{
    const Dist *dist = trainer->dist;
    Optimizer *optimizer = &trainer->optimizer;
    size_t bytes = trainer->gpt.table.total * sizeof(real);
    if (dist->ranks == 1)
        return;
    dist_broadcast(dist, &trainer->place, sizeof trainer->place, 0);
    dist_broadcast(dist, &optimizer->updates, sizeof optimizer->updates, 0);
    dist_broadcast(dist, trainer->gpt.values, bytes, 0);
    dist_broadcast(dist, optimizer->m, bytes, 0);
    dist_broadcast(dist, optimizer->v, bytes, 0);
}
