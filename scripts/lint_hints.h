/* Only for clang-tidy (scripts/lint.sh puts it before every source but error.c): its
 * analyser sees one file at a time and must be told that an error is never STATUS_OK, or it
 * follows paths on which a call failed and went on. */
#ifndef JUEJU_SCRIPTS_LINT_HINTS_H
#define JUEJU_SCRIPTS_LINT_HINTS_H

#include "model/base/error.h"

#define error_set(err, status, ...) (error_set(err, status, __VA_ARGS__), (status))
#define error_errno(err, ...) (error_errno(err, __VA_ARGS__), STATUS_IO)

#endif
