/* What a trainer's ranks must have alike, and how a resumed run gets from rank 0 to them. All
 * ranks call these together (train/dist.h); with one rank they do nothing. */
#ifndef JUEJU_TRAIN_TRAINER_RANKS_H
#define JUEJU_TRAIN_TRAINER_RANKS_H

#include "train/trainer_state.h"

/* STATUS_INPUT when the ranks' programs, BLAS kernels, training data, validation data or
 * vocabularies differ. */
Status ranks_check_start(Trainer *trainer, Error *err);

/* STATUS_NUMERIC when a rank's weights are not bit for bit those of rank 0: the processors
 * or libraries of the hosts round differently. */
Status ranks_check_weights(Trainer *trainer, Error *err);

/* Rank 0's weights, moments and place to all; the log stays with rank 0. */
void ranks_take_state(Trainer *trainer);

#endif
