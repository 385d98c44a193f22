#include "data/converter.h"

#include <string.h>

#include "data/characters.h"
#include "data/utf8.h"
#include "model/base/memory.h"

Status converter_open(opencc_t *converter, const char *config, Error *err)
{
    *converter = opencc_open(config);
    if (*converter == (opencc_t)-1) {
        *converter = NULL;
        return error_set(err, STATUS_IO, "OpenCC: cannot open %s: %s", config,
                         opencc_error());
    }
    return STATUS_OK;
}

void converter_close(opencc_t converter)
{
    if (converter != NULL)
        opencc_close(converter);
}

/* One character a line goes through OpenCC in one call: a call costs far more than a
 * character, and no phrase of its dictionaries reaches over a line end. */
Status converter_map(const char *config, uint32_t *mapped, const uint32_t *points,
                     size_t count, Error *err)
{
    char *text, *result = NULL;
    size_t used = 0, index = 0;
    opencc_t converter;
    TRY(memory_allocate(&text, count, UTF8_MAXIMUM + 1, "characters to convert", err));
    for (size_t i = 0; i < count; i++) {
        if (clean_is_han(points[i]))
            used += utf8_encode(text + used, points[i]);
        text[used++] = '\n';
    }
    Status status = converter_open(&converter, config, err);
    if (status == STATUS_OK && used > 0) {
        result = opencc_convert_utf8(converter, text, used);
        if (result == NULL)
            status = error_set(err, STATUS_IO, "OpenCC: cannot convert with %s: %s",
                               config, opencc_error());
    }
    converter_close(converter);
    memory_free(text);
    size_t size = result != NULL ? strlen(result) : 0;
    for (size_t start = 0; start < size && index < count; index++) {
        const char *line = result + start;
        size_t length = (size_t)(strchr(line, '\n') - line);
        uint32_t point = points[index];
        /* Two characters for one (none in OpenCC 1.1) would be no image to fold to. */
        if (length > 0 &&
            utf8_decode(&point, (const unsigned char *)line, length) != length)
            point = points[index];
        mapped[index] = point;
        start += length + 1;
    }
    if (result != NULL)
        opencc_convert_utf8_free(result);
    if (status == STATUS_OK && index != count)
        status =
            error_set(err, STATUS_IO, "OpenCC: %s gave %zu lines for %zu characters",
                      config, index, count);
    return status;
}
