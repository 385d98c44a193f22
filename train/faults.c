#include "train/faults.h"

#include <math.h>
#include <stdio.h>

#include "model/math/vec.h"

static const ParamInfo *first_fault(const ParamTable *table, const real *buffer)
{
    for (int64_t i = 0; i < table->count; i++) {
        const ParamInfo *info = &table->items[i];
        /* The sum of squares in double is finite exactly when every float is. */
        if (!isfinite(vec_square_sum(buffer + info->offset, info->rows * info->cols)))
            return info;
    }
    return NULL;
}

/* The tensor with the largest weight. */
static const ParamInfo *largest_weights(const Gpt *gpt, double *largest)
{
    const ParamInfo *found = gpt->table.items;
    *largest = 0;
    for (int64_t i = 0; i < gpt->table.count; i++) {
        const ParamInfo *info = &gpt->table.items[i];
        const real *values = gpt->values + info->offset;
        for (int64_t k = 0; k < info->rows * info->cols; k++) {
            double size = fabs((double)values[k]);
            if (size > *largest) {
                *largest = size;
                found = info;
            }
        }
    }
    return found;
}

static void describe_fault(char *text, size_t size, const Gpt *gpt, const real *grads)
{
    const ParamInfo *weight = first_fault(&gpt->table, gpt->values);
    const ParamInfo *grad = first_fault(&gpt->table, grads);
    double largest;
    if (weight != NULL) {
        snprintf(text, size, "the first tensor that is not finite: the weights of %s",
                 weight->name);
    } else if (grad != NULL) {
        snprintf(text, size, "the first tensor that is not finite: the gradient of %s",
                 grad->name);
    } else {
        const ParamInfo *info = largest_weights(gpt, &largest);
        snprintf(text, size,
                 "all weights are finite, but too large to compute with (%g in %s)",
                 largest, info->name);
    }
}

Status faults_explain(const Gpt *gpt, const real *grads, double loss, double norm,
                      int64_t step, double rate, Error *err)
{
    char fault[256];
    describe_fault(fault, sizeof fault, gpt, grads);
    return error_set(err, STATUS_NUMERIC,
                     "step %lld: the loss is %g and the gradient norm %g; %s; the "
                     "learning rate was %g (a smaller one, or a longer warm-up, may "
                     "help); the checkpoints of before are kept",
                     (long long)step, loss, norm, fault, rate);
}

Status faults_check_weights(const Gpt *gpt, int64_t step, Error *err)
{
    const ParamInfo *weight = first_fault(&gpt->table, gpt->values);
    if (weight != NULL)
        return error_set(err, STATUS_NUMERIC,
                         "step %lld: the weights of %s are not finite: nothing was "
                         "saved, the checkpoints of before are kept",
                         (long long)step, weight->name);
    return STATUS_OK;
}
