/* Errors: a function that can fail returns a Status and fills an Error with a sentence.
 *
 * The sentence names the file, the tensor or the option, what was expected and what was
 * found. Only scripts/ prints it and exits. */
#ifndef JUEJU_MODEL_BASE_ERROR_H
#define JUEJU_MODEL_BASE_ERROR_H

#include <stdbool.h>

typedef enum {
    STATUS_OK = 0,
    STATUS_USAGE,       /* a wrong option or combination of options: exit code 2 */
    STATUS_INPUT,       /* a file or text that is damaged or of the wrong kind: 2 */
    STATUS_IO,          /* the operating system refused: 1 */
    STATUS_MEMORY,      /* out of memory: 1 */
    STATUS_NUMERIC,     /* a number that is not finite: 1 */
    STATUS_INTERRUPTED, /* stopped by a signal after saving: 130 at the command line */
} Status;

typedef struct {
    Status status;
    char message[1024];
} Error;

/* Fills *err (which may be NULL) and returns status, so that callers can write
 *     return error_set(err, STATUS_INPUT, "%s: ...", path);
 * A message longer than the buffer is cut at a whole UTF-8 character. */
Status error_set(Error *err, Status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and strerror(errno) behind it; always STATUS_IO. */
Status error_errno(Error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the message that *err already has. Returns its status. */
Status error_context(Error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Leaves the enclosing function with the status of a call that failed. */
#define TRY(call)                                                                      \
    do {                                                                               \
        Status try_status_ = (call);                                                   \
        if (try_status_ != STATUS_OK)                                                  \
            return try_status_;                                                        \
    } while (0)

#endif
