/* A checkpoint with all that a command needs of it: the model, its tokenizer, its variants.
 *
 *     char path[PATH_SIZE];
 *     TRY(checkpoint_newest(path, "checkpoints", err));        or a path from the user
 *     TRY(checkpoint_open(&checkpoint, path, err));
 *     ...
 *     checkpoint_close(&checkpoint); */
#ifndef JUEJU_SCRIPTS_CHECKPOINT_OPEN_H
#define JUEJU_SCRIPTS_CHECKPOINT_OPEN_H

#include <stdbool.h>

#include "data/tokenizer.h"
#include "data/variants.h"
#include "model/base/files.h"
#include "model/gpt/gpt.h"

typedef struct {
    char folder[PATH_SIZE]; /* where it was found */
    Gpt gpt;
    Tokenizer tokenizer;
    Variants variants; /* empty when there is no variants.json */
    bool stream;       /* trained on running text: no <bos>, <eos> or fields */
} Checkpoint;

/* The checkpoint folder (one with config.json) that path means: path itself, or of a run
 * folder its best, else its last. Each is also found under the name that it has while it is
 * replaced (folder_resolve). STATUS_INPUT: neither. */
Status checkpoint_locate(char found[PATH_SIZE], const char *path, Error *err);

/* Of all runs and checkpoints in the folder `root` the one whose weights were written last,
 * located as above. STATUS_INPUT: there is none. */
Status checkpoint_newest(char found[PATH_SIZE], const char *root, Error *err);

/* The same of one kind only: those with an encoder (family couplet), or those without. */
typedef enum { CHECKPOINT_POEMS, CHECKPOINT_COUPLETS } CheckpointKind;
Status checkpoint_newest_of(char found[PATH_SIZE], const char *root,
                            CheckpointKind kind, Error *err);

/* Locates and reads. STATUS_INPUT names the damaged file, or says which two files do not
 * belong together. On failure *checkpoint is empty. */
Status checkpoint_open(Checkpoint *checkpoint, const char *path, Error *err);
void checkpoint_close(Checkpoint *checkpoint);

/* STATUS_INPUT when the model has an encoder (family couplet), for a command that knows a
 * decoder alone. */
Status checkpoint_expect_decoder(const Checkpoint *checkpoint, Error *err);

#endif
