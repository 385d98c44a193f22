/* Names for work in progress beside the file or folder that it will replace.
 *
 * A temporary is PATH.tmp.N (N = 0, 1, ...). Its maker holds an flock on it, which the
 * system drops when the process ends in whatever way: a temporary that nobody has locked
 * is left over from the dead and may be removed. Used by files.c and folders.c only. */
#ifndef JUEJU_MODEL_BASE_TEMPORARY_H
#define JUEJU_MODEL_BASE_TEMPORARY_H

#include <stdbool.h>

#include "model/base/error.h"
#include "model/base/files.h"

/* target = path without trailing slashes and with a final link, "." or ".." resolved.
 * STATUS_INPUT for an empty path, a link to nothing, or a name too long to extend. */
Status temporary_target(char target[PATH_SIZE], const char *path, Error *err);

/* Makes a new empty file or folder beside target and locks it. *descriptor (the open file,
 * or the folder opened for reading) holds the lock and is the caller's to close. */
Status temporary_create(char name[PATH_SIZE], int *descriptor, const char *target,
                        bool folder, Error *err);

/* Whether name still is what the descriptor is open on. */
bool temporary_is(const char *name, int descriptor);

/* Removes the file or folder `name` unless somebody has locked it. On file systems without
 * locks only what the caller says it owned is removed. Failures are left to the next try:
 * the work that matters is done by then. */
void temporary_remove(const char *name, bool owned);

/* temporary_remove, as not owned, for each PATH.tmp.N beside target. */
void temporary_remove_stale(const char *target);

/* fsync of the folder that holds path, so that a rename in it is on the disk. */
Status temporary_sync_parent(const char *path, Error *err);

#endif
