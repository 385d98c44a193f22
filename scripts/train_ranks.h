/* A run's ranks (train/dist.h) at the command line: the same options on all of them, and one
 * end for all. */
#ifndef JUEJU_SCRIPTS_TRAIN_RANKS_H
#define JUEJU_SCRIPTS_TRAIN_RANKS_H

#include <jansson.h>

#include "train/dist.h"

/* *shared = rank 0's recipe on every rank, a new reference; mine (borrowed) is this rank's,
 * or NULL where it has none to compare. STATUS_USAGE names an option that differs. */
Status train_ranks_share(json_t **shared, const json_t *mine, Dist *dist, Error *err);

/* Ends what dist_open began; returns the status to end this process with. An error that all
 * ranks know of is rank 0's to print, and the others end well; one that only this rank knows
 * of is printed here and ends them all. */
Status train_ranks_end(Dist *dist, Status status, const Error *err);

#endif
