#include "data/prepare.h"

#include <dirent.h>
#include <string.h>
#include <xxhash.h>

#include "data/poem.h"
#include "data/prepared.h"
#include "data/tokenizer.h"
#include "data/variants.h"
#include "model/base/files.h"
#include "model/base/json.h"
#include "model/base/memory.h"

/* Shares of the time, for the progress bar: reading is most of it. */
static const double READ_DONE = 0.6, SPLIT_DONE = 0.8, ENCODE_DONE = 0.95;

/* A running text is cut here, in twentieths. */
enum { STREAM_TRAIN = 18, STREAM_VALIDATION = 19, STREAM_ALL = 20 };
enum { STREAM_MINIMUM = 40 }; /* a twentieth of it has an input and a target */

typedef struct {
    const PrepareOptions *options;
    PrepareReport *report;
    PoemList poems;
    Split split;
    int64_t *counts; /* (CODE_POINTS) in the training bodies */
    int64_t *homes;  /* (CODE_POINTS) training poems that have the character */
    int64_t *last;   /* (CODE_POINTS) scratch: the last such poem, counted from 1 */
    Tokenizer tokenizer;
    /* the part that is being encoded */
    uint16_t *ids;
    size_t used, capacity;
    uint64_t *offsets;
    size_t offsets_capacity;
} Work;

static void show(const Work *work, double fraction, const char *what)
{
    if (work->options->progress != NULL)
        work->options->progress(work->options->context, fraction, what);
}

static void show_reading(void *context, int64_t done, int64_t total)
{
    show(context, total > 0 ? READ_DONE * (double)done / (double)total : 0, "reading");
}

/* ---- input ------------------------------------------------------------------------- */

enum { FEW_POEMS = 100 };

/* In a handful of poems, or in a running text, every character counts. */
static int64_t choose_minimum(const Work *work)
{
    if (work->options->minimum_count > 0)
        return work->options->minimum_count;
    return work->options->stream || work->poems.count < FEW_POEMS ? 1 : 2;
}

static Status read_poems(Work *work, Error *err)
{
    const PrepareOptions *options = work->options;
    CorpusOptions corpus = {.root = options->root,
                            .lenient = options->lenient,
                            .stream = options->stream,
                            .threads = options->threads,
                            .minimum_body = options->stream ? 0 : CORPUS_MINIMUM_BODY,
                            .progress = show_reading,
                            .context = work};
    TRY(corpus_read(&work->poems, &work->report->corpus, options->sources,
                    options->source_count, &corpus, err));
    if (work->poems.count == 0)
        return error_set(err, STATUS_INPUT, "no poems in the sources");
    work->report->minimum_count = choose_minimum(work);
    return memory_allocate(&work->report->group_duplicates,
                           work->report->corpus.group_count,
                           sizeof *work->report->group_duplicates, "the counts", err);
}

static void digest_text(XXH3_state_t *state, const PoemList *poems, Text text)
{
    uint64_t length = text.length;
    XXH3_64bits_update(state, &length, sizeof length);
    if (length > 0)
        XXH3_64bits_update(state, poems->points + text.start,
                           text.length * sizeof *poems->points);
}

static Status digest_input(Work *work, Error *err)
{
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL)
        return error_set(err, STATUS_MEMORY, "out of memory for the input's digest");
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < work->poems.count; i++) {
        const Poem *poem = &work->poems.items[i];
        digest_text(state, &work->poems, poem->form);
        digest_text(state, &work->poems, poem->title);
        digest_text(state, &work->poems, poem->author);
        digest_text(state, &work->poems, poem->body);
    }
    work->report->input_digest = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return STATUS_OK;
}

/* ---- vocabulary --------------------------------------------------------------------- */

static void count_points(Work *work, size_t start, size_t length)
{
    for (size_t i = start; i < start + length; i++) {
        if (work->poems.points[i] < CODE_POINTS)
            work->counts[work->poems.points[i]]++;
    }
}

/* A character of one poem alone tells nothing about others, however often it stands there:
 * what is compared with the minimum is the number of poems that have it. */
static void count_poem(Work *work, const Poem *poem, int64_t number)
{
    count_points(work, poem->body.start, poem->body.length);
    for (size_t i = 0; i < poem->body.length; i++) {
        uint32_t point = work->poems.points[poem->body.start + i];
        if (point >= CODE_POINTS || work->last[point] == number)
            continue;
        work->last[point] = number;
        work->homes[point]++;
    }
}

static void drop_rare_points(Work *work)
{
    for (size_t point = 0; point < CODE_POINTS; point++) {
        if (work->homes[point] < work->report->minimum_count)
            work->counts[point] = 0;
    }
}

static Status write_vocabulary(Work *work, const char *folder, Error *err)
{
    char path[PATH_SIZE];
    TRY(tokenizer_build(&work->tokenizer, work->counts, work->report->minimum_count,
                        err));
    work->report->vocab_size = work->tokenizer.size;
    TRY(path_join(path, folder, "tokenizer.json", err));
    TRY(tokenizer_save(&work->tokenizer, path, err));

    size_t characters = (size_t)work->tokenizer.size - TOKEN_SPECIALS;
    const uint32_t *points = work->tokenizer.points + TOKEN_SPECIALS;
    int64_t *counts;
    TRY(memory_allocate(&counts, characters, sizeof *counts, "the variants", err));
    for (size_t i = 0; i < characters; i++)
        counts[i] = work->counts[points[i]];
    Variants variants = {0};
    Status status = variants_build(&variants, points, counts, characters, err);
    if (status == STATUS_OK)
        status = path_join(path, folder, "variants.json", err);
    if (status == STATUS_OK)
        status = variants_write(&variants, path, err);
    variants_free(&variants);
    memory_free(counts);
    return status;
}

/* ---- sequences ---------------------------------------------------------------------- */

static Status add_text(Work *work, Text text, Error *err)
{
    TRY(memory_reserve(&work->ids, &work->capacity, work->used + text.length,
                       sizeof *work->ids, "the sequences", err));
    for (size_t i = 0; i < text.length; i++)
        work->ids[work->used++] = (uint16_t)tokenizer_id(
            &work->tokenizer, work->poems.points[text.start + i]);
    return STATUS_OK;
}

static Status add_special(Work *work, int special, Error *err)
{
    TRY(memory_reserve(&work->ids, &work->capacity, work->used + 1, sizeof *work->ids,
                       "the sequences", err));
    work->ids[work->used++] = (uint16_t)special;
    return STATUS_OK;
}

static Status add_field(Work *work, int special, Text text, Error *err)
{
    if (text.length == 0)
        return STATUS_OK;
    TRY(add_special(work, special, err));
    return add_text(work, text, err);
}

static Status add_poem(Work *work, const Poem *poem, Error *err)
{
    TRY(add_field(work, TOKEN_FORM, poem->form, err));
    TRY(add_field(work, TOKEN_TITLE, poem->title, err));
    TRY(add_field(work, TOKEN_AUTHOR, poem->author, err));
    TRY(add_special(work, TOKEN_BOS, err));
    TRY(add_text(work, poem->body, err));
    return add_special(work, TOKEN_EOS, err);
}

static Status end_sequence(Work *work, size_t count, Error *err)
{
    TRY(memory_reserve(&work->offsets, &work->offsets_capacity, count + 1,
                       sizeof *work->offsets, "the offsets", err));
    work->offsets[count] = work->used;
    return STATUS_OK;
}

static Status write_part(Work *work, const char *folder, Part part, size_t count,
                         Error *err)
{
    PoemSet poems = {.ids = work->ids,
                     .offsets = work->offsets,
                     .poems = (int64_t)count,
                     .tokens = (int64_t)work->used,
                     .stream = work->options->stream};
    return prepared_write_part(&work->report->parts[part], folder, part, &poems, err);
}

/* ---- the two kinds of set ----------------------------------------------------------- */

static Status prepare_poems(Work *work, const char *folder, Error *err)
{
    PrepareReport *report = work->report;
    PoemList *poems = &work->poems;
    show(work, READ_DONE, "splitting");
    TRY(split_poems(&work->split, poems, work->options->seed, err));
    report->clusters = work->split.clusters;
    report->clustered = work->split.clustered;
    report->duplicates = work->split.poems[PART_DUPLICATE];
    for (size_t i = 0; i < poems->count; i++) {
        const Poem *poem = &poems->items[i];
        if (work->split.parts[i] == PART_TRAIN)
            count_poem(work, poem, (int64_t)i + 1);
        if (work->split.parts[i] == PART_DUPLICATE)
            report->group_duplicates[poem->group]++;
    }

    show(work, SPLIT_DONE, "encoding");
    drop_rare_points(work);
    TRY(write_vocabulary(work, folder, err));
    for (int part = 0; part < PART_COUNT; part++) {
        size_t count = 0;
        work->used = 0;
        TRY(end_sequence(work, 0, err));
        for (size_t i = 0; i < poems->count; i++) {
            if (work->split.parts[i] != part)
                continue;
            TRY(add_poem(work, &poems->items[i], err));
            TRY(end_sequence(work, ++count, err));
            report->parts[part].body_tokens += (int64_t)poems->items[i].body.length + 1;
        }
        TRY(write_part(work, folder, (Part)part, count, err));
    }
    return STATUS_OK;
}

/* The texts one behind the other, cut 90 / 5 / 5 in order. */
static Status prepare_stream(Work *work, const char *folder, Error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < work->poems.count; i++)
        total += work->poems.items[i].body.length;
    if (total < STREAM_MINIMUM)
        return error_set(err, STATUS_INPUT,
                         "a running text needs %d characters or more, the sources "
                         "have %zu",
                         STREAM_MINIMUM, total);
    const size_t ends[PART_COUNT] = {total / STREAM_ALL * STREAM_TRAIN +
                                         total % STREAM_ALL * STREAM_TRAIN / STREAM_ALL,
                                     total / STREAM_ALL * STREAM_VALIDATION +
                                         total % STREAM_ALL * STREAM_VALIDATION /
                                             STREAM_ALL,
                                     total};
    size_t counted = 0;
    for (size_t i = 0; i < work->poems.count && counted < ends[PART_TRAIN]; i++) {
        Text body = work->poems.items[i].body;
        size_t rest = ends[PART_TRAIN] - counted;
        size_t length = body.length < rest ? body.length : rest;
        count_points(work, body.start, length);
        counted += length;
    }
    TRY(write_vocabulary(work, folder, err));

    for (size_t i = 0; i < work->poems.count; i++)
        TRY(add_text(work, work->poems.items[i].body, err));
    size_t start = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        uint64_t offsets[2] = {0, ends[part] - start};
        PoemSet text = {.ids = work->ids + start,
                        .offsets = offsets,
                        .poems = 1,
                        .tokens = (int64_t)offsets[1],
                        .stream = true};
        work->report->parts[part].body_tokens = text.tokens;
        TRY(prepared_write_part(&work->report->parts[part], folder, (Part)part, &text,
                                err));
        start = ends[part];
    }
    return STATUS_OK;
}

static Status write_stats(Work *work, const char *folder, Error *err)
{
    char path[PATH_SIZE];
    json_t *stats;
    TRY(path_join(path, folder, "stats.json", err));
    TRY(stats_to_json(&stats, work->report, work->options, err));
    Status status = json_write_file(path, stats, err);
    json_decref(stats);
    return status;
}

/* Everything in the old folder goes, so it must be a prepared set, or empty. */
static Status check_replaceable(const char *path, Error *err)
{
    char stats[PATH_SIZE];
    TRY(path_join(stats, path, "stats.json", err));
    if (!file_is_folder(path) || file_exists(stats))
        return STATUS_OK;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return error_errno(err, "%s", path);
    size_t others = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder))
        others += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    if (others == 0)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s: this folder is not empty and no prepared set (it has no "
                     "stats.json): it is not replaced",
                     path);
}

static Status prepare(Work *work, const char *path, Error *err)
{
    TRY(check_replaceable(path, err));
    TRY(memory_allocate(&work->counts, CODE_POINTS, sizeof *work->counts,
                        "the counts of characters", err));
    TRY(memory_allocate(&work->homes, CODE_POINTS, sizeof *work->homes,
                        "the counts of characters", err));
    TRY(memory_allocate(&work->last, CODE_POINTS, sizeof *work->last,
                        "the counts of characters", err));
    TRY(read_poems(work, err));
    TRY(digest_input(work, err));
    FolderWriter writer;
    TRY(folder_writer_open(&writer, path, err));
    Status status = work->options->stream ? prepare_stream(work, writer.temporary, err)
                                          : prepare_poems(work, writer.temporary, err);
    show(work, ENCODE_DONE, "writing");
    if (status == STATUS_OK)
        status = write_stats(work, writer.temporary, err);
    if (status != STATUS_OK) {
        folder_writer_abort(&writer);
        return status;
    }
    TRY(folder_writer_commit(&writer, err));
    show(work, 1, "");
    return STATUS_OK;
}

Status prepare_set(PrepareReport *report, const char *path,
                   const PrepareOptions *options, Error *err)
{
    *report = (PrepareReport){0};
    Work work = {.options = options, .report = report};
    Status status = prepare(&work, path, err);
    poem_list_free(&work.poems);
    split_free(&work.split);
    memory_free(work.last);
    memory_free(work.homes);
    memory_free(work.counts);
    tokenizer_free(&work.tokenizer);
    memory_free(work.ids);
    memory_free(work.offsets);
    return status;
}
