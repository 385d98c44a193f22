#include "data/skip.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

/* Files of the chinese-poetry repository that hold no poems, or none of their own. A row
 * matches a file's name or the name of a folder above it. */
static const struct {
    const char *pattern;
    bool folder;
    bool walk_only; /* still read when the file itself is named */
    const char *reason;
} NOT_POEMS[] = {
    {"author*.json", false, false, "biographies of authors"},
    {"intro.json", false, false, "an introduction"},
    {"*preface*.json", false, false, "a preface"},
    {"表面结构字.json", false, false, "a table of glyphs"},
    {"*.simplified.json", false, true, "the same poems in simplified script"},
    {"唐诗三百首.json", false, true, "a selection of poems that stand in other files"},
    {"唐诗补录.json", false, true, "a selection of poems that stand in other files"},
    {"宋词三百首.json", false, true, "a selection of poems that stand in other files"},
    {"error", true, false, "flags on works that stand in other files"},
    {"rank", true, false, "search engine counts"},
    {"strains", true, false, "tone patterns"},
    {"yudingquantangshi", true, false, "a damaged edition"},
    {"御定全唐詩", true, false, "a damaged edition"},
    {"lunyu*", true, false, "prose"},
    {"论语", true, false, "prose"},
    {"sishuwujing", true, false, "prose"},
    {"四书五经", true, false, "prose"},
    {"youmengying", true, false, "prose"},
    {"幽梦影", true, false, "prose"},
    {"guwenguanzhi.json", false, false, "prose"},
    {"wenzimengqiu.json", false, false, "a primer of characters"},
    {"youxueqionglin.json", false, false, "prose"},
    {"package.json", false, true, "not poems"},
    {"readme*", false, true, "not poems"},
    {"license*", false, true, "not poems"},
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Whether a folder on the way to the file has the name; `from` begins the part to look
 * at, so that a folder far above the data can't exclude it. */
static bool has_folder(const char *from, const char *pattern)
{
    for (const char *slash; (slash = strchr(from, '/')) != NULL; from = slash + 1) {
        char name[256];
        size_t length = (size_t)(slash - from);
        if (length == 0 || length >= sizeof name)
            continue;
        memcpy(name, from, length);
        name[length] = '\0';
        if (fnmatch(pattern, name, 0) == 0)
            return true;
    }
    return false;
}

/* The part of a path that NOT_POEMS is matched with: from its last but one folder on. */
static const char *near_part(const char *path)
{
    const char *start = path + strlen(path);
    for (int slashes = 0; start > path; start--)
        if (start[-1] == '/' && ++slashes == 4)
            break;
    return start;
}

const char *skip_reason(const char *path, bool walking)
{
    for (size_t i = 0; i < sizeof NOT_POEMS / sizeof NOT_POEMS[0]; i++) {
        if (NOT_POEMS[i].walk_only && !walking)
            continue;
        if (NOT_POEMS[i].folder
                ? has_folder(near_part(path), NOT_POEMS[i].pattern)
                : fnmatch(NOT_POEMS[i].pattern, base_name(path), FNM_CASEFOLD) == 0)
            return NOT_POEMS[i].reason;
    }
    return NULL;
}
