/* One walk over argv (walk_next) turns it into items: an option with its value, or a
 * positional argument. options_parse stores what the items say, options_given only looks,
 * so that both always agree on what an argument is. */
#include "scripts/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/console.h"
#include "scripts/nearest.h"

typedef enum { ITEM_END, ITEM_OPTION, ITEM_POSITIONAL, ITEM_HELP } ItemKind;

typedef struct {
    ItemKind kind;
    const Option *option;
    const char *value; /* of an option with an argument, or the positional itself */
    bool on;           /* of a flag */
} Item;

typedef struct {
    const CommandInfo *info;
    int argc, next;
    char **argv;
    const char *letters;  /* rest of a group of short options ("-jn5"), or NULL */
    bool only_positional; /* "--" was seen */
} Walk;

static const Option *find_option(const CommandInfo *info, const char *name,
                                 size_t length)
{
    for (const Option *option = info->options; option->name; option++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const Option *find_letter(const CommandInfo *info, char letter)
{
    for (const Option *option = info->options; option->name; option++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static Status unknown_option(const CommandInfo *info, const char *name, size_t length,
                             Error *err)
{
    char word[64] = "";
    if (length < sizeof word)
        memcpy(word, name, length);
    bool negated = strncmp(word, "no-", 3) == 0;
    Nearest nearest = nearest_start(negated ? word + 3 : word);
    for (const Option *option = info->options; option->name; option++)
        if (!negated || option->kind == OPTION_FLAG)
            nearest_try(&nearest, option->name);
    if (!negated)
        nearest_try(&nearest, "help");
    if (nearest.name)
        return error_set(err, STATUS_USAGE,
                         "%s: unknown option --%.*s; did you mean --%s%s?", info->name,
                         (int)length, name, negated ? "no-" : "", nearest.name);
    return error_set(err, STATUS_USAGE,
                     "%s: unknown option --%.*s (jueju %s --help lists the options)",
                     info->name, (int)length, name, info->name);
}

/* Takes the next argument as the value of an option that was written without one.
 *
 * A word that looks like an option is not taken: "--prompt --json" is far more often a
 * forgotten prompt than a prompt that reads "--json". Negative numbers are taken. */
static Status take_value(Walk *walk, Item *item, Error *err)
{
    const Option *option = item->option;
    if (walk->next == walk->argc)
        return error_set(err, STATUS_USAGE, "%s: --%s needs a value: --%s %s",
                         walk->info->name, option->name, option->name,
                         option->argument);
    const char *word = walk->argv[walk->next];
    bool number = option->kind == OPTION_INT || option->kind == OPTION_REAL;
    if (word[0] == '-' && word[1] && (!number || word[1] == '-'))
        return error_set(err, STATUS_USAGE,
                         "%s: --%s needs a value, but %s follows (write --%s=%s if "
                         "that is the value)",
                         walk->info->name, option->name, word, option->name, word);
    item->value = word;
    walk->next++;
    return STATUS_OK;
}

static Status walk_letter(Walk *walk, Item *item, Error *err)
{
    char letter = *walk->letters++;
    const char *rest = walk->letters;
    if (*rest == '\0')
        walk->letters = NULL;
    item->option = find_letter(walk->info, letter);
    if (!item->option && letter == 'h') {
        item->kind = ITEM_HELP;
        return STATUS_OK;
    }
    if (!item->option)
        return error_set(err, STATUS_USAGE,
                         "%s: unknown option -%c in %s (jueju %s --help lists the "
                         "options)",
                         walk->info->name, letter, walk->argv[walk->next - 1],
                         walk->info->name);
    item->kind = ITEM_OPTION;
    item->on = true;
    if (item->option->kind == OPTION_FLAG)
        return STATUS_OK;
    walk->letters = NULL;
    if (*rest == '\0')
        return take_value(walk, item, err);
    item->value = *rest == '=' ? rest + 1 : rest;
    return STATUS_OK;
}

static Status walk_long(Walk *walk, const char *name, Item *item, Error *err)
{
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    item->kind = ITEM_OPTION;
    item->on = true;
    item->option = find_option(walk->info, name, length);
    if (!item->option && length > 3 && strncmp(name, "no-", 3) == 0) {
        item->option = find_option(walk->info, name + 3, length - 3);
        item->on = false;
        if (item->option && item->option->kind != OPTION_FLAG)
            return error_set(err, STATUS_USAGE,
                             "%s: --%s takes a value and cannot be turned off by --no-",
                             walk->info->name, item->option->name);
    }
    if (!item->option && length == 4 && memcmp(name, "help", 4) == 0 && !equals) {
        item->kind = ITEM_HELP;
        return STATUS_OK;
    }
    if (!item->option)
        return unknown_option(walk->info, name, length, err);
    if (item->option->kind == OPTION_FLAG) {
        if (equals)
            return error_set(err, STATUS_USAGE, "%s: --%.*s takes no value, found '%s'",
                             walk->info->name, (int)length, name, equals + 1);
        return STATUS_OK;
    }
    if (!equals)
        return take_value(walk, item, err);
    item->value = equals + 1;
    return STATUS_OK;
}

static Status walk_next(Walk *walk, Item *item, Error *err)
{
    *item = (Item){ITEM_END, NULL, NULL, false};
    if (walk->letters)
        return walk_letter(walk, item, err);
    if (walk->next < walk->argc && !walk->only_positional &&
        strcmp(walk->argv[walk->next], "--") == 0) {
        walk->only_positional = true;
        walk->next++;
    }
    if (walk->next >= walk->argc)
        return STATUS_OK;
    const char *word = walk->argv[walk->next++];
    if (walk->only_positional || word[0] != '-' || word[1] == '\0') {
        item->kind = ITEM_POSITIONAL;
        item->value = word;
        return STATUS_OK;
    }
    if (word[1] == '-')
        return walk_long(walk, word + 2, item, err);
    walk->letters = word + 1;
    return walk_letter(walk, item, err);
}

static bool has_limits(const Option *option)
{
    return option->minimum != 0 || option->maximum != 0;
}

static Status bad_number(const CommandInfo *info, const Option *option,
                         const char *value, Error *err)
{
    const char *kind = option->kind == OPTION_INT ? "a whole number" : "a number";
    if (!has_limits(option))
        return error_set(err, STATUS_USAGE, "%s: --%s: expected %s, found '%s'",
                         info->name, option->name, kind, value);
    if (isinf(option->maximum))
        return error_set(err, STATUS_USAGE,
                         "%s: --%s: expected %s of at least %.16g, found '%s'",
                         info->name, option->name, kind, option->minimum, value);
    return error_set(
        err, STATUS_USAGE, "%s: --%s: expected %s from %.16g to %.16g, found '%s'",
        info->name, option->name, kind, option->minimum, option->maximum, value);
}

/* Decimal digits with an optional sign, nothing around them, within int64_t. */
static bool read_int(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return false;
    *out = value;
    return true;
}

/* A decimal number, finite. The letters allowed rule out nan, inf and hexadecimal; the
 * program never calls setlocale, so the point is always '.'. */
static bool read_real(const char *text, double *out)
{
    if (*text == '\0' || text[strspn(text, "+-.0123456789eE")] != '\0')
        return false;
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return false;
    *out = value;
    return true;
}

static Status bad_choice(const CommandInfo *info, const Option *option,
                         const char *value, Error *err)
{
    char list[512] = "";
    size_t used = 0;
    Nearest nearest = nearest_start(value);
    for (int i = 0; option->choices[i]; i++) {
        nearest_try(&nearest, option->choices[i]);
        int wrote = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                             option->choices[i]);
        if (wrote < 0 || (size_t)wrote >= sizeof list - used)
            break;
        used += (size_t)wrote;
    }
    return error_set(err, STATUS_USAGE,
                     "%s: --%s: expected one of %s; found '%s'%s%s%s", info->name,
                     option->name, list, value, nearest.name ? "; did you mean " : "",
                     nearest.name ? nearest.name : "", nearest.name ? "?" : "");
}

static Status store(const CommandInfo *info, const Item *item, void *values, Error *err)
{
    const Option *option = item->option;
    void *place = (char *)values + option->offset;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)place = item->on;
        return STATUS_OK;
    case OPTION_TEXT:
        *(const char **)place = item->value;
        return STATUS_OK;
    case OPTION_INT: {
        /* long double holds every int64_t and every limit exactly. */
        int64_t value;
        if (!read_int(item->value, &value) ||
            (has_limits(option) && ((long double)value < (long double)option->minimum ||
                                    (long double)value > (long double)option->maximum)))
            return bad_number(info, option, item->value, err);
        *(int64_t *)place = value;
        return STATUS_OK;
    }
    case OPTION_REAL: {
        double value;
        if (!read_real(item->value, &value) ||
            (has_limits(option) &&
             !(value >= option->minimum && value <= option->maximum)))
            return bad_number(info, option, item->value, err);
        *(double *)place = value;
        return STATUS_OK;
    }
    case OPTION_CHOICE:
        for (int i = 0; option->choices[i]; i++) {
            if (strcmp(option->choices[i], item->value) == 0) {
                *(int *)place = i;
                return STATUS_OK;
            }
        }
        return bad_choice(info, option, item->value, err);
    }
    return STATUS_OK;
}

Status options_parse(const CommandInfo *info, void *values, int argc, char **argv,
                     const char **positional, int *positional_count, bool *help,
                     Error *err)
{
    Walk walk = {.info = info, .argc = argc, .next = 1, .argv = argv};
    *positional_count = 0;
    *help = false;
    for (;;) {
        Item item;
        TRY(walk_next(&walk, &item, err));
        switch (item.kind) {
        case ITEM_END:
            if (*positional_count < info->minimum_arguments)
                return error_set(err, STATUS_USAGE,
                                 "%s: an argument is missing: jueju %s [OPTIONS] %s",
                                 info->name, info->name, info->arguments);
            return STATUS_OK;
        case ITEM_HELP:
            *help = true;
            return STATUS_OK;
        case ITEM_POSITIONAL:
            if (*positional_count == info->maximum_arguments)
                return error_set(err, STATUS_USAGE,
                                 "%s: unexpected argument '%s': jueju %s [OPTIONS] %s",
                                 info->name, item.value, info->name, info->arguments);
            positional[(*positional_count)++] = item.value;
            break;
        case ITEM_OPTION:
            TRY(store(info, &item, values, err));
            break;
        }
    }
}

bool options_given(const CommandInfo *info, int argc, char **argv, const char *name)
{
    Walk walk = {.info = info, .argc = argc, .next = 1, .argv = argv};
    Item item;
    while (walk_next(&walk, &item, NULL) == STATUS_OK && item.kind != ITEM_END)
        if (item.kind == ITEM_OPTION && strcmp(item.option->name, name) == 0)
            return true;
    return false;
}
