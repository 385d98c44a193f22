#include "scripts/startup.h"

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/math/blas.h"

static const char MARK[] = "JUEJU_STARTED";
static const char CORETYPE[] = "OPENBLAS_CORETYPE";
static const char SPINCOUNT[] = "GOMP_SPINCOUNT";

/* A choice of the user's own stays. */
static bool propose(const char *name, const char *value)
{
    return value != NULL && getenv(name) == NULL && setenv(name, value, 1) == 0;
}

void startup_blas(char **argv)
{
    bool changed = false;
    if (getenv(MARK) == NULL && setenv(MARK, "1", 1) == 0) {
        changed |= propose(CORETYPE, blas_better_kernels());
        /* Threads that wait for others spin for about 10 us and then sleep. The default,
         * milliseconds, takes the processor from the very threads that they wait for as
         * soon as anything else runs on the machine. */
        if (getenv("OMP_WAIT_POLICY") == NULL)
            changed |= propose(SPINCOUNT, "10000");
    }
    if (changed)
        execv("/proc/self/exe", argv);
    /* No /proc: go on as we are; startup_describe names kernels that do not fit. */
    blas_single_thread();
}

void startup_threads(int64_t threads)
{
    if (threads <= 0)
        threads = omp_get_num_procs();
    if (threads > 1 && !blas_thread_safe()) {
        fputs("note: one thread only, since this OpenBLAS is the serial build, which "
              "threads cannot share; its OpenMP build (Debian: libopenblas-openmp-dev) "
              "uses them all\n",
              stderr);
        threads = 1;
    }
    omp_set_num_threads((int)threads);
    omp_set_dynamic(0);
}

void startup_describe(char *text, int64_t size)
{
    BlasInfo info = blas_info();
    const char *better = blas_better_kernels();
    int threads = omp_get_max_threads();
    int used = snprintf(text, (size_t)size, "%d thread%s, OpenBLAS %s (%s)", threads,
                        threads == 1 ? "" : "s", info.kernels, info.threading);
    if (better != NULL && used > 0 && used < size)
        snprintf(text + used, (size_t)(size - used),
                 "; this CPU would be faster with %s=%s", CORETYPE, better);
}
