/* RowStream: the rows of a split for training and evaluation, whichever kind the set is of:
 * poems for a decoder (data/batch.h), pairs for an encoder and a decoder
 * (data/pair_batch.h). */
#ifndef JUEJU_TRAIN_ROWS_H
#define JUEJU_TRAIN_ROWS_H

#include "data/batch.h"
#include "data/pair_batch.h"
#include "model/gpt/config.h"

/* One of the two, borrowed. */
typedef struct {
    const PoemSet *poems;
    const PairSet *pairs; /* NULL: poems */
} RowSet;

static inline RowSet rows_of_poems(const PoemSet *poems)
{
    return (RowSet){.poems = poems};
}

static inline RowSet rows_of_pairs(const PairSet *pairs)
{
    return (RowSet){.pairs = pairs};
}

int64_t row_set_size(const RowSet *set); /* poems or pairs */

/* The most input tokens that a row of the set can have for this model: T, or with pairs the
 * longest line and <bos>. */
int64_t row_set_longest(const RowSet *set, const GptConfig *config);

/* STATUS_INPUT: pairs for a model without an encoder, poems for one with an encoder, or a
 * context that is shorter than the lines. */
Status row_set_check(const RowSet *set, const GptConfig *config, Error *err);

typedef struct {
    RowSet set;
    BatchStream poems;
    PairStream pairs;
} RowStream;

/* options as for poems; pairs only have the seed and shuffle. */
Status row_stream_open(RowStream *stream, const RowSet *set, const Tokenizer *tokenizer,
                       const BatchOptions *options, Error *err);
void row_stream_close(RowStream *stream);

/* batch_stream_next, _rows and _seek of either. */
Status row_stream_next(RowStream *stream, int64_t rows, RowBatch *out, Error *err);
Status row_stream_range(RowStream *stream, int64_t first_row, int64_t rows,
                        RowBatch *out, Error *err);
Status row_stream_seek(RowStream *stream, uint64_t epoch, int64_t row, Error *err);

/* Where the next batch begins, and how many rows that epoch has. */
uint64_t row_stream_epoch(const RowStream *stream);
int64_t row_stream_row(const RowStream *stream);
int64_t row_stream_epoch_rows(const RowStream *stream);

#endif
