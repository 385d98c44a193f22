#include "data/batch.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "model/base/memory.h"
#include "model/base/rng.h"

enum { STREAM_WINDOWS = 3 }; /* pack.c uses 1 and 2 */

/* ---- epochs ------------------------------------------------------------------------ */

/* Windows of a running text: only their number is fixed, places come from the row. */
static int64_t window_rows(const BatchStream *stream)
{
    int64_t inputs = stream->set->tokens - 1; /* the last token is only a target */
    int64_t length = stream->options.row_tokens;
    if (!stream->options.shuffle)
        return (inputs + length - 1) / length;
    return inputs > length ? inputs / length : 1;
}

static Status enter_epoch(BatchStream *stream, uint64_t epoch, Error *err)
{
    if (stream->set->stream) {
        stream->epoch_rows = window_rows(stream);
    } else if (!stream->has_packing || stream->packed_epoch != epoch) {
        const BatchOptions *options = &stream->options;
        PackOptions pack = {.row_tokens = options->row_tokens,
                            .seed = options->seed,
                            .keep_form = options->keep_form,
                            .keep_title = options->keep_title,
                            .keep_author = options->keep_author,
                            .shuffle = options->shuffle,
                            .cut_classes = stream->cut_classes};
        stream->has_packing = false;
        TRY(pack_epoch(&stream->packing, stream->set, &pack, epoch, err));
        stream->has_packing = true;
        stream->packed_epoch = epoch;
        stream->epoch_rows = stream->packing.row_count;
    }
    stream->epoch = epoch;
    return STATUS_OK;
}

Status batch_stream_open(BatchStream *stream, const PoemSet *set,
                         const Tokenizer *tokenizer, const BatchOptions *options,
                         Error *err)
{
    *stream = (BatchStream){.set = set, .options = *options};
    if (options->row_tokens < 2 || options->row_tokens > BATCH_LONGEST_ROW)
        return error_set(err, STATUS_INPUT,
                         "a row must have 2 to %d tokens, %" PRId32 " were asked for",
                         BATCH_LONGEST_ROW, options->row_tokens);
    if (set->poems < 1 || (set->stream && set->tokens < 2))
        return error_set(err, STATUS_INPUT, "the set has %s to make a batch of",
                         set->stream ? "too little text" : "no poem");
    Status status = pack_cut_classes(&stream->cut_classes, tokenizer, err);
    if (status == STATUS_OK)
        status = enter_epoch(stream, 0, err);
    if (status != STATUS_OK)
        batch_stream_close(stream);
    return status;
}

void batch_stream_close(BatchStream *stream)
{
    memory_free(stream->cut_classes);
    packing_free(&stream->packing);
    memory_free(stream->ids);
    memory_free(stream->targets);
    memory_free(stream->positions);
    memory_free(stream->starts);
    memory_free(stream->row_segments);
    *stream = (BatchStream){0};
}

Status batch_stream_seek(BatchStream *stream, uint64_t epoch, int64_t row, Error *err)
{
    TRY(enter_epoch(stream, epoch, err));
    if (row < 0 || row > stream->epoch_rows)
        return error_set(err, STATUS_INPUT,
                         "epoch %" PRIu64 " has %" PRId64 " rows, row %" PRId64
                         " was asked for: the state belongs to another set",
                         epoch, stream->epoch_rows, row);
    stream->row = row;
    return STATUS_OK;
}

/* ---- rows -------------------------------------------------------------------------- */

static Status begin_batch(BatchStream *stream, int64_t rows, RowBatch *out, Error *err)
{
    assert(rows >= 0);
    *out = (RowBatch){0};
    TRY(memory_reserve(&stream->row_segments, &stream->row_segments_capacity,
                       (size_t)rows + 1, sizeof *stream->row_segments,
                       "the rows of a batch", err));
    TRY(memory_reserve(&stream->starts, &stream->starts_capacity, 1,
                       sizeof *stream->starts, "the segments of a batch", err));
    stream->row_segments[0] = 0;
    stream->starts[0] = 0;
    return STATUS_OK;
}

static Status reserve_segment(BatchStream *stream, const RowBatch *out, int64_t length,
                              Error *err)
{
    size_t need = (size_t)(out->batch.tokens + length);
    TRY(memory_reserve(&stream->ids, &stream->ids_capacity, need, sizeof *stream->ids,
                       "the tokens of a batch", err));
    TRY(memory_reserve(&stream->targets, &stream->targets_capacity, need,
                       sizeof *stream->targets, "the targets of a batch", err));
    TRY(memory_reserve(&stream->positions, &stream->positions_capacity, need,
                       sizeof *stream->positions, "the positions of a batch", err));
    return memory_reserve(&stream->starts, &stream->starts_capacity,
                          (size_t)out->batch.segments + 2, sizeof *stream->starts,
                          "the segments of a batch", err);
}

/* Adds inputs tokens[0 .. length-1] with targets tokens[1 .. length], the first `silent`
 * of them TARGET_NONE. */
static Status add_segment(BatchStream *stream, RowBatch *out, const uint16_t *tokens,
                          int64_t length, int64_t silent, Error *err)
{
    TRY(reserve_segment(stream, out, length, err));
    int32_t *ids = stream->ids + out->batch.tokens;
    int32_t *targets = stream->targets + out->batch.tokens;
    int32_t *positions = stream->positions + out->batch.tokens;
    for (int64_t i = 0; i < length; i++) {
        ids[i] = tokens[i];
        targets[i] = i < silent ? TARGET_NONE : tokens[i + 1];
        positions[i] = (int32_t)i;
    }
    out->batch.tokens += length;
    out->targets += length - silent;
    stream->starts[++out->batch.segments] = out->batch.tokens;
    return STATUS_OK;
}

static Status add_window(BatchStream *stream, RowBatch *out, int64_t row, Error *err)
{
    int64_t inputs = stream->set->tokens - 1;
    int64_t length = stream->options.row_tokens;
    int64_t start = 0;
    if (!stream->options.shuffle) {
        start = row * length;
    } else if (inputs > length) {
        uint64_t key = rng_hash(stream->options.seed, STREAM_WINDOWS);
        Rng rng = rng_stream(rng_hash(key, stream->epoch), (uint64_t)row);
        start = (int64_t)rng_below(&rng, (uint64_t)(inputs - length) + 1);
    }
    if (length > inputs - start)
        length = inputs - start;
    return add_segment(stream, out, stream->set->ids + start, length, 0, err);
}

static Status add_row(BatchStream *stream, RowBatch *out, int64_t row, Error *err)
{
    if (stream->set->stream) {
        TRY(add_window(stream, out, row, err));
    } else {
        const Packing *packing = &stream->packing;
        for (int64_t i = packing->rows[row]; i < packing->rows[row + 1]; i++) {
            const Piece *piece = &packing->pieces[packing->order[i]];
            TRY(add_segment(stream, out, packing->made + piece->start, piece->length,
                            piece->silent, err));
        }
    }
    stream->row_segments[++out->rows] = out->batch.segments;
    return STATUS_OK;
}

/* The arrays move while they grow, so pointers are given out at the end. */
static void end_batch(const BatchStream *stream, RowBatch *out)
{
    out->batch.ids = stream->ids;
    out->batch.targets = stream->targets;
    out->batch.positions = stream->positions;
    out->batch.starts = stream->starts;
    out->row_segments = stream->row_segments;
}

Status batch_stream_rows(BatchStream *stream, int64_t first_row, int64_t rows,
                         RowBatch *out, Error *err)
{
    assert(first_row >= 0);
    if (rows > stream->epoch_rows - first_row)
        rows = first_row < stream->epoch_rows ? stream->epoch_rows - first_row : 0;
    TRY(begin_batch(stream, rows, out, err));
    for (int64_t row = first_row; row < first_row + rows; row++)
        TRY(add_row(stream, out, row, err));
    end_batch(stream, out);
    return STATUS_OK;
}

Status batch_stream_next(BatchStream *stream, int64_t rows, RowBatch *out, Error *err)
{
    TRY(begin_batch(stream, rows, out, err));
    while (out->rows < rows) {
        if (stream->row >= stream->epoch_rows) {
            TRY(enter_epoch(stream, stream->epoch + 1, err));
            stream->row = 0;
        }
        TRY(add_row(stream, out, stream->row, err));
        stream->row++;
    }
    end_batch(stream, out);
    return STATUS_OK;
}

/* ---- slices ------------------------------------------------------------------------ */

Status batch_slice_create(BatchSlice *slice, int64_t segments, Error *err)
{
    size_t starts = (size_t)segments + 1;
    *slice = (BatchSlice){0};
    Status status = memory_allocate(&slice->starts, starts, sizeof *slice->starts,
                                    "a slice of a batch", err);
    if (status == STATUS_OK)
        status =
            memory_allocate(&slice->source_starts, starts, sizeof *slice->source_starts,
                            "a slice of a batch", err);
    if (status != STATUS_OK)
        batch_slice_destroy(slice);
    return status;
}

void batch_slice_destroy(BatchSlice *slice)
{
    memory_free(slice->source_starts);
    memory_free(slice->starts);
    *slice = (BatchSlice){0};
}

/* Segments first .. last-1. */
static TokenBatch cut(int64_t *starts, const TokenBatch *batch, int64_t first,
                      int64_t last)
{
    int64_t origin = batch->starts[first];
    for (int64_t s = first; s <= last; s++)
        starts[s - first] = batch->starts[s] - origin;
    return (TokenBatch){.tokens = starts[last - first],
                        .segments = last - first,
                        .ids = batch->ids + origin,
                        .targets = batch->targets + origin,
                        .positions = batch->positions + origin,
                        .starts = starts};
}

const TokenBatch *batch_slice(BatchSlice *slice, const RowBatch *batch,
                              int64_t first_row, int64_t rows)
{
    assert(first_row >= 0 && rows >= 0 && first_row + rows <= batch->rows);
    int64_t first = batch->row_segments[first_row];
    int64_t last = batch->row_segments[first_row + rows];
    slice->batch = cut(slice->starts, &batch->batch, first, last);
    if (batch->batch.source != NULL) {
        slice->source = cut(slice->source_starts, batch->batch.source, first, last);
        slice->batch.source = &slice->source;
    }
    return &slice->batch;
}
