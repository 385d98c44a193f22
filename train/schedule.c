#include "train/schedule.h"

#include <math.h>

double schedule_factor(int64_t step, int64_t steps, int64_t warmup, double final)
{
    if (step < warmup)
        return (double)(step + 1) / (double)warmup;
    if (step >= steps)
        return final;
    double progress = (double)(step - warmup) / (double)(steps - warmup);
    return final + (1 - final) * 0.5 * (1 + cos(3.14159265358979323846 * progress));
}
