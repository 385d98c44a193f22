/* One training step's gradient on several threads, with the same bits for any number.
 *
 * The rows of a batch are cut into a fixed number of lanes, contiguous and as equal as may
 * be. A thread takes a lane and runs forward and backward over it, a few rows at a time on
 * its own activations, into the lane's own gradient buffer. Then the buffers are added as a
 * fixed binary tree: ((0+1)+(2+3)) + ((4+5)+(6+7)). Neither the cut nor the tree knows how
 * many threads there are. Memory: lanes x parameters + threads x activations. */
#ifndef JUEJU_TRAIN_LANES_H
#define JUEJU_TRAIN_LANES_H

#include "train/passes.h"

typedef struct {
    int64_t count; /* lanes, a power of two */
    const Gpt *gpt;
    real **grads;     /* (count) flat buffers, owned; lane 0's ends up with the sum */
    GptParams *views; /* (count) */
    GptLoss *losses;  /* (count) */
    Passes *passes;   /* borrowed */
} Lanes;

enum { LANES_DEFAULT = 8, LANES_MAXIMUM = 256 };

/* passes and gpt are borrowed and must outlive the lanes. */
Status lanes_create(Lanes *lanes, const Gpt *gpt, Passes *passes, int64_t count,
                    Error *err);
void lanes_destroy(Lanes *lanes);

/* The gradient of the mean loss over the batch's targets, in lanes->grads[0] (padding
 * zero), and the loss. dropout->first_token is set for each pass. */
GptLoss lanes_gradient(Lanes *lanes, const RowBatch *batch, const GptDropout *dropout);

#endif
