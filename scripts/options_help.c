/* --help: printed from the same table that drives parsing. */
#include <string.h>

#include "scripts/console.h"
#include "scripts/options.h"

enum { WIDTH = 80, LINE_SIZE = 1024 };

static void spaces(int count, FILE *stream)
{
    fprintf(stream, "%*s", count > 0 ? count : 0, "");
}

/* Prints text without line feeds at `column` (where the cursor is now), broken at spaces to
 * fit WIDTH. */
static void print_wrapped(const char *text, int column, FILE *stream)
{
    int at = column;
    while (*text) {
        size_t length = strcspn(text, " ");
        char word[LINE_SIZE];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        int width = console_width(word);
        if (at > column && at + 1 + width > WIDTH) {
            putc('\n', stream);
            spaces(column, stream);
            at = column;
        } else if (at > column) {
            putc(' ', stream);
            at++;
        }
        fputs(word, stream);
        at += width;
        text += length;
        text += strspn(text, " ");
    }
    putc('\n', stream);
}

/* Lines of details are paragraphs; one that begins with a space (an example) is printed as
 * it is. */
static void print_paragraphs(const char *text, FILE *stream)
{
    putc('\n', stream);
    while (*text) {
        size_t length = strcspn(text, "\n");
        char line[LINE_SIZE];
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (length == 0 || length >= sizeof line || *text == ' ')
            fprintf(stream, "%.*s\n", (int)length, text);
        else
            print_wrapped(line, 0, stream);
        text += length;
        text += *text == '\n';
    }
}

/* "-n, --count N", "    --[no-]json", "    --init normal|identical-heads". */
static void option_usage(const Option *option, char *buffer, size_t size)
{
    char argument[LINE_SIZE] = "";
    if (option->argument) {
        snprintf(argument, sizeof argument, " %s", option->argument);
    } else if (option->kind == OPTION_CHOICE) {
        size_t used = 0;
        for (int i = 0; option->choices[i] && used < sizeof argument; i++)
            used += (size_t)snprintf(argument + used, sizeof argument - used, "%s%s",
                                     i ? "|" : " ", option->choices[i]);
    }
    char letter[5] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(buffer, size, "%s--%s%s%s", letter,
             option->kind == OPTION_FLAG ? "[no-]" : "", option->name, argument);
}

static void option_default(const Option *option, const void *defaults, char *buffer,
                           size_t size)
{
    const void *place = (const char *)defaults + option->offset;
    buffer[0] = '\0';
    switch (option->kind) {
    case OPTION_FLAG:
        snprintf(buffer, size, " (default: %s)", *(const bool *)place ? "on" : "off");
        break;
    case OPTION_INT:
        snprintf(buffer, size, " (default: %lld)", (long long)*(const int64_t *)place);
        break;
    case OPTION_REAL:
        snprintf(buffer, size, " (default: %g)", *(const double *)place);
        break;
    case OPTION_TEXT:
        if (*(const char *const *)place && **(const char *const *)place)
            snprintf(buffer, size, " (default: %s)", *(const char *const *)place);
        break;
    case OPTION_CHOICE:
        snprintf(buffer, size, " (default: %s)", option->choices[*(const int *)place]);
        break;
    }
}

void options_help(const CommandInfo *info, const void *defaults, FILE *stream)
{
    fprintf(stream, "usage: jueju %s [OPTIONS]%s%s\n\n", info->name,
            *info->arguments ? " " : "", info->arguments);
    print_wrapped(info->summary, 0, stream);
    if (info->details)
        print_paragraphs(info->details, stream);
    fputs("\noptions:\n", stream);

    /* Help stands behind the longest usage, but not further right than the middle; a
     * usage that is longer has a line of its own. */
    char usage[LINE_SIZE], text[LINE_SIZE], value[LINE_SIZE / 2];
    int column = 0;
    for (const Option *option = info->options; option->name; option++) {
        option_usage(option, usage, sizeof usage);
        int width = 2 + console_width(usage) + 2;
        if (width > column && width <= WIDTH / 2)
            column = width;
    }
    if (column < 16)
        column = 16;
    for (const Option *option = info->options; option->name; option++) {
        option_usage(option, usage, sizeof usage);
        option_default(option, defaults, value, sizeof value);
        snprintf(text, sizeof text, "%.500s%s", option->help, value);
        fprintf(stream, "  %s", usage);
        int at = 2 + console_width(usage);
        if (at + 2 > column) {
            putc('\n', stream);
            at = 0;
        }
        spaces(column - at, stream);
        print_wrapped(text, column, stream);
    }
    fputs("  -h, --help", stream);
    spaces(column - 12, stream);
    fputs("this text\n", stream);
}
