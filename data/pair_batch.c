#include "data/pair_batch.h"

#include <assert.h>
#include <inttypes.h>

#include "data/tokenizer.h"
#include "model/base/memory.h"
#include "model/base/rng.h"

enum { STREAM_PAIRS = 4 }; /* pack.c and batch.c use 1 to 3 */

/* ---- epochs ------------------------------------------------------------------------ */

static void enter_epoch(PairStream *stream, uint64_t epoch)
{
    const PairOptions *options = &stream->options;
    bool same = !options->shuffle || stream->ordered_epoch == epoch;
    stream->epoch = epoch;
    if (stream->has_order && same)
        return;
    for (int64_t i = 0; i < stream->set->pairs; i++)
        stream->order[i] = (uint32_t)i;
    if (options->shuffle) {
        Rng rng = rng_stream(rng_hash(options->seed, STREAM_PAIRS), epoch);
        rng_shuffle(&rng, stream->order, stream->set->pairs);
    }
    stream->has_order = true;
    stream->ordered_epoch = epoch;
}

Status pair_stream_open(PairStream *stream, const PairSet *set,
                        const PairOptions *options, Error *err)
{
    *stream = (PairStream){.set = set, .options = *options};
    if (set->pairs < 1)
        return error_set(err, STATUS_INPUT, "the set has no pair to make a batch of");
    TRY(memory_allocate(&stream->order, (size_t)set->pairs, sizeof *stream->order,
                        "the order of the pairs", err));
    enter_epoch(stream, 0);
    return STATUS_OK;
}

void pair_stream_close(PairStream *stream)
{
    memory_free(stream->order);
    memory_free(stream->sources);
    memory_free(stream->inputs);
    memory_free(stream->targets);
    memory_free(stream->silence);
    memory_free(stream->positions);
    memory_free(stream->starts);
    memory_free(stream->row_segments);
    memory_free(stream->number);
    *stream = (PairStream){0};
}

Status pair_stream_seek(PairStream *stream, uint64_t epoch, int64_t pair, Error *err)
{
    if (pair < 0 || pair > stream->set->pairs)
        return error_set(err, STATUS_INPUT,
                         "an epoch has %" PRId64 " pairs, pair %" PRId64
                         " was asked for: the state belongs to another set",
                         stream->set->pairs, pair);
    enter_epoch(stream, epoch);
    stream->pair = pair;
    return STATUS_OK;
}

/* ---- batches ------------------------------------------------------------------------ */

/* Room for `pairs` pairs of the longest lines, so that nothing moves later. */
static Status begin_batch(PairStream *stream, int64_t pairs, RowBatch *out, Error *err)
{
    assert(pairs >= 0);
    *out = (RowBatch){0};
    size_t tokens = (size_t)pairs * (PAIR_LONGEST + 1);
    const struct {
        int32_t **array;
        size_t *capacity;
    } arrays[] = {{&stream->sources, &stream->sources_capacity},
                  {&stream->inputs, &stream->inputs_capacity},
                  {&stream->targets, &stream->targets_capacity},
                  {&stream->silence, &stream->silence_capacity},
                  {&stream->positions, &stream->positions_capacity}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        TRY(memory_reserve(arrays[i].array, arrays[i].capacity, tokens + 1,
                           sizeof **arrays[i].array, "the tokens of a batch", err));
    TRY(memory_reserve(&stream->starts, &stream->starts_capacity, (size_t)pairs + 1,
                       sizeof *stream->starts, "the pairs of a batch", err));
    TRY(memory_reserve(&stream->row_segments, &stream->row_segments_capacity,
                       (size_t)pairs + 1, sizeof *stream->row_segments,
                       "the pairs of a batch", err));
    TRY(memory_reserve(&stream->number, &stream->number_capacity, (size_t)pairs + 1,
                       sizeof *stream->number, "the pairs of a batch", err));
    stream->starts[0] = 0;
    stream->row_segments[0] = 0;
    return STATUS_OK;
}

static void add_pair(PairStream *stream, RowBatch *out, int64_t place)
{
    uint32_t number = stream->order[place];
    PairLines lines = pair_lines(stream->set, number);
    int64_t n = lines.length;
    int32_t *source = stream->sources + out->targets;
    int32_t *input = stream->inputs + out->targets;
    int32_t *target = stream->targets + out->targets;
    for (int64_t i = 0; i <= n; i++) {
        source[i] = i < n ? lines.upper[i] : TOKEN_EOS;
        input[i] = i > 0 ? lines.lower[i - 1] : TOKEN_BOS;
        target[i] = i < n ? lines.lower[i] : TOKEN_EOS;
        stream->silence[out->targets + i] = TARGET_NONE;
        stream->positions[out->targets + i] = (int32_t)i;
    }
    stream->number[out->rows++] = number;
    out->targets += n + 1;
    stream->starts[out->rows] = out->targets;
    stream->row_segments[out->rows] = out->rows;
}

static void end_batch(PairStream *stream, RowBatch *out)
{
    stream->source = (TokenBatch){.tokens = out->targets,
                                  .segments = out->rows,
                                  .ids = stream->sources,
                                  .targets = stream->silence,
                                  .positions = stream->positions,
                                  .starts = stream->starts};
    out->batch = stream->source;
    out->batch.ids = stream->inputs;
    out->batch.targets = stream->targets;
    out->batch.source = &stream->source;
    out->row_segments = stream->row_segments;
}

Status pair_stream_range(PairStream *stream, int64_t first, int64_t pairs,
                         RowBatch *out, Error *err)
{
    assert(first >= 0);
    if (pairs > stream->set->pairs - first)
        pairs = first < stream->set->pairs ? stream->set->pairs - first : 0;
    TRY(begin_batch(stream, pairs, out, err));
    for (int64_t place = first; place < first + pairs; place++)
        add_pair(stream, out, place);
    end_batch(stream, out);
    return STATUS_OK;
}

Status pair_stream_next(PairStream *stream, int64_t pairs, RowBatch *out, Error *err)
{
    TRY(begin_batch(stream, pairs, out, err));
    while (out->rows < pairs) {
        if (stream->pair >= stream->set->pairs) {
            enter_epoch(stream, stream->epoch + 1);
            stream->pair = 0;
        }
        add_pair(stream, out, stream->pair++);
    }
    end_batch(stream, out);
    return STATUS_OK;
}
