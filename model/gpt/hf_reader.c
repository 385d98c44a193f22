#include "model/gpt/hf_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const HF_LAYERS[] = {"num_hidden_layers", "n_layer", "n_layers",
                                 "num_layers", NULL};
const char *const HF_WIDTH[] = {"hidden_size", "n_embd", "d_model", "n_embed", NULL};

Status hf_size_one(HfSize *out, const HfReader *reader, const char *field,
                   int64_t minimum, int64_t maximum, Error *err)
{
    *out = (HfSize){0, NULL};
    if (!json_has(reader->object, field))
        return STATUS_OK;
    TRY(json_get_int(&out->value, reader->object, field, minimum, maximum,
                     reader->where, err));
    out->field = field;
    return STATUS_OK;
}

Status hf_size(HfSize *out, const HfReader *reader, const char *const *spellings,
               int64_t maximum, Error *err)
{
    *out = (HfSize){0, NULL};
    for (; *spellings; spellings++) {
        HfSize size;
        TRY(hf_size_one(&size, reader, *spellings, 1, maximum, err));
        if (size.field && out->field && size.value != out->value)
            return error_set(err, STATUS_INPUT,
                             "%s: \"%s\" is %lld, but \"%s\" is %lld", reader->where,
                             out->field, (long long)out->value, size.field,
                             (long long)size.value);
        if (size.field && !out->field)
            *out = size;
    }
    return STATUS_OK;
}

Status hf_size_needed(HfSize *out, const HfReader *reader, const char *what,
                      const char *const *spellings, int64_t maximum, Error *err)
{
    TRY(hf_size(out, reader, spellings, maximum, err));
    if (out->field)
        return STATUS_OK;
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; spellings[i] && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"",
                                 i == 0             ? ""
                                 : spellings[i + 1] ? ", "
                                                    : " or ",
                                 spellings[i]);
    return error_set(err, STATUS_INPUT, "%s: the %s is missing: expected %s",
                     reader->where, what, list);
}

Status hf_switch(bool *out, const HfReader *reader, HfSwitch choice, Error *err)
{
    *out = choice.otherwise;
    if (choice.field == NULL || !json_has(reader->object, choice.field))
        return STATUS_OK;
    return json_get_bool(out, reader->object, choice.field, reader->where, err);
}

bool hf_missing(const HfReader *reader, const char *field)
{
    return json_object_get(reader->object, field) == NULL;
}

void hf_note(HfReader *reader, const char *format, ...)
{
    HfConfig *config = reader->config;
    if (config->note_count == HF_NOTES)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(config->notes[config->note_count++], HF_TEXT_SIZE, format, arguments);
    va_end(arguments);
}

void hf_source(HfReader *reader, const char *size, const char *format, ...)
{
    HfConfig *config = reader->config;
    if (config->source_count == HF_SOURCES)
        return;
    HfSource *source = &config->sources[config->source_count++];
    source->size = size;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(source->field, HF_TEXT_SIZE, format, arguments);
    va_end(arguments);
}

const char *hf_config_source(const HfConfig *config, const char *size)
{
    for (int64_t i = 0; i < config->source_count; i++)
        if (strcmp(config->sources[i].size, size) == 0)
            return config->sources[i].field;
    return "";
}
