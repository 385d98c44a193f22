#include "data/prepare.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "data/pair_cut.h"
#include "data/poem.h"
#include "data/prepared.h"
#include "data/sequences.h"
#include "data/tokenizer.h"
#include "data/vocabulary.h"
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
    PairList pairs;
    Vocabulary vocabulary;
    Tokenizer tokenizer;
    Sequences sequences; /* of the part that is being encoded */
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

static Status write_vocabulary(Work *work, const char *folder, Error *err)
{
    PrepareReport *report = work->report;
    TRY(vocabulary_write(&work->tokenizer, &work->vocabulary, report->minimum_count,
                         folder, err));
    report->vocab_size = work->tokenizer.size;
    return STATUS_OK;
}

/* ---- the three kinds of set --------------------------------------------------------- */

static Status split(Work *work, Error *err)
{
    PrepareReport *report = work->report;
    show(work, READ_DONE, "splitting");
    TRY(split_poems(&work->split, &work->poems, work->options->seed, err));
    report->clusters = work->split.clusters;
    report->clustered = work->split.clustered;
    report->duplicates = work->split.poems[PART_DUPLICATE];
    for (size_t i = 0; i < work->poems.count; i++) {
        if (work->split.parts[i] == PART_DUPLICATE)
            report->group_duplicates[work->poems.items[i].group]++;
    }
    return STATUS_OK;
}

static void count_training_text(Work *work, Text text, size_t poem)
{
    vocabulary_count_poem(&work->vocabulary, work->poems.points + text.start,
                          text.length, (int64_t)poem);
}

static Status prepare_poems(Work *work, const char *folder, Error *err)
{
    PrepareReport *report = work->report;
    PoemList *poems = &work->poems;
    TRY(split(work, err));
    for (size_t i = 0; i < poems->count; i++) {
        if (work->split.parts[i] == PART_TRAIN)
            count_training_text(work, poems->items[i].body, i);
    }
    show(work, SPLIT_DONE, "encoding");
    vocabulary_drop_rare(&work->vocabulary, report->minimum_count);
    TRY(write_vocabulary(work, folder, err));
    for (int part = 0; part < PART_COUNT; part++) {
        sequences_clear(&work->sequences);
        for (size_t i = 0; i < poems->count; i++) {
            if (work->split.parts[i] != part)
                continue;
            TRY(sequences_add_poem(&work->sequences, &work->tokenizer, poems,
                                   &poems->items[i], err));
            report->parts[part].body_tokens += (int64_t)poems->items[i].body.length + 1;
        }
        TRY(sequences_write(&report->parts[part], &work->sequences, folder, (Part)part,
                            err));
    }
    return STATUS_OK;
}

/* Sequences and origins of one part. PartStats.poems counts poems, not sequences. */
static Status write_pairs(Work *work, const char *folder, Part part, Error *err)
{
    PartStats *stats = &work->report->parts[part];
    int64_t poems = 0;
    sequences_clear(&work->sequences);
    for (size_t i = 0, last = SIZE_MAX; i < work->pairs.count; i++) {
        const Pair *pair = &work->pairs.items[i];
        if (pair->part != part)
            continue;
        TRY(sequences_add_pair(&work->sequences, &work->tokenizer, &work->poems, pair,
                               err));
        stats->body_tokens += (int64_t)pair->lower.length + 1;
        poems += pair->poem != last;
        last = pair->poem;
    }
    TRY(sequences_write(stats, &work->sequences, folder, part, err));
    stats->poems = poems;
    return prepared_write_origins(stats, folder, part, work->sequences.origins,
                                  (int64_t)work->sequences.count, err);
}

static Status prepare_pairs(Work *work, const char *folder, Error *err)
{
    PrepareReport *report = work->report;
    PairList *pairs = &work->pairs;
    TRY(split(work, err));
    TRY(pairs_cut(pairs, &work->poems, work->split.parts, work->options->pairs, err));
    report->pairs = pairs->counts;
    size_t training = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const Pair *pair = &pairs->items[i];
        if (pair->part != PART_TRAIN)
            continue;
        count_training_text(work, pair->upper, pair->poem);
        count_training_text(work, pair->lower, pair->poem);
        training++;
    }
    if (training == 0)
        return error_set(err, STATUS_INPUT,
                         "no couplets to train on: the sources have %" PRId64
                         " poems in the forms 五絕 七絕 五律 七律 and %" PRId64
                         " others, and gave %zu pairs%s",
                         pairs->counts.poems, pairs->counts.other_poems, pairs->count,
                         work->options->pairs == PAIRS_PARALLEL
                             ? " of the middle couplets of 律 (--couplets all takes "
                               "every couplet)"
                             : "");
    show(work, SPLIT_DONE, "encoding");
    vocabulary_drop_rare(&work->vocabulary, report->minimum_count);
    TRY(write_vocabulary(work, folder, err));
    for (int part = 0; part < PART_COUNT; part++)
        TRY(write_pairs(work, folder, (Part)part, err));
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
        vocabulary_count(&work->vocabulary, work->poems.points + body.start, length);
        counted += length;
    }
    TRY(write_vocabulary(work, folder, err));

    sequences_clear(&work->sequences);
    for (size_t i = 0; i < work->poems.count; i++)
        TRY(sequences_add_text(&work->sequences, &work->tokenizer, &work->poems,
                               work->poems.items[i].body, err));
    size_t start = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        uint64_t offsets[2] = {0, ends[part] - start};
        PoemSet text = {.ids = work->sequences.ids + start,
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

static Status prepare_kind(Work *work, const char *folder, Error *err)
{
    if (work->options->stream)
        return prepare_stream(work, folder, err);
    if (work->options->pairs != PAIRS_NONE)
        return prepare_pairs(work, folder, err);
    return prepare_poems(work, folder, err);
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
    TRY(vocabulary_open(&work->vocabulary, err));
    TRY(read_poems(work, err));
    TRY(digest_input(work, err));
    FolderWriter writer;
    TRY(folder_writer_open(&writer, path, err));
    Status status = prepare_kind(work, writer.temporary, err);
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
    assert(!options->stream || options->pairs == PAIRS_NONE);
    *report = (PrepareReport){0};
    Work work = {.options = options, .report = report};
    Status status = prepare(&work, path, err);
    poem_list_free(&work.poems);
    split_free(&work.split);
    pair_list_free(&work.pairs);
    vocabulary_close(&work.vocabulary);
    tokenizer_free(&work.tokenizer);
    sequences_free(&work.sequences);
    return status;
}
