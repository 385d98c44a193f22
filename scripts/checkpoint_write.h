/* Writes a checkpoint that was made from another one, by cutting or grouping its heads: the
 * new model with the old one's tokenizer and variants, and origin.json, which says where it
 * came from. It has no training state: `jueju train --resume-from` starts a run with it. */
#ifndef JUEJU_SCRIPTS_CHECKPOINT_WRITE_H
#define JUEJU_SCRIPTS_CHECKPOINT_WRITE_H

#include <stdbool.h>

#include "scripts/checkpoint_open.h"

/* Where it goes: out, or by default the old checkpoint's folder as the user gave it (a last
 * part "best" or "last" left out) with the suffix behind it. STATUS_USAGE: something is
 * there already and overwrite is not set. */
Status checkpoint_write_target(char folder[PATH_SIZE], const char *out,
                               const char *given, const char *suffix, bool overwrite,
                               Error *err);

/* Writes gpt into folder, in one step: at any moment the old content or the new one is
 * there. how: "regroup --kv-heads 2". */
Status checkpoint_write(const Gpt *gpt, const Checkpoint *from, const char *folder,
                        const char *how, Error *err);

#endif
