#include "scripts/commands.h"

#include <stddef.h>

const Command *const COMMANDS[] = {
    &COMMAND_DATA,      &COMMAND_TRAIN, &COMMAND_SAMPLE, &COMMAND_EVAL, &COMMAND_HEADS,
    &COMMAND_GRADCHECK, &COMMAND_KV,    &COMMAND_BENCH,  NULL,
};
