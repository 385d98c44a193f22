/* The table of collections. Folder names: of the npm package, of the Git repository, and
 * of the repository's older layout. */
#include "data/corpus.h"

#include <stdlib.h>
#include <string.h>

static const Collection COLLECTIONS[] = {
    {.name = "tang",
     .folders = {"quantangshi", "全唐诗", "json"},
     .prefix = "poet.tang.",
     .suffix = ".json",
     .script = SCRIPT_TRADITIONAL,
     .boundary = 50000, /* from here on 全唐詩補編, full of commentary */
     .groups = {"tang 0-49000", "tang 50000+"}},
    {.name = "song",
     .folders = {"quantangshi", "全唐诗", "json"},
     .prefix = "poet.song.",
     .suffix = ".json",
     .script = SCRIPT_TRADITIONAL,
     .groups = {"song"}},
    {.name = "songci",
     .folders = {"songci", "宋词", "ci"},
     .prefix = "ci.song.",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"songci"}},
    {.name = "yuanqu",
     .folders = {"yuanqu", "元曲"},
     .prefix = "yuanqu",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"yuanqu"}},
    {.name = "shijing",
     .folders = {"shijing", "诗经"},
     .prefix = "shijing",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"shijing"}},
    {.name = "chuci",
     .folders = {"chuci", "楚辞"},
     .prefix = "chuci",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"chuci"}},
    {.name = "nalan",
     .folders = {"nalanxingde", "纳兰性德"},
     .prefix = "纳兰性德诗集",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"nalan"}},
    {.name = "huajian",
     .folders = {"wudaishici/huajianji", "五代诗词/huajianji", "wudai/huajianji"},
     .prefix = "huajianji-",
     .suffix = "-juan.json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"huajian"}},
    {.name = "nantang",
     .folders = {"wudaishici/nantang", "五代诗词/nantang", "wudai/nantang"},
     .prefix = "poetrys",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"nantang"}},
    {.name = "caocao",
     .folders = {"caocaoshiji", "曹操诗集"},
     .prefix = "caocao",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"caocao"}},
    {.name = "shuimo",
     .folders = {"shuimotangshi", "水墨唐诗"},
     .prefix = "shuimotangshi",
     .suffix = ".json",
     .script = SCRIPT_SIMPLIFIED,
     .groups = {"shuimo"}},
};

enum { COLLECTION_TOTAL = sizeof COLLECTIONS / sizeof COLLECTIONS[0] };

int collection_count(void)
{
    return COLLECTION_TOTAL;
}

const Collection *collection_at(int index)
{
    return index >= 0 && index < COLLECTION_TOTAL ? &COLLECTIONS[index] : NULL;
}

int collection_find(const char *name)
{
    for (int i = 0; i < COLLECTION_TOTAL; i++)
        if (strcmp(COLLECTIONS[i].name, name) == 0)
            return i;
    return COLLECTION_FILES;
}

/* No dot may stand in the middle: poet.tang.0.simplified.json is the same poems again. */
bool collection_owns(const Collection *collection, const char *file, int64_t *number)
{
    size_t prefix = strlen(collection->prefix), suffix = strlen(collection->suffix);
    size_t length = strlen(file);
    if (length < prefix + suffix || strncmp(file, collection->prefix, prefix) != 0 ||
        strcmp(file + length - suffix, collection->suffix) != 0)
        return false;
    for (size_t i = prefix; i < length - suffix; i++) {
        char c = file[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z'))
            return false;
    }
    bool numbered = file[prefix] >= '0' && file[prefix] <= '9';
    *number = numbered ? strtoll(file + prefix, NULL, 10) : INT64_MAX;
    return true;
}
