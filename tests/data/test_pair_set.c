#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <xxhash.h>

#include "data/pair_twins.h"
#include "data/prepare.h"
#include "data/prepared.h"
#include "model/base/json.h"
#include "tests/base/scratch.h"
#include "tests/data/made.h"

enum { POEMS = 24 };

/* A line's characters are its number in base 8, the lowest digit first: no two lines are
 * equal, and every digit is in the vocabulary of training. */
static const uint32_t DIGITS[] = {0x5929, 0x5730, 0x65E5, 0x6708, 0x5C71,
                                  0x5DDD, 0x6C34, 0x706B}; /* 天地日月山川水火 */

static uint32_t character_of(uint32_t poem, uint32_t line, int64_t place)
{
    return DIGITS[((poem * 8 + line) >> 3 * place) % 8];
}

typedef struct {
    char folder[PATH_SIZE];
    char source[PATH_SIZE];
    char set[PATH_SIZE];
} Place;

static void write_line(FILE *file, int poem, int line, int width)
{
    char text[4];
    for (int i = 0; i < width; i++) {
        uint32_t point = character_of((uint32_t)poem, (uint32_t)line, i);
        fwrite(text, 1, utf8_encode(text, point), file);
    }
    fputs(line % 2 == 0 ? "，" : "。", file);
}

/* A text of 五律, 七絕, 五律, ... and one 六言, poem by poem between blank lines. */
static void place_make(Place *place)
{
    scratch_create(place->folder);
    scratch_path(place->source, place->folder, "poems.txt");
    scratch_path(place->set, place->folder, "set");
    FILE *file = fopen(place->source, "wb");
    assert_non_null(file);
    for (int poem = 0; poem < POEMS; poem++) {
        bool regulated = poem % 2 == 0;
        for (int line = 0; line < (regulated ? 8 : 4); line++)
            write_line(file, poem, line, regulated ? 5 : 7);
        fputs("\n\n", file);
    }
    for (int line = 0; line < 4; line++)
        write_line(file, POEMS, line, 6);
    fclose(file);
}

static Status prepare(const Place *place, PrepareReport *report, PairChoice pairs,
                      int threads, Error *err)
{
    const char *sources[] = {place->source};
    PrepareOptions options = {
        .sources = sources, .source_count = 1, .pairs = pairs, .threads = threads};
    return prepare_set(report, place->set, &options, err);
}

static void must_prepare(const Place *place, PairChoice pairs, int threads)
{
    PrepareReport report;
    Error err = {0};
    if (prepare(place, &report, pairs, threads, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    report_free(&report);
}

static void check_line(const PreparedSet *set, const uint16_t *ids, int64_t width,
                       uint32_t poem, uint32_t line)
{
    for (int64_t i = 0; i < width; i++)
        assert_int_equal(tokenizer_code_point(&set->tokenizer, ids[i]),
                         character_of(poem, line, i));
}

/* Which poem of the source a body is. */
static uint32_t poem_of(const PreparedSet *set, const uint16_t *body)
{
    for (uint32_t poem = 0; poem <= POEMS; poem++) {
        bool same = true;
        for (int64_t i = 0; i < 5; i++)
            same = same && tokenizer_code_point(&set->tokenizer, body[i]) ==
                               character_of(poem, 0, i);
        if (same)
            return poem;
    }
    fail();
    return 0;
}

static void pairs_are_the_lines_of_the_poems_they_name(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    must_prepare(&place, PAIRS_NONE, 1);
    PreparedSet poems;
    MUST(prepared_open(&poems, place.set, NULL));
    uint32_t sources[PART_COUNT][POEMS + 1]; /* of the source, by number in the part */
    for (int part = 0; part < PART_COUNT; part++) {
        const PoemSet *sequences = &poems.parts[part];
        for (int64_t i = 0; i < sequences->poems; i++) {
            SequenceParts parts;
            const uint16_t *sequence = sequences->ids + sequences->offsets[i];
            uint64_t length = sequences->offsets[i + 1] - sequences->offsets[i];
            MUST(pack_parse(&parts, sequence, (int64_t)length, NULL));
            sources[part][i] = poem_of(&poems, sequence + parts.bos + 1);
        }
    }
    prepared_close(&poems);

    must_prepare(&place, PAIRS_ALL, 1);
    PreparedSet set;
    MUST(prepared_open_pairs(&set, place.set, NULL));
    for (int part = 0; part < PART_COUNT; part++) {
        const PairSet *pairs = &set.pairs[part];
        for (int64_t i = 0; i < pairs->pairs; i++) {
            PairOrigin origin = pair_origin(pairs, i);
            PairLines lines = pair_lines(pairs, i);
            assert_in_range(origin.poem, 0, POEMS);
            uint32_t poem = sources[part][origin.poem];
            uint32_t line = 2 * (uint32_t)origin.couplet;
            assert_int_equal(origin.form, poem % 2 == 0 ? FORM_WULU : FORM_QIJUE);
            assert_int_equal(lines.length, poem % 2 == 0 ? 5 : 7);
            check_line(&set, lines.upper, lines.length, poem, line);
            check_line(&set, lines.lower, lines.length, poem, line + 1);
        }
    }
    prepared_close(&set);
    scratch_remove(place.folder);
}

static void a_set_tells_what_it_was_cut_from(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    const struct {
        PairChoice choice;
        int64_t pairs;
    } cases[] = {{PAIRS_ALL, POEMS / 2 * (4 + 2)}, {PAIRS_PARALLEL, POEMS / 2 * 2}};
    for (int i = 0; i < 2; i++) {
        PrepareReport report;
        MUST(prepare(&place, &report, cases[i].choice, 1, NULL));
        assert_int_equal(report.corpus.kept, POEMS + 1);
        assert_int_equal(report.pairs.poems, POEMS);
        assert_int_equal(report.pairs.other_poems, 1);
        PreparedSet set;
        MUST(prepared_open_pairs(&set, place.set, NULL));
        int64_t pairs = 0;
        for (int part = 0; part < PART_COUNT; part++) {
            const PartStats *stats = &set.stats.parts[part];
            pairs += set.pairs[part].pairs;
            assert_int_equal(stats->pairs, set.pairs[part].pairs);
            assert_int_equal(stats->poems, report.parts[part].poems);
            /* <bos> and <eos> a pair; half of the characters are predicted, and <eos> */
            assert_int_equal(stats->tokens, 2 * stats->body_tokens);
        }
        assert_int_equal(pairs, cases[i].pairs);
        TwinReport twins;
        MUST(pair_twins_find(&twins, &set, NULL));
        assert_int_equal(twins.in_train + twins.in_validation, 0);
        prepared_close(&set);
        report_free(&report);
    }
    scratch_remove(place.folder);
}

static void each_kind_of_set_is_refused_as_the_other(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    PreparedSet set;
    Error err = {0};
    bool pairs = false;
    must_prepare(&place, PAIRS_ALL, 1);
    MUST(prepared_has_pairs(&pairs, place.set, NULL));
    assert_true(pairs);
    assert_int_equal(prepared_open(&set, place.set, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, place.set));
    assert_non_null(strstr(err.message, "couplet"));
    must_prepare(&place, PAIRS_NONE, 1);
    MUST(prepared_has_pairs(&pairs, place.set, NULL));
    assert_false(pairs);
    assert_int_equal(prepared_open_pairs(&set, place.set, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "--pairs"));
    assert_int_equal(prepared_has_pairs(&pairs, place.source, NULL), STATUS_INPUT);
    scratch_remove(place.folder);
}

static void sources_without_couplets_are_an_error(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    PrepareReport report;
    Error err = {0};
    scratch_text(place.source, "天地玄黃宇宙，洪荒日月盈昃。\n");
    assert_int_equal(prepare(&place, &report, PAIRS_ALL, 1, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "no couplets"));
    report_free(&report);
    scratch_text(place.source, "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。\n");
    assert_int_equal(prepare(&place, &report, PAIRS_PARALLEL, 1, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "--couplets all"));
    report_free(&report);
    must_prepare(&place, PAIRS_ALL, 1);
    scratch_remove(place.folder);
}

/* ---- files -------------------------------------------------------------------------- */

static const char *const FILES[] = {
    "train.bin", "train.idx", "train.pairs", "val.bin",    "val.idx",       "val.pairs",
    "test.bin",  "test.idx",  "test.pairs",  "stats.json", "tokenizer.json"};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES, DAMAGED_FILES = 9 };

static uint64_t hash_file(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    FileMap map;
    MUST(file_map(&map, scratch_path(path, folder, name), NULL));
    uint64_t hash = XXH3_64bits(map.data, map.size);
    file_unmap(&map);
    return hash;
}

static void the_same_input_gives_the_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    uint64_t hashes[FILE_COUNT];
    must_prepare(&place, PAIRS_ALL, 1);
    for (int i = 0; i < FILE_COUNT; i++)
        hashes[i] = hash_file(place.set, FILES[i]);
    for (int threads = 0; threads < 4; threads++) {
        must_prepare(&place, PAIRS_ALL, threads);
        for (int i = 0; i < FILE_COUNT; i++)
            assert_true(hash_file(place.set, FILES[i]) == hashes[i]);
    }
    scratch_remove(place.folder);
}

static void assert_damaged(const Place *place, const char *file)
{
    PreparedSet set;
    Error err = {0};
    assert_int_equal(prepared_open_pairs(&set, place->set, &err), STATUS_INPUT);
    if (strstr(err.message, file) == NULL)
        fail_msg("%s is not in: %s", file, err.message);
}

static void any_changed_byte_is_noticed_and_the_file_named(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    must_prepare(&place, PAIRS_ALL, 1);
    int damaged = 0;
    for (int i = 0; i < DAMAGED_FILES; i++) {
        char path[PATH_SIZE];
        FileMap map;
        MUST(file_map(&map, scratch_path(path, place.set, FILES[i]), NULL));
        size_t size = map.size;
        unsigned char bytes[8192];
        assert_true(size + 8 < sizeof bytes);
        memcpy(bytes, map.data, size);
        file_unmap(&map);
        if (size == 0) /* the part has the poem without couplets */
            continue;
        damaged++;
        for (size_t at = 0; at < size; at += 1 + size / 61) {
            bytes[at] ^= 0x20;
            scratch_write(path, bytes, size);
            bytes[at] ^= 0x20;
            assert_damaged(&place, FILES[i]);
        }
        const size_t sizes[] = {0, 1, size - 1, size - 4, size + 4, size + 8};
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            scratch_write(path, bytes, sizes[k]);
            assert_damaged(&place, FILES[i]);
        }
        assert_int_equal(unlink(path), 0);
        PreparedSet set;
        assert_int_not_equal(prepared_open_pairs(&set, place.set, NULL), STATUS_OK);
        scratch_write(path, bytes, size);
    }
    assert_true(damaged >= 6);
    PreparedSet set;
    MUST(prepared_open_pairs(&set, place.set, NULL));
    prepared_close(&set);
    scratch_remove(place.folder);
}

/* Writes a file of training with its digest in stats.json, so that only sense is wrong. */
static void forge(const Place *place, const char *file, const char *key,
                  const void *data, size_t size)
{
    char path[PATH_SIZE], digest[32];
    scratch_write(scratch_path(path, place->set, file), data, size);
    snprintf(digest, sizeof digest, "xxh3:%016llx",
             (unsigned long long)XXH3_64bits(data, size));
    json_t *stats;
    MUST(json_read_file(&stats, scratch_path(path, place->set, "stats.json"), NULL));
    json_object_set_new(json_object_get(stats, "train"), key, json_string(digest));
    MUST(json_write_file(path, stats, NULL));
    json_decref(stats);
}

static void senseless_pairs_are_refused_whatever_their_digest(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    must_prepare(&place, PAIRS_ALL, 1);
    PreparedSet set;
    MUST(prepared_open_pairs(&set, place.set, NULL));
    const PairSet *pairs = &set.pairs[PART_TRAIN];
    size_t count = (size_t)pairs->pairs, tokens = (size_t)pairs->tokens;
    uint32_t origins[128], changed[128];
    uint64_t offsets[129];
    uint16_t ids[2048];
    assert_true(count > 8 && count < 128 && tokens < 2048);
    memcpy(origins, pairs->origins, count * sizeof *origins);
    memcpy(offsets, pairs->offsets, (count + 1) * sizeof *offsets);
    memcpy(ids, pairs->ids, tokens * sizeof *ids);
    size_t jue = 0; /* the last pair of the first 絕 */
    while (jue + 1 < count && ((origins[jue] & 7) != 1))
        jue++;
    prepared_close(&set);

    for (int kind = 0; kind < 3; kind++) {
        memcpy(changed, origins, sizeof origins);
        if (kind == 0)
            changed[3] = changed[2]; /* twice the same */
        else if (kind == 1)
            changed[5] = changed[4] - 1; /* falling */
        else
            changed[jue] += 2; /* couplet 3 of a 絕 */
        forge(&place, "train.pairs", "origins_digest", changed,
              count * sizeof *changed);
        assert_damaged(&place, "train.pairs");
    }
    forge(&place, "train.pairs", "origins_digest", origins, count * sizeof *origins);
    MUST(prepared_open_pairs(&set, place.set, NULL));
    prepared_close(&set);

    /* A line of six, and a field before <bos>. */
    char path[PATH_SIZE];
    size_t length = (size_t)(offsets[1] - offsets[0]);
    uint16_t first = ids[0], second = ids[1];
    uint16_t last = ids[length - 1], next = ids[length];
    ids[0] = TOKEN_FORM;
    ids[1] = TOKEN_BOS;
    forge(&place, "train.bin", "digest", ids, tokens * sizeof *ids);
    assert_damaged(&place, "train.pairs");
    ids[0] = first;
    ids[1] = second;
    /* The first sequence takes two tokens of the second. */
    ids[length - 1] = TOKEN_SPECIALS;
    ids[length] = TOKEN_SPECIALS;
    ids[length + 1] = TOKEN_EOS;
    ids[length + 2] = TOKEN_BOS;
    offsets[1] += 2;
    forge(&place, "train.bin", "digest", ids, tokens * sizeof *ids);
    scratch_write(scratch_path(path, place.set, "train.idx"), offsets,
                  (count + 1) * sizeof *offsets);
    assert_damaged(&place, "train.pairs");
    assert_true(last == TOKEN_EOS && next == TOKEN_BOS);
    scratch_remove(place.folder);
}

static void damaged_stats_are_refused(void **state)
{
    (void)state;
    Place place;
    place_make(&place);
    must_prepare(&place, PAIRS_ALL, 1);
    static const char *const KEYS[] = {"pairs", "origins_digest"};
    char path[PATH_SIZE];
    scratch_path(path, place.set, "stats.json");
    json_t *stats;
    MUST(json_read_file(&stats, path, NULL));
    for (int i = 0; i < 2; i++) {
        json_t *copy = json_deep_copy(stats);
        json_object_del(json_object_get(copy, "val"), KEYS[i]);
        MUST(json_write_file(path, copy, NULL));
        assert_damaged(&place, KEYS[i]);
        json_object_set_new(json_object_get(copy, "val"), KEYS[i], json_string("5"));
        MUST(json_write_file(path, copy, NULL));
        assert_damaged(&place, KEYS[i]);
        json_decref(copy);
    }
    json_object_set_new(stats, "stream", json_true());
    MUST(json_write_file(path, stats, NULL));
    assert_damaged(&place, "stream");
    json_decref(stats);
    scratch_remove(place.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_the_lines_of_the_poems_they_name),
        cmocka_unit_test(a_set_tells_what_it_was_cut_from),
        cmocka_unit_test(each_kind_of_set_is_refused_as_the_other),
        cmocka_unit_test(sources_without_couplets_are_an_error),
        cmocka_unit_test(the_same_input_gives_the_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(any_changed_byte_is_noticed_and_the_file_named),
        cmocka_unit_test(senseless_pairs_are_refused_whatever_their_digest),
        cmocka_unit_test(damaged_stats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
