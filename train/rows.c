#include "train/rows.h"

int64_t row_set_size(const RowSet *set)
{
    return set->pairs != NULL ? set->pairs->pairs : set->poems->poems;
}

int64_t row_set_longest(const RowSet *set, const GptConfig *config)
{
    return set->pairs != NULL ? PAIR_LONGEST + 1 : config->context;
}

Status row_set_check(const RowSet *set, const GptConfig *config, Error *err)
{
    bool encodes = config->encoder_layers > 0;
    if (encodes != (set->pairs != NULL))
        return error_set(err, STATUS_INPUT,
                         encodes ? "a model with an encoder (family couplet) needs a "
                                   "set of pairs, and this is one of poems: prepare "
                                   "one with `jueju data --pairs`"
                                 : "a set of pairs needs a model with an encoder: take "
                                   "the family couplet");
    if (encodes && config->context < row_set_longest(set, config))
        return error_set(err, STATUS_USAGE,
                         "lines of %d characters and their end need a context of at "
                         "least %d, but it is %lld",
                         PAIR_LONGEST, PAIR_LONGEST + 1, (long long)config->context);
    return STATUS_OK;
}

Status row_stream_open(RowStream *stream, const RowSet *set, const Tokenizer *tokenizer,
                       const BatchOptions *options, Error *err)
{
    *stream = (RowStream){.set = *set};
    if (set->pairs == NULL)
        return batch_stream_open(&stream->poems, set->poems, tokenizer, options, err);
    PairOptions pairs = {.seed = options->seed, .shuffle = options->shuffle};
    return pair_stream_open(&stream->pairs, set->pairs, &pairs, err);
}

void row_stream_close(RowStream *stream)
{
    pair_stream_close(&stream->pairs);
    batch_stream_close(&stream->poems);
}

Status row_stream_next(RowStream *stream, int64_t rows, RowBatch *out, Error *err)
{
    if (stream->set.pairs != NULL)
        return pair_stream_next(&stream->pairs, rows, out, err);
    return batch_stream_next(&stream->poems, rows, out, err);
}

Status row_stream_range(RowStream *stream, int64_t first_row, int64_t rows,
                        RowBatch *out, Error *err)
{
    if (stream->set.pairs != NULL)
        return pair_stream_range(&stream->pairs, first_row, rows, out, err);
    return batch_stream_rows(&stream->poems, first_row, rows, out, err);
}

Status row_stream_seek(RowStream *stream, uint64_t epoch, int64_t row, Error *err)
{
    if (stream->set.pairs != NULL)
        return pair_stream_seek(&stream->pairs, epoch, row, err);
    return batch_stream_seek(&stream->poems, epoch, row, err);
}

uint64_t row_stream_epoch(const RowStream *stream)
{
    return stream->set.pairs != NULL ? stream->pairs.epoch : stream->poems.epoch;
}

int64_t row_stream_row(const RowStream *stream)
{
    return stream->set.pairs != NULL ? stream->pairs.pair : stream->poems.row;
}

int64_t row_stream_epoch_rows(const RowStream *stream)
{
    return stream->set.pairs != NULL ? stream->set.pairs->pairs
                                     : stream->poems.epoch_rows;
}
