/* One training step's gradient on several threads and ranks, with the same bits for any
 * number of both.
 *
 * The rows of a batch are cut into a fixed number of lanes, contiguous and as equal as may
 * be. A thread takes a lane and runs forward and backward over it, a few rows at a time on
 * its own activations, into the lane's own gradient buffer. Then the buffers are added as a
 * fixed binary tree: ((0+1)+(2+3)) + ((4+5)+(6+7)). Neither the cut nor the tree knows how
 * many threads there are. Memory: lanes x parameters + threads x activations.
 *
 * Ranks (train/dist.h) own contiguous blocks of lanes, as equal as may be; only the owner
 * holds a lane's buffer. The tree stays the same: where its two buffers belong to different
 * ranks, one travels to the other's owner. In the end every rank has the sum. */
#ifndef JUEJU_TRAIN_LANES_H
#define JUEJU_TRAIN_LANES_H

#include "train/dist.h"
#include "train/passes.h"

typedef struct {
    int64_t count;      /* lanes of all ranks, a power of two */
    int64_t first, end; /* mine: first .. end-1 */
    const Gpt *gpt;
    real **grads; /* (count) flat buffers, owned: NULL where a lane is not mine; that of
                         lane `first` ends up with the sum over all lanes */
    GptParams *views; /* (count) of them */
    GptLoss *losses;  /* (count) */
    real *arriving;   /* a piece of another rank's buffer, owned; NULL with one rank */
    Passes *passes;   /* borrowed */
    Dist dist;
} Lanes;

enum { LANES_DEFAULT = 8, LANES_MAXIMUM = 256 };

/* passes and gpt are borrowed and must outlive the lanes. */
Status lanes_create(Lanes *lanes, const Gpt *gpt, Passes *passes, int64_t count,
                    Error *err);

/* This rank's part of them. STATUS_USAGE, before memory is taken, when there are more ranks
 * than lanes. */
Status lanes_create_part(Lanes *lanes, const Gpt *gpt, Passes *passes, int64_t count,
                         const Dist *dist, Error *err);
void lanes_destroy(Lanes *lanes);

/* The gradient of the mean loss over the batch's targets, in lanes->grads[lanes->first]
 * (padding zero), and the loss: both over all lanes, on every rank. All ranks have the same
 * whole batch. dropout's first_token and first_source are set for each pass. */
GptLoss lanes_gradient(Lanes *lanes, const RowBatch *batch, const GptDropout *dropout);

#endif
