/* Poems on stdout: for people (lines broken after 。？！, a blank line between poems), as
 * JSON (an object a line), and character by character on a terminal. */
#ifndef JUEJU_SCRIPTS_SAMPLE_PRINT_H
#define JUEJU_SCRIPTS_SAMPLE_PRINT_H

#include <stdio.h>

#include "scripts/sample_batch.h"

typedef struct {
    const SamplePlan *plan;
    FILE *stream;
    bool json;
    bool live;           /* the stream is a terminal and one poem is written */
    int64_t inside_line; /* poems that the limit ended inside their first line */

    /* live: what stands on the terminal already */
    bool begun;
    size_t printed;    /* characters of the body */
    size_t line_start; /* of them before the terminal's current line */
} SamplePrinter;

/* Hooks for sample_batch; context is the SamplePrinter. STATUS_IO when stdout is lost. */
Status sample_print_poem(void *context, int64_t index, const Poem *poem, Error *err);
void sample_print_token(void *context, const Poem *poem);

/* Leaves the terminal at the start of a line when a poem was interrupted. */
void sample_print_stopped(SamplePrinter *printer);

#endif
