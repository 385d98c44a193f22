/* What must be right before the first matrix product: threads and the BLAS. */
#ifndef JUEJU_SCRIPTS_STARTUP_H
#define JUEJU_SCRIPTS_STARTUP_H

#include <stdint.h>

/* Call first in main. Two libraries read their settings from the environment while they
 * load: OpenBLAS which kernels to take (when it chose ones that do not fit this CPU), and
 * OpenMP how long a waiting thread spins. What is missing is set and the program runs itself
 * again in this process, once. Then OpenBLAS is kept to one thread a call: threads belong to
 * us. */
void startup_blas(char **argv);

/* threads of a command: 0 means one per processor that this process may use; then each is
 * tied to its own. */
void startup_threads(int64_t threads);

/* "2 threads, OpenBLAS SkylakeX (serial)", for the first line of a log. */
void startup_describe(char *text, int64_t size);

#endif
