#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/base/memory.h"

/* AddressSanitizer would end the program where malloc returns NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    size_t out = 7;
    assert_true(size_multiply(&out, 3, 5));
    assert_int_equal(out, 15);
    assert_true(size_multiply(&out, SIZE_MAX, 1));
    assert_true(out == SIZE_MAX);
    assert_true(size_multiply(&out, 0, SIZE_MAX));
    assert_int_equal(out, 0);
    assert_true(size_multiply(&out, SIZE_MAX, 0));
    out = 7;
    assert_false(size_multiply(&out, SIZE_MAX / 2 + 1, 2));
    assert_false(size_multiply(&out, (size_t)1 << 32, (size_t)1 << 32));
    assert_false(size_add(&out, SIZE_MAX, 1));
    assert_false(size_add(&out, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1));
    assert_int_equal(out, 7);
    assert_true(size_add(&out, SIZE_MAX - 1, 1));
    assert_true(out == SIZE_MAX);
}

static void allocated_memory_is_zero(void **state)
{
    (void)state;
    unsigned char *bytes;
    assert_int_equal(memory_allocate(&bytes, 1000, 3, "bytes", NULL), STATUS_OK);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(bytes[i], 0);
    memory_free(bytes);
    assert_int_equal(memory_allocate(&bytes, 0, 8, "nothing", NULL), STATUS_OK);
    assert_non_null(bytes);
    memory_free(bytes);
    memory_free(NULL);
}

static void too_much_is_an_error_that_says_for_what(void **state)
{
    (void)state;
    Error err;
    void *memory = NULL;
    assert_int_equal(memory_allocate(&memory, SIZE_MAX / 4, 8, "the logits", &err),
                     STATUS_MEMORY);
    assert_non_null(strstr(err.message, "the logits"));
    assert_int_equal(memory_allocate(&memory, SIZE_MAX / 2, 1, "the logits", &err),
                     STATUS_MEMORY);
    assert_null(memory);

    Arena arena = {0};
    assert_int_equal(arena_create(&arena, SIZE_MAX - 3, "the step", &err),
                     STATUS_MEMORY);
    assert_int_equal(arena_create(&arena, SIZE_MAX / 2, "the step", &err),
                     STATUS_MEMORY);
    assert_non_null(strstr(err.message, "the step"));
}

static void growing_keeps_the_old_and_zeroes_the_new(void **state)
{
    (void)state;
    int64_t *items = NULL;
    size_t capacity = 0;
    size_t growths = 0;
    for (size_t i = 0; i < 5000; i++) {
        size_t before = capacity;
        assert_int_equal(
            memory_reserve(&items, &capacity, i + 1, sizeof *items, "items", NULL),
            STATUS_OK);
        assert_true(capacity > i);
        growths += capacity != before;
        for (size_t j = before; j < capacity; j++)
            assert_int_equal(items[j], 0);
        items[i] = (int64_t)i + 1;
    }
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(items[i], (int64_t)i + 1);
    assert_true(growths < 20);

    /* A failure leaves the array as it was. */
    Error err;
    size_t before = capacity;
    int64_t *place = items;
    assert_int_equal(
        memory_reserve(&items, &capacity, SIZE_MAX / 4, sizeof *items, "poems", &err),
        STATUS_MEMORY);
    assert_non_null(strstr(err.message, "poems"));
    assert_ptr_equal(items, place);
    assert_int_equal(capacity, before);
    assert_int_equal(items[4999], 5000);
    memory_free(items);
}

typedef struct {
    real *weights;
    unsigned char *flags;
    int64_t *starts;
    void *nothing;
} Layout;

static void lay_out(Layout *layout, Arena *arena)
{
    layout->weights = arena_reals(arena, 101);
    size_t mark = arena->used;
    arena_take(arena, 10000, 1);
    arena_release(arena, mark);
    layout->flags = arena_take(arena, 3, 1);
    layout->nothing = arena_take(arena, 0, 8);
    layout->starts = arena_take(arena, 17, sizeof *layout->starts);
}

static void counting_and_allocating_are_the_same(void **state)
{
    (void)state;
    Layout layout;
    Arena counting = {0};
    lay_out(&layout, &counting);
    assert_null(layout.weights);
    assert_null(layout.starts);
    assert_true(counting.peak > counting.used);
    assert_true(counting.peak >= 10000);

    Arena arena;
    assert_int_equal(arena_create(&arena, counting.peak, "a layout", NULL), STATUS_OK);
    lay_out(&layout, &arena);
    assert_int_equal(arena.used, counting.used);
    assert_int_equal(arena.peak, counting.peak);
    arena_destroy(&arena);
    assert_null(arena.base);
}

static void taken_memory_is_aligned_zero_and_apart(void **state)
{
    (void)state;
    Layout layout;
    Arena arena = {0};
    lay_out(&layout, &arena);
    assert_int_equal(arena_create(&arena, arena.peak, "a layout", NULL), STATUS_OK);
    lay_out(&layout, &arena);
    assert_int_equal((uintptr_t)layout.weights % 64, 0);
    assert_int_equal((uintptr_t)layout.flags % 64, 0);
    assert_int_equal((uintptr_t)layout.starts % 64, 0);
    for (int i = 0; i < 101; i++) {
        assert_true(layout.weights[i] == 0);
        layout.weights[i] = 1;
    }
    memset(layout.flags, 2, 3);
    for (int i = 0; i < 17; i++) {
        assert_int_equal(layout.starts[i], 0);
        layout.starts[i] = -1;
    }
    for (int i = 0; i < 101; i++)
        assert_true(layout.weights[i] == 1);
    assert_int_equal(layout.flags[0] + layout.flags[1] + layout.flags[2], 6);
    arena_destroy(&arena);
}

/* Taking what was not counted is a programmer's mistake: it ends the program. */
static bool take_aborts(size_t count, size_t size)
{
    pid_t child = fork();
    if (child == 0) {
        Arena arena;
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        if (arena_create(&arena, 640, "little", NULL) != STATUS_OK)
            _exit(2);
        arena_take(&arena, count, size);
        _exit(0);
    }
    int result;
    waitpid(child, &result, 0);
    return WIFSIGNALED(result) && WTERMSIG(result) == SIGABRT;
}

static void an_arena_never_gives_more_than_it_has(void **state)
{
    (void)state;
    assert_false(take_aborts(640, 1));
    assert_true(take_aborts(641, 1));
    assert_true(take_aborts(SIZE_MAX, 1));
    assert_true(take_aborts(SIZE_MAX / 8 + 2, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(allocated_memory_is_zero),
        cmocka_unit_test(too_much_is_an_error_that_says_for_what),
        cmocka_unit_test(growing_keeps_the_old_and_zeroes_the_new),
        cmocka_unit_test(counting_and_allocating_are_the_same),
        cmocka_unit_test(taken_memory_is_aligned_zero_and_apart),
        cmocka_unit_test(an_arena_never_gives_more_than_it_has),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
