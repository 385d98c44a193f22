/* jueju data --check-split: the proof that a prepared set's parts are apart. */
#ifndef JUEJU_SCRIPTS_DATA_CHECK_H
#define JUEJU_SCRIPTS_DATA_CHECK_H

#include <jansson.h>
#include <stdbool.h>

#include "model/base/error.h"

/* Prints the counts of twins (data/twins.h, data/pair_twins.h) in the set at `path`, as
 * JSON when asked to. STATUS_NUMERIC unless there are none. */
Status check_split(const char *path, bool json, Error *err);

/* Indented, to stdout. */
Status print_json(const json_t *value, Error *err);

#endif
