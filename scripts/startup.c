#include "scripts/startup.h"

#include <omp.h>
#include <sched.h>
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

/* With OMP_PROC_BIND the OpenMP library has tied this thread to one processor by now, and
 * what runs after exec would inherit that as all it may use. The places that the library
 * knows, taken together, are what it was given itself. */
static void untie_from_processor(void)
{
#ifdef __linux__
    enum { MOST = 1024 };
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int processors[MOST];
        int count = omp_get_place_num_procs(place);
        if (count > MOST)
            return;
        omp_get_place_proc_ids(place, processors);
        for (int i = 0; i < count; i++)
            CPU_SET((size_t)processors[i], &all);
    }
    if (CPU_COUNT(&all) > 0)
        sched_setaffinity(0, sizeof all, &all);
#endif
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
    if (changed) {
        untie_from_processor();
        execv("/proc/self/exe", argv);
    }
    /* No /proc: go on as we are; startup_describe names kernels that do not fit. */
    blas_single_thread();
}

/* One thread on each processor, when there are as many of both and the user has not bound
 * them already: left alone, two threads can share a processor for seconds while the other
 * one idles. With fewer threads than processors the system may choose. */
static void pin_threads(int threads)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (omp_get_proc_bind() != omp_proc_bind_false ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        CPU_COUNT(&allowed) != threads)
        return;
#pragma omp parallel num_threads(threads)
    {
        int skip = omp_get_thread_num();
        for (int processor = 0; processor < CPU_SETSIZE; processor++) {
            if (!CPU_ISSET((size_t)processor, &allowed) || skip-- > 0)
                continue;
            cpu_set_t mine;
            CPU_ZERO(&mine);
            CPU_SET((size_t)processor, &mine);
            sched_setaffinity(0, sizeof mine, &mine);
            break;
        }
    }
#else
    (void)threads;
#endif
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
    pin_threads((int)threads);
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
