/* jueju COMMAND: finds the command in the table, runs it, prints the error, exits.
 *
 * Nothing else in the program prints an error or calls exit. */
#include <stdlib.h>
#include <string.h>

#include "model/base/real.h"
#include "scripts/commands.h"
#include "scripts/console.h"
#include "scripts/nearest.h"
#include "scripts/startup.h"
#include "train/dist.h"

#ifndef JUEJU_VERSION
#define JUEJU_VERSION "unknown"
#endif

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

static int exit_code(Status status)
{
    switch (status) {
    case STATUS_OK:
        return EXIT_SUCCESS;
    case STATUS_USAGE:
    case STATUS_INPUT:
        return EXIT_USAGE;
    case STATUS_INTERRUPTED:
        return EXIT_INTERRUPTED;
    case STATUS_IO:
    case STATUS_MEMORY:
    case STATUS_NUMERIC:
        break;
    }
    return EXIT_FAILED;
}

static void print_usage(FILE *stream)
{
    fputs(
        "jueju trains a small GPT on classical Chinese poetry and samples from it.\n\n"
        "usage: jueju COMMAND [OPTIONS] [ARGUMENTS]\n"
        "       jueju help COMMAND\n"
        "       jueju --version\n",
        stream);
    if (COMMANDS[0])
        fputs("\ncommands:\n", stream);
    for (const Command *const *command = COMMANDS; *command; command++)
        fprintf(stream, "  %-13s%s\n", (*command)->info->name,
                (*command)->info->summary);
}

static Status find_command(const char *name, const Command **found, Error *err)
{
    Nearest nearest = nearest_start(name);
    nearest_try(&nearest, "help");
    for (const Command *const *command = COMMANDS; *command; command++) {
        if (strcmp((*command)->info->name, name) == 0) {
            *found = *command;
            return STATUS_OK;
        }
        nearest_try(&nearest, (*command)->info->name);
    }
    const char *kind = name[0] == '-' ? "option" : "command";
    if (nearest.name)
        return error_set(err, STATUS_USAGE, "unknown %s '%s'; did you mean %s?", kind,
                         name, nearest.name);
    return error_set(err, STATUS_USAGE,
                     "unknown %s '%s' (jueju --help lists the commands)", kind, name);
}

static Status run_help(int argc, char **argv, Error *err)
{
    if (argc > 3)
        return error_set(err, STATUS_USAGE, "help: unexpected argument '%s'", argv[3]);
    if (argc < 3) {
        print_usage(stdout);
        return STATUS_OK;
    }
    if (strcmp(argv[2], "help") == 0) {
        print_usage(stdout);
        return STATUS_OK;
    }
    const Command *command;
    TRY(find_command(argv[2], &command, err));
    char flag[] = "--help";
    char *words[] = {argv[2], flag, NULL};
    return command->run(2, words, err);
}

static Status run(int argc, char **argv, Error *err)
{
    if (argc < 2) {
        print_usage(stderr);
        return error_set(err, STATUS_USAGE, "a command is missing");
    }
    const char *word = argv[1];
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
        strcmp(word, "-h") == 0)
        return run_help(argc, argv, err);
    if (strcmp(word, "--version") == 0) {
        char library[DIST_NAME_SIZE];
        bool ranks = dist_library(library);
        printf("jueju %s (%s%s%s)\n", JUEJU_VERSION, REAL_NAME, ranks ? ", " : "",
               library);
        return STATUS_OK;
    }
    const Command *command;
    TRY(find_command(word, &command, err));
    return command->run(argc - 1, argv + 1, err);
}

int main(int argc, char **argv)
{
    console_open_standard();
    startup_blas(argv);

    Error err = {0};
    Status status = run(argc, argv, &err);

    /* Lost output is a failure even when all else went well. */
    Error output = {0};
    Status written = console_close_output(&output);
    if (status == STATUS_OK && written != STATUS_OK) {
        status = written;
        err = output;
    }
    if (status != STATUS_OK) {
        fputs("jueju: ", stderr);
        console_print_safe(err.message, stderr);
        putc('\n', stderr);
    }
    return exit_code(status);
}
