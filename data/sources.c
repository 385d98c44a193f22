#include "data/sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/skip.h"
#include "model/base/files.h"
#include "model/base/memory.h"

enum { FOLDER_DEPTH = 16 };

Status corpus_note(CorpusNote **notes, size_t *count, size_t *capacity,
                   const char *path, const char *reason, Error *err)
{
    TRY(memory_reserve(notes, capacity, *count + 1, sizeof **notes, "notes", err));
    CorpusNote *note = &(*notes)[*count];
    *note = (CorpusNote){0};
    TRY(memory_allocate(&note->path, strlen(path) + 1, 1, "a note", err));
    *count += 1;
    TRY(memory_allocate(&note->reason, strlen(reason) + 1, 1, "a note", err));
    strcpy(note->path, path);
    strcpy(note->reason, reason);
    return STATUS_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcasecmp(text + length - tail, end) == 0;
}

static bool is_json(const char *path)
{
    return ends_with(path, ".json") || ends_with(path, ".jsonl") ||
           ends_with(path, ".ndjson");
}

static Status add_file(SourceList *list, const char *path, int collection, int group,
                       int64_t number, Error *err)
{
    struct stat entry;
    if (stat(path, &entry) != 0)
        return error_errno(err, "%s: cannot examine", path);
    TRY(memory_reserve(&list->items, &list->capacity, list->count + 1,
                       sizeof *list->items, "the list of files", err));
    SourceFile *file = &list->items[list->count];
    TRY(memory_allocate(&file->path, strlen(path) + 1, 1, "a path", err));
    strcpy(file->path, path);
    file->collection = collection;
    file->group = group;
    file->json = is_json(path);
    file->size = (int64_t)entry.st_size;
    file->number = number;
    file->device = entry.st_dev;
    file->inode = entry.st_ino;
    list->count++;
    return STATUS_OK;
}

static Status add_group(CorpusStats *stats, const char *name, int *group, Error *err)
{
    for (size_t i = 0; i < stats->group_count; i++) {
        if (strcmp(stats->groups[i].name, name) == 0) {
            *group = (int)i;
            return STATUS_OK;
        }
    }
    TRY(memory_reserve(&stats->groups, &stats->group_capacity, stats->group_count + 1,
                       sizeof *stats->groups, "file groups", err));
    CorpusGroup *added = &stats->groups[stats->group_count];
    *added = (CorpusGroup){0};
    TRY(memory_allocate(&added->name, strlen(name) + 1, 1, "a file group", err));
    strcpy(added->name, name);
    *group = (int)stats->group_count++;
    return STATUS_OK;
}

static Status note_skipped(CorpusStats *stats, const char *path, const char *reason,
                           Error *err)
{
    return corpus_note(&stats->skipped, &stats->skipped_count, &stats->skipped_capacity,
                       path, reason, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of a folder by name, without hidden ones. The caller frees each and all. */
typedef struct {
    char **names;
    size_t count, capacity;
} Names;

static void names_free(Names *names)
{
    for (size_t i = 0; i < names->count; i++)
        memory_free(names->names[i]);
    memory_free(names->names);
}

static Status names_add(Names *names, const char *name, Error *err)
{
    TRY(memory_reserve(&names->names, &names->capacity, names->count + 1,
                       sizeof *names->names, "names of files", err));
    TRY(memory_allocate(&names->names[names->count], strlen(name) + 1, 1,
                        "names of files", err));
    strcpy(names->names[names->count++], name);
    return STATUS_OK;
}

static Status names_read(Names *names, const char *path, Error *err)
{
    Status status = STATUS_OK;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return error_errno(err, "%s: cannot open the folder", path);
    errno = 0;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(folder)) != NULL;
         errno = 0)
        if (entry->d_name[0] != '.')
            status = names_add(names, entry->d_name, err);
    if (status == STATUS_OK && errno != 0)
        status = error_errno(err, "%s: cannot read the folder", path);
    closedir(folder);
    if (status == STATUS_OK && names->count > 0)
        qsort(names->names, names->count, sizeof *names->names, by_name);
    return status;
}

static int by_number(const void *a, const void *b)
{
    const SourceFile *first = a, *second = b;
    if (first->number != second->number)
        return first->number < second->number ? -1 : 1;
    return strcmp(first->path, second->path);
}

static bool owned_by_other(const char *name)
{
    int64_t number;
    for (int i = 0; i < collection_count(); i++)
        if (collection_owns(collection_at(i), name, &number))
            return true;
    return false;
}

static Status add_collection_file(SourceList *list, CorpusStats *stats, int index,
                                  const char *folder, const char *name, Error *err)
{
    const Collection *collection = collection_at(index);
    char path[PATH_SIZE];
    int64_t number;
    TRY(path_join(path, folder, name, err));
    if (!collection_owns(collection, name, &number)) {
        if (owned_by_other(name))
            return STATUS_OK;
        char inside[PATH_SIZE];
        const char *reason;
        if (file_is_folder(path)) { /* the reason stands with what is in it */
            TRY(path_join(inside, path, "x", err));
            reason = skip_reason(inside, true);
        } else {
            reason = skip_reason(path, true);
        }
        return note_skipped(stats, path,
                            reason != NULL ? reason : "no file of the collection", err);
    }
    int group, part = collection->boundary > 0 && number >= collection->boundary;
    TRY(add_group(stats, collection->groups[part], &group, err));
    return add_file(list, path, index, group, number, err);
}

static Status add_collection(SourceList *list, CorpusStats *stats, int index,
                             const CorpusOptions *options, Error *err)
{
    const Collection *collection = collection_at(index);
    char folder[PATH_SIZE];
    bool found = false;
    if (options->root == NULL)
        return error_set(err, STATUS_USAGE,
                         "collection %s: no folder of the corpora was given",
                         collection->name);
    for (int i = 0; i < 3 && !found && collection->folders[i] != NULL; i++) {
        TRY(path_join(folder, options->root, collection->folders[i], err));
        found = file_is_folder(folder);
    }
    if (!found)
        return error_set(err, STATUS_INPUT, "collection %s: expected a folder %s/%s",
                         collection->name, options->root, collection->folders[0]);
    size_t first = list->count;
    Names names = {0};
    Status status = names_read(&names, folder, err);
    for (size_t i = 0; status == STATUS_OK && i < names.count; i++)
        status = add_collection_file(list, stats, index, folder, names.names[i], err);
    names_free(&names);
    TRY(status);
    if (list->count == first)
        return error_set(err, STATUS_INPUT, "collection %s: no file %s/%s*%s",
                         collection->name, folder, collection->prefix,
                         collection->suffix);
    qsort(list->items + first, list->count - first, sizeof *list->items, by_number);
    return STATUS_OK;
}

/* The number behind the last dot or dash of a name, so that poet.tang.2000 comes before
 * poet.tang.10000 in any folder. */
static int64_t number_of(const char *path)
{
    const char *name = base_name(path), *digits = NULL;
    for (const char *c = name; *c != '\0'; c++)
        if (*c >= '0' && *c <= '9' && (c == name || !(c[-1] >= '0' && c[-1] <= '9')))
            digits = c;
    return digits == NULL ? INT64_MAX : strtoll(digits, NULL, 10);
}

static Status walk(SourceList *list, CorpusStats *stats, const char *path, int group,
                   int depth, Error *err)
{
    if (depth > FOLDER_DEPTH)
        return error_set(err, STATUS_INPUT, "%s: folders nest deeper than %d levels",
                         path, FOLDER_DEPTH);
    size_t first = list->count;
    Names names = {0};
    Status status = names_read(&names, path, err);
    /* Files of this folder first, in order of their numbers; then the folders in it. */
    for (int folders = 0; folders < 2 && status == STATUS_OK; folders++) {
        for (size_t i = 0; i < names.count && status == STATUS_OK; i++) {
            char inner[PATH_SIZE];
            struct stat entry;
            status = path_join(inner, path, names.names[i], err);
            if (status != STATUS_OK || stat(inner, &entry) != 0)
                continue; /* a link to nothing is nobody's poem */
            if (S_ISDIR(entry.st_mode)) {
                if (folders == 1)
                    status = walk(list, stats, inner, group, depth + 1, err);
                continue;
            }
            if (folders == 1)
                continue;
            const char *reason = skip_reason(inner, true);
            if (reason == NULL && !S_ISREG(entry.st_mode))
                reason = "not a regular file";
            if (reason == NULL && !is_json(inner) && !ends_with(inner, ".txt"))
                reason = "neither .json nor .txt";
            status = reason != NULL ? note_skipped(stats, inner, reason, err)
                                    : add_file(list, inner, COLLECTION_FILES, group,
                                               number_of(inner), err);
        }
        if (folders == 0 && list->count > first)
            qsort(list->items + first, list->count - first, sizeof *list->items,
                  by_number);
    }
    names_free(&names);
    return status;
}

static Status add_path(SourceList *list, CorpusStats *stats, const char *path,
                       Error *err)
{
    struct stat entry;
    int group;
    if (stat(path, &entry) != 0) {
        if (errno == ENOENT && strchr(path, '/') == NULL && strchr(path, '.') == NULL)
            return error_set(err, STATUS_INPUT,
                             "%s: neither a collection (tang, song, songci, yuanqu, "
                             "shijing, chuci, nalan, huajian, nantang, caocao, shuimo) "
                             "nor a file",
                             path);
        if (errno == ENOENT || errno == ENOTDIR)
            return error_set(err, STATUS_INPUT, "%s: no such file or folder", path);
        return error_errno(err, "%s: cannot examine", path);
    }
    TRY(add_group(stats, path, &group, err));
    if (S_ISDIR(entry.st_mode)) {
        size_t first = list->count;
        TRY(walk(list, stats, path, group, 0, err));
        if (list->count == first)
            return error_set(err, STATUS_INPUT,
                             "%s: no .json or .txt file of poems in this folder", path);
        return STATUS_OK;
    }
    if (!S_ISREG(entry.st_mode))
        return error_set(err, STATUS_INPUT, "%s: expected a file or a folder, found %s",
                         path, S_ISFIFO(entry.st_mode) ? "a pipe" : "a device");
    const char *reason = skip_reason(path, false);
    if (reason != NULL)
        return note_skipped(stats, path, reason, err);
    return add_file(list, path, COLLECTION_FILES, group, 0, err);
}

static int by_identity(const void *a, const void *b)
{
    const SourceFile *first = *(SourceFile *const *)a,
                     *second = *(SourceFile *const *)b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    if (first->inode != second->inode)
        return first->inode < second->inode ? -1 : 1;
    return first < second ? -1 : first > second;
}

/* Of files with one identity the first in order stays. */
static Status remove_twins(SourceList *list, Error *err)
{
    SourceFile **order;
    size_t kept = 0;
    TRY(memory_allocate(&order, list->count, sizeof *order, "the list of files", err));
    for (size_t i = 0; i < list->count; i++)
        order[i] = &list->items[i];
    if (list->count > 0)
        qsort(order, list->count, sizeof *order, by_identity);
    for (size_t i = 1; i < list->count; i++) {
        if (order[i]->device == order[i - 1]->device &&
            order[i]->inode == order[i - 1]->inode) {
            memory_free(order[i]->path);
            order[i]->path = NULL;
        }
    }
    memory_free(order);
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].path != NULL)
            list->items[kept++] = list->items[i];
    list->count = kept;
    return STATUS_OK;
}

static bool named_before(const char *const *sources, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(sources[i], sources[index]) == 0)
            return true;
    return false;
}

Status sources_list(SourceList *list, CorpusStats *stats, const char *const *sources,
                    int count, const CorpusOptions *options, Error *err)
{
    if (count <= 0)
        return error_set(err, STATUS_USAGE, "no corpus was named");
    for (int i = 0; i < count; i++) {
        int collection = collection_find(sources[i]);
        if (named_before(sources, i))
            continue;
        if (collection != COLLECTION_FILES)
            TRY(add_collection(list, stats, collection, options, err));
        else
            TRY(add_path(list, stats, sources[i], err));
    }
    return remove_twins(list, err);
}

void sources_free(SourceList *list)
{
    for (size_t i = 0; i < list->count; i++)
        memory_free(list->items[i].path);
    memory_free(list->items);
    *list = (SourceList){0};
}
