#include "train/faults.h"

#include <math.h>

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

Status faults_explain(const Gpt *gpt, const real *grads, double loss, double norm,
                      int64_t step, double rate, Error *err)
{
    const ParamInfo *weight = first_fault(&gpt->table, gpt->values);
    const ParamInfo *grad = first_fault(&gpt->table, grads);
    const char *what = weight != NULL ? "the weights of "
                       : grad != NULL ? "the gradient of "
                                      : "";
    const char *name = weight != NULL ? weight->name
                       : grad != NULL ? grad->name
                                      : "none";
    return error_set(err, STATUS_NUMERIC,
                     "step %lld: the loss is %g and the gradient norm %g; the first "
                     "tensor that is not finite: %s%s; the learning rate was %g (a "
                     "smaller one, or a longer warm-up, may help); the checkpoints of "
                     "before are kept",
                     (long long)step, loss, norm, what, name, rate);
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
