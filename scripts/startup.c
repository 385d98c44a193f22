#include "scripts/startup.h"

#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

enum { MOST = 1024 }; /* processors that sched_setaffinity's plain sets can tell */

#ifdef __linux__
/* The processors of all places that the OpenMP library knows, taken together: with
 * OMP_PROC_BIND it has tied this thread to one of them by now, and they are what it was
 * given itself, within what mpirun or taskset left it. False without places. */
static bool place_processors(cpu_set_t *all)
{
    CPU_ZERO(all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int processors[MOST];
        int count = omp_get_place_num_procs(place);
        if (count > MOST)
            return false;
        omp_get_place_proc_ids(place, processors);
        for (int i = 0; i < count; i++)
            CPU_SET((size_t)processors[i], all);
    }
    return CPU_COUNT(all) > 0;
}
#endif

/* What runs after exec would inherit a tie to one processor as all it may use. */
static void untie_from_processor(void)
{
#ifdef __linux__
    cpu_set_t all;
    if (place_processors(&all))
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
 * them already (mpirun's binding of the whole process stays: `allowed` lies in it): left alone, two threads can share a processor for seconds while the other
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

static void set_threads(int threads, bool pin, bool tells)
{
    if (threads > 1 && !blas_thread_safe()) {
        if (tells)
            fputs(
                "note: one thread only, since this OpenBLAS is the serial build, which "
                "threads cannot share; its OpenMP build (Debian: "
                "libopenblas-openmp-dev) uses them all\n",
                stderr);
        threads = 1;
    }
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
    if (pin)
        pin_threads(threads);
}

void startup_threads(int64_t threads)
{
    set_threads(threads > 0 ? (int)threads : omp_get_num_procs(), true, true);
}

/* ---- ranks -------------------------------------------------------------------------- */

/* Where a rank runs, and the processors that it may use: flags. */
typedef struct {
    int host;
    unsigned char allowed[MOST];
} RankPlace;

static RankPlace find_place(const Dist *dist)
{
    RankPlace place = {.host = dist->host_first};
#ifdef __linux__
    cpu_set_t set;
    if (place_processors(&set) || sched_getaffinity(0, sizeof set, &set) == 0) {
        for (size_t i = 0; i < MOST; i++)
            place.allowed[i] = CPU_ISSET(i, &set) != 0;
        return place;
    }
#endif
    for (int i = 0; i < omp_get_num_procs() && i < MOST; i++)
        place.allowed[i] = 1;
    return place;
}

static int count_flags(const unsigned char flags[MOST])
{
    int count = 0;
    for (int i = 0; i < MOST; i++)
        count += flags[i];
    return count;
}

/* The ranks of one host together. */
typedef struct {
    int ranks;
    int claims;     /* processors that each may use, added up */
    int processors; /* those that any of them may use */
} HostShare;

static HostShare find_share(const RankPlace *places, const Dist *dist)
{
    RankPlace any = places[dist->rank];
    HostShare share = {.ranks = 1, .claims = count_flags(any.allowed)};
    for (int rank = 0; rank < dist->ranks; rank++) {
        if (rank == dist->rank || places[rank].host != any.host)
            continue;
        share.ranks++;
        share.claims += count_flags(places[rank].allowed);
        for (int i = 0; i < MOST; i++)
            any.allowed[i] |= places[rank].allowed[i];
    }
    share.processors = count_flags(any.allowed);
    return share;
}

/* mpirun binds each rank to one processor when nobody tells it otherwise, and the others may
 * idle. */
static void note_binding(const HostShare *share)
{
    long there = sysconf(_SC_NPROCESSORS_ONLN);
    if (getenv("OMPI_MCA_orte_bound_at_launch") != NULL && share->processors < there)
        fprintf(stderr,
                "note: mpirun bound the %d rank%s of this host to %d of its %ld "
                "processors; mpirun --bind-to none lets them use all\n",
                share->ranks, share->ranks == 1 ? "" : "s", share->processors, there);
}

Status startup_rank_threads(int64_t threads, Dist *dist, Error *err)
{
    RankPlace *places = NULL;
    Status status =
        memory_allocate(&places, (size_t)dist->ranks, sizeof *places, "the ranks", err);
    status = dist_agree(dist, status, err);
    if (status != STATUS_OK) {
        memory_free(places);
        return status;
    }
    places[dist->rank] = find_place(dist);
    dist_share(dist, places, dist->ranks, sizeof *places);
    HostShare share = find_share(places, dist);
    int mine = count_flags(places[dist->rank].allowed);
    memory_free(places);
    if (threads <= 0) {
        int fair = share.processors / share.ranks;
        threads = fair < 1 ? 1 : fair < mine ? fair : mine;
        if (dist->rank == 0)
            note_binding(&share);
    }
    bool apart = share.claims == share.processors;
    if (!apart && threads == 1)
        untie_from_processor(); /* OMP_PROC_BIND would put all ranks on the same one */
    set_threads((int)threads, apart, dist->rank == 0);
    return STATUS_OK;
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

void startup_describe_ranks(char *text, int64_t size, const Dist *dist)
{
    char library[DIST_NAME_SIZE];
    char threads[256];
    if (!dist_library(library)) {
        startup_describe(text, size);
        return;
    }
    int hosts = dist_hosts(dist);
    int64_t most = dist_largest(dist, omp_get_max_threads());
    int64_t least = -dist_largest(dist, -omp_get_max_threads());
    startup_describe(threads, sizeof threads);
    snprintf(text, (size_t)size, "%d rank%s on %d host%s (%s), ", dist->ranks,
             dist->ranks == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s", library);
    size_t used = strlen(text);
    if (most == least)
        snprintf(text + used, (size_t)size - used, "%s%s",
                 dist->ranks > 1 ? "each with " : "", threads);
    else
        snprintf(text + used, (size_t)size - used,
                 "with %lld to %lld threads each, the first with %s", (long long)least,
                 (long long)most, threads);
}
