/* BatchStream: the rows of a split as TokenBatches, epoch after epoch.
 *
 *     BatchOptions options = {.row_tokens = 128, .seed = 1, .shuffle = true,
 *                             .keep_form = 0.5, .keep_title = 0.5, .keep_author = 0.5};
 *     TRY(batch_stream_open(&stream, &set.train, &set.tokenizer, &options, err));
 *     TRY(batch_stream_next(&stream, 64, &batch, err));      as often as wanted
 *     shard = batch_slice(&slice, &batch, 0, 16);            rows 0 .. 15 of the 64
 *     batch_stream_close(&stream);
 *
 * Training (shuffle): the next epoch follows without a gap, so that every batch has the
 * rows asked for; every poem is used once an epoch. The state is (epoch, row): after
 * batch_stream_seek to the values of stream.epoch and stream.row the batches have the same
 * bits. A stream set (running text) gives tokens/T windows an epoch at random places.
 *
 * Evaluation (BatchOptions with only row_tokens): every piece in order, no fields, each
 * target once; batch_stream_rows until it gives 0 rows. A stream set gives consecutive
 * windows: every token but the first is a target. */
#ifndef JUEJU_DATA_BATCH_H
#define JUEJU_DATA_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "data/pack.h"
#include "data/tokenizer.h"
#include "model/base/batch.h"
#include "model/base/error.h"

typedef struct {
    int32_t row_tokens; /* T, 2 .. BATCH_LONGEST_ROW */
    uint64_t seed;
    double keep_form, keep_title, keep_author; /* probability of each field, 0 .. 1 */
    bool shuffle;
} BatchOptions;

enum { BATCH_LONGEST_ROW = 1 << 20 };

/* A TokenBatch whose rows are known: row r is segments row_segments[r] ..
 * row_segments[r+1]-1. All arrays belong to the stream and hold until its next call. */
typedef struct {
    TokenBatch batch;
    int64_t rows;
    int64_t targets;             /* how many are not TARGET_NONE */
    const int64_t *row_segments; /* (rows + 1) */
} RowBatch;

typedef struct {
    const PoemSet *set; /* kept by pointer, like the options' */
    BatchOptions options;
    uint8_t *cut_classes;
    uint64_t epoch; /* where the next batch begins */
    int64_t row;
    int64_t epoch_rows; /* rows of that epoch */
    Packing packing;    /* of epoch packed_epoch, when has_packing */
    uint64_t packed_epoch;
    bool has_packing;
    int32_t *ids, *targets, *positions; /* the last batch */
    size_t ids_capacity, targets_capacity, positions_capacity;
    int64_t *starts, *row_segments;
    size_t starts_capacity, row_segments_capacity;
} BatchStream;

/* STATUS_INPUT: the set is empty (or a stream of less than 2 tokens), row_tokens out of
 * range. The stream stands at epoch 0, row 0. */
Status batch_stream_open(BatchStream *stream, const PoemSet *set,
                         const Tokenizer *tokenizer, const BatchOptions *options,
                         Error *err);
void batch_stream_close(BatchStream *stream);

/* The next `rows` rows, running on into the next epochs; moves epoch and row. */
Status batch_stream_next(BatchStream *stream, int64_t rows, RowBatch *out, Error *err);

/* Rows first_row .. first_row+rows-1 of the stream's epoch, fewer at its end and none
 * behind it. Does not move. */
Status batch_stream_rows(BatchStream *stream, int64_t first_row, int64_t rows,
                         RowBatch *out, Error *err);

/* STATUS_INPUT when the epoch has no such row (a state from another set). row may be the
 * number of rows: the next batch then begins the next epoch. */
Status batch_stream_seek(BatchStream *stream, uint64_t epoch, int64_t row, Error *err);

/* Room for slices of up to `segments` segments, one at a time; not to be moved while its
 * slice is used. */
typedef struct {
    TokenBatch batch, source;
    int64_t *starts, *source_starts; /* (segments + 1) owned */
} BatchSlice;

Status batch_slice_create(BatchSlice *slice, int64_t segments, Error *err);
void batch_slice_destroy(BatchSlice *slice);

/* Rows first_row .. first_row+rows-1 of a batch, and of its source if it has one, as a
 * TokenBatch of its own, pointing into it; only the segments' starts are written anew.
 * Holds until the next slice. */
const TokenBatch *batch_slice(BatchSlice *slice, const RowBatch *batch,
                              int64_t first_row, int64_t rows);

#endif
