#include "scripts/checkpoint_write.h"

#include <stdio.h>
#include <string.h>

#include "model/base/json.h"
#include "model/gpt/weights.h"
#include "train/checkpoint.h"

static const char *const COPIED[] = {"tokenizer.json", "variants.json"};

/* Cuts `last` off the end of path, if it is its last part and not all of it. */
static void drop_last_part(char *path, const char *last)
{
    size_t length = strlen(path);
    size_t tail = strlen(last);
    if (length > tail + 1 && strcmp(path + length - tail, last) == 0 &&
        path[length - tail - 1] == '/')
        path[length - tail - 1] = '\0';
}

Status checkpoint_write_target(char folder[PATH_SIZE], const char *out,
                               const char *given, const char *suffix, bool overwrite,
                               Error *err)
{
    char stem[PATH_SIZE];
    int length = snprintf(stem, sizeof stem, "%s", out != NULL ? out : given);
    if (length <= 0 || length >= (int)sizeof stem)
        return error_set(err, STATUS_USAGE,
                         "the checkpoint's path must have 1 .. %d bytes, but it has %d",
                         PATH_SIZE - 1, length);
    while (length > 1 && stem[length - 1] == '/')
        stem[--length] = '\0';
    if (out == NULL) {
        drop_last_part(stem, "best");
        drop_last_part(stem, "last");
    }
    length = snprintf(folder, PATH_SIZE, "%s%s", stem, out != NULL ? "" : suffix);
    if (length >= PATH_SIZE)
        return error_set(err, STATUS_USAGE, "%.80s...: the path is too long", folder);
    if (!overwrite && file_exists(folder))
        return error_set(err, STATUS_USAGE,
                         "%s is there already: --overwrite replaces it, --out names "
                         "another folder",
                         folder);
    return STATUS_OK;
}

/* The set that the old model was trained on is the new one's, too. */
static Status write_origin(const Checkpoint *from, const char *folder, const char *how,
                           Error *err)
{
    char path[PATH_SIZE];
    char set[PATH_SIZE];
    Error unknown;
    TRY(path_join(path, folder, "origin.json", err));
    json_t *origin = json_pack("{s:s, s:s}", "from", from->folder, "how", how);
    if (origin == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for JSON", path);
    if (checkpoint_set(set, from->folder, &unknown) == STATUS_OK)
        json_object_set_new(origin, "set", json_string(set));
    Status status = json_write_file(path, origin, err);
    json_decref(origin);
    return status;
}

static Status copy_file(const Checkpoint *from, const char *folder, const char *name,
                        Error *err)
{
    char path[PATH_SIZE];
    FileMap map;
    TRY(path_join(path, from->folder, name, err));
    if (!file_exists(path))
        return STATUS_OK; /* checkpoint_open has checked what must be there */
    TRY(file_map(&map, path, err));
    Status status = path_join(path, folder, name, err);
    if (status == STATUS_OK)
        status = file_write(path, map.data, map.size, err);
    file_unmap(&map);
    return status;
}

static Status fill_folder(const Gpt *gpt, const Checkpoint *from, const char *folder,
                          const char *how, Error *err)
{
    ModelTokens tokens = checkpoint_tokens(from->stream);
    TRY(weights_save(gpt, &tokens, folder, err));
    for (size_t i = 0; i < sizeof COPIED / sizeof *COPIED; i++)
        TRY(copy_file(from, folder, COPIED[i], err));
    return write_origin(from, folder, how, err);
}

Status checkpoint_write(const Gpt *gpt, const Checkpoint *from, const char *folder,
                        const char *how, Error *err)
{
    FolderWriter writer;
    TRY(folder_writer_open(&writer, folder, err));
    Status status = fill_folder(gpt, from, writer.temporary, how, err);
    if (status == STATUS_OK)
        return folder_writer_commit(&writer, err);
    folder_writer_abort(&writer);
    return error_context(err, "%s was not written", folder);
}
