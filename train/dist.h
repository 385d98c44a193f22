/* The processes ("ranks") that share a training run, on one host or on several.
 *
 * Ranks are copies of the program that mpirun started. They run the same steps side by side:
 * each computes its own lanes (train/lanes.h), everything else all of them do alike. The
 * functions here are the only places where ranks meet; unless it says otherwise, every rank
 * must call them, in the same order. With one rank none of them does anything.
 *
 * dist_none.c knows one rank; `make MPI=1` puts dist_mpi.c in its place. dist.c is the part
 * above both. Numbers go over as bytes: all hosts must have the same kind of processor. */
#ifndef JUEJU_TRAIN_DIST_H
#define JUEJU_TRAIN_DIST_H

#include <stdint.h>

#include "model/base/memory.h"

enum { DIST_NAME_SIZE = 64 };

typedef struct {
    int rank, ranks; /* mine, of how many */
    int host_first;  /* the lowest rank on my host: the host's number, so to say */
    char host[DIST_NAME_SIZE]; /* its name */
    bool agreed; /* an error has been told to all ranks: they end together */
} Dist;

/* ---- the transport: dist_none.c or dist_mpi.c --------------------------------------- */

/* name = "Open MPI v4.1.4"; false in a build without MPI. May be called at any time. */
bool dist_library(char name[DIST_NAME_SIZE]);

/* The ranks that mpirun started, or this one alone. Once in a program. STATUS_USAGE when
 * several copies were started that this build cannot bring together: all of them would write
 * the same folder. */
Status dist_open(Dist *dist, Error *err);

/* Waits for the other ranks' dist_close. */
void dist_close(Dist *dist);

/* Ends all ranks at once with this exit code: for an error that the others don't know of. */
void dist_abort(const Dist *dist, int code);

/* One rank sends, the other receives; only these two call. The sizes must agree. */
void dist_send(const Dist *dist, const void *data, size_t bytes, int to);
void dist_receive(const Dist *dist, void *data, size_t bytes, int from);

/* data of rank `from` gets into data of all ranks. */
void dist_broadcast(const Dist *dist, void *data, size_t bytes, int from);

/* The largest of all ranks' values, on every rank. */
int64_t dist_largest(const Dist *dist, int64_t value);

/* ---- above it: dist.c --------------------------------------------------------------- */

/* A program that is alone: what code without a Dist of its own runs with. */
Dist dist_alone(void);

/* count things in contiguous blocks, as equal as may be: the first one of a rank, whose
 * block ends where that of rank + 1 begins; and who has thing i. */
int64_t dist_first(const Dist *dist, int64_t count, int rank);
int dist_owner(const Dist *dist, int64_t count, int64_t i);

/* Of count items each rank has filled its block: afterwards every rank has them all. */
void dist_share(const Dist *dist, void *items, int64_t count, size_t size);

/* How many hosts the ranks run on. */
int dist_hosts(const Dist *dist);

/* Whether it is true on any rank. */
bool dist_any(const Dist *dist, bool value);

/* Ends a piece of work that may have failed on some ranks only: when it did, every rank
 * returns the status and message of the lowest rank that failed, with that rank's name
 * before it unless it went the same way on all. dist->agreed is set then. */
Status dist_agree(Dist *dist, Status status, Error *err);

/* STATUS_INPUT, on all ranks, naming one whose text is not rank 0's. what: "the training
 * data"; advice is put behind the message. */
Status dist_same(Dist *dist, const char *what, const char *text, const char *advice,
                 Error *err);

/* STATUS_USAGE when a launcher says in the environment that it started several copies, but
 * there is one rank; for dist_open. remedy is put behind the message. */
Status dist_check_launcher(const Dist *dist, const char *remedy, Error *err);

#endif
