#include "scripts/commands.h"

#include <stddef.h>

const Command *const COMMANDS[] = {
    NULL,
};
