#include "scripts/startup.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/math/blas.h"

static const char MARK[] = "JUEJU_BLAS_CHOSEN";
static const char CORETYPE[] = "OPENBLAS_CORETYPE";

void startup_blas(char **argv)
{
    const char *better = blas_better_kernels();
    /* A choice of the user's own stays. */
    if (better != NULL && getenv(CORETYPE) == NULL && getenv(MARK) == NULL &&
        setenv(CORETYPE, better, 1) == 0 && setenv(MARK, "1", 1) == 0) {
        execv("/proc/self/exe", argv);
        /* No /proc: go on with the slow kernels; startup_describe names them. */
    }
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
