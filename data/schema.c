#include "data/schema.h"

#include <string.h>

#include "data/form.h"
#include "data/utf8.h"

static const char *const BODY_KEYS[] = {"paragraphs", "content", "para", NULL};

void work_reader_free(WorkReader *reader)
{
    poem_list_free(&reader->list);
    points_free(&reader->raw);
    points_free(&reader->normal);
    points_free(&reader->body);
    points_free(&reader->title);
    points_free(&reader->author);
    points_free(&reader->tune);
}

static json_t *find_body(const json_t *object)
{
    for (int i = 0; BODY_KEYS[i] != NULL; i++) {
        json_t *body = json_object_get(object, BODY_KEYS[i]);
        if (body != NULL)
            return body;
    }
    return NULL;
}

static Status drop(WorkReader *reader, DropReason reason)
{
    reader->counts.read++;
    reader->counts.dropped[reason]++;
    return STATUS_OK;
}

static Status normalize(WorkReader *reader, const Points *in, Error *err)
{
    reader->normal.used = 0;
    return utf8_normalize(&reader->normal.points, &reader->normal.used,
                          &reader->normal.capacity, in->points, in->used, err);
}

Status work_add(WorkReader *reader, Error *err)
{
    CleanReport report;
    TRY(normalize(reader, &reader->raw, err));
    TRY(clean_body(&reader->body, &report, reader->normal.points, reader->normal.used,
                   reader->strict, err));
    if (report.fault != BODY_KEPT)
        return drop(reader, (DropReason)report.fault);
    if (report.han < reader->minimum_body)
        return drop(reader, DROP_SHORT);

    Poem poem = {.collection = reader->collection, .group = reader->group};
    const uint32_t *form = reader->tune.points;
    size_t form_length = reader->tune.used;
    if (form_length == 0)
        form = form_points(form_find(reader->body.points, reader->body.used),
                           &form_length);
    PoemList *list = &reader->list;
    TRY(poem_list_text(list, reader->title.points, reader->title.used, &poem.title,
                       err));
    TRY(poem_list_text(list, reader->author.points, reader->author.used, &poem.author,
                       err));
    TRY(poem_list_text(list, form, form_length, &poem.form, err));
    TRY(poem_list_text(list, reader->body.points, reader->body.used, &poem.body, err));
    TRY(poem_list_add(list, &poem, err));

    CorpusGroup *counts = &reader->counts;
    counts->read++;
    counts->kept++;
    counts->characters += (int64_t)reader->body.used;
    counts->han += report.han;
    counts->notes += report.notes;
    bool filled = false, pending = false;
    for (size_t i = 0; i < reader->raw.used; i++) {
        bool end = reader->raw.points[i] == '\n';
        counts->breaks += !end && pending;
        pending = end && filled;
        filled = filled || !end;
    }
    return STATUS_OK;
}

Status work_add_verbatim(WorkReader *reader, Error *err)
{
    Poem poem = {.collection = reader->collection, .group = reader->group};
    TRY(normalize(reader, &reader->raw, err));
    reader->counts.read++;
    TRY(poem_list_text(&reader->list, reader->normal.points, reader->normal.used,
                       &poem.body, err));
    TRY(poem_list_add(&reader->list, &poem, err));
    reader->counts.kept++;
    reader->counts.characters += (int64_t)reader->normal.used;
    for (size_t i = 0; i < reader->normal.used; i++)
        reader->counts.han += clean_is_han(reader->normal.points[i]);
    return STATUS_OK;
}

static Status append_string(Points *out, const json_t *string, Error *err)
{
    return utf8_append(&out->points, &out->used, &out->capacity,
                       (const unsigned char *)json_string_value(string),
                       json_string_length(string), "a JSON string", err);
}

/* A cleaned field; empty when it is absent or null, counted when it is damaged or of a
 * wrong type. `cut` ends the field before the first middle dot, if there is one. */
static Status read_field(WorkReader *reader, Points *out, const json_t *value, bool cut,
                         Error *err)
{
    bool damaged;
    out->used = 0;
    if (value == NULL || json_is_null(value))
        return STATUS_OK;
    if (!json_is_string(value)) {
        reader->counts.titles_emptied++;
        return STATUS_OK;
    }
    reader->raw.used = 0;
    TRY(append_string(&reader->raw, value, err));
    TRY(normalize(reader, &reader->raw, err));
    size_t length = reader->normal.used;
    for (size_t i = 0; cut && i < length; i++)
        if (reader->normal.points[i] == 0x30FB || reader->normal.points[i] == 0xB7)
            length = i;
    TRY(clean_title(out, &damaged, reader->normal.points, length, err));
    reader->counts.titles_emptied += damaged;
    return STATUS_OK;
}

static bool has_point(const Points *text, size_t from, uint32_t point)
{
    for (size_t i = from; i < text->used; i++)
        if (text->points[i] == point)
            return true;
    return false;
}

/* Whether the code points are one of the twelve modes (宮調) that stand before 曲牌. */
static bool is_mode(const uint32_t *points, size_t length)
{
    static const uint32_t MODES[][2] = {
        {0x4ED9, 0x5415}, {0x5357, 0x5415}, {0x4E2D, 0x5415}, {0x9EC4, 0x949F},
        {0x6B63, 0x5BAB}, {0x5927, 0x77F3}, {0x5C0F, 0x77F3}, {0x8D8A, 0x8C03},
        {0x53CC, 0x8C03}, {0x5546, 0x8C03}, {0x822C, 0x6D89}, {0x9AD8, 0x5E73}};
    for (size_t i = 0; i < sizeof MODES / sizeof MODES[0]; i++)
        if (length == 2 && memcmp(points, MODES[i], sizeof MODES[i]) == 0)
            return true;
    return false;
}

/* Titles of 元曲: 劇名・宮調/曲牌, 劇名・曲牌, 宮調・曲牌 with a title, 曲牌・first words, or
 * the 曲牌 alone. What is no title of its own goes. Splits reader->normal. */
static Status split_drama_title(WorkReader *reader, Error *err)
{
    const Points *whole = &reader->normal;
    size_t dot = 0, tune = 0;
    bool damaged;
    while (dot < whole->used && whole->points[dot] != 0x30FB)
        dot++;
    for (size_t i = dot; i < whole->used; i++)
        if (whole->points[i] == '/')
            tune = i + 1;
    size_t rest = dot < whole->used ? dot + 1 : dot;
    bool words = has_point(whole, rest, 0xFF0C) || has_point(whole, rest, 0x3002);
    const uint32_t *points = whole->points;
    reader->title.used = reader->tune.used = 0;
    if (words || dot == whole->used) /* a 曲牌 with the first words, or alone */
        return clean_title(&reader->tune, &damaged, points, dot, err);
    if (tune == 0 && is_mode(points, dot)) /* 双调・蟾宫曲题《录鬼簿》 */
        return clean_title(&reader->title, &damaged, points + rest, whole->used - rest,
                           err);
    tune = tune > 0 ? tune : rest;
    TRY(clean_title(&reader->title, &damaged, points, dot, err));
    return clean_title(&reader->tune, &damaged, points + tune, whole->used - tune, err);
}

static Status read_fields(WorkReader *reader, const json_t *object,
                          const json_t *inherited, Error *err)
{
    const json_t *title = json_object_get(object, "title");
    const json_t *author = json_object_get(object, "author");
    const json_t *rhythmic = json_object_get(object, "rhythmic");
    title = title != NULL ? title : json_object_get(object, "chapter");
    TRY(read_field(reader, &reader->author, author != NULL ? author : inherited, false,
                   err));
    reader->tune.used = 0;
    if (rhythmic != NULL) {
        TRY(read_field(reader, &reader->tune, rhythmic, true, err));
    } else if (json_object_get(object, "para") != NULL && json_is_string(title) &&
               strstr(json_string_value(title), "·") != NULL) {
        TRY(read_field(reader, &reader->tune, title, true, err)); /* 长相思·山一程 */
    }
    TRY(read_field(reader, &reader->title, title, false, err));
    if (rhythmic == NULL && json_is_string(title) &&
        json_object_get(object, "dynasty") != NULL)
        TRY(split_drama_title(reader, err)); /* its title is still in reader->normal */
    return STATUS_OK;
}

static bool holds_objects(const json_t *body)
{
    return json_is_array(body) && json_is_object(json_array_get(body, 0)) &&
           find_body(json_array_get(body, 0)) != NULL;
}

static Status read_object(WorkReader *reader, const json_t *object,
                          const json_t *inherited, Error *err);

/* The works in a book's content. The depth of the recursion is the document's. */
static Status read_book(WorkReader *reader, const json_t *content,
                        const json_t *inherited, Error *err)
{
    for (size_t i = 0; i < json_array_size(content); i++)
        TRY(read_object(reader, json_array_get(content, i), inherited, err));
    return STATUS_OK;
}

static Status read_object(WorkReader *reader, const json_t *object,
                          const json_t *inherited, Error *err)
{
    if (!json_is_object(object))
        return drop(reader, DROP_TYPE);
    const json_t *body = find_body(object), *author = json_object_get(object, "author");
    if (holds_objects(body))
        return read_book(reader, body, json_is_string(author) ? author : inherited,
                         err);
    if (body == NULL || json_is_null(body))
        return drop(reader, DROP_EMPTY);
    if (!json_is_array(body) && !json_is_string(body))
        return drop(reader, DROP_TYPE);
    for (size_t i = 0; i < json_array_size(body); i++)
        if (!json_is_string(json_array_get(body, i)))
            return drop(reader, DROP_TYPE);

    TRY(read_fields(reader, object, inherited, err));
    reader->raw.used = 0;
    if (json_is_string(body))
        TRY(append_string(&reader->raw, body, err));
    for (size_t i = 0; i < json_array_size(body); i++) {
        if (i > 0)
            TRY(points_push(&reader->raw, '\n', err));
        TRY(append_string(&reader->raw, json_array_get(body, i), err));
    }
    return work_add(reader, err);
}

static bool has_any_key(const json_t *object, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (json_object_get(object, *keys) != NULL)
            return true;
    return false;
}

/* What objects without a body are, by keys that only they have. */
static const char *reject_object(const json_t *object)
{
    static const char *const BIOGRAPHY[] = {"desc", "description", "name", NULL};
    static const char *const COUNTS[] = {"baidu", "google", "bing", NULL};
    static const char *const TONES[] = {"strains", NULL};
    if (has_any_key(object, BIOGRAPHY))
        return "biographies or descriptions (name, desc), not poems";
    if (has_any_key(object, COUNTS))
        return "search engine counts, not poems";
    if (has_any_key(object, TONES))
        return "tone patterns, not poems";
    return NULL;
}

/* Works that have a body and yet are no poems. */
static const char *reject_work(const json_t *object)
{
    if (json_object_get(object, "strains") != NULL)
        return "flags on works that stand in other files (strains)";
    if (json_object_get(object, "biography") != NULL)
        return "works of a damaged edition (biography)";
    if (json_object_get(object, "comment") != NULL)
        return "prose with comments (comment)";
    if (json_object_get(object, "chapter") != NULL &&
        json_object_get(object, "title") == NULL &&
        json_object_get(object, "author") == NULL && !holds_objects(find_body(object)))
        return "chapters of prose (chapter without title or author)";
    return NULL;
}

const char *schema_reject(const json_t *value)
{
    if (json_is_object(value)) {
        if (find_body(value) != NULL)
            return reject_work(value);
        const char *reason = reject_object(value);
        return reason != NULL ? reason
                              : "an object without paragraphs, content or para";
    }
    if (!json_is_array(value))
        return "neither an array nor an object";
    const char *reason = NULL;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *object = json_array_get(value, i);
        if (!json_is_object(object))
            continue;
        if (find_body(object) != NULL)
            return reject_work(object);
        if (reason == NULL)
            reason = reject_object(object);
    }
    return reason;
}

Status schema_read(WorkReader *reader, const json_t *value, Error *err)
{
    if (json_is_array(value))
        return read_book(reader, value, NULL, err);
    return read_object(reader, value, NULL, err);
}

Status schema_read_salvaged(void *context, json_t *object, Error *err)
{
    WorkReader *reader = context;
    if (object == NULL)
        return drop(reader, DROP_INPUT);
    if (find_body(object) == NULL && reject_object(object) != NULL)
        return drop(reader, DROP_TYPE);
    return read_object(reader, object, NULL, err);
}
