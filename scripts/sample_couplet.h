/* jueju sample --couplet: second lines for first lines (train/couplet_write.h). */
#ifndef JUEJU_SCRIPTS_SAMPLE_COUPLET_H
#define JUEJU_SCRIPTS_SAMPLE_COUPLET_H

#include <stdio.h>

#include "scripts/checkpoint_open.h"
#include "train/couplet_write.h"

typedef struct {
    const char *text; /* first lines, apart by spaces, line breaks or punctuation */
    int64_t count;    /* second lines for each */
    uint64_t seed;    /* of the first of them; the next ones have seed + 1, ... */
    CoupletSettings settings;
    bool json;
    bool (*stop)(void); /* asked from time to time */
} CoupletOptions;

/* Prints them on `stream`, line after line, and notes on stderr. The couplet of a line and a
 * seed is the same alone and among others, with any number of threads. STATUS_USAGE: there
 * is no line, one is longer than the model's context, or something in one is no Chinese
 * character; STATUS_INPUT: the checkpoint has no encoder; STATUS_INTERRUPTED after stop. */
Status sample_couplets(const Checkpoint *checkpoint, const CoupletOptions *options,
                       FILE *stream, Error *err);

#endif
