/* Files that are known by their names to hold no poems. */
#ifndef JUEJU_DATA_SKIP_H
#define JUEJU_DATA_SKIP_H

#include <stdbool.h>

/* Why the file is not read, or NULL. `walking`: it was found in a folder, not named by the
 * user; then selections and second copies are left out, too. */
const char *skip_reason(const char *path, bool walking);

#endif
