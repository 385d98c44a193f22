#include "scripts/recipe.h"

#include <string.h>

static const void *at(const Option *option, const void *values)
{
    return (const char *)values + option->offset;
}

static json_t *value_to_json(const Option *option, const void *value)
{
    switch (option->kind) {
    case OPTION_FLAG:
        return json_boolean(*(const bool *)value);
    case OPTION_INT:
        return json_integer((json_int_t) * (const int64_t *)value);
    case OPTION_REAL:
        return json_real(*(const double *)value);
    case OPTION_TEXT:
        return *(const char *const *)value != NULL
                   ? json_string(*(const char *const *)value)
                   : json_null();
    case OPTION_CHOICE:
        return json_string(option->choices[*(const int *)value]);
    }
    return NULL;
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(name, *list) == 0)
            return true;
    }
    return false;
}

json_t *recipe_from_options(const CommandInfo *info, const void *values,
                            const char *const *without)
{
    json_t *recipe = json_object();
    for (const Option *option = info->options; option->name != NULL; option++) {
        if (!is_listed(option->name, without))
            json_object_set_new(recipe, option->name,
                                value_to_json(option, at(option, values)));
    }
    return recipe;
}

static Status wrong(const Option *option, const char *where, Error *err)
{
    return error_set(err, STATUS_INPUT, "%s: options: the value of \"%s\" is not valid",
                     where, option->name);
}

static Status take_choice(const Option *option, void *value, const char *name,
                          const char *where, Error *err)
{
    for (int i = 0; name != NULL && option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], name) == 0) {
            *(int *)value = i;
            return STATUS_OK;
        }
    }
    return wrong(option, where, err);
}

static bool in_range(const Option *option, double value)
{
    return (option->minimum == 0 && option->maximum == 0) ||
           (value >= option->minimum && value <= option->maximum);
}

static Status take(const Option *option, void *value, const json_t *json,
                   const char *where, Error *err)
{
    switch (option->kind) {
    case OPTION_FLAG:
        if (!json_is_boolean(json))
            return wrong(option, where, err);
        *(bool *)value = json_is_true(json);
        return STATUS_OK;
    case OPTION_INT:
        if (!json_is_integer(json) || !in_range(option, json_number_value(json)))
            return wrong(option, where, err);
        *(int64_t *)value = json_integer_value(json);
        return STATUS_OK;
    case OPTION_REAL:
        if (!json_is_number(json) || !in_range(option, json_number_value(json)))
            return wrong(option, where, err);
        *(double *)value = json_number_value(json);
        return STATUS_OK;
    case OPTION_TEXT:
        if (!json_is_string(json) && !json_is_null(json))
            return wrong(option, where, err);
        *(const char **)value = json_string_value(json);
        return STATUS_OK;
    case OPTION_CHOICE:
        return take_choice(option, value, json_string_value(json), where, err);
    }
    return wrong(option, where, err);
}

Status recipe_to_options(const CommandInfo *info, void *values, const json_t *recipe,
                         int argc, char **argv, const char *where, Error *err)
{
    for (const Option *option = info->options; option->name != NULL; option++) {
        const json_t *saved = json_object_get(recipe, option->name);
        if (saved == NULL)
            continue;
        void *value = (char *)values + option->offset;
        if (options_given(info, argc, argv, option->name)) {
            json_t *given = value_to_json(option, value);
            bool same = json_equal(given, (json_t *)(uintptr_t)saved) != 0;
            json_decref(given);
            if (!same)
                return error_set(
                    err, STATUS_USAGE,
                    "--%s differs from what this run was started with (%s): "
                    "leave it out, or start a new run",
                    option->name, where);
        }
        TRY(take(option, value, saved, where, err));
    }
    return STATUS_OK;
}
