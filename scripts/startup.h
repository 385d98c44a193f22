/* What must be right before the first matrix product: threads and the BLAS. */
#ifndef JUEJU_SCRIPTS_STARTUP_H
#define JUEJU_SCRIPTS_STARTUP_H

#include <stdint.h>

/* Call first in main. When OpenBLAS chose kernels that do not fit this CPU, sets
 * OPENBLAS_CORETYPE and runs the program again in this process (once: the environment
 * remembers), since the library reads it only while it loads. Then keeps OpenBLAS to one
 * thread a call: threads belong to us. */
void startup_blas(char **argv);

/* threads of a command: 0 means one per processor that this process may use. */
void startup_threads(int64_t threads);

/* "2 threads, OpenBLAS SkylakeX (serial)", for the first line of a log. */
void startup_describe(char *text, int64_t size);

#endif
