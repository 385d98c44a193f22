#include "scripts/commands.h"

#include <stddef.h>

const Command *const COMMANDS[] = {
    &COMMAND_DATA,
    &COMMAND_TRAIN,
    &COMMAND_SAMPLE,
    &COMMAND_EVAL,
    &COMMAND_HEADS,
    &COMMAND_REGROUP,
    &COMMAND_GRADCHECK,
    &COMMAND_KV,
    &COMMAND_EXPORT,
    &COMMAND_TOKENIZE,
    &COMMAND_BENCH,
    &COMMAND_BENCH_DECODE,
    NULL,
};
