#include "scripts/sample_couplet.h"

#include <jansson.h>
#include <omp.h>
#include <string.h>

#include "data/clean.h"
#include "data/pairs.h"
#include "data/utf8.h"
#include "model/base/memory.h"
#include "scripts/sample_prompt.h"

static const char OPTION[] = "--couplet";

/* ---- first lines -------------------------------------------------------------------- */

typedef struct {
    PromptText *lines; /* (count) owned */
    size_t count, capacity;
} FirstLines;

static void lines_free(FirstLines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        prompt_text_free(&lines->lines[i]);
    memory_free(lines->lines);
}

static bool is_between(uint32_t point)
{
    static const uint32_t MARKS[] = U",.;:!?/|，。；：！？、　";
    if (point <= ' ')
        return true;
    for (size_t i = 0; MARKS[i] != 0; i++) {
        if (MARKS[i] == point)
            return true;
    }
    return false;
}

/* The end of the bytes that belong together from `text` on, and the start of the next. */
static size_t piece_length(const char *text, size_t *skipped)
{
    size_t size = strlen(text);
    size_t used = 0;
    uint32_t point = 0;
    while (used < size) {
        size_t bytes =
            utf8_decode(&point, (const unsigned char *)text + used, size - used);
        if (bytes == 0 || is_between(point)) {
            *skipped = bytes;
            return used;
        }
        used += bytes;
    }
    *skipped = 0;
    return used;
}

static Status check_line(const PromptText *line, const Checkpoint *checkpoint,
                         Error *err)
{
    int64_t longest = couplet_longest(&checkpoint->gpt);
    for (size_t i = 0; i < line->count; i++) {
        if (!clean_is_han(line->points[i]))
            return error_set(err, STATUS_USAGE,
                             "%s: expected Chinese characters, but character %zu of a "
                             "line is U+%04X",
                             OPTION, i + 1, (unsigned)line->points[i]);
    }
    if ((int64_t)line->count > longest)
        return error_set(err, STATUS_USAGE,
                         "%s: a line has %zu characters; any length from 1 to %lld is "
                         "possible (%d and %d are what the model has read)",
                         OPTION, line->count, (long long)longest, PAIR_LONGEST - 2,
                         PAIR_LONGEST);
    return STATUS_OK;
}

static Status add_line(FirstLines *lines, const char *text, size_t length,
                       const Checkpoint *checkpoint, Error *err)
{
    char *copy;
    TRY(memory_reserve(&lines->lines, &lines->capacity, lines->count + 1,
                       sizeof *lines->lines, "the first lines", err));
    TRY(memory_allocate(&copy, length + 1, 1, "a first line", err));
    memcpy(copy, text, length);
    PromptText *line = &lines->lines[lines->count];
    Status status = prompt_text_prepare(line, copy, OPTION, checkpoint, stderr, err);
    memory_free(copy);
    TRY(status);
    lines->count += line->count > 0; /* else it was invisible characters */
    return line->count > 0 ? check_line(line, checkpoint, err) : STATUS_OK;
}

static void note_lengths(const FirstLines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        if (lines->lines[i].count == PAIR_LONGEST ||
            lines->lines[i].count == PAIR_LONGEST - 2)
            continue;
        fprintf(stderr,
                "note: %s: a line of %zu characters, but the model has only read lines "
                "of %d and %d\n",
                OPTION, lines->lines[i].count, PAIR_LONGEST - 2, PAIR_LONGEST);
        return;
    }
}

static Status read_lines(FirstLines *lines, const char *text,
                         const Checkpoint *checkpoint, Error *err)
{
    size_t size = strlen(text);
    size_t valid = utf8_valid((const unsigned char *)text, size);
    if (valid < size)
        return error_set(
            err, STATUS_USAGE,
            "%s: expected UTF-8, but byte %zu (0x%02X) belongs to no character", OPTION,
            valid + 1, (unsigned)(unsigned char)text[valid]);
    while (*text != '\0') {
        size_t skipped;
        size_t length = piece_length(text, &skipped);
        if (length > 0)
            TRY(add_line(lines, text, length, checkpoint, err));
        text += length + skipped;
    }
    if (lines->count == 0)
        return error_set(err, STATUS_USAGE,
                         "%s: expected a first line such as 白日依山盡, found no "
                         "character",
                         OPTION);
    note_lengths(lines);
    return STATUS_OK;
}

/* ---- writing ------------------------------------------------------------------------ */

enum { TOGETHER = 64 /* couplets that threads share before they are printed */ };

typedef struct {
    int32_t *lower; /* (T) owned */
    double nats;
    uint64_t seed;
    const PromptText *upper;
    Error error;
} Couplet;

typedef struct {
    const Checkpoint *checkpoint;
    const CoupletOptions *options;
    FILE *stream;
    FirstLines lines;
    int threads;
    CoupletWriter **writers; /* (threads) */
    Couplet couplets[TOGETHER];
} Session;

static Status session_create(Session *session, Error *err)
{
    const Gpt *gpt = &session->checkpoint->gpt;
    TRY(memory_allocate(&session->writers, (size_t)session->threads,
                        sizeof *session->writers, "the second lines", err));
    for (int t = 0; t < session->threads; t++)
        TRY(couplet_writer_create(&session->writers[t], gpt,
                                  &session->checkpoint->tokenizer, err));
    for (int i = 0; i < TOGETHER; i++)
        TRY(memory_allocate(&session->couplets[i].lower, (size_t)gpt->config.context,
                            sizeof *session->couplets[i].lower, "the second lines",
                            err));
    return STATUS_OK;
}

static void session_destroy(Session *session)
{
    for (int t = 0; session->writers != NULL && t < session->threads; t++)
        couplet_writer_destroy(session->writers[t]);
    for (int i = 0; i < TOGETHER; i++)
        memory_free(session->couplets[i].lower);
    memory_free(session->writers);
    lines_free(&session->lines);
}

static void write_one(Session *session, Couplet *couplet)
{
    Rng rng = rng_stream(couplet->seed, 0);
    couplet->error.status = STATUS_OK;
    couplet_write(session->writers[omp_get_thread_num()], couplet->lower,
                  &couplet->nats, couplet->upper->ids, (int64_t)couplet->upper->count,
                  &session->options->settings, &rng, &couplet->error);
}

/* ---- printing ----------------------------------------------------------------------- */

static json_t *json_points(const uint32_t *points, size_t count)
{
    char *text;
    size_t size = utf8_length(points, count);
    if (memory_allocate(&text, size + 1, 1, "a line", NULL) != STATUS_OK)
        return NULL;
    utf8_write(text, points, count);
    json_t *string = json_stringn(text, size);
    memory_free(text);
    return string;
}

static Status print_json(const Couplet *couplet, const uint32_t *lower, FILE *stream,
                         Error *err)
{
    size_t n = couplet->upper->count;
    json_t *object =
        json_pack("{s:o*, s:o*, s:I, s:f, s:I, s:s}", "couplet",
                  json_points(couplet->upper->points, n), "text", json_points(lower, n),
                  "seed", (json_int_t)couplet->seed, "nats", couplet->nats, "tokens",
                  (json_int_t)n, "ended", "length");
    if (object == NULL || json_object_size(object) < 6) {
        json_decref(object);
        return error_set(err, STATUS_MEMORY, "out of memory for a couplet as JSON");
    }
    json_dumpf(object, stream, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putc('\n', stream);
    json_decref(object);
    return STATUS_OK;
}

static void print_points(const uint32_t *points, size_t count, FILE *stream)
{
    for (size_t i = 0; i < count; i++) {
        char bytes[UTF8_MAXIMUM];
        size_t length = utf8_encode(bytes, points[i]);
        fwrite(bytes, 1, length, stream);
    }
}

static Status print(const Session *session, const Couplet *couplet, Error *err)
{
    const Tokenizer *tokenizer = &session->checkpoint->tokenizer;
    size_t n = couplet->upper->count;
    uint32_t *lower;
    TRY(memory_allocate(&lower, n, sizeof *lower, "a line", err));
    for (size_t i = 0; i < n; i++)
        lower[i] = tokenizer_code_point(tokenizer, couplet->lower[i]);
    Status status = STATUS_OK;
    if (session->options->json) {
        status = print_json(couplet, lower, session->stream, err);
    } else {
        print_points(couplet->upper->points, n, session->stream);
        fputs("，", session->stream);
        print_points(lower, n, session->stream);
        fputs("。\n", session->stream);
    }
    memory_free(lower);
    return status;
}

/* Couplets first, first + 1, ... of all, as many as fit together. */
static Status write_some(Session *session, int64_t first, int64_t total, Error *err)
{
    int64_t left = total - first;
    int64_t count = left < TOGETHER ? left : TOGETHER;
    const CoupletOptions *options = session->options;
    for (int64_t i = 0; i < count; i++) {
        Couplet *couplet = &session->couplets[i];
        couplet->upper = &session->lines.lines[(first + i) / options->count];
        couplet->seed = options->seed + (uint64_t)((first + i) % options->count);
    }
#pragma omp parallel for num_threads(session->threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < count; i++)
        write_one(session, &session->couplets[i]);
    for (int64_t i = 0; i < count; i++) {
        Couplet *couplet = &session->couplets[i];
        if (couplet->error.status != STATUS_OK)
            return error_set(err, couplet->error.status, "%s", couplet->error.message);
        TRY(print(session, couplet, err));
    }
    if (fflush(session->stream) != 0 || ferror(session->stream))
        return error_errno(err, "standard output");
    return STATUS_OK;
}

static Status run(Session *session, Error *err)
{
    const CoupletOptions *options = session->options;
    TRY(read_lines(&session->lines, options->text, session->checkpoint, err));
    TRY(session_create(session, err));
    int64_t total = (int64_t)session->lines.count * options->count;
    for (int64_t first = 0; first < total; first += TOGETHER) {
        if (options->stop != NULL && options->stop())
            return error_set(err, STATUS_INTERRUPTED,
                             "interrupted after %lld of %lld couplets",
                             (long long)first, (long long)total);
        TRY(write_some(session, first, total, err));
    }
    return STATUS_OK;
}

Status sample_couplets(const Checkpoint *checkpoint, const CoupletOptions *options,
                       FILE *stream, Error *err)
{
    if (checkpoint->gpt.config.encoder_layers == 0)
        return error_set(
            err, STATUS_INPUT,
            "%s is a model of whole poems: %s needs one of couplets, which "
            "`jueju train --family couplet` makes",
            checkpoint->folder, OPTION);
    TRY(sampler_settings_check(&options->settings.sampler,
                               checkpoint->gpt.config.vocab_size, err));
    Session session = {.checkpoint = checkpoint,
                       .options = options,
                       .stream = stream,
                       .threads = omp_get_max_threads()};
    Status status = run(&session, err);
    session_destroy(&session);
    return status;
}
