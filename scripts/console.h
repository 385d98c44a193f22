/* What the program shows while it works: a progress bar with the time left, on stderr.
 *
 * On a terminal the bar is one line that is drawn over; anywhere else (a file, a pipe, CI)
 * it is a plain line now and then, and no control characters. Results never go here. */
#ifndef JUEJU_SCRIPTS_CONSOLE_H
#define JUEJU_SCRIPTS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/base/error.h"

/* Whether the stream is a terminal that understands control characters (TERM is set and
 * not "dumb"). */
bool console_is_terminal(FILE *stream);

/* Columns of the terminal behind the stream; 80 where that cannot be known. */
int console_columns(FILE *stream);

/* Columns that the text takes: two for most Chinese characters, none for combining marks
 * and control characters, one for each byte that is not UTF-8. */
int console_width(const char *text);

/* Longest prefix of text, in bytes, that takes at most `columns` columns and ends at a
 * whole character. */
size_t console_fit(const char *text, int columns);

/* Prints text so that it cannot move the cursor or colour the terminal: control characters
 * and bytes that are not UTF-8 become \xNN; line feeds stay. For text that came from
 * outside, such as an argument quoted in an error. */
void console_print_safe(const char *text, FILE *stream);

/* buffer = "8 s", "1 min 05 s", "2 h 07 min"; "" for a negative or not finite time. */
void console_time(char buffer[32], double seconds);

/* Monotonic clock in seconds, for measuring. */
double console_clock(void);

/* Opens /dev/null in place of standard streams that are closed, so that a file opened
 * later never takes their number. Writing to a stdout that was closed stays an error. */
void console_open_standard(void);

/* Flushes stdout; STATUS_IO when anything written to it was lost (disk full, closed). */
Status console_close_output(Error *err);

typedef struct {
    FILE *stream;
    const char *label;
    bool terminal;
    bool drawn; /* a bar stands on the terminal's current line */
    double started, drawn_at;
    double interval; /* seconds between two pictures */
    double first;    /* fraction at the first call: what a resumed run did before */
} Progress;

/* interval: 0.1 s on a terminal, 10 s elsewhere, where the first plain line comes after
 * 10 s: quick work leaves no trace. `label` is kept by pointer. */
Progress progress_start(const char *label, FILE *stream);

/* fraction within 0 .. 1 of the work is done; note (may be NULL) stands behind the time
 * left. Cheap: draws only when the interval has passed, or at fraction 1. */
void progress_update(Progress *progress, double fraction, const char *note);

/* Takes the bar away so that a line can be printed; the next update draws it again. */
void progress_clear(Progress *progress);

#endif
