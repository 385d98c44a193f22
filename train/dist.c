#include "train/dist.h"

#include <stdlib.h>
#include <string.h>

Dist dist_alone(void)
{
    return (Dist){.ranks = 1};
}

int64_t dist_first(const Dist *dist, int64_t count, int rank)
{
    return count * rank / dist->ranks;
}

/* The largest rank with floor(count rank / ranks) <= i, that is rank < (i + 1) ranks/count. */
int dist_owner(const Dist *dist, int64_t count, int64_t i)
{
    return (int)(((i + 1) * dist->ranks - 1) / count);
}

void dist_share(const Dist *dist, void *items, int64_t count, size_t size)
{
    for (int rank = 0; rank < dist->ranks && dist->ranks > 1; rank++) {
        int64_t first = dist_first(dist, count, rank);
        int64_t end = dist_first(dist, count, rank + 1);
        dist_broadcast(dist, (char *)items + (size_t)first * size,
                       (size_t)(end - first) * size, rank);
    }
}

int dist_hosts(const Dist *dist)
{
    int hosts = 0;
    for (int rank = 0; rank < dist->ranks; rank++) {
        int first = dist->host_first;
        if (dist->ranks > 1)
            dist_broadcast(dist, &first, sizeof first, rank);
        hosts += first == rank;
    }
    return hosts;
}

bool dist_any(const Dist *dist, bool value)
{
    return dist->ranks > 1 ? dist_largest(dist, value) != 0 : value;
}

/* ---- errors ------------------------------------------------------------------------- */

/* How the work went on one rank. */
typedef struct {
    Error error;
    char host[DIST_NAME_SIZE];
} Outcome;

/* Fills err with the outcome of the lowest rank that failed. */
static void tell_outcomes(const Dist *dist, const Outcome *mine, Error *err)
{
    Outcome told = {0};
    int rank_told = -1;
    bool alike = true;
    for (int rank = 0; rank < dist->ranks; rank++) {
        Outcome outcome = *mine;
        dist_broadcast(dist, &outcome, sizeof outcome, rank);
        if (rank_told < 0 && outcome.error.status != STATUS_OK) {
            told = outcome;
            rank_told = rank;
        }
        alike = alike && rank_told == 0 && outcome.error.status == told.error.status &&
                strcmp(outcome.error.message, told.error.message) == 0;
    }
    *err = told.error;
    if (!alike)
        error_context(err, "rank %d of %d on %s", rank_told, dist->ranks, told.host);
}

Status dist_agree(Dist *dist, Status status, Error *err)
{
    if (dist->ranks == 1 || !dist_any(dist, status != STATUS_OK))
        return status;
    Outcome mine = {.error = {.status = status}};
    memcpy(mine.host, dist->host, sizeof mine.host);
    if (status != STATUS_OK && err != NULL)
        mine.error = *err;
    mine.error.status = status;
    Error told;
    tell_outcomes(dist, &mine, &told);
    if (err != NULL)
        *err = told;
    dist->agreed = true;
    return told.status;
}

Status dist_same(Dist *dist, const char *what, const char *text, const char *advice,
                 Error *err)
{
    enum { LONGEST = 256 };
    char first[LONGEST] = "";
    if (dist->ranks == 1)
        return STATUS_OK;
    if (dist->rank == 0)
        strncpy(first, text, LONGEST - 1);
    dist_broadcast(dist, first, LONGEST, 0);
    Status status = STATUS_OK;
    if (strncmp(first, text, LONGEST - 1) != 0)
        status = error_set(err, STATUS_INPUT,
                           "%s must be the same on all ranks: expected %s as on rank "
                           "0, found %s; %s",
                           what, first, text, advice);
    return dist_agree(dist, status, err);
}

/* ---- starting ----------------------------------------------------------------------- */

/* The variables in which mpirun of Open MPI, and of MPICH and its kin, tell the number. */
Status dist_check_launcher(const Dist *dist, const char *remedy, Error *err)
{
    static const char *const COPIES[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof COPIES / sizeof *COPIES; i++) {
        const char *text = getenv(COPIES[i]);
        long copies = text != NULL ? strtol(text, NULL, 10) : 1;
        if (copies > 1 && dist->ranks == 1)
            return error_set(err, STATUS_USAGE,
                             "%ld copies of this program were started (%s), and each "
                             "would train alone and write the same folder: %s",
                             copies, COPIES[i], remedy);
    }
    return STATUS_OK;
}
