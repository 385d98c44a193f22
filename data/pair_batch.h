/* PairStream: the pairs of a split as batches for an encoder and a decoder, epoch after
 * epoch.
 *
 *     PairOptions options = {.seed = 1, .shuffle = true};
 *     TRY(pair_stream_open(&stream, &set.pairs[PART_TRAIN], &options, err));
 *     TRY(pair_stream_next(&stream, 256, &batch, err));      as often as wanted
 *     shard = batch_slice(&slice, &batch, 0, 64);            pairs 0 .. 63 of the 256
 *     pair_stream_close(&stream);
 *
 * A pair is a row of one segment; n is 5 or 7:
 *     batch.source   ids   u_1 .. u_n  <eos>     targets  none
 *     batch          ids   <bos> l_1 .. l_n      targets  l_1 .. l_n <eos>
 * Both have n + 1 tokens at the positions 0 .. n, so starts and positions are the same
 * arrays for both.
 *
 * Training (shuffle): the next epoch follows without a gap, every batch has the pairs asked
 * for, and every pair comes once an epoch. The state is (epoch, pair): after
 * pair_stream_seek to the values of stream.epoch and stream.pair the batches have the same
 * bits. Evaluation: pair_stream_range from 0 on until it gives no pair; without shuffle in
 * the order of the set. */
#ifndef JUEJU_DATA_PAIR_BATCH_H
#define JUEJU_DATA_PAIR_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/batch.h"
#include "data/pairs.h"
#include "model/base/error.h"

typedef struct {
    uint64_t seed;
    bool shuffle;
} PairOptions;

typedef struct {
    const PairSet *set; /* kept by pointer */
    PairOptions options;
    uint64_t epoch; /* where the next batch begins */
    int64_t pair;
    uint32_t *order; /* (pairs) of epoch ordered_epoch, when has_order */
    uint64_t ordered_epoch;
    bool has_order;

    /* the last batch */
    TokenBatch source;
    int32_t *sources, *inputs, *targets, *silence, *positions;
    size_t sources_capacity, inputs_capacity, targets_capacity;
    size_t silence_capacity, positions_capacity;
    int64_t *starts, *row_segments;
    uint32_t *number; /* (rows) which pair of the set each row is */
    size_t starts_capacity, row_segments_capacity, number_capacity;
} PairStream;

/* STATUS_INPUT: the set is empty. The stream stands at epoch 0, pair 0. */
Status pair_stream_open(PairStream *stream, const PairSet *set,
                        const PairOptions *options, Error *err);
void pair_stream_close(PairStream *stream);

/* The next `pairs` pairs, running on into the next epochs; moves epoch and pair. All arrays
 * of a batch belong to the stream and hold until its next call. */
Status pair_stream_next(PairStream *stream, int64_t pairs, RowBatch *out, Error *err);

/* Pairs first .. first+pairs-1 of the stream's epoch, fewer at its end and none behind it.
 * Does not move. */
Status pair_stream_range(PairStream *stream, int64_t first, int64_t pairs,
                         RowBatch *out, Error *err);

/* STATUS_INPUT when there is no such pair (a state from another set). pair may be the
 * number of pairs: the next batch then begins the next epoch. */
Status pair_stream_seek(PairStream *stream, uint64_t epoch, int64_t pair, Error *err);

#endif
