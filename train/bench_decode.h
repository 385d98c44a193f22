/* How fast decoding is: tokens a second of a model with random weights, at a given length of
 * the sequences and with so many of them side by side, and what their cache takes.
 *
 * Timed are decoder steps (model/generate/decode.h) that give every row one random token,
 * up to and with the last of `tokens`: attention then looks back at about `tokens` tokens.
 * Drawing a token from the logits is not part of it, nor is the prompt. */
#ifndef JUEJU_TRAIN_BENCH_DECODE_H
#define JUEJU_TRAIN_BENCH_DECODE_H

#include "model/generate/decode.h"

typedef struct {
    GptConfig config; /* filled; the context is taken to be `tokens` */
    MlaForm mla;
    int64_t tokens;  /* > 0: the length that a row has in the end */
    int64_t rows;    /* > 0 */
    int64_t threads; /* 0: as many as OpenMP gives */
    int64_t steps;   /* > 0: the last ones, timed together; at most `tokens` */
    int64_t samples; /* 1 .. BENCH_DECODE_SAMPLES: how often they are timed */
    uint64_t seed;
} BenchDecodeOptions;

enum { BENCH_DECODE_SAMPLES = 1000 };

typedef struct {
    double median, best, worst; /* tokens a second, of all rows together */
    size_t token_bytes; /* of the cache, for one token before any window is full */
    size_t row_bytes;   /* for all tokens of a row */
    size_t padding;     /* alignment of a row on top of that */
    int64_t parameters;
} BenchDecodeReport;

/* STATUS_USAGE for sizes that do not go together, STATUS_MEMORY. */
Status bench_decode_run(BenchDecodeReport *report, const BenchDecodeOptions *options,
                        Error *err);

#endif
