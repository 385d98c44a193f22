/* What a training run says on stderr while it goes: its start, a bar, its records. */
#ifndef JUEJU_SCRIPTS_TRAIN_SHOW_H
#define JUEJU_SCRIPTS_TRAIN_SHOW_H

#include "data/prepared.h"
#include "train/trainer.h"

/* Model, set, machine (startup_describe_ranks) and the run's folder `out`. */
void train_show_start(const Trainer *trainer, const PreparedSet *set, const char *out,
                      const char *machine);

/* Hooks of the trainer; context is a Progress. */
void train_show_step(void *context, const TrainRecord *record);
void train_show_record(void *context, const TrainRecord *record);

#endif
