#include "data/poem.h"

#include <string.h>

#include "model/base/memory.h"

void poem_list_free(PoemList *list)
{
    memory_free(list->items);
    memory_free(list->points);
    *list = (PoemList){0};
}

Status poem_list_text(PoemList *list, const uint32_t *points, size_t count, Text *text,
                      Error *err)
{
    TRY(memory_reserve(&list->points, &list->points_capacity, list->points_used + count,
                       sizeof *list->points, "the text of the poems", err));
    if (count > 0)
        memcpy(list->points + list->points_used, points, count * sizeof *points);
    *text = (Text){.start = list->points_used, .length = count};
    list->points_used += count;
    return STATUS_OK;
}

Status poem_list_add(PoemList *list, const Poem *poem, Error *err)
{
    TRY(memory_reserve(&list->items, &list->capacity, list->count + 1,
                       sizeof *list->items, "the list of poems", err));
    list->items[list->count++] = *poem;
    return STATUS_OK;
}
