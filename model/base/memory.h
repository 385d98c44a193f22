/* The only place that calls malloc: checked sizes, growing arrays, arenas.
 *
 * Arenas hold everything whose lifetime is a model, a step or a scratch pass. An arena
 * without a base only counts, so that one code path measures and allocates:
 *
 *     Arena arena = {0};
 *     lay_out(&arena, sizes);                  counts: arena.used is the need
 *     TRY(arena_create(&arena, arena.used, err));
 *     lay_out(&arena, sizes);                  the same calls, now with memory */
#ifndef JUEJU_MODEL_BASE_MEMORY_H
#define JUEJU_MODEL_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"
#include "model/base/real.h"

/* *out = a * b or a + b; false when the result does not fit (then *out is untouched). */
bool size_multiply(size_t *out, size_t a, size_t b);
bool size_add(size_t *out, size_t a, size_t b);

/* *out = zeroed memory for count items of size bytes, owned by the caller, released by
 * memory_free. STATUS_MEMORY names what it was for. A count of 0 gives a valid pointer. */
Status memory_allocate(void *out, size_t count, size_t size, const char *what,
                       Error *err);

/* Makes room for at least `need` items in the array at *(void **)array, which holds
 * *capacity items; grows by half or more, new items are zero. On failure the array stays
 * as it was. Start with a NULL array and capacity 0. */
Status memory_reserve(void *array, size_t *capacity, size_t need, size_t size,
                      const char *what, Error *err);

void memory_free(void *pointer);

typedef struct {
    unsigned char *base; /* NULL: only count */
    size_t size;         /* bytes at base */
    size_t used;
    size_t peak; /* largest `used` since arena_create */
} Arena;

/* Takes `bytes` zeroed, 64-byte aligned bytes and sets used to 0. */
Status arena_create(Arena *arena, size_t bytes, const char *what, Error *err);
void arena_destroy(Arena *arena);

/* 64-byte aligned, not zeroed; NULL in a counting arena. Room is the caller's promise
 * (lay out with a counting arena first); it is asserted. */
void *arena_take(Arena *arena, size_t count, size_t size);
real *arena_reals(Arena *arena, int64_t count);

/* Scratch use: mark = arena->used; ...; arena_release(arena, mark). */
void arena_release(Arena *arena, size_t mark);

#endif
