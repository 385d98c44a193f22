/* The mapping of prompts, data/variants.h. */
#include "data/characters.h"
#include "data/variants.h"
#include "model/base/memory.h"

/* A simplified character this much rarer than the best of its class is a slip of the corpus,
 * not its habit. Of tang and song, 200 takes in 楼 数 鱼 and leaves 云 来 随. */
enum { RARE_RATIO = 200 };

static int64_t count_of(const Variants *variants, const VariantClass *class,
                        uint32_t point)
{
    for (size_t i = 0; i < class->length; i++)
        if (variants->members[class->start + i].point == point)
            return variants->members[class->start + i].count;
    return 0;
}

typedef enum { LINE_NEUTRAL, LINE_TRADITIONAL, LINE_SIMPLIFIED } LineScript;

static LineScript line_script(const Variants *variants, const uint32_t *points,
                              size_t count)
{
    LineScript script = LINE_NEUTRAL;
    for (size_t i = 0; i < count; i++) {
        const VariantClass *class = variants_class(variants, points[i]);
        if (class == NULL || class->length < 2)
            continue;
        int64_t best = variants->members[class->start].count;
        int64_t own = count_of(variants, class, points[i]);
        if (points[i] != class->key)
            script = LINE_TRADITIONAL;
        else if (own < best / RARE_RATIO || own == 0)
            return LINE_SIMPLIFIED;
    }
    return script;
}

static size_t line_end(const uint32_t *points, size_t count, size_t start)
{
    while (start < count && points[start] != '\n')
        start++;
    return start;
}

static Status map_point(MappedPrompt *mapped, const Variants *variants, bool all,
                        uint32_t point, Error *err)
{
    const VariantClass *class = variants_class(variants, point);
    const uint32_t mark = clean_mark(point);
    PromptChange change = {.index = mapped->count, .from = point, .to = point};
    bool known = class != NULL && count_of(variants, class, point) > 0;
    bool blank = point == '\n' || point == '\r' || point == ' ' || point == '\t' ||
                 point == 0x3000;
    if (class == NULL && mark != 0)
        class = variants_class(variants, mark);
    if (class != NULL && (all || !known))
        change.to = variants->members[class->start].point;
    change.unknown = class == NULL && !blank;
    TRY(memory_reserve(&mapped->points, &mapped->points_capacity, mapped->count + 1,
                       sizeof *mapped->points, "the prompt", err));
    mapped->points[mapped->count++] = change.to;
    if (!change.unknown && change.to == point)
        return STATUS_OK;
    TRY(memory_reserve(&mapped->changes, &mapped->change_capacity,
                       mapped->change_count + 1, sizeof *mapped->changes, "the prompt",
                       err));
    mapped->changes[mapped->change_count++] = change;
    return STATUS_OK;
}

Status variants_map_prompt(MappedPrompt *mapped, const Variants *variants,
                           const uint32_t *points, size_t count, Error *err)
{
    bool traditional = false, simplified = false;
    *mapped = (MappedPrompt){0};
    for (size_t start = 0; start < count;) {
        size_t end = line_end(points, count, start);
        LineScript script = line_script(variants, points + start, end - start);
        traditional = traditional || script == LINE_TRADITIONAL;
        simplified = simplified || script == LINE_SIMPLIFIED;
        start = end + 1;
    }
    for (size_t start = 0; start < count;) {
        size_t end = line_end(points, count, start);
        LineScript script = line_script(variants, points + start, end - start);
        bool all = script == LINE_SIMPLIFIED ||
                   (script == LINE_NEUTRAL && (simplified || !traditional));
        for (size_t i = start; i <= end && i < count; i++)
            TRY(map_point(mapped, variants, all, points[i], err));
        start = end + 1;
    }
    return STATUS_OK;
}

void mapped_prompt_free(MappedPrompt *mapped)
{
    memory_free(mapped->points);
    memory_free(mapped->changes);
    *mapped = (MappedPrompt){0};
}
