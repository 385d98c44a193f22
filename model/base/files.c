#include "model/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/base/temporary.h"

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISFIFO(mode))
        return "a pipe";
    if (S_ISSOCK(mode))
        return "a socket";
    return "a device";
}

/* Size and kind of an open file; *map is filled when it can be mapped. */
static Status map_descriptor(FileMap *map, int descriptor, const char *path, Error *err)
{
    struct stat entry;
    if (fstat(descriptor, &entry) != 0)
        return error_errno(err, "%s: cannot examine", path);
    if (!S_ISREG(entry.st_mode))
        return error_set(err, STATUS_INPUT, "%s: expected a file, found %s", path,
                         kind_of(entry.st_mode));
    if ((uintmax_t)entry.st_size > SIZE_MAX / 2)
        return error_set(err, STATUS_INPUT, "%s: too large for this machine", path);
    size_t size = (size_t)entry.st_size;
    if (size == 0)
        return STATUS_OK;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
        return error_errno(err, "%s: cannot map", path);
    *map = (FileMap){.data = data, .size = size};
    return STATUS_OK;
}

Status file_map(FileMap *map, const char *path, Error *err)
{
    *map = (FileMap){.data = (const unsigned char *)"", .size = 0};
    /* O_NONBLOCK: opening a pipe without a writer must not wait. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return error_errno(err, "%s: cannot open", path);
    Status status = map_descriptor(map, descriptor, path, err);
    close(descriptor);
    return status;
}

void file_unmap(FileMap *map)
{
    if (map->size > 0)
        munmap((void *)(uintptr_t)map->data, map->size);
    *map = (FileMap){.data = (const unsigned char *)"", .size = 0};
}

bool file_exists(const char *path)
{
    struct stat entry;
    return stat(path, &entry) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat entry;
    return stat(path, &entry) == 0 && S_ISDIR(entry.st_mode);
}

Status path_join(char path[PATH_SIZE], const char *first, const char *second,
                 Error *err)
{
    size_t length = strlen(first);
    const char *slash = length == 0 || first[length - 1] == '/' ? "" : "/";
    int needed = snprintf(path, PATH_SIZE, "%s%s%s", first, slash, second);
    if (needed < 0 || needed >= PATH_SIZE)
        return error_set(err, STATUS_INPUT, "%.80s.../%.80s: path longer than %d bytes",
                         first, second, PATH_SIZE - 1);
    return STATUS_OK;
}

/* ---- one file as one step ----------------------------------------------------------- */

Status file_writer_open(FileWriter *writer, const char *path, Error *err)
{
    *writer = (FileWriter){.stream = NULL};
    TRY(temporary_target(writer->path, path, err));

    int descriptor;
    struct stat entry;
    bool exists = stat(writer->path, &entry) == 0;
    if (exists && S_ISDIR(entry.st_mode))
        return error_set(err, STATUS_INPUT, "%s: expected a file, found a folder",
                         path);
    if (exists && !S_ISREG(entry.st_mode)) {
        descriptor = open(writer->path, O_WRONLY | O_CLOEXEC);
        if (descriptor < 0)
            return error_errno(err, "%s: cannot open for writing", path);
    } else {
        TRY(temporary_create(writer->temporary, &descriptor, writer->path, false, err));
    }
    writer->stream = fdopen(descriptor, "wb");
    if (writer->stream == NULL) {
        Status status = error_errno(err, "%s: cannot open for writing", path);
        close(descriptor);
        if (writer->temporary[0] != '\0')
            unlink(writer->temporary);
        return status;
    }
    return STATUS_OK;
}

/* All bytes to the disk, then the new name; the stream is still open, so that the lock on
 * the temporary holds until it has its name. */
static Status flush_and_rename(FileWriter *writer, Error *err)
{
    if (ferror(writer->stream))
        return error_set(err, STATUS_IO, "%s: could not be written (is the disk full?)",
                         writer->path);
    if (fflush(writer->stream) != 0)
        return error_errno(err, "%s: cannot write", writer->path);
    if (writer->temporary[0] == '\0')
        return STATUS_OK;
    if (fsync(fileno(writer->stream)) != 0)
        return error_errno(err, "%s: cannot flush to the disk", writer->path);
    if (rename(writer->temporary, writer->path) != 0)
        return error_errno(err, "%s: cannot replace", writer->path);
    writer->temporary[0] = '\0';
    return temporary_sync_parent(writer->path, err);
}

Status file_writer_commit(FileWriter *writer, Error *err)
{
    Status status = flush_and_rename(writer, err);
    file_writer_abort(writer);
    return status;
}

void file_writer_abort(FileWriter *writer)
{
    if (writer->stream == NULL)
        return;
    if (writer->temporary[0] != '\0')
        unlink(writer->temporary);
    fclose(writer->stream);
    writer->stream = NULL;
}

Status file_write(const char *path, const void *data, size_t size, Error *err)
{
    FileWriter writer;
    TRY(file_writer_open(&writer, path, err));
    if (size > 0 && fwrite(data, 1, size, writer.stream) != size) {
        Status status = error_errno(err, "%s: cannot write", writer.path);
        file_writer_abort(&writer);
        return status;
    }
    return file_writer_commit(&writer, err);
}
