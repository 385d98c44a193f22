/* A checkpoint is a folder that needs nothing outside itself (checkpoints/README.md):
 *
 *     config.json model.safetensors generation_config.json      model/gpt/weights.h
 *     tokenizer.json variants.json                              from the prepared set
 *     metrics.jsonl                                             the log so far
 *     training/optimizer.safetensors training/state.json        for a resume
 *
 * It is written under another name and swapped in as a whole (model/base/files.h). */
#ifndef JUEJU_TRAIN_CHECKPOINT_H
#define JUEJU_TRAIN_CHECKPOINT_H

#include "model/base/files.h"
#include "model/gpt/config_file.h"
#include "train/trainer.h"

/* tokenizer.json and variants.json of the set stay mapped while the trainer lives, so that a
 * set that is prepared again meanwhile cannot get into this run's checkpoints. */
enum { CHECKPOINT_COPIED = 2 };
Status checkpoint_map(Trainer *trainer, Error *err);
void checkpoint_unmap(Trainer *trainer);

/* What a model must know of its tokenizer's specials; running text (a stream set) has none. */
ModelTokens checkpoint_tokens(bool stream);

/* Writes FOLDER/name of the run, "last" or "best". */
Status checkpoint_save(const Trainer *trainer, const char *name, Error *err);

/* Fills a freshly created trainer from a checkpoint folder. */
Status checkpoint_restore(Trainer *trainer, const char *folder, Error *err);

/* Takes the weights of a checkpoint, and nothing else, into a freshly created trainer. */
Status checkpoint_start(Trainer *trainer, const char *folder, Error *err);

/* The recipe that trainer options were saved with, a new reference. */
Status checkpoint_recipe(json_t **recipe, const char *folder, Error *err);

/* The folder of the prepared set that the run was trained on, from training/state.json or
 * the origin.json of a checkpoint made from another; STATUS_INPUT when it does not say. */
Status checkpoint_set(char path[PATH_SIZE], const char *folder, Error *err);

#endif
