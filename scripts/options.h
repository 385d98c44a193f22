/* The one option table: it drives parsing, checking and --help of every command.
 *
 * A command has a struct of option values, filled with defaults, and a table that says
 * where each value lives:
 *
 *     typedef struct { int64_t count; double temperature; const char *prompt; bool json; }
 *         SampleOptions;
 *     static const Option OPTIONS[] = {
 *         {"count", 'n', OPTION_INT, offsetof(SampleOptions, count), "N", "poems", 1, 1e6,
 *          NULL},
 *         {.name = "json",
 *          .kind = OPTION_FLAG,
 *          .offset = offsetof(SampleOptions, json),
 *          .help = "one JSON object a poem"},
 *         ...
 *         {0}};
 */
#ifndef JUEJU_SCRIPTS_OPTIONS_H
#define JUEJU_SCRIPTS_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/base/error.h"

typedef enum {
    OPTION_FLAG,   /* bool: --json; --no-json turns it off */
    OPTION_INT,    /* int64_t within minimum .. maximum */
    OPTION_REAL,   /* double within minimum .. maximum, never NaN */
    OPTION_TEXT,   /* const char *, points into argv */
    OPTION_CHOICE, /* int: index into choices */
} OptionKind;

typedef struct {
    const char *name; /* without the dashes */
    char letter;      /* short form, or 0 */
    OptionKind kind;
    size_t offset;        /* of the value in the command's struct */
    const char *argument; /* what --help calls the value; NULL for flags */
    const char *help;
    double minimum, maximum;    /* OPTION_INT and OPTION_REAL; both 0: no limits;
                                   HUGE_VAL as the maximum: open upwards */
    const char *const *choices; /* OPTION_CHOICE: names, NULL at the end */
} Option;

/* What --help prints of a command, besides its options. */
typedef struct {
    const char *name;      /* "sample" */
    const char *arguments; /* "CHECKPOINT", "" when there are none */
    const char *summary;   /* one line, also in the list of commands */
    const char *details;   /* more for --help, or NULL; a line is a paragraph, unless it
                              begins with a space: then it is printed as it is */
    const Option *options; /* ends with a zero entry */
    int minimum_arguments, maximum_arguments;
} CommandInfo;

/* Reads argv[1..] (argv[0] is the command's name) into *values, which holds the defaults.
 * Positional arguments go to positional[0..*positional_count-1] in order: room for
 * info->maximum_arguments is the caller's. "--" ends the options; --name=value,
 * --name value, -n value, -nvalue and groups such as -jn5 are fine; of an option given
 * twice the last one counts. A value that begins with '-' and is not a number needs the
 * form --name=value. Numbers are decimal and finite.
 *
 * Every mistake (unknown option with the nearest known name, value missing, not a number,
 * out of range, too many or too few arguments) is STATUS_USAGE and names the option.
 * *help is set when --help or -h was met: the rest of argv is not read, and the caller
 * prints help. */
Status options_parse(const CommandInfo *info, void *values, int argc, char **argv,
                     const char **positional, int *positional_count, bool *help,
                     Error *err);

/* Whether the user gave the option (and did not leave its default). */
bool options_given(const CommandInfo *info, int argc, char **argv, const char *name);

/* Usage, summary, each option with its default taken from *defaults. */
void options_help(const CommandInfo *info, const void *defaults, FILE *stream);

#endif
