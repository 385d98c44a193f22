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
static Status begin_batch(PairStream *stream, int64_t pairs, PairBatch *out, Error *err)
{
    assert(pairs >= 0);
    *out = (PairBatch){0};
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
    TRY(memory_reserve(&stream->number, &stream->number_capacity, (size_t)pairs + 1,
                       sizeof *stream->number, "the pairs of a batch", err));
    stream->starts[0] = 0;
    return STATUS_OK;
}

static void add_pair(PairStream *stream, PairBatch *out, int64_t place)
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
    stream->number[out->pairs++] = number;
    out->targets += n + 1;
    stream->starts[out->pairs] = out->targets;
}

static void end_batch(const PairStream *stream, PairBatch *out)
{
    out->number = stream->number;
    out->source = (TokenBatch){.tokens = out->targets,
                               .segments = out->pairs,
                               .ids = stream->sources,
                               .targets = stream->silence,
                               .positions = stream->positions,
                               .starts = stream->starts};
    out->target = out->source;
    out->target.ids = stream->inputs;
    out->target.targets = stream->targets;
}

Status pair_stream_range(PairStream *stream, int64_t first, int64_t pairs,
                         PairBatch *out, Error *err)
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

Status pair_stream_next(PairStream *stream, int64_t pairs, PairBatch *out, Error *err)
{
    TRY(begin_batch(stream, pairs, out, err));
    while (out->pairs < pairs) {
        if (stream->pair >= stream->set->pairs) {
            enter_epoch(stream, stream->epoch + 1);
            stream->pair = 0;
        }
        add_pair(stream, out, stream->pair++);
    }
    end_batch(stream, out);
    return STATUS_OK;
}

void pair_slice(PairBatch *slice, int64_t *starts, const PairBatch *batch,
                int64_t first, int64_t pairs)
{
    assert(first >= 0 && pairs >= 0 && first + pairs <= batch->pairs);
    int64_t origin = batch->source.starts[first];
    for (int64_t s = 0; s <= pairs; s++)
        starts[s] = batch->source.starts[first + s] - origin;
    *slice = (PairBatch){
        .pairs = pairs, .targets = starts[pairs], .number = batch->number + first};
    slice->source = (TokenBatch){.tokens = starts[pairs],
                                 .segments = pairs,
                                 .ids = batch->source.ids + origin,
                                 .targets = batch->source.targets + origin,
                                 .positions = batch->source.positions + origin,
                                 .starts = starts};
    slice->target = slice->source;
    slice->target.ids = batch->target.ids + origin;
    slice->target.targets = batch->target.targets + origin;
}
