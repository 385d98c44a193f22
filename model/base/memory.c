#include "model/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

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

Status memory_allocate(void *out, size_t count, size_t size, const char *what,
                       Error *err)
{
    void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
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
    size_t rounded;
    if (!size_add(&rounded, bytes, ALIGNMENT - 1))
        return out_of_memory(what, bytes, 1, err);
    rounded = rounded / ALIGNMENT * ALIGNMENT;
    unsigned char *base = aligned_alloc(ALIGNMENT, rounded > 0 ? rounded : ALIGNMENT);
    if (base == NULL)
        return out_of_memory(what, bytes, 1, err);
    memset(base, 0, rounded);
    *arena = (Arena){.base = base, .size = rounded};
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
