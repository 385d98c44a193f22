/* Gradients against central differences.
 *
 * The numeric gradient of element w is the fourth-order central difference
 *   n = (8 (f(w+h) - f(w-h)) - (f(w+2h) - f(w-2h))) / 12h,
 * whose error is O(h^4) + O(eps f / h). The error that is reported,
 *   e = |a - n| / (max(|a|, |n|) + floor),
 * is at most rtol exactly when |a - n| <= atol + rtol max(|a|, |n|) with
 * atol = rtol floor. A NaN anywhere gives an infinite error. Use the double build: in float
 * the differences themselves are only good to about 1e-2. */
#ifndef JUEJU_TRAIN_GRADCHECK_H
#define JUEJU_TRAIN_GRADCHECK_H

#include "model/base/rng.h"
#include "model/gpt/gpt.h"

#define GRADCHECK_TOLERANCE 1e-6
#define GRADCHECK_FLOOR 1e-3

typedef struct {
    char tensor[64];
    int64_t size;             /* elements of the tensor */
    int64_t checked;          /* of these */
    double worst;             /* largest error e, infinite when a NaN was met */
    double analytic, numeric; /* where it is largest */
} GradcheckRow;

/* The scalar function whose gradient is checked, as a function of memory that the checker
 * changes and puts back. */
typedef double (*GradcheckFunction)(void *context);

double gradcheck_error(double analytic, double numeric);

/* Checks up to `samples` elements (0: all) of values against analytic. */
GradcheckRow gradcheck_tensor(const char *name, real *values, const real *analytic,
                              int64_t count, int64_t samples, Rng rng,
                              GradcheckFunction function, void *context);

typedef struct {
    GradcheckRow *rows; /* owned; one per parameter tensor, then the input embedding */
    int64_t count;
    int64_t worst; /* index of the row with the largest error */
} GradcheckReport;

typedef struct {
    GptConfig
        config; /* a small one: every element costs four forward passes. Open sizes
                         are filled */
    uint64_t seed;
    int64_t samples; /* elements per tensor; 0: all */
} GradcheckOptions;

/* L2 H3 C12 T12 F20 V17, with dropout 0.2: every path of the model is on. */
GradcheckOptions gradcheck_defaults(void);

Status gradcheck_model(GradcheckReport *report, const GradcheckOptions *options,
                       Error *err);
void gradcheck_report_free(GradcheckReport *report);

#endif
