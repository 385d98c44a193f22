/* CoupletWriter: the second line of a couplet for a given first one.
 *
 *     TRY(couplet_writer_create(&writer, &gpt, &tokenizer, err));
 *     TRY(couplet_write(writer, lower, &nats, upper, 5, &settings, &rng, err));
 *     couplet_writer_destroy(writer);
 *
 *   1  the encoder reads u_1 .. u_n <eos>
 *   2  character t is drawn behind <bos> l_1 .. l_t-1, t = 1 .. n, from the Han characters
 *      alone: no <eos>, mark or <unk> before the line is as long as the first
 *   3  behind character n the line ends
 *
 * By the plain forward pass, without a cache: a line is a few characters. One writer for
 * each thread; a line depends on nothing but its own arguments. */
#ifndef JUEJU_TRAIN_COUPLET_WRITE_H
#define JUEJU_TRAIN_COUPLET_WRITE_H

#include <stdbool.h>

#include "data/tokenizer.h"
#include "model/generate/sampler.h"
#include "model/gpt/gpt.h"

typedef struct {
    SamplerSettings sampler;
    bool repeats; /* false: no character of the first line comes again, and none of the
                     second, unless the first has equal characters at the same places */
} CoupletSettings;

typedef struct CoupletWriter CoupletWriter;

/* gpt has an encoder; both are borrowed. */
Status couplet_writer_create(CoupletWriter **writer, const Gpt *gpt,
                             const Tokenizer *tokenizer, Error *err);
void couplet_writer_destroy(CoupletWriter *writer);

/* The longest line that fits the model's context. */
int64_t couplet_longest(const Gpt *gpt);

/* lower (length): ids of Han characters. *nats: the mean of -log p over them, by the model's
 * own distribution. 1 <= length <= couplet_longest; the sampler's settings are checked.
 * STATUS_NUMERIC: the weights are damaged. */
Status couplet_write(CoupletWriter *writer, int32_t *lower, double *nats,
                     const int32_t *upper, int64_t length,
                     const CoupletSettings *settings, Rng *rng, Error *err);

#endif
