/* The command table of the jueju program; each command lives in its cmd_NAME.c. */
#ifndef JUEJU_SCRIPTS_COMMANDS_H
#define JUEJU_SCRIPTS_COMMANDS_H

#include "model/base/error.h"
#include "scripts/options.h"

typedef struct {
    const CommandInfo *info;
    /* argv[0] is the command's name. Results go to stdout, notes to stderr. */
    Status (*run)(int argc, char **argv, Error *err);
} Command;

extern const Command COMMAND_DATA;
extern const Command COMMAND_TRAIN;
extern const Command COMMAND_SAMPLE;
extern const Command COMMAND_EVAL;
extern const Command COMMAND_HEADS;
extern const Command COMMAND_REGROUP;
extern const Command COMMAND_GRADCHECK;
extern const Command COMMAND_KV;
extern const Command COMMAND_EXPORT;
extern const Command COMMAND_TOKENIZE;
extern const Command COMMAND_BENCH;
extern const Command COMMAND_BENCH_DECODE;

/* All commands in the order of `jueju --help`, NULL at the end. A new command is a line in
 * commands.c. */
extern const Command *const COMMANDS[];

/* Options that every command has; put COMMON_OPTIONS(Struct) into its table and a member
 * `CommonOptions common` into its struct. */
typedef struct {
    int64_t seed;
    int64_t threads; /* 0: as many as there are processors */
} CommonOptions;

#define COMMON_OPTIONS(Struct)                                                         \
    {"seed",     0,                                                                    \
     OPTION_INT, offsetof(Struct, common.seed),                                        \
     "N",        "seed of every random choice",                                        \
     0,          9007199254740992.0,                                                   \
     NULL},                                                                            \
    {                                                                                  \
        "threads", 0, OPTION_INT, offsetof(Struct, common.threads), "N",               \
            "threads; 0 means one per processor", 0, 4096, NULL                        \
    }

#endif
