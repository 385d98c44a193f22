/* One rank: train/dist.h for builds without MPI. */
#include <stdlib.h>

#include "train/dist.h"

bool dist_library(char name[DIST_NAME_SIZE])
{
    name[0] = '\0';
    return false;
}

Status dist_open(Dist *dist, Error *err)
{
    *dist = dist_alone();
    return dist_check_launcher(dist,
                               "build with `make MPI=1` and start that program, or "
                               "start this one without mpirun",
                               err);
}

void dist_close(Dist *dist)
{
    *dist = (Dist){0};
}

/* With one rank nobody comes to the rest: a call is a mistake in the program. */

void dist_abort(const Dist *dist, int code)
{
    (void)dist, (void)code;
    abort();
}

void dist_send(const Dist *dist, const void *data, size_t bytes, int to)
{
    (void)dist, (void)data, (void)bytes, (void)to;
    abort();
}

void dist_receive(const Dist *dist, void *data, size_t bytes, int from)
{
    (void)dist, (void)data, (void)bytes, (void)from;
    abort();
}

void dist_broadcast(const Dist *dist, void *data, size_t bytes, int from)
{
    (void)dist, (void)data, (void)bytes, (void)from;
}

int64_t dist_largest(const Dist *dist, int64_t value)
{
    (void)dist;
    return value;
}
