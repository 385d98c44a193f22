#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/base/files.h"
#include "tests/base/scratch_root.h"

/* ---- mapping ------------------------------------------------------------------------ */

static void a_map_shows_the_bytes_of_the_file(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    unsigned char bytes[70000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    scratch_write(scratch_path(path, root, "bytes"), bytes, sizeof bytes);
    FileMap map;
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    assert_int_equal(map.size, sizeof bytes);
    assert_memory_equal(map.data, bytes, sizeof bytes);
    file_unmap(&map);
    assert_int_equal(map.size, 0);
    file_unmap(&map);
}

static void an_empty_file_maps_to_nothing(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_text(scratch_path(path, root, "empty"), "");
    FileMap map;
    assert_int_equal(file_map(&map, path, NULL), STATUS_OK);
    assert_int_equal(map.size, 0);
    assert_non_null(map.data);
    file_unmap(&map);
}

static void assert_no_map(const char *path, Status status, const char *words)
{
    Error err;
    FileMap map;
    assert_int_equal(file_map(&map, path, &err), status);
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, words));
    assert_int_equal(map.size, 0);
    file_unmap(&map);
}

static void what_is_no_file_is_refused_at_once(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    assert_no_map(root, STATUS_INPUT, "found a folder");
    assert_no_map("/dev/null", STATUS_INPUT, "found a device");
    assert_no_map(scratch_path(path, root, "missing"), STATUS_IO, "No such file");
    assert_int_equal(mkfifo(scratch_path(path, root, "pipe"), 0666), 0);
    alarm(20); /* a reader that waits for a writer would wait for ever */
    assert_no_map(path, STATUS_INPUT, "found a pipe");
    alarm(0);
    assert_int_equal(symlink("nowhere", scratch_path(path, root, "dangling")), 0);
    assert_no_map(path, STATUS_IO, "No such file");
}

/* Runs check(path) in a child, as nobody when we are root; its exit code. */
static int in_child(int (*check)(const char *path), const char *path, bool as_nobody)
{
    pid_t child = fork();
    if (child == 0) {
        if (as_nobody && geteuid() == 0 && setuid(65534) != 0)
            _exit(77);
        _exit(check(path));
    }
    int result;
    waitpid(child, &result, 0);
    return WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
}

static int map_is_denied(const char *path)
{
    Error err;
    FileMap map;
    return file_map(&map, path, &err) == STATUS_IO &&
                   strstr(err.message, "Permission denied") != NULL
               ? 0
               : 1;
}

static void an_unreadable_file_is_an_error(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_text(scratch_path(path, root, "secret"), "x");
    assert_int_equal(chmod(root, 0755) | chmod(path, 0), 0);
    assert_int_equal(in_child(map_is_denied, path, true), 0);
}

/* ---- names -------------------------------------------------------------------------- */

static void joined_paths_have_one_slash(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    assert_int_equal(path_join(path, "a", "b", NULL), STATUS_OK);
    assert_string_equal(path, "a/b");
    assert_int_equal(path_join(path, "a/", "b/c", NULL), STATUS_OK);
    assert_string_equal(path, "a/b/c");
    assert_int_equal(path_join(path, "", "b", NULL), STATUS_OK);
    assert_string_equal(path, "b");
    assert_int_equal(path_join(path, "/", "b", NULL), STATUS_OK);
    assert_string_equal(path, "/b");
}

static void paths_that_are_too_long_are_refused(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    char big[PATH_SIZE + 10];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    FileWriter file;
    FolderWriter folder;
    assert_int_equal(path_join(path, big, "b", &err), STATUS_INPUT);
    assert_int_equal(path_join(path, "b", big, &err), STATUS_INPUT);
    assert_int_equal(folder_create(big, &err), STATUS_INPUT);
    assert_int_equal(folder_create("", &err), STATUS_INPUT);
    assert_int_equal(folder_resolve(path, big, &err), STATUS_INPUT);
    assert_int_equal(file_writer_open(&file, big, &err), STATUS_INPUT);
    assert_int_equal(file_writer_open(&file, "", &err), STATUS_INPUT);
    assert_int_equal(folder_writer_open(&folder, big, &err), STATUS_INPUT);
    file_writer_abort(&file);
    folder_writer_abort(&folder);
    big[PATH_SIZE - 3] = '\0'; /* fits, but not with .old or .tmp.0 behind it */
    assert_int_equal(file_writer_open(&file, big, &err), STATUS_INPUT);
    assert_int_equal(folder_writer_open(&folder, big, &err), STATUS_INPUT);
    assert_int_equal(folder_resolve(path, big, &err), STATUS_INPUT);
    big[2000] = '\0'; /* longer than a file system takes */
    assert_int_equal(file_write(big, "x", 1, &err), STATUS_IO);
}

/* ---- folders ------------------------------------------------------------------------ */

static void folders_are_made_with_those_above(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    scratch_path(path, root, "a//b/c/");
    assert_int_equal(folder_create(path, NULL), STATUS_OK);
    assert_true(file_is_folder(path));
    assert_int_equal(folder_create(path, NULL), STATUS_OK);
    scratch_text(scratch_path(path, root, "a/file"), "x");
    assert_true(file_exists(path));
    assert_false(file_is_folder(path));
    assert_int_equal(folder_create(path, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, path));
    scratch_path(path, root, "a/file/below");
    assert_int_equal(folder_create(path, &err), STATUS_INPUT);
}

static void removing_takes_all_inside_and_nothing_outside(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    char outside[PATH_SIZE];
    char precious[PATH_SIZE];
    scratch_path(outside, root, "outside");
    assert_int_equal(folder_create(outside, NULL), STATUS_OK);
    scratch_text(scratch_path(precious, outside, "precious"), "x");

    assert_int_equal(folder_create(scratch_path(path, root, "tree/b/c"), NULL),
                     STATUS_OK);
    scratch_text(scratch_path(path, root, "tree/b/file"), "x");
    assert_int_equal(symlink(outside, scratch_path(path, root, "tree/link")), 0);
    assert_int_equal(symlink("../outside", scratch_path(path, root, "tree/b/link")), 0);
    assert_int_equal(symlink("nowhere", scratch_path(path, root, "tree/dangling")), 0);
    assert_int_equal(mkfifo(scratch_path(path, root, "tree/pipe"), 0666), 0);
    scratch_path(path, root, "tree");
    assert_int_equal(folder_remove(path, NULL), STATUS_OK);
    assert_false(file_exists(path));
    assert_true(file_exists(precious));

    assert_int_equal(symlink(outside, path), 0);
    assert_int_equal(folder_remove(path, NULL), STATUS_OK);
    assert_false(file_exists(path));
    assert_true(file_exists(precious));

    assert_int_equal(folder_remove(path, NULL), STATUS_OK); /* absent */
    assert_int_equal(folder_remove(precious, &err), STATUS_INPUT);
    assert_true(file_exists(precious));
}

/* ---- one file as one step ----------------------------------------------------------- */

/* Whether a temporary of name stands in root. */
static bool left_over(const char *name)
{
    for (int i = 0; i < 4; i++) {
        char path[PATH_SIZE + 32];
        snprintf(path, sizeof path, "%s/%s.tmp.%d", root, name, i);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static void a_write_replaces_the_whole_file(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_path(path, root, "poem");
    assert_int_equal(file_write(path, "long first text", 15, NULL), STATUS_OK);
    assert_true(scratch_holds(path, "long first text"));
    assert_int_equal(file_write(path, "short", 5, NULL), STATUS_OK);
    assert_true(scratch_holds(path, "short"));
    assert_int_equal(file_write(path, NULL, 0, NULL), STATUS_OK);
    assert_true(scratch_holds(path, ""));
    assert_false(left_over("poem"));
    /* The rights are those of any new file. */
    mode_t mask = umask(0);
    umask(mask);
    struct stat entry;
    assert_int_equal(stat(path, &entry), 0);
    assert_int_equal(entry.st_mode & 0777, 0666 & ~mask);
}

static void nothing_is_seen_before_commit_or_after_abort(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_path(path, root, "poem");
    scratch_text(path, "old");
    FileWriter writer;
    assert_int_equal(file_writer_open(&writer, path, NULL), STATUS_OK);
    fputs("new", writer.stream);
    fflush(writer.stream);
    assert_true(scratch_holds(path, "old"));
    file_writer_abort(&writer);
    file_writer_abort(&writer);
    assert_true(scratch_holds(path, "old"));
    assert_false(left_over("poem"));

    assert_int_equal(file_writer_open(&writer, path, NULL), STATUS_OK);
    fputs("new", writer.stream);
    assert_int_equal(file_writer_commit(&writer, NULL), STATUS_OK);
    assert_true(scratch_holds(path, "new"));
    file_writer_abort(&writer); /* after the end: nothing */
    assert_true(scratch_holds(path, "new"));
}

static void two_writers_do_not_disturb_each_other(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_path(path, root, "poem");
    FileWriter first;
    FileWriter second;
    assert_int_equal(file_writer_open(&first, path, NULL), STATUS_OK);
    fputs("first", first.stream);
    fflush(first.stream);
    assert_int_equal(file_writer_open(&second, path, NULL), STATUS_OK);
    assert_string_not_equal(first.temporary, second.temporary);
    fputs("second", second.stream);
    assert_int_equal(file_writer_commit(&second, NULL), STATUS_OK);
    assert_true(scratch_holds(path, "second"));
    assert_int_equal(file_writer_commit(&first, NULL), STATUS_OK);
    assert_true(scratch_holds(path, "first"));
    assert_false(left_over("poem"));
}

static void a_link_stays_and_its_target_is_replaced(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    char target[PATH_SIZE];
    struct stat entry;
    assert_int_equal(folder_create(scratch_path(path, root, "far"), NULL), STATUS_OK);
    scratch_text(scratch_path(target, root, "far/poem"), "old");
    assert_int_equal(symlink("far/poem", scratch_path(path, root, "link")), 0);
    assert_int_equal(file_write(path, "new", 3, NULL), STATUS_OK);
    assert_true(lstat(path, &entry) == 0 && S_ISLNK(entry.st_mode));
    assert_true(scratch_holds(target, "new"));

    assert_int_equal(symlink("nowhere", scratch_path(path, root, "dangling")), 0);
    assert_int_equal(file_write(path, "new", 3, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, path));
}

static void devices_are_written_into(void **state)
{
    (void)state;
    Error err;
    struct stat entry;
    assert_int_equal(file_write("/dev/null", "x", 1, NULL), STATUS_OK);
    assert_true(stat("/dev/null", &entry) == 0 && S_ISCHR(entry.st_mode));
    assert_int_equal(file_write("/dev/full", "x", 1, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "No space left"));
    assert_true(stat("/dev/full", &entry) == 0 && S_ISCHR(entry.st_mode));
}

static void places_that_take_no_file_are_refused(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    assert_int_equal(file_write(root, "x", 1, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "found a folder"));
    scratch_path(path, root, "no/such/folder");
    assert_int_equal(file_write(path, "x", 1, &err), STATUS_IO);
    assert_non_null(strstr(err.message, path));
}

/* A limit on file sizes stands for the full disk: write fails half way. */
static int write_beyond_the_limit(const char *path)
{
    static char big[1 << 16];
    const struct rlimit limit = {.rlim_cur = 10000, .rlim_max = 10000};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 77;
    Error err;
    FileWriter writer;
    if (file_write(path, big, sizeof big, &err) != STATUS_IO)
        return 1;
    if (strstr(err.message, path) == NULL)
        return 2;
    /* A writer that looks at no fwrite still learns it from commit. */
    if (file_writer_open(&writer, path, &err) != STATUS_OK)
        return 3;
    for (size_t i = 0; i < sizeof big; i++)
        putc('x', writer.stream);
    if (file_writer_commit(&writer, &err) != STATUS_IO)
        return 4;
    return strstr(err.message, path) == NULL ? 5 : 0;
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_text(scratch_path(path, root, "poem"), "old");
    assert_int_equal(in_child(write_beyond_the_limit, path, false), 0);
    assert_true(scratch_holds(path, "old"));
    assert_false(left_over("poem"));
}

static int die_while_writing(const char *path)
{
    FileWriter writer;
    if (file_writer_open(&writer, path, NULL) != STATUS_OK)
        return 1;
    fputs("half", writer.stream);
    fflush(writer.stream);
    raise(SIGKILL);
    return 2;
}

static void what_the_dead_left_is_removed_by_the_next(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    char other[PATH_SIZE];
    scratch_text(scratch_path(path, root, "poem"), "old");
    scratch_text(scratch_path(other, root, "poem.tmp.x"), "not ours");
    assert_int_equal(in_child(die_while_writing, path, false), 128 + SIGKILL);
    assert_int_equal(in_child(die_while_writing, path, false), 128 + SIGKILL);
    assert_true(scratch_holds(path, "old"));
    assert_true(left_over("poem"));
    assert_int_equal(file_write(path, "new", 3, NULL), STATUS_OK);
    assert_false(left_over("poem"));
    assert_true(scratch_holds(other, "not ours"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)
    const struct CMUnitTest tests[] = {
        TEST(a_map_shows_the_bytes_of_the_file),
        TEST(an_empty_file_maps_to_nothing),
        TEST(what_is_no_file_is_refused_at_once),
        TEST(an_unreadable_file_is_an_error),
        TEST(joined_paths_have_one_slash),
        TEST(paths_that_are_too_long_are_refused),
        TEST(folders_are_made_with_those_above),
        TEST(removing_takes_all_inside_and_nothing_outside),
        TEST(a_write_replaces_the_whole_file),
        TEST(nothing_is_seen_before_commit_or_after_abort),
        TEST(two_writers_do_not_disturb_each_other),
        TEST(a_link_stays_and_its_target_is_replaced),
        TEST(devices_are_written_into),
        TEST(places_that_take_no_file_are_refused),
        TEST(a_failed_write_leaves_the_old_file),
        TEST(what_the_dead_left_is_removed_by_the_next),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
