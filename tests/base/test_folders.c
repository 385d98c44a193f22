/* FolderWriter and folder_resolve: at any moment one complete folder is found. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <cmocka.h>

#include "model/base/files.h"
#include "model/base/rng.h"
#include "tests/base/scratch_root.h"

enum { FILES = 4, KILLS = 40 };

/* Replaces the folder by one whose files all hold `generation`. */
static Status write_generation(const char *path, int64_t generation, Error *err)
{
    FolderWriter writer;
    TRY(folder_writer_open(&writer, path, err));
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)generation);
    for (int i = 0; i < FILES; i++) {
        char name[32];
        char inner[PATH_SIZE];
        snprintf(name, sizeof name, "part-%d", i);
        Status status = path_join(inner, writer.temporary, name, err);
        if (status == STATUS_OK)
            status = file_write(inner, text, strlen(text), err);
        if (status != STATUS_OK) {
            folder_writer_abort(&writer);
            return status;
        }
    }
    return folder_writer_commit(&writer, err);
}

/* The generation of a complete folder; -1 when files are missing or differ. */
static int64_t read_generation(const char *path)
{
    int64_t generation = -1;
    for (int i = 0; i < FILES; i++) {
        char name[PATH_SIZE + 32];
        snprintf(name, sizeof name, "%s/part-%d", path, i);
        FILE *stream = fopen(name, "r");
        if (stream == NULL)
            return -1;
        long long number;
        bool read = fscanf(stream, "%lld", &number) == 1;
        fclose(stream);
        if (!read || (i > 0 && number != generation))
            return -1;
        generation = number;
    }
    return generation;
}

static int entries_in(const char *path)
{
    char command[PATH_SIZE + 32];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", path);
    FILE *pipe = popen(command, "r");
    int count = -1;
    if (pipe == NULL || fscanf(pipe, "%d", &count) != 1)
        count = -1;
    if (pipe != NULL)
        pclose(pipe);
    return count;
}

static void a_commit_replaces_the_whole_folder(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    char extra[PATH_SIZE];
    scratch_path(path, root, "runs/tang/best/"); /* those above are made, too */
    assert_int_equal(write_generation(path, 1, &err), STATUS_OK);
    assert_int_equal(read_generation(path), 1);
    scratch_text(scratch_path(extra, path, "extra"), "x");
    assert_int_equal(write_generation(path, 2, &err), STATUS_OK);
    assert_int_equal(read_generation(path), 2);
    assert_false(file_exists(extra));
    assert_int_equal(entries_in(scratch_path(extra, root, "runs/tang")), 1);
}

static void an_abort_leaves_the_old_folder(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_path(path, root, "best");
    assert_int_equal(write_generation(path, 1, NULL), STATUS_OK);
    FolderWriter writer;
    assert_int_equal(folder_writer_open(&writer, path, NULL), STATUS_OK);
    assert_true(file_is_folder(writer.temporary));
    folder_writer_abort(&writer);
    folder_writer_abort(&writer);
    assert_int_equal(read_generation(path), 1);
    assert_int_equal(entries_in(root), 1);
}

static void a_writer_at_work_is_left_alone_by_others(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_path(path, root, "best");
    FolderWriter writer;
    assert_int_equal(folder_writer_open(&writer, path, NULL), STATUS_OK);
    assert_int_equal(write_generation(path, 5, NULL), STATUS_OK);
    assert_true(file_is_folder(writer.temporary));
    assert_int_equal(read_generation(path), 5);
    assert_int_equal(folder_writer_commit(&writer, NULL), STATUS_OK);
    assert_int_equal(entries_in(path), 0);
    assert_int_equal(entries_in(root), 1);
}

static void a_link_to_a_folder_stays(void **state)
{
    (void)state;
    Error err;
    char link[PATH_SIZE];
    char target[PATH_SIZE];
    struct stat entry;
    scratch_path(target, root, "disk/best");
    assert_int_equal(write_generation(target, 1, NULL), STATUS_OK);
    assert_int_equal(symlink("disk/best", scratch_path(link, root, "best")), 0);
    assert_int_equal(write_generation(link, 2, NULL), STATUS_OK);
    assert_true(lstat(link, &entry) == 0 && S_ISLNK(entry.st_mode));
    assert_int_equal(read_generation(target), 2);
    assert_int_equal(symlink("nowhere", scratch_path(link, root, "dangling")), 0);
    assert_int_equal(write_generation(link, 3, &err), STATUS_INPUT);
}

static void a_file_in_the_way_is_not_replaced(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    scratch_text(scratch_path(path, root, "best"), "precious");
    FolderWriter writer;
    assert_int_equal(folder_writer_open(&writer, path, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, path));
    folder_writer_abort(&writer);
    unlink(path);
    assert_int_equal(folder_writer_open(&writer, path, &err), STATUS_OK);
    scratch_text(path, "precious"); /* came in between */
    assert_int_equal(folder_writer_commit(&writer, &err), STATUS_INPUT);
    assert_true(scratch_holds(path, "precious"));
    assert_int_equal(entries_in(root), 1);
}

static void resolve_finds_the_folder_or_what_was_moved_aside(void **state)
{
    (void)state;
    Error err;
    char path[PATH_SIZE];
    char old[PATH_SIZE];
    char found[PATH_SIZE];
    scratch_path(path, root, "best");
    scratch_path(old, root, "best.old");
    assert_int_equal(folder_resolve(found, path, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(folder_create(old, NULL), STATUS_OK);
    assert_int_equal(folder_resolve(found, path, NULL), STATUS_OK);
    assert_string_equal(found, old);
    scratch_path(found, root, "best///");
    char slashes[PATH_SIZE];
    memcpy(slashes, found, sizeof slashes);
    assert_int_equal(folder_resolve(found, slashes, NULL), STATUS_OK);
    assert_string_equal(found, old);
    assert_int_equal(folder_create(path, NULL), STATUS_OK);
    assert_int_equal(folder_resolve(found, slashes, NULL), STATUS_OK);
    assert_string_equal(found, path);
    assert_int_equal(folder_remove(path, NULL), STATUS_OK);
    assert_int_equal(folder_remove(old, NULL), STATUS_OK);
    scratch_text(path, "x");
    assert_int_equal(folder_resolve(found, path, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "found a file"));
}

/* ---- killed at any moment ----------------------------------------------------------- */

/* Makes renameat2 fail with ENOSYS for this process, as old kernels do. */
static bool forbid_exchange(void)
{
#if defined(__linux__) && defined(SYS_renameat2)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
#else
    return false;
#endif
}

static void pause_microseconds(uint64_t microseconds)
{
    const struct timespec time = {
        .tv_sec = (time_t)(microseconds / 1000000),
        .tv_nsec = (long)(microseconds % 1000000) * 1000,
    };
    nanosleep(&time, NULL);
}

/* Writes generation after generation until it is killed. */
static _Noreturn void write_for_ever(const char *path, int64_t generation,
                                     bool exchange)
{
    if (!exchange && !forbid_exchange())
        _exit(77);
    for (;; generation++) {
        Error err;
        if (write_generation(path, generation, &err) != STATUS_OK) {
            fprintf(stderr, "%s\n", err.message);
            _exit(1);
        }
    }
}

/* Kills the writer KILLS times; false when the system cannot forbid the exchange. */
static bool kill_again_and_again(const char *path, bool exchange)
{
    Rng rng = rng_stream(20, exchange);
    int64_t last = 0;
    int64_t progress = 0;
    uint64_t longest =
        20000; /* grows on a slow disk, until the writer gets somewhere */
    assert_int_equal(write_generation(path, last, NULL), STATUS_OK);
    for (int kills = 0; kills < KILLS; kills++) {
        pid_t child = fork();
        if (child == 0)
            write_for_ever(path, last + 1, exchange);
        pause_microseconds(rng_below(&rng, longest));
        kill(child, SIGKILL);
        int result;
        waitpid(child, &result, 0);
        if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
            return false;
        assert_true(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL);

        char found[PATH_SIZE];
        Error err;
        assert_int_equal(folder_resolve(found, path, &err), STATUS_OK);
        int64_t generation = read_generation(found);
        assert_true(generation >= last); /* complete, and nothing went back */
        progress += generation > last;
        if (generation == last && longest < 1000000)
            longest += longest / 4;
        last = generation;
    }
    assert_true(progress > KILLS / 10); /* the writer did get somewhere */
    assert_int_equal(write_generation(path, last + 1, NULL), STATUS_OK);
    assert_int_equal(read_generation(path), last + 1);
    return true;
}

static void a_killed_writer_leaves_a_complete_folder(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    assert_true(kill_again_and_again(scratch_path(path, root, "best"), true));
    assert_int_equal(entries_in(root), 1); /* and in the end no left-overs */
}

static void so_does_one_that_cannot_swap_in_one_step(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    if (!kill_again_and_again(scratch_path(path, root, "best"), false))
        skip();
    assert_true(entries_in(root) <= 2); /* best.old may stay when the last could swap */
}

/* The two-step way by itself: its result and what it leaves. */
static int replace_without_exchange(const char *path)
{
    if (!forbid_exchange())
        return 77;
    for (int64_t i = 2; i < 5; i++)
        if (write_generation(path, i, NULL) != STATUS_OK || read_generation(path) != i)
            return 1;
    return 0;
}

static void two_steps_give_the_same_as_one(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    scratch_path(path, root, "best");
    assert_int_equal(write_generation(path, 1, NULL), STATUS_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(replace_without_exchange(path));
    int result;
    waitpid(child, &result, 0);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_int_equal(read_generation(path), 4);
    assert_int_equal(entries_in(root), 1);
}

/* ---- a full disk -------------------------------------------------------------------- */

#ifdef __linux__
/* In a mount namespace of its own: a file system of 64 KiB, filled step by step. */
static int fill_a_small_disk(const char *disk)
{
    static char big[40000];
    char path[PATH_SIZE];
    char folder[PATH_SIZE];
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", disk, "tmpfs", 0, "size=64k") != 0)
        return 77;
    Error err;
    scratch_path(path, disk, "poem");
    scratch_path(folder, disk, "best");
    if (file_write(path, big, sizeof big, &err) != STATUS_OK)
        return 1;
    if (file_write(path, big, sizeof big, &err) != STATUS_IO)
        return 2;
    if (strstr(err.message, "No space left") == NULL || entries_in(disk) != 1)
        return 3;
    struct stat entry;
    if (stat(path, &entry) != 0 || entry.st_size != (off_t)sizeof big)
        return 4;
    unlink(path);
    if (write_generation(folder, 1, &err) != STATUS_OK)
        return 5;
    scratch_write(path, big, sizeof big);
    if (write_generation(folder, 2, &err) != STATUS_IO || read_generation(folder) != 1)
        return 6;
    if (entries_in(disk) != 2)
        return 7;
    unlink(path);
    return write_generation(folder, 3, &err) == STATUS_OK ? 0 : 8;
}
#endif

static void a_full_disk_leaves_the_old_ones(void **state)
{
    (void)state;
#ifdef __linux__
    char disk[PATH_SIZE];
    assert_int_equal(folder_create(scratch_path(disk, root, "disk"), NULL), STATUS_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(fill_a_small_disk(disk));
    int result;
    waitpid(child, &result, 0);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(result), 0);
#else
    skip();
#endif
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)
    const struct CMUnitTest tests[] = {
        TEST(a_commit_replaces_the_whole_folder),
        TEST(an_abort_leaves_the_old_folder),
        TEST(a_writer_at_work_is_left_alone_by_others),
        TEST(a_link_to_a_folder_stays),
        TEST(a_file_in_the_way_is_not_replaced),
        TEST(resolve_finds_the_folder_or_what_was_moved_aside),
        TEST(a_killed_writer_leaves_a_complete_folder),
        TEST(so_does_one_that_cannot_swap_in_one_step),
        TEST(two_steps_give_the_same_as_one),
        TEST(a_full_disk_leaves_the_old_ones),
    };
    return cmocka_run_group_tests_name("folders", tests, NULL, NULL);
}
