/* Preparing: sources to a prepared set (data/prepared.h), in one atomic step. */
#ifndef JUEJU_DATA_PREPARE_H
#define JUEJU_DATA_PREPARE_H

#include "data/stats.h"
#include "model/base/error.h"

/* Reads, cleans, splits, builds the vocabulary and replaces the folder at `path`. The same
 * sources, options and seed give the same bytes. After an error the folder is as it was,
 * and the report is still to be freed. Errors are those of corpus_read, split_poems and
 * tokenizer_build; STATUS_INPUT for a running text of less than 40 characters; STATUS_USAGE
 * when the folder holds something else than a prepared set. */
Status prepare_set(PrepareReport *report, const char *path,
                   const PrepareOptions *options, Error *err);

#endif
