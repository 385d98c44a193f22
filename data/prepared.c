#include "data/prepared.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "model/base/files.h"

/* Files are little-endian and read in place. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "prepared sets are mapped as they are: little-endian machines only");

static Status part_path(char path[PATH_SIZE], const char *folder, Part part,
                        const char *ending, Error *err)
{
    char name[16];
    snprintf(name, sizeof name, "%s.%s", part_name(part), ending);
    return path_join(path, folder, name, err);
}

Status prepared_write_part(PartStats *stats, const char *folder, Part part,
                           const PoemSet *poems, Error *err)
{
    char path[PATH_SIZE];
    size_t bytes = (size_t)poems->tokens * sizeof *poems->ids;
    TRY(part_path(path, folder, part, "bin", err));
    TRY(file_write(path, poems->ids, bytes, err));
    TRY(part_path(path, folder, part, "idx", err));
    TRY(file_write(path, poems->offsets,
                   ((size_t)poems->poems + 1) * sizeof *poems->offsets, err));
    stats->poems = poems->poems;
    stats->tokens = poems->tokens;
    stats->digest = XXH3_64bits(poems->ids, bytes);
    return STATUS_OK;
}

Status prepared_write_origins(PartStats *stats, const char *folder, Part part,
                              const uint32_t *origins, int64_t pairs, Error *err)
{
    char path[PATH_SIZE];
    size_t bytes = (size_t)pairs * sizeof *origins;
    TRY(part_path(path, folder, part, "pairs", err));
    TRY(file_write(path, origins, bytes, err));
    stats->pairs = pairs;
    stats->origins_digest = XXH3_64bits(origins, bytes);
    return STATUS_OK;
}

/* ---- opening ----------------------------------------------------------------------- */

static Status check_size(const char *path, size_t size, size_t count, size_t item,
                         Error *err)
{
    if (size / item == count && size % item == 0)
        return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "%s: stats.json asks for %zu items of %zu bytes, the file has %zu "
                     "bytes",
                     path, count, item, size);
}

static Status map_part(PreparedSet *set, Part part, char bin[PATH_SIZE],
                       char index[PATH_SIZE], Error *err)
{
    const PartStats *stats = &set->stats.parts[part];
    int64_t sequences = set->stats.pairs ? stats->pairs : stats->poems;
    TRY(part_path(bin, set->path, part, "bin", err));
    TRY(part_path(index, set->path, part, "idx", err));
    TRY(file_map(&set->bins[part], bin, err));
    TRY(file_map(&set->indexes[part], index, err));
    TRY(check_size(bin, set->bins[part].size, (size_t)stats->tokens, sizeof(uint16_t),
                   err));
    TRY(check_size(index, set->indexes[part].size, (size_t)sequences + 1,
                   sizeof(uint64_t), err));
    set->parts[part] = (PoemSet){
        .ids = (const uint16_t *)(const void *)set->bins[part].data,
        .offsets = (const uint64_t *)(const void *)set->indexes[part].data,
        .poems = sequences,
        .tokens = stats->tokens,
        .stream = set->stream,
    };
    return STATUS_OK;
}

static Status damaged(const char *path, Error *err)
{
    return error_set(err, STATUS_INPUT,
                     "%s: its digest is not the one in stats.json: the file was "
                     "damaged or changed",
                     path);
}

/* Poem `poem` of a part whose offsets so far are fine. The caller names the files. */
static Status check_poem(const PreparedSet *set, const PoemSet *poems, int64_t poem,
                         Error *err)
{
    const uint16_t *sequence = poems->ids + poems->offsets[poem];
    int64_t length = (int64_t)(poems->offsets[poem + 1] - poems->offsets[poem]);
    int32_t first = set->stream ? TOKEN_SPECIALS : 0;
    for (int64_t i = 0; i < length; i++) {
        bool text = sequence[i] == TOKEN_UNK || sequence[i] >= first;
        if (sequence[i] >= set->tokenizer.size || !text)
            return error_set(err, STATUS_INPUT,
                             "token %" PRId64 ": id %d is not one of %s (0 .. %d)", i,
                             (int)sequence[i],
                             text ? "the vocabulary's" : "a running text's",
                             (int)set->tokenizer.size - 1);
    }
    SequenceParts parts;
    return set->stream ? STATUS_OK : pack_parse(&parts, sequence, length, err);
}

static Status open_part(PreparedSet *set, Part part, Error *err)
{
    char bin[PATH_SIZE];
    char index[PATH_SIZE];
    TRY(map_part(set, part, bin, index, err));
    const PoemSet *poems = &set->parts[part];
    if (XXH3_64bits(poems->ids, set->bins[part].size) != set->stats.parts[part].digest)
        return damaged(bin, err);
    if (poems->offsets[0] != 0 ||
        poems->offsets[poems->poems] != (uint64_t)poems->tokens)
        return error_set(
            err, STATUS_INPUT,
            "%s: offsets must go from 0 to %" PRId64 ", found %" PRIu64 " to %" PRIu64,
            index, poems->tokens, poems->offsets[0], poems->offsets[poems->poems]);
    for (int64_t poem = 0; poem < poems->poems; poem++) {
        if (poems->offsets[poem + 1] < poems->offsets[poem] ||
            poems->offsets[poem + 1] > (uint64_t)poems->tokens)
            return error_set(err, STATUS_INPUT,
                             "%s: offset %" PRId64 " is %" PRIu64
                             ", smaller than the one before it or past the end",
                             index, poem + 1, poems->offsets[poem + 1]);
        if (check_poem(set, poems, poem, err) != STATUS_OK)
            return error_context(err, "%s, poem %" PRId64 " by %s", bin, poem, index);
    }
    return STATUS_OK;
}

/* The sequences are fine already: what makes them pairs. Origins rise, as pairs stand in
 * the order of their poems and couplets. */
static Status check_pair(const PairSet *pairs, int64_t pair, Error *err)
{
    int64_t length = (int64_t)(pairs->offsets[pair + 1] - pairs->offsets[pair]);
    if (pairs->ids[pairs->offsets[pair]] != TOKEN_BOS ||
        (length != 2 + 2 * 5 && length != 2 + 2 * PAIR_LONGEST))
        return error_set(err, STATUS_INPUT,
                         "expected <bos>, two lines of 5 or of 7 tokens, <eos>; found "
                         "a sequence of %" PRId64 " tokens",
                         length);
    if (pair > 0 && pairs->origins[pair] <= pairs->origins[pair - 1])
        return error_set(err, STATUS_INPUT, "its origin is not behind the one before");
    PairOrigin origin = pair_origin(pairs, pair);
    if (origin.couplet >= pair_couplets(origin.form))
        return error_set(err, STATUS_INPUT, "couplet %d of a poem of two couplets",
                         origin.couplet);
    return STATUS_OK;
}

static Status open_pairs(PreparedSet *set, Part part, Error *err)
{
    char path[PATH_SIZE];
    const PoemSet *sequences = &set->parts[part];
    FileMap *map = &set->origins[part];
    TRY(part_path(path, set->path, part, "pairs", err));
    TRY(file_map(map, path, err));
    TRY(check_size(path, map->size, (size_t)sequences->poems, sizeof(uint32_t), err));
    if (XXH3_64bits(map->data, map->size) != set->stats.parts[part].origins_digest)
        return damaged(path, err);
    set->pairs[part] = (PairSet){.ids = sequences->ids,
                                 .offsets = sequences->offsets,
                                 .origins = (const uint32_t *)(const void *)map->data,
                                 .pairs = sequences->poems,
                                 .tokens = sequences->tokens};
    for (int64_t pair = 0; pair < sequences->poems; pair++) {
        if (check_pair(&set->pairs[part], pair, err) != STATUS_OK)
            return error_context(err, "%s, pair %" PRId64, path, pair);
    }
    return STATUS_OK;
}

static Status open_set(PreparedSet *set, bool pairs, Error *err)
{
    char path[PATH_SIZE];
    TRY(path_join(path, set->path, "stats.json", err));
    TRY(stats_load(&set->stats, path, err));
    if (set->stats.pairs != pairs)
        return error_set(err, STATUS_INPUT, "%s: expected a set of %s, found %s",
                         set->path, pairs ? "couplets (jueju data --pairs)" : "poems",
                         pairs ? "poems or a running text"
                               : "couplets (made by jueju data --pairs), which only "
                                 "the couplet family reads");
    set->stream = set->stats.stream;
    TRY(path_join(path, set->path, "tokenizer.json", err));
    TRY(tokenizer_load(&set->tokenizer, path, err));
    if (set->tokenizer.size != set->stats.vocab_size)
        return error_set(err, STATUS_INPUT,
                         "%s: %d tokens, but vocab_size in stats.json is %" PRId64,
                         path, (int)set->tokenizer.size, set->stats.vocab_size);
    for (int part = 0; part < PART_COUNT; part++) {
        TRY(open_part(set, (Part)part, err));
        if (pairs)
            TRY(open_pairs(set, (Part)part, err));
    }
    return STATUS_OK;
}

static Status open_kind(PreparedSet *set, const char *path, bool pairs, Error *err)
{
    *set = (PreparedSet){0};
    TRY(folder_resolve(set->path, path, err));
    Status status = open_set(set, pairs, err);
    if (status != STATUS_OK)
        prepared_close(set);
    return status;
}

Status prepared_open(PreparedSet *set, const char *path, Error *err)
{
    return open_kind(set, path, false, err);
}

Status prepared_open_pairs(PreparedSet *set, const char *path, Error *err)
{
    return open_kind(set, path, true, err);
}

Status prepared_has_pairs(bool *pairs, const char *path, Error *err)
{
    char folder[PATH_SIZE], file[PATH_SIZE];
    SetStats stats;
    TRY(folder_resolve(folder, path, err));
    TRY(path_join(file, folder, "stats.json", err));
    TRY(stats_load(&stats, file, err));
    *pairs = stats.pairs;
    return STATUS_OK;
}

void prepared_close(PreparedSet *set)
{
    for (int part = 0; part < PART_COUNT; part++) {
        file_unmap(&set->bins[part]);
        file_unmap(&set->indexes[part]);
        file_unmap(&set->origins[part]);
    }
    tokenizer_free(&set->tokenizer);
    *set = (PreparedSet){0};
}
