/* The folder half of files.h. */
#include "model/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "model/base/temporary.h"

static Status make_one(const char *path, Error *err)
{
    if (mkdir(path, 0777) == 0)
        return temporary_sync_parent(path, err);
    int number = errno;
    if (file_is_folder(path)) /* whatever mkdir says (EEXIST, EROFS, EACCES) */
        return STATUS_OK;
    if (number == EEXIST)
        return error_set(err, STATUS_INPUT, "%s: expected a folder, found a file",
                         path);
    errno = number;
    return error_errno(err, "%s: cannot create the folder", path);
}

Status folder_create(const char *path, Error *err)
{
    char upper[PATH_SIZE];
    size_t length = strlen(path);
    if (length == 0 || length >= PATH_SIZE)
        return error_set(err, STATUS_INPUT, "%.80s: not a path of 1 to %d bytes", path,
                         PATH_SIZE - 1);
    memcpy(upper, path, length + 1);
    for (char *slash = upper + 1; *slash != '\0'; slash++) {
        if (*slash != '/' || slash[-1] == '/')
            continue;
        *slash = '\0';
        TRY(make_one(upper, err));
        *slash = '/';
    }
    return make_one(upper, err);
}

/* ---- walking ------------------------------------------------------------------------ */

typedef struct Walk {
    /* Called with the folder that holds it and its name; for a folder after all in it. */
    int (*visit)(int parent, const char *name, bool folder);
} Walk;

/* Visits what is in the folder `descriptor` (which is closed), bottom up, without
 * following links. 0, or -1 with errno. */
static int walk_inside(const Walk *walk, int descriptor)
{
    DIR *folder = fdopendir(descriptor);
    if (folder == NULL) {
        close(descriptor);
        return -1;
    }
    int result = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(folder);
        if (entry == NULL) {
            result = errno == 0 ? 0 : -1;
            break;
        }
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        int inner =
            openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool is_folder = inner >= 0;
        if (!is_folder && errno == ENOENT) /* somebody else removed it */
            continue;
        if (!is_folder && errno != ENOTDIR && errno != ELOOP) {
            result = -1;
            break;
        }
        if (is_folder && walk_inside(walk, inner) != 0) {
            result = -1;
            break;
        }
        if (walk->visit(descriptor, name, is_folder) != 0) {
            result = -1;
            break;
        }
    }
    int number = errno;
    closedir(folder);
    errno = number;
    return result;
}

static int remove_entry(int parent, const char *name, bool folder)
{
    if (unlinkat(parent, name, folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
        return 0;
    return -1;
}

Status folder_remove(const char *path, Error *err)
{
    struct stat entry;
    if (lstat(path, &entry) != 0)
        return errno == ENOENT ? STATUS_OK
                               : error_errno(err, "%s: cannot examine", path);
    if (S_ISLNK(entry.st_mode)) {
        if (unlink(path) != 0 && errno != ENOENT)
            return error_errno(err, "%s: cannot remove the link", path);
        return STATUS_OK;
    }
    if (!S_ISDIR(entry.st_mode))
        return error_set(err, STATUS_INPUT, "%s: expected a folder, found a file",
                         path);

    const Walk walk = {.visit = remove_entry};
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return errno == ENOENT ? STATUS_OK : error_errno(err, "%s: cannot open", path);
    if (walk_inside(&walk, descriptor) != 0 || (rmdir(path) != 0 && errno != ENOENT))
        return error_errno(err, "%s: cannot remove", path);
    return STATUS_OK;
}

static int sync_entry(int parent, const char *name, bool folder)
{
    int descriptor = openat(parent, name,
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
                                (folder ? O_DIRECTORY : 0));
    if (descriptor < 0)
        return errno == ELOOP ? 0 : -1; /* a link has no bytes of its own */
    int result = fsync(descriptor);
    if (result != 0 && (errno == EINVAL || errno == ENOTSUP))
        result = 0;
    int number = errno;
    close(descriptor);
    errno = number;
    return result;
}

/* ---- one folder as one step --------------------------------------------------------- */

static Status old_name(char old[PATH_SIZE], const char *path, Error *err)
{
    if (snprintf(old, PATH_SIZE, "%s.old", path) >= PATH_SIZE)
        return error_set(err, STATUS_INPUT, "%.80s...: path longer than %d bytes", path,
                         PATH_SIZE - 5);
    return STATUS_OK;
}

Status folder_writer_open(FolderWriter *writer, const char *path, Error *err)
{
    *writer = (FolderWriter){.lock = -1};
    TRY(temporary_target(writer->path, path, err));
    if (file_exists(writer->path) && !file_is_folder(writer->path))
        return error_set(err, STATUS_INPUT, "%s: expected a folder, found a file",
                         path);
    char *slash = strrchr(writer->path, '/');
    if (slash != NULL && slash != writer->path) {
        *slash = '\0';
        Status status = folder_create(writer->path, err);
        *slash = '/';
        TRY(status);
    }
    return temporary_create(writer->temporary, &writer->lock, writer->path, true, err);
}

/* 0 when the two have changed places; -1 with errno, ENOSYS where that can't be done. */
static int exchange(const char *first, const char *second)
{
#if defined(__linux__) && defined(SYS_renameat2)
    enum { EXCHANGE = 2 }; /* RENAME_EXCHANGE of linux/fs.h */
    return (int)syscall(SYS_renameat2, AT_FDCWD, first, AT_FDCWD, second, EXCHANGE);
#else
    (void)first;
    (void)second;
    errno = ENOSYS;
    return -1;
#endif
}

/* Two renames with PATH.old in between. PATH.old is only removed while path is complete,
 * so one of the two always is. */
static Status replace_in_two_steps(FolderWriter *writer, Error *err)
{
    char old[PATH_SIZE];
    TRY(old_name(old, writer->path, err));
    bool aside = file_is_folder(writer->path);
    if (aside) {
        TRY(folder_remove(old, err));
        if (rename(writer->path, old) != 0)
            return error_errno(err, "%s: cannot move aside", writer->path);
    }
    if (rename(writer->temporary, writer->path) != 0) {
        Status status = error_errno(err, "%s: cannot put into place", writer->path);
        if (aside)
            (void)!rename(old, writer->path);
        return status;
    }
    TRY(temporary_sync_parent(writer->path, err));
    return folder_remove(old, err);
}

static Status sync_and_replace(FolderWriter *writer, Error *err)
{
    const Walk walk = {.visit = sync_entry};
    int inside = openat(writer->lock, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (inside < 0 || walk_inside(&walk, inside) != 0)
        return error_errno(err, "%s: cannot flush to the disk", writer->temporary);
    if (fsync(writer->lock) != 0 && errno != EINVAL && errno != ENOTSUP)
        return error_errno(err, "%s: cannot flush to the disk", writer->temporary);

    if (file_exists(writer->path) && !file_is_folder(writer->path))
        return error_set(err, STATUS_INPUT, "%s: expected a folder, found a file",
                         writer->path);
    if (exchange(writer->temporary, writer->path) == 0) {
        TRY(temporary_sync_parent(writer->path, err));
        temporary_remove(writer->temporary, true); /* now the old folder */
        return STATUS_OK;
    }
    if (errno != ENOENT && errno != ENOSYS && errno != EINVAL && errno != EXDEV &&
        errno != ENOTSUP)
        return error_errno(err, "%s: cannot replace", writer->path);
    return replace_in_two_steps(writer, err);
}

Status folder_writer_commit(FolderWriter *writer, Error *err)
{
    Status status = sync_and_replace(writer, err);
    if (status != STATUS_OK) {
        folder_writer_abort(writer);
        return status;
    }
    close(writer->lock);
    writer->lock = -1;
    return STATUS_OK;
}

void folder_writer_abort(FolderWriter *writer)
{
    if (writer->lock < 0)
        return;
    /* After a failure behind the swap the name holds the old folder, or none. */
    if (temporary_is(writer->temporary, writer->lock))
        folder_remove(writer->temporary, NULL);
    close(writer->lock);
    writer->lock = -1;
}

Status folder_resolve(char found[PATH_SIZE], const char *path, Error *err)
{
    char old[PATH_SIZE];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= PATH_SIZE)
        return error_set(err, STATUS_INPUT, "%.80s...: path longer than %d bytes", path,
                         PATH_SIZE - 1);
    memcpy(found, path, length);
    found[length] = '\0';
    TRY(old_name(old, found, err));
    if (file_is_folder(found))
        return STATUS_OK;
    if (file_is_folder(old)) {
        memcpy(found, old, PATH_SIZE);
        return STATUS_OK;
    }
    if (file_is_folder(found)) /* put into place between the two looks */
        return STATUS_OK;
    if (file_exists(found))
        return error_set(err, STATUS_INPUT, "%s: expected a folder, found a file",
                         path);
    return error_set(err, STATUS_INPUT, "%s: no such folder", path);
}

Status folder_lock(int *descriptor, const char *path, Error *err)
{
    *descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*descriptor < 0)
        return error_errno(err, "%s", path);
    if (flock(*descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return STATUS_OK;
    folder_unlock(*descriptor);
    return error_set(err, STATUS_USAGE, "%s is in use by another process", path);
}

void folder_unlock(int descriptor)
{
    close(descriptor);
}
