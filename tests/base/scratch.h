/* A folder of its own for a test, and what tests of files need to say quickly. */
#ifndef JUEJU_TESTS_BASE_SCRATCH_H
#define JUEJU_TESTS_BASE_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/base/files.h"

/* A new empty folder below TMPDIR (or the system's usual place); aborts on failure. */
static inline void scratch_create(char folder[PATH_SIZE])
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, PATH_SIZE, "%s/jueju-test-XXXXXX",
             base != NULL && base[0] != '\0' ? base : P_tmpdir);
    if (mkdtemp(folder) == NULL)
        abort();
}

/* The path of name in folder, in a buffer of the caller; returns it. */
static inline const char *scratch_path(char path[PATH_SIZE], const char *folder,
                                       const char *name)
{
    if (path_join(path, folder, name, NULL) != STATUS_OK)
        abort();
    return path;
}

static inline void scratch_write(const char *path, const void *data, size_t size)
{
    FILE *stream = fopen(path, "wb");
    if (stream == NULL || fwrite(data, 1, size, stream) != size || fclose(stream) != 0)
        abort();
}

static inline void scratch_text(const char *path, const char *text)
{
    scratch_write(path, text, strlen(text));
}

/* Whether the file at path holds exactly text. */
static inline bool scratch_holds(const char *path, const char *text)
{
    char found[4096];
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return false;
    size_t size = fread(found, 1, sizeof found, stream);
    fclose(stream);
    return size == strlen(text) && memcmp(found, text, size) == 0;
}

static inline void scratch_remove(const char *folder)
{
    folder_remove(folder, NULL);
}

#endif
