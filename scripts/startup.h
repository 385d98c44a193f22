/* What must be right before the first matrix product: threads and the BLAS. */
#ifndef JUEJU_SCRIPTS_STARTUP_H
#define JUEJU_SCRIPTS_STARTUP_H

#include <stdint.h>

#include "train/dist.h"

/* Call first in main. Two libraries read their settings from the environment while they
 * load: OpenBLAS which kernels to take (when it chose ones that do not fit this CPU), and
 * OpenMP how long a waiting thread spins. What is missing is set and the program runs itself
 * again in this process, once. Then OpenBLAS is kept to one thread a call: threads belong to
 * us. */
void startup_blas(char **argv);

/* threads of a command: 0 means one per processor that this process may use; then each is
 * tied to its own. */
void startup_threads(int64_t threads);

/* The same for one of the ranks of dist, all of which call it: 0 means this rank's share of
 * the processors that the ranks on its host may use together, at least one thread. A rank
 * keeps to the processors that mpirun bound it to, and its threads are tied to them only
 * when no other rank may use them. */
Status startup_rank_threads(int64_t threads, Dist *dist, Error *err);

/* "2 threads, OpenBLAS SkylakeX (serial)", for the first line of a log. */
void startup_describe(char *text, int64_t size);

/* "4 ranks on 2 hosts (Open MPI v4.1.4), 2 threads each, OpenBLAS ..."; in a build without
 * MPI the line above. All ranks call it. */
void startup_describe_ranks(char *text, int64_t size, const Dist *dist);

#endif
