/* Which model a run trains: what the options say, or that of another checkpoint
 * (--resume-from), cut and regrouped heads included. */
#ifndef JUEJU_SCRIPTS_TRAIN_MODEL_H
#define JUEJU_SCRIPTS_TRAIN_MODEL_H

#include "scripts/model_options.h"
#include "train/dist.h"
#include "train/trainer.h"

/* folder: the checkpoint that has the config, of rank 0 (the others are told), or NULL: the
 * options decide. Of the options only dropout counts beside a folder. */
Status train_model_config(GptConfig *config, const ModelOptions *options,
                          const char *folder, Dist *dist, Error *err);

/* The weights of that checkpoint into a new trainer of its config. */
Status train_model_start(Trainer *trainer, const char *checkpoint, Dist *dist,
                         Error *err);

/* STATUS_USAGE when an option that the checkpoint decides was given beside
 * --resume-from. */
Status train_model_check(const CommandInfo *info, int argc, char **argv, Error *err);

#endif
