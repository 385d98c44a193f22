#include "model/base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MARK[] = ".tmp.";

enum { TRIES = 10000, SUFFIX_SIZE = 16 };

/* The last component of a path, and the folder that holds it. */
static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void parent_of(char parent[PATH_SIZE], const char *path)
{
    const char *last = last_component(path);
    if (last == path)
        snprintf(parent, PATH_SIZE, ".");
    else if (last == path + 1)
        snprintf(parent, PATH_SIZE, "/");
    else
        snprintf(parent, PATH_SIZE, "%.*s", (int)(last - path - 1), path);
}

Status temporary_target(char target[PATH_SIZE], const char *path, Error *err)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0)
        return error_set(err, STATUS_INPUT, "the path of an output is empty");
    if (length + SUFFIX_SIZE >= PATH_SIZE)
        return error_set(err, STATUS_INPUT, "%.80s...: path longer than %d bytes", path,
                         PATH_SIZE - SUFFIX_SIZE);
    memcpy(target, path, length);
    target[length] = '\0';

    const char *last = last_component(target);
    struct stat entry;
    bool link = lstat(target, &entry) == 0 && S_ISLNK(entry.st_mode);
    if (!link && strcmp(last, ".") != 0 && strcmp(last, "..") != 0)
        return STATUS_OK;
    char *resolved = realpath(target, NULL);
    if (resolved == NULL && errno == ENOENT)
        return error_set(err, STATUS_INPUT, "%s: a link to something missing", path);
    if (resolved == NULL)
        return error_errno(err, "%s: cannot resolve", path);
    length = strlen(resolved);
    bool fits = length + SUFFIX_SIZE < PATH_SIZE;
    if (fits)
        memcpy(target, resolved, length + 1);
    free(resolved);
    if (!fits)
        return error_set(err, STATUS_INPUT, "%.80s...: path longer than %d bytes", path,
                         PATH_SIZE - SUFFIX_SIZE);
    return STATUS_OK;
}

bool temporary_is(const char *name, int descriptor)
{
    struct stat here;
    struct stat open_one;
    return lstat(name, &here) == 0 && fstat(descriptor, &open_one) == 0 &&
           here.st_dev == open_one.st_dev && here.st_ino == open_one.st_ino;
}

/* Opens a new file or folder; -1 with errno, EEXIST when the name is taken. */
static int make_new(const char *name, bool folder)
{
    if (!folder)
        return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (mkdir(name, 0777) != 0)
        return -1;
    int opened = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0 && errno == ENOENT)
        errno = EEXIST; /* a cleaner took it at once: try the next */
    return opened;
}

Status temporary_create(char name[PATH_SIZE], int *descriptor, const char *target,
                        bool folder, Error *err)
{
    temporary_remove_stale(target);
    for (int number = 0; number < TRIES; number++) {
        if (snprintf(name, PATH_SIZE, "%s%s%d", target, MARK, number) >= PATH_SIZE)
            return error_set(err, STATUS_INPUT, "%.80s...: path too long", target);
        int opened = make_new(name, folder);
        if (opened < 0 && errno == EEXIST)
            continue;
        if (opened < 0)
            return error_errno(err, "%s: cannot write beside it (%s)", target,
                               last_component(name));
        /* A system without locks only loses the removal of left-overs: they need the
         * lock, too. */
        int locked = flock(opened, LOCK_EX | LOCK_NB);
        bool lost = locked != 0 && errno == EWOULDBLOCK;
        if (!lost && temporary_is(name, opened)) {
            *descriptor = opened;
            return STATUS_OK;
        }
        close(opened); /* a cleaner was faster: it removes that one, take the next */
    }
    return error_set(err, STATUS_IO, "%s: %d temporaries stand beside it", target,
                     TRIES);
}

void temporary_remove(const char *name, bool owned)
{
    int descriptor = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return;
    struct stat entry;
    bool idle =
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (owned && errno != EWOULDBLOCK);
    if (idle && temporary_is(name, descriptor) && fstat(descriptor, &entry) == 0) {
        if (S_ISDIR(entry.st_mode))
            folder_remove(name, NULL);
        else if (S_ISREG(entry.st_mode))
            unlink(name);
    }
    close(descriptor);
}

/* entry = base ".tmp." digits */
static bool is_temporary_of(const char *entry, const char *base)
{
    size_t length = strlen(base);
    if (strncmp(entry, base, length) != 0 ||
        strncmp(entry + length, MARK, sizeof MARK - 1) != 0)
        return false;
    const char *digits = entry + length + sizeof MARK - 1;
    return digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0';
}

void temporary_remove_stale(const char *target)
{
    char parent[PATH_SIZE];
    parent_of(parent, target);
    DIR *folder = opendir(parent);
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[PATH_SIZE];
        if (is_temporary_of(entry->d_name, last_component(target)) &&
            path_join(name, parent, entry->d_name, NULL) == STATUS_OK)
            temporary_remove(name, false);
    }
    closedir(folder);
}

Status temporary_sync_parent(const char *path, Error *err)
{
    char parent[PATH_SIZE];
    parent_of(parent, path);
    int descriptor = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A folder that may be written but not read, or a file system that cannot sync
     * folders: the rename is done, only its date on the disk is open. */
    if (descriptor < 0)
        return errno == EACCES ? STATUS_OK
                               : error_errno(err, "%s: cannot open", parent);
    Status status = STATUS_OK;
    if (fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP)
        status = error_errno(err, "%s: cannot flush to the disk", parent);
    close(descriptor);
    return status;
}
