/* Files and folders: mapping, and writes that are never seen half done.
 *
 * A write goes to a new name, is flushed to the disk (fsync) and then renamed over the old
 * one; a folder likewise. Whoever fails or dies on the way leaves the old one as it was.
 * When the path is a symbolic link, the link stays and what it points to is replaced.
 * Every error names the path. */
#ifndef JUEJU_MODEL_BASE_FILES_H
#define JUEJU_MODEL_BASE_FILES_H

#include <stddef.h>
#include <stdio.h>

#include "model/base/error.h"

enum { PATH_SIZE = 4096 };

/* A read-only map of a whole file. An empty file gives size 0 and data "". */
typedef struct {
    const unsigned char *data;
    size_t size;
} FileMap;

/* Regular files only (STATUS_INPUT for a folder, a pipe or a device). On failure *map is
 * empty, so that file_unmap is always right. */
Status file_map(FileMap *map, const char *path, Error *err);
void file_unmap(FileMap *map);

bool file_exists(const char *path); /* anything that stat finds */
bool file_is_folder(const char *path);

/* path = first/second, STATUS_INPUT when it would not fit in PATH_SIZE bytes. */
Status path_join(char path[PATH_SIZE], const char *first, const char *second,
                 Error *err);

/* Makes the folder and those above it; fine when it is there already. */
Status folder_create(const char *path, Error *err);

/* Removes the folder with all that is in it; fine when absent. Links are removed, never
 * followed, also when path itself is one. STATUS_INPUT for a file. */
Status folder_remove(const char *path, Error *err);

/* Takes the folder for this process alone: STATUS_USAGE when another process has it. The
 * lock ends with folder_unlock or with the process, in whatever way that ends. On file
 * systems without locks it does nothing. */
Status folder_lock(int *descriptor, const char *path, Error *err);
void folder_unlock(int descriptor);

/* Writes size bytes as one atomic replacement of path. A device or a pipe (/dev/null) is
 * written into, not replaced. The folder of path must exist. */
Status file_write(const char *path, const void *data, size_t size, Error *err);

/* The same for a file written piece by piece: fill writer.stream, then commit or abort.
 *     FileWriter writer;
 *     TRY(file_writer_open(&writer, path, err));
 *     ... fwrite(..., writer.stream) ...
 *     return file_writer_commit(&writer, err);       also reports earlier write errors
 * A commit that fails has aborted. An abort after the end does nothing. */
typedef struct {
    FILE *stream;              /* NULL: closed */
    char path[PATH_SIZE];      /* links resolved */
    char temporary[PATH_SIZE]; /* "": a device, written directly */
} FileWriter;

Status file_writer_open(FileWriter *writer, const char *path, Error *err);
Status file_writer_commit(FileWriter *writer, Error *err);
void file_writer_abort(FileWriter *writer);

/* A folder as one atomic replacement: write files into writer.temporary, then commit.
 * EVERYTHING in the old folder goes. Folders above path are made when they are missing.
 *
 * The old folder is swapped out in one step (renameat2 with RENAME_EXCHANGE) where the
 * system can; else it is moved aside to PATH.old first, and folder_resolve finds it there
 * if the process died between the two renames. What dead processes left behind
 * (PATH.tmp.N) is removed when the next writer for path opens. */
typedef struct {
    int lock;                  /* descriptor of the temporary folder; -1: closed */
    char path[PATH_SIZE];      /* links resolved */
    char temporary[PATH_SIZE]; /* PATH.tmp.N */
} FolderWriter;

Status folder_writer_open(FolderWriter *writer, const char *path, Error *err);
Status folder_writer_commit(FolderWriter *writer, Error *err);
void folder_writer_abort(FolderWriter *writer);

/* found = path if it is a folder, else PATH.old if that is one; STATUS_INPUT if neither. */
Status folder_resolve(char found[PATH_SIZE], const char *path, Error *err);

#endif
