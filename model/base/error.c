#include "model/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drops the bytes of a last UTF-8 character that vsnprintf cut in two. */
static void trim_partial_character(char *text)
{
    size_t length = strlen(text);
    size_t start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (length - (start - 1) < need)
        text[start - 1] = '\0';
}

static void format_message(Error *err, Status status, const char *format, va_list list)
{
    err->status = status;
    vsnprintf(err->message, sizeof err->message, format, list);
    trim_partial_character(err->message);
}

Status error_set(Error *err, Status status, const char *format, ...)
{
    if (err != NULL) {
        va_list list;
        va_start(list, format);
        format_message(err, status, format, list);
        va_end(list);
    }
    return status;
}

Status error_errno(Error *err, const char *format, ...)
{
    int number = errno;
    if (err != NULL) {
        va_list list;
        va_start(list, format);
        format_message(err, STATUS_IO, format, list);
        va_end(list);
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s",
                 strerror(number));
    }
    return STATUS_IO;
}

Status error_context(Error *err, const char *format, ...)
{
    if (err == NULL)
        return STATUS_INPUT;
    char inner[sizeof err->message];
    memcpy(inner, err->message, sizeof inner);
    va_list list;
    va_start(list, format);
    format_message(err, err->status, format, list);
    va_end(list);
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", inner);
    trim_partial_character(err->message);
    return err->status;
}
