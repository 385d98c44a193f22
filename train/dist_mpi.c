/* Ranks that mpirun started: train/dist.h for builds with `make MPI=1`.
 *
 * MPI: A Message-Passing Interface Standard, version 3.1 (2015). Only the main thread calls
 * it, outside parallel regions (MPI_THREAD_FUNNELED). Errors of MPI itself end all ranks
 * with the library's own message (MPI_ERRORS_ARE_FATAL, its default). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/dist.h"

/* MPI counts in int: more bytes than this go in several pieces. */
enum { PIECE = 1 << 30, TAG = 0 };

static int piece_of(size_t bytes)
{
    return bytes < PIECE ? (int)bytes : PIECE;
}

/* The library's name up to its first comma; the rest tells how it was built. */
bool dist_library(char name[DIST_NAME_SIZE])
{
    char whole[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(whole, &length);
    whole[strcspn(whole, ",\n")] = '\0';
    snprintf(name, DIST_NAME_SIZE, "%.*s", DIST_NAME_SIZE - 1, whole);
    return true;
}

/* Ranks of one host are those that can share memory. */
static void find_host(Dist *dist)
{
    MPI_Comm host;
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Get_processor_name(name, &length);
    snprintf(dist->host, sizeof dist->host, "%.*s", DIST_NAME_SIZE - 1, name);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Allreduce(&dist->rank, &dist->host_first, 1, MPI_INT, MPI_MIN, host);
    MPI_Comm_free(&host);
}

Status dist_open(Dist *dist, Error *err)
{
    int provided;
    *dist = (Dist){0};
    /* A rank that waits for others asks for messages without end; let it leave the processor
     * to whoever else can use it, above all to the rank that it waits for. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &dist->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &dist->ranks);
    find_host(dist);
    return dist_check_launcher(dist,
                               "start it with the mpirun of the MPI library that it "
                               "was built with (jueju --version names it)",
                               err);
}

void dist_close(Dist *dist)
{
    MPI_Finalize();
    *dist = (Dist){0};
}

void dist_abort(const Dist *dist, int code)
{
    (void)dist;
    MPI_Abort(MPI_COMM_WORLD, code);
}

void dist_send(const Dist *dist, const void *data, size_t bytes, int to)
{
    (void)dist;
    for (const char *at = data; bytes > 0;) {
        int piece = piece_of(bytes);
        MPI_Send(at, piece, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
        at += piece;
        bytes -= (size_t)piece;
    }
}

void dist_receive(const Dist *dist, void *data, size_t bytes, int from)
{
    (void)dist;
    for (char *at = data; bytes > 0;) {
        int piece = piece_of(bytes);
        MPI_Recv(at, piece, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        at += piece;
        bytes -= (size_t)piece;
    }
}

void dist_broadcast(const Dist *dist, void *data, size_t bytes, int from)
{
    (void)dist;
    for (char *at = data; bytes > 0;) {
        int piece = piece_of(bytes);
        MPI_Bcast(at, piece, MPI_BYTE, from, MPI_COMM_WORLD);
        at += piece;
        bytes -= (size_t)piece;
    }
}

int64_t dist_largest(const Dist *dist, int64_t value)
{
    (void)dist;
    int64_t largest;
    MPI_Allreduce(&value, &largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}
