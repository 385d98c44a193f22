#include "model/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

bool size_multiply(size_t *out, size_t a, size_t b)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool size_add(size_t *out, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

static Status out_of_memory(const char *what, size_t count, size_t size, Error *err)
{
    return error_set(err, STATUS_MEMORY, "out of memory: %s needs %zu x %zu bytes",
                     what, count, size);
}

/* Zeroed memory, aligned to cache lines. From two huge pages on the system is asked for huge
 * pages: products that walk down a matrix whose rows lie pages apart then find all of them
 * in few entries of the processor's page cache. */
static void *allocate_zeroed(size_t bytes)
{
    size_t alignment = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    size_t rounded;
    if (!size_add(&rounded, bytes, alignment - 1))
        return NULL;
    rounded = rounded / alignment * alignment;
    void *memory = aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
    if (memory == NULL)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (alignment == HUGE_PAGE)
        madvise(memory, rounded, MADV_HUGEPAGE); /* a wish: failure changes nothing */
#endif
    memset(memory, 0, rounded);
    return memory;
}

Status memory_allocate(void *out, size_t count, size_t size, const char *what,
                       Error *err)
{
    size_t bytes;
    void *memory = size_multiply(&bytes, count, size) ? allocate_zeroed(bytes) : NULL;
    if (memory == NULL)
        return out_of_memory(what, count, size, err);
    memcpy(out, &memory, sizeof memory);
    return STATUS_OK;
}

Status memory_reserve(void *array, size_t *capacity, size_t need, size_t size,
                      const char *what, Error *err)
{
    if (need <= *capacity)
        return STATUS_OK;
    size_t grown = *capacity + *capacity / 2;
    if (grown < need)
        grown = need;
    if (grown < 16)
        grown = 16;
    size_t bytes;
    if (!size_multiply(&bytes, grown, size))
        return out_of_memory(what, grown, size, err);
    void *old;
    memcpy(&old, array, sizeof old);
    unsigned char *memory = realloc(old, bytes);
    if (memory == NULL)
        return out_of_memory(what, grown, size, err);
    memset(memory + *capacity * size, 0, bytes - *capacity * size);
    memcpy(array, &memory, sizeof memory);
    *capacity = grown;
    return STATUS_OK;
}

void memory_free(void *pointer)
{
    free(pointer);
}

Status arena_create(Arena *arena, size_t bytes, const char *what, Error *err)
{
    unsigned char *base = allocate_zeroed(bytes);
    if (base == NULL)
        return out_of_memory(what, bytes, 1, err);
    *arena =
        (Arena){.base = base, .size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};
    return STATUS_OK;
}

void arena_destroy(Arena *arena)
{
    free(arena->base);
    *arena = (Arena){0};
}

void *arena_take(Arena *arena, size_t count, size_t size)
{
    size_t bytes;
    size_t end;
    bool fits = size_multiply(&bytes, count, size) &&
                size_add(&bytes, bytes, ALIGNMENT - 1) &&
                size_add(&end, arena->used, bytes / ALIGNMENT * ALIGNMENT);
    assert(fits);
    if (!fits)
        abort();
    size_t start = arena->used;
    arena->used = end;
    if (end > arena->peak)
        arena->peak = end;
    if (arena->base == NULL)
        return NULL;
    assert(end <= arena->size);
    return arena->base + start;
}

real *arena_reals(Arena *arena, int64_t count)
{
    assert(count >= 0);
    return arena_take(arena, (size_t)count, sizeof(real));
}

void arena_release(Arena *arena, size_t mark)
{
    assert(mark <= arena->used);
    arena->used = mark;
}
