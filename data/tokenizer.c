#include "data/tokenizer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "data/utf8.h"
#include "model/base/files.h"
#include "model/base/memory.h"

static const char *const SPECIALS[TOKEN_SPECIALS] = {
    [TOKEN_UNK] = "<unk>",     [TOKEN_BOS] = "<bos>",       [TOKEN_EOS] = "<eos>",
    [TOKEN_TITLE] = "<title>", [TOKEN_AUTHOR] = "<author>", [TOKEN_FORM] = "<form>",
};

/* Any one character. "." would leave out the newline, and Oniguruma and fancy-regex write
 * the flag that mends this in different ways; both read this class. */
static const char *const ANY_CHARACTER = "[\\s\\S]";

enum { LARGEST_FILE = 64 << 20 }; /* of 65,536 tokens far less is needed */

/* ---- building ---------------------------------------------------------------------- */

typedef struct {
    int64_t count;
    uint32_t point;
} Counted;

static int compare_counted(const void *first, const void *second)
{
    const Counted *a = first;
    const Counted *b = second;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return (a->point > b->point) - (a->point < b->point);
}

static Status allocate(Tokenizer *tokenizer, int32_t size, Error *err)
{
    *tokenizer = (Tokenizer){.size = size};
    Status status = memory_allocate(&tokenizer->points, (size_t)size,
                                    sizeof *tokenizer->points, "the vocabulary", err);
    if (status == STATUS_OK)
        status = memory_allocate(&tokenizer->ids, CODE_POINTS, sizeof *tokenizer->ids,
                                 "the table of characters", err);
    if (status != STATUS_OK)
        tokenizer_free(tokenizer);
    return status;
}

static Status too_large(const Counted *sorted, size_t size, int64_t minimum_count,
                        Error *err)
{
    size_t room = TOKENIZER_MAXIMUM - TOKEN_SPECIALS;
    return error_set(err, STATUS_USAGE,
                     "--min-count %lld leaves %zu characters; at most %zu fit into "
                     "16-bit token ids: use --min-count %lld or more",
                     (long long)minimum_count, size, room,
                     (long long)sorted[room].count + 1);
}

/* Characters that no text file may hold: NUL, surrogates. */
static bool is_character(uint32_t point)
{
    return point != 0 && !(point >= 0xD800 && point < 0xE000) && point < CODE_POINTS;
}

Status tokenizer_build(Tokenizer *tokenizer, const int64_t *counts,
                       int64_t minimum_count, Error *err)
{
    *tokenizer = (Tokenizer){0};
    if (minimum_count < 1)
        minimum_count = 1;
    size_t size = 0;
    for (uint32_t point = 0; point < CODE_POINTS; point++)
        size += counts[point] >= minimum_count && is_character(point);
    if (size == 0)
        return error_set(err, STATUS_INPUT,
                         "no character occurs %lld times or more in the training text",
                         (long long)minimum_count);

    Counted *sorted;
    TRY(memory_allocate(&sorted, size, sizeof *sorted, "the vocabulary", err));
    size_t used = 0;
    for (uint32_t point = 0; point < CODE_POINTS; point++) {
        if (counts[point] >= minimum_count && is_character(point))
            sorted[used++] = (Counted){.count = counts[point], .point = point};
    }
    qsort(sorted, size, sizeof *sorted, compare_counted);

    Status status;
    if (size > TOKENIZER_MAXIMUM - TOKEN_SPECIALS)
        status = too_large(sorted, size, minimum_count, err);
    else
        status = allocate(tokenizer, (int32_t)size + TOKEN_SPECIALS, err);
    for (size_t i = 0; status == STATUS_OK && i < size; i++) {
        tokenizer->points[TOKEN_SPECIALS + i] = sorted[i].point;
        tokenizer->ids[sorted[i].point] = (uint16_t)(TOKEN_SPECIALS + i);
    }
    memory_free(sorted);
    return status;
}

void tokenizer_free(Tokenizer *tokenizer)
{
    memory_free(tokenizer->points);
    memory_free(tokenizer->ids);
    *tokenizer = (Tokenizer){0};
}

/* ---- use --------------------------------------------------------------------------- */

int32_t tokenizer_id(const Tokenizer *tokenizer, uint32_t point)
{
    return point < CODE_POINTS ? tokenizer->ids[point] : TOKEN_UNK;
}

void tokenizer_encode(int32_t *ids, const Tokenizer *tokenizer, const uint32_t *points,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = tokenizer_id(tokenizer, points[i]);
}

uint32_t tokenizer_code_point(const Tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && id < tokenizer->size ? tokenizer->points[id] : 0;
}

bool tokenizer_equal(const Tokenizer *a, const Tokenizer *b)
{
    return a->size == b->size &&
           memcmp(a->points, b->points, (size_t)a->size * sizeof *a->points) == 0;
}

const char *tokenizer_special_name(int32_t id)
{
    return id >= 0 && id < TOKEN_SPECIALS ? SPECIALS[id] : NULL;
}

size_t tokenizer_decode_append(char *text, size_t used, const Tokenizer *tokenizer,
                               int32_t id)
{
    uint32_t point = tokenizer_code_point(tokenizer, id);
    if (point != 0)
        used += utf8_encode(text + used, point);
    text[used] = '\0';
    return used;
}

/* ---- tokenizer.json: writing ------------------------------------------------------- */

/* Takes over the reference to root, which is NULL when jansson ran out of memory. */
static Status write_json(json_t *root, const char *path, Error *err)
{
    size_t flags = JSON_INDENT(1);
    size_t size = root != NULL ? json_dumpb(root, NULL, 0, flags) : 0;
    char *text = NULL;
    Status status = STATUS_OK;
    if (size == 0)
        status = error_set(err, STATUS_MEMORY, "%s: out of memory", path);
    if (status == STATUS_OK)
        status = memory_allocate(&text, size + 1, 1, "tokenizer.json", err);
    if (status == STATUS_OK) {
        json_dumpb(root, text, size, flags);
        text[size] = '\n';
        status = file_write(path, text, size + 1, err);
    }
    memory_free(text);
    json_decref(root);
    return status;
}

static json_t *pack_vocabulary(const Tokenizer *tokenizer)
{
    json_t *vocabulary = json_object();
    bool failed = vocabulary == NULL;
    for (int32_t id = 0; id < tokenizer->size && !failed; id++) {
        char text[UTF8_MAXIMUM + 1];
        const char *key = text;
        if (id < TOKEN_SPECIALS)
            key = SPECIALS[id];
        else
            tokenizer_decode_append(text, 0, tokenizer, id);
        failed = json_object_set_new(vocabulary, key, json_integer(id)) != 0;
    }
    if (failed) {
        json_decref(vocabulary);
        return NULL;
    }
    return vocabulary;
}

static json_t *pack_specials(void)
{
    json_t *added = json_array();
    bool failed = added == NULL;
    for (int id = 0; id < TOKEN_SPECIALS && !failed; id++) {
        json_t *token = json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", id,
                                  "content", SPECIALS[id], "single_word", 0, "lstrip",
                                  0, "rstrip", 0, "normalized", 0, "special", 1);
        failed = json_array_append_new(added, token) != 0;
    }
    if (failed) {
        json_decref(added);
        return NULL;
    }
    return added;
}

Status tokenizer_save(const Tokenizer *tokenizer, const char *path, Error *err)
{
    json_t *root = json_pack(
        "{s:s, s:n, s:n, s:o, s:{s:s}, s:{s:s, s:{s:s}, s:s, s:b}, s:n, s:{s:s},"
        " s:{s:s, s:o, s:s}}",
        "version", "1.0", "truncation", "padding", "added_tokens", pack_specials(),
        "normalizer", "type", "NFC", "pre_tokenizer", "type", "Split", "pattern",
        "Regex", ANY_CHARACTER, "behavior", "Isolated", "invert", 0, "post_processor",
        "decoder", "type", "Fuse", "model", "type", "WordLevel", "vocab",
        pack_vocabulary(tokenizer), "unk_token", SPECIALS[TOKEN_UNK]);
    return write_json(root, path, err);
}

/* ---- tokenizer.json: reading ------------------------------------------------------- */

/* root.section.key must be the string `expected`. */
static Status expect_text(const json_t *root, const char *section, const char *key,
                          const char *expected, const char *path, Error *err)
{
    const json_t *value = json_object_get(json_object_get(root, section), key);
    const char *found = json_string_value(value);
    if (found != NULL && strcmp(found, expected) == 0)
        return STATUS_OK;
    return error_set(
        err, STATUS_INPUT,
        "%s: %s.%s must be \"%s\" (a character tokenizer), found %s%.40s%s", path,
        section, key, expected, found != NULL ? "\"" : "",
        found != NULL   ? found
        : value == NULL ? "nothing"
                        : "another type",
        found != NULL ? "\"" : "");
}

/* The pattern of the Split must match every single character, in one of the usual ways. */
static Status check_pattern(const json_t *root, const char *path, Error *err)
{
    static const char *const KNOWN[] = {"[\\s\\S]", "(?s:.)", "(?s).", "(?m:.)", "."};
    const json_t *splitter = json_object_get(root, "pre_tokenizer");
    const json_t *pattern = json_object_get(splitter, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    for (size_t i = 0; regex != NULL && i < sizeof KNOWN / sizeof *KNOWN; i++) {
        if (strcmp(regex, KNOWN[i]) == 0)
            return STATUS_OK;
    }
    return error_set(err, STATUS_INPUT,
                     "%s: pre_tokenizer.pattern must be the Regex %s (any character)",
                     path, ANY_CHARACTER);
}

static Status check_specials(const json_t *root, const char *path, Error *err)
{
    const json_t *added = json_object_get(root, "added_tokens");
    bool seen[TOKEN_SPECIALS] = {false};
    size_t count = json_array_size(added);
    bool fine = count == TOKEN_SPECIALS;
    for (size_t i = 0; i < count && fine; i++) {
        const json_t *token = json_array_get(added, i);
        const json_t *id = json_object_get(token, "id");
        const char *content = json_string_value(json_object_get(token, "content"));
        json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        fine = value >= 0 && value < TOKEN_SPECIALS && !seen[value] &&
               content != NULL && strcmp(content, SPECIALS[value]) == 0 &&
               json_is_true(json_object_get(token, "special"));
        if (fine)
            seen[value] = true;
    }
    if (!fine)
        return error_set(
            err, STATUS_INPUT,
            "%s: added_tokens must be the special tokens <unk> <bos> <eos> "
            "<title> <author> <form> with the ids 0 to 5",
            path);
    return STATUS_OK;
}

/* The id of a vocabulary entry goes into the tables; key must be what the id stands for. */
static Status take_entry(Tokenizer *tokenizer, const char *key, const json_t *value,
                         const char *path, Error *err)
{
    json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    if (id < 0 || id >= tokenizer->size)
        return error_set(err, STATUS_INPUT,
                         "%s: the id of \"%.40s\" must be a whole number in 0 .. %d",
                         path, key, (int)tokenizer->size - 1);
    if (id < TOKEN_SPECIALS) {
        if (strcmp(key, SPECIALS[id]) == 0)
            return STATUS_OK;
        return error_set(err, STATUS_INPUT, "%s: id %d must be %s, found \"%.40s\"",
                         path, (int)id, SPECIALS[id], key);
    }
    uint32_t point = 0;
    size_t length = strlen(key);
    size_t bytes =
        length > 0 ? utf8_decode(&point, (const unsigned char *)key, length) : 0;
    if (bytes == 0 || bytes != length)
        return error_set(err, STATUS_INPUT,
                         "%s: the token \"%.40s\" must be a single character", path,
                         key);
    if (tokenizer->points[id] != 0)
        return error_set(err, STATUS_INPUT, "%s: id %d is given twice", path, (int)id);
    tokenizer->points[id] = point;
    tokenizer->ids[point] = (uint16_t)id;
    return STATUS_OK;
}

/* Keys are unique (JSON_REJECT_DUPLICATES), ids in range and unique, and there are as many
 * entries as ids: so every id 0 .. V-1 is there. */
static Status take_vocabulary(Tokenizer *tokenizer, json_t *root, const char *path,
                              Error *err)
{
    json_t *vocabulary = json_object_get(json_object_get(root, "model"), "vocab");
    size_t size = json_object_size(vocabulary);
    if (size <= TOKEN_SPECIALS || size > TOKENIZER_MAXIMUM)
        return error_set(
            err, STATUS_INPUT,
            "%s: model.vocab must be an object of %d to %d tokens, found %zu", path,
            TOKEN_SPECIALS + 1, TOKENIZER_MAXIMUM, size);
    TRY(allocate(tokenizer, (int32_t)size, err));
    const char *key;
    json_t *value;
    json_object_foreach(vocabulary, key, value)
    {
        TRY(take_entry(tokenizer, key, value, path, err));
    }
    return STATUS_OK;
}

static Status take_json(Tokenizer *tokenizer, json_t *root, const char *path,
                        Error *err)
{
    TRY(expect_text(root, "model", "type", "WordLevel", path, err));
    TRY(expect_text(root, "model", "unk_token", SPECIALS[TOKEN_UNK], path, err));
    TRY(expect_text(root, "normalizer", "type", "NFC", path, err));
    TRY(expect_text(root, "pre_tokenizer", "type", "Split", path, err));
    TRY(expect_text(root, "pre_tokenizer", "behavior", "Isolated", path, err));
    TRY(check_pattern(root, path, err));
    TRY(expect_text(root, "decoder", "type", "Fuse", path, err));
    TRY(check_specials(root, path, err));
    return take_vocabulary(tokenizer, root, path, err);
}

Status tokenizer_load(Tokenizer *tokenizer, const char *path, Error *err)
{
    *tokenizer = (Tokenizer){0};
    FileMap map;
    TRY(file_map(&map, path, err));
    json_error_t problem;
    json_t *root = NULL;
    Status status = STATUS_OK;
    if (map.size > LARGEST_FILE)
        status =
            error_set(err, STATUS_INPUT, "%s: %zu bytes are too many for a tokenizer",
                      path, map.size);
    if (status == STATUS_OK) {
        root = json_loadb((const char *)map.data, map.size, JSON_REJECT_DUPLICATES,
                          &problem);
        if (root == NULL)
            status = error_set(err, STATUS_INPUT, "%s:%d:%d: %s", path, problem.line,
                               problem.column, problem.text);
    }
    file_unmap(&map);
    if (status == STATUS_OK)
        status = take_json(tokenizer, root, path, err);
    json_decref(root);
    if (status != STATUS_OK)
        tokenizer_free(tokenizer);
    return status;
}
