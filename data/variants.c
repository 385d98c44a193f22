#include "data/variants.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "data/clean.h"
#include "data/document.h"
#include "data/script.h"
#include "data/utf8.h"
#include "model/base/files.h"
#include "model/base/memory.h"

enum { FORMAT_VERSION = 1 };

void variants_free(Variants *variants)
{
    memory_free(variants->classes);
    memory_free(variants->members);
    memory_free(variants->lookup);
    *variants = (Variants){0};
}

/* ---- building ---------------------------------------------------------------------- */

typedef struct {
    uint32_t key, point;
    int64_t count;
} Keyed;

/* By class, falling count, code point. */
static int by_class(const void *a, const void *b)
{
    const Keyed *first = a, *second = b;
    if (first->key != second->key)
        return first->key < second->key ? -1 : 1;
    if (first->count != second->count)
        return first->count > second->count ? -1 : 1;
    return first->point < second->point ? -1 : first->point > second->point;
}

static int by_point(const void *a, const void *b)
{
    const Variant *first = a, *second = b;
    return first->point < second->point ? -1 : first->point > second->point;
}

static Status add_member(Variants *variants, uint32_t key, uint32_t point,
                         int64_t count, Error *err)
{
    const char *what = "classes of variants";
    size_t classes = variants->class_count;
    if (classes == 0 || variants->classes[classes - 1].key != key) {
        TRY(memory_reserve(&variants->classes, &variants->class_capacity, classes + 1,
                           sizeof *variants->classes, what, err));
        variants->classes[classes] =
            (VariantClass){.key = key, .start = variants->member_count};
        variants->class_count = ++classes;
    }
    TRY(memory_reserve(&variants->members, &variants->member_capacity,
                       variants->member_count + 1, sizeof *variants->members, what,
                       err));
    variants->members[variants->member_count++] = (Variant){point, count};
    variants->classes[classes - 1].length++;
    return STATUS_OK;
}

/* The lookup table; STATUS_INPUT when a character is in two classes. */
static Status build_lookup(Variants *variants, Error *err)
{
    size_t count = variants->member_count;
    TRY(memory_reserve(&variants->lookup, &variants->lookup_capacity, count,
                       sizeof *variants->lookup, "variants", err));
    variants->lookup_count = 0;
    for (size_t class = 0; class < variants->class_count; class ++) {
        const VariantClass *members = &variants->classes[class];
        for (size_t i = 0; i < members->length; i++)
            variants->lookup[variants->lookup_count++] =
                (Variant){variants->members[members->start + i].point, (int64_t) class};
    }
    if (count > 0)
        qsort(variants->lookup, count, sizeof *variants->lookup, by_point);
    for (size_t i = 1; i < count; i++)
        if (variants->lookup[i].point == variants->lookup[i - 1].point)
            return error_set(err, STATUS_INPUT, "U+%04X is listed twice",
                             variants->lookup[i].point);
    return STATUS_OK;
}

/* All Han characters with a code point, so that those which fold into a class of the
 * vocabulary are known although the vocabulary lacks them. */
static Status add_all_han(Points *points, Error *err)
{
    enum { LAST_HAN = 0x323AF };
    for (uint32_t point = 0x3007; point <= LAST_HAN; point++)
        if (clean_is_han(point))
            TRY(points_push(points, point, err));
    return STATUS_OK;
}

static Status collect(Keyed **keyed, size_t *keyed_count, const uint32_t *points,
                      const int64_t *counts, size_t count, Error *err)
{
    Points all = {0};
    uint32_t *keys = NULL;
    Status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = points_push(&all, points[i], err);
    if (status == STATUS_OK)
        status = add_all_han(&all, err);
    if (status == STATUS_OK)
        status = memory_allocate(&keys, all.used, sizeof *keys, "variants", err);
    if (status == STATUS_OK)
        status = script_fold(keys, all.points, all.used, err);
    if (status == STATUS_OK)
        status = memory_allocate(keyed, all.used, sizeof **keyed, "variants", err);
    for (size_t i = 0; i < all.used && status == STATUS_OK; i++)
        (*keyed)[i] = (Keyed){keys[i], all.points[i], i < count ? counts[i] : 0};
    *keyed_count = status == STATUS_OK ? all.used : 0;
    memory_free(keys);
    points_free(&all);
    return status;
}

Status variants_build(Variants *variants, const uint32_t *points, const int64_t *counts,
                      size_t count, Error *err)
{
    Keyed *keyed = NULL;
    size_t total;
    *variants = (Variants){0};
    for (size_t i = 0; i < count; i++)
        if (counts[i] <= 0)
            return error_set(err, STATUS_INPUT,
                             "U+%04X of the vocabulary has no occurrence", points[i]);
    Status status = collect(&keyed, &total, points, counts, count, err);
    if (status == STATUS_OK)
        qsort(keyed, total, sizeof *keyed, by_class);
    for (size_t i = 0; i < total && status == STATUS_OK;) {
        size_t end = i;
        while (end < total && keyed[end].key == keyed[i].key)
            end++;
        /* Vocabulary members come first, each followed by itself with count 0. */
        for (size_t j = i; j < end && keyed[i].count > 0 && status == STATUS_OK; j++) {
            bool listed = false;
            for (size_t k = i; keyed[j].count == 0 && keyed[k].count > 0; k++)
                listed = listed || keyed[k].point == keyed[j].point;
            if (!listed)
                status = add_member(variants, keyed[j].key, keyed[j].point,
                                    keyed[j].count, err);
        }
        i = end;
    }
    memory_free(keyed);
    if (status == STATUS_OK)
        status = build_lookup(variants, err);
    if (status != STATUS_OK)
        variants_free(variants);
    return status;
}

/* ---- variants.json ------------------------------------------------------------------ */

static json_t *character(uint32_t point)
{
    char bytes[UTF8_MAXIMUM];
    return json_stringn(bytes, utf8_encode(bytes, point));
}

static int add_class(json_t *classes, const Variants *variants,
                     const VariantClass *class)
{
    char key[UTF8_MAXIMUM + 1] = {0};
    json_t *members = json_array();
    utf8_encode(key, class->key);
    for (size_t i = 0; i < class->length; i++) {
        const Variant *member = &variants->members[class->start + i];
        json_t *pair = json_array();
        if (json_array_append_new(pair, character(member->point)) != 0 ||
            json_array_append_new(pair, json_integer(member->count)) != 0 ||
            json_array_append(members, pair) != 0) {
            json_decref(pair);
            json_decref(members);
            return -1;
        }
        json_decref(pair);
    }
    return json_object_set_new(classes, key, members);
}

Status variants_write(const Variants *variants, const char *path, Error *err)
{
    json_t *root = json_object(), *classes = json_object();
    char *text = NULL;
    int failed = json_object_set_new(root, "version", json_integer(FORMAT_VERSION));
    for (size_t i = 0; i < variants->class_count && failed == 0; i++)
        failed = add_class(classes, variants, &variants->classes[i]);
    if (failed == 0)
        failed = json_object_set(root, "classes", classes);
    if (failed == 0)
        text = json_dumps(root, JSON_COMPACT);
    json_decref(classes);
    json_decref(root);
    if (text == NULL)
        return error_set(err, STATUS_MEMORY, "%s: out of memory while writing", path);
    Status status = file_write(path, text, strlen(text), err);
    free(text); /* jansson's own memory */
    return status;
}

/* The one character of a string, or false. */
static bool single_point(uint32_t *point, const char *text, size_t length)
{
    return length > 0 &&
           utf8_decode(point, (const unsigned char *)text, length) == length;
}

static Status load_class(Variants *variants, const char *path, const char *name,
                         const json_t *members, Error *err)
{
    uint32_t key;
    int64_t last = INT64_MAX;
    if (!single_point(&key, name, strlen(name)))
        return error_set(err, STATUS_INPUT,
                         "%s: class \"%.32s\": expected one character as its name",
                         path, name);
    if (variants->class_count > 0 &&
        variants->classes[variants->class_count - 1].key >= key)
        return error_set(err, STATUS_INPUT, "%s: class \"%s\": out of order", path,
                         name);
    if (!json_is_array(members) || json_array_size(members) == 0)
        return error_set(err, STATUS_INPUT,
                         "%s: class \"%s\": expected an array of members", path, name);
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *pair = json_array_get(members, i);
        const json_t *first = json_array_get(pair, 0),
                     *second = json_array_get(pair, 1);
        uint32_t point;
        if (json_array_size(pair) != 2 || !json_is_string(first) ||
            !json_is_integer(second) ||
            !single_point(&point, json_string_value(first), json_string_length(first)))
            return error_set(err, STATUS_INPUT,
                             "%s: class \"%s\", member %zu: expected [character, "
                             "count]",
                             path, name, i);
        int64_t count = json_integer_value(second);
        if (count < 0 || count > last || (i == 0 && count == 0))
            return error_set(err, STATUS_INPUT,
                             "%s: class \"%s\", member %zu: expected counts from 0 on, "
                             "falling, and the first above 0; found %lld",
                             path, name, i, (long long)count);
        last = count;
        TRY(add_member(variants, key, point, count, err));
    }
    return STATUS_OK;
}

static Status load_value(Variants *variants, const char *path, json_t *root, Error *err)
{
    const char *name;
    json_t *members, *classes = json_object_get(root, "classes");
    const json_t *version = json_object_get(root, "version");
    if (!json_is_integer(version) || json_integer_value(version) != FORMAT_VERSION)
        return error_set(err, STATUS_INPUT, "%s: expected \"version\": %d", path,
                         FORMAT_VERSION);
    if (!json_is_object(classes))
        return error_set(err, STATUS_INPUT, "%s: expected an object \"classes\"", path);
    json_object_foreach(classes, name, members)
        TRY(load_class(variants, path, name, members, err));
    if (build_lookup(variants, err) != STATUS_OK)
        return error_context(err, "%s", path);
    return STATUS_OK;
}

Status variants_load(Variants *variants, const char *path, Error *err)
{
    FileMap map;
    Document document;
    json_t *root = NULL;
    *variants = (Variants){0};
    TRY(file_map(&map, path, err));
    Status status = document_open(&document, path, map.data, map.size, false, err);
    if (status == STATUS_OK)
        status = document_parse(&root, &document, err);
    file_unmap(&map);
    if (status == STATUS_OK)
        status = load_value(variants, path, root, err);
    json_decref(root);
    if (status != STATUS_OK)
        variants_free(variants);
    return status;
}

/* ---- asking -------------------------------------------------------------------------- */

const VariantClass *variants_class(const Variants *variants, uint32_t point)
{
    const Variant wanted = {point, 0};
    if (variants->lookup_count == 0)
        return NULL;
    const Variant *found = bsearch(&wanted, variants->lookup, variants->lookup_count,
                                   sizeof *variants->lookup, by_point);
    return found == NULL ? NULL : &variants->classes[found->count];
}

size_t variants_candidates(const Variants *variants, uint32_t point,
                           const Variant **members, size_t *known)
{
    const VariantClass *class = variants_class(variants, point);
    *members = NULL;
    *known = 0;
    if (class == NULL)
        return 0;
    *members = variants->members + class->start;
    while (*known < class->length && (*members)[*known].count > 0)
        *known += 1;
    return class->length;
}
