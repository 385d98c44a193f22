/* The number type of the mathematics.
 *
 * float in every ordinary build; double in the gradient build (make REAL=double), where
 * central differences are exact enough to check a derivation to 1e-6. */
#ifndef JUEJU_MODEL_BASE_REAL_H
#define JUEJU_MODEL_BASE_REAL_H

#include <float.h>
#include <stdint.h>

#ifdef JUEJU_REAL_DOUBLE
typedef double real;
#define REAL_EPSILON DBL_EPSILON
#define REAL_NAME "double"
#else
typedef float real;
#define REAL_EPSILON FLT_EPSILON
#define REAL_NAME "float"
#endif

#endif
