/* The options of a command as JSON and back, by its own option table, so that a run can be
 * resumed with the options that it was started with. */
#ifndef JUEJU_SCRIPTS_RECIPE_H
#define JUEJU_SCRIPTS_RECIPE_H

#include <jansson.h>

#include "scripts/options.h"

/* {name: value} of every option that is not in `without` (names, NULL at the end). A new
 * reference, or NULL when there is no memory. */
json_t *recipe_from_options(const CommandInfo *info, const void *values,
                            const char *const *without);

/* Takes over a recipe that `where` (a file, for messages) holds. Options that are not in it
 * keep their value. An option that the user gave on the command line must agree with it:
 * STATUS_USAGE names the first that does not. Texts are borrowed from the recipe. */
Status recipe_to_options(const CommandInfo *info, void *values, const json_t *recipe,
                         int argc, char **argv, const char *where, Error *err);

#endif
