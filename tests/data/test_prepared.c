#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/batch.h"
#include "data/prepare.h"
#include "data/prepared.h"
#include "data/variants.h"
#include "tests/base/scratch.h"
#include "tests/data/made.h"

typedef struct {
    char folder[PATH_SIZE];
    char source[PATH_SIZE];
    char set[PATH_SIZE];
} Place;

static void place_make(Place *place, const char *name, const char *text)
{
    scratch_create(place->folder);
    scratch_path(place->source, place->folder, name);
    scratch_path(place->set, place->folder, "set");
    scratch_text(place->source, text);
}

static const char *POEMS_JSON =
    "[{\"title\":\"鹿柴\",\"author\":\"王維\",\"paragraphs\":"
    "[\"空山不見人，但聞人語響。\",\"返景入深林，復照青苔上。\"]},"
    "{\"title\":\"又\",\"author\":\"王維\",\"paragraphs\":"
    "[\"空山不見人，但聞人語響。\",\"返景入深林，復照青苔上。\"]},"
    "{\"title\":\"竹里館\",\"author\":\"王維\",\"paragraphs\":"
    "[\"獨坐幽篁裏，彈琴復長嘯。\",\"深林人不知，明月來相照。\"]},"
    "{\"title\":\"相思\",\"author\":\"王維\",\"paragraphs\":"
    "[\"紅豆生南國，秋來發幾枝。\",\"願君多采擷，此物最相思。\"]},"
    "{\"title\":\"空\",\"author\":\"佚名\",\"paragraphs\":[\"空。\"]},"
    "{\"title\":\"登鸛雀樓\",\"author\":\"王之渙\",\"paragraphs\":"
    "[\"白日依山盡，黃河入海流。\",\"欲窮千里目，更上一層樓。\"]}]";

static Status prepare(const Place *place, PrepareReport *report, bool stream,
                      int64_t minimum_count, int threads, Error *err)
{
    const char *sources[] = {place->source};
    PrepareOptions options = {.sources = sources,
                              .source_count = 1,
                              .minimum_count = minimum_count,
                              .stream = stream,
                              .threads = threads};
    return prepare_set(report, place->set, &options, err);
}

static void must_prepare(const Place *place, bool stream, int threads)
{
    PrepareReport report;
    Error err = {0};
    if (prepare(place, &report, stream, 1, threads, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    report_free(&report);
}

static void what_is_prepared_opens_with_all_poems_in_it(void **state)
{
    (void)state;
    Place place;
    place_make(&place, "poems.json", POEMS_JSON);
    PrepareReport report;
    MUST(prepare(&place, &report, false, 1, 1, NULL));
    assert_int_equal(report.corpus.read, 6);
    assert_int_equal(report.corpus.kept, 5);
    assert_int_equal(report.duplicates, 1);
    PreparedSet set;
    MUST(prepared_open(&set, place.set, NULL));
    assert_false(set.stream);
    assert_int_equal(set.tokenizer.size, report.vocab_size);
    int64_t poems = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        assert_true(set.parts[part].poems > 0);
        assert_int_equal(set.parts[part].poems, report.parts[part].poems);
        for (int64_t i = 0; i < set.parts[part].poems; i++, poems++) {
            SequenceParts parts;
            const uint64_t *offsets = set.parts[part].offsets;
            MUST(pack_parse(&parts, set.parts[part].ids + offsets[i],
                            (int64_t)(offsets[i + 1] - offsets[i]), NULL));
            assert_true(parts.form_length == 3); /* <form>五絕 */
            assert_true(parts.title_length > 1 && parts.author_length > 2);
        }
    }
    assert_int_equal(poems, 4);
    char path[PATH_SIZE];
    Variants variants;
    MUST(
        variants_load(&variants, scratch_path(path, place.set, "variants.json"), NULL));
    variants_free(&variants);
    prepared_close(&set);
    report_free(&report);
    scratch_remove(place.folder);
}

static void evaluation_predicts_characters_and_ends(void **state)
{
    (void)state;
    Place place;
    place_make(&place, "poems.json", POEMS_JSON);
    must_prepare(&place, false, 1);
    PreparedSet set;
    MUST(prepared_open(&set, place.set, NULL));
    BatchOptions options = {.row_tokens = 16};
    for (int part = 0; part < PART_COUNT; part++) {
        BatchStream stream;
        RowBatch batch;
        MUST(batch_stream_open(&stream, &set.parts[part], &set.tokenizer, &options,
                               NULL));
        MUST(batch_stream_rows(&stream, 0, stream.epoch_rows, &batch, NULL));
        assert_int_equal(batch.targets, set.stats.parts[part].body_tokens);
        assert_int_equal(batch.targets, set.parts[part].poems * 25);
        batch_stream_close(&stream);
    }
    prepared_close(&set);
    scratch_remove(place.folder);
}

static uint64_t hash_file(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    FileMap map;
    MUST(file_map(&map, scratch_path(path, folder, name), NULL));
    uint64_t hash = map.size;
    for (size_t i = 0; i < map.size; i++)
        hash = rng_hash(hash, map.data[i]);
    file_unmap(&map);
    return hash;
}

static const char *const FILES[] = {"train.bin",  "train.idx",      "val.bin",
                                    "val.idx",    "test.bin",       "test.idx",
                                    "stats.json", "tokenizer.json", "variants.json"};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

static void the_same_input_gives_the_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    Place place;
    place_make(&place, "poems.json", POEMS_JSON);
    uint64_t hashes[FILE_COUNT];
    must_prepare(&place, false, 1);
    for (int i = 0; i < FILE_COUNT; i++)
        hashes[i] = hash_file(place.set, FILES[i]);
    for (int threads = 0; threads < 4; threads++) {
        must_prepare(&place, false, threads);
        for (int i = 0; i < FILE_COUNT; i++)
            assert_true(hash_file(place.set, FILES[i]) == hashes[i]);
    }
    scratch_remove(place.folder);
}

static void a_running_text_is_cut_in_order(void **state)
{
    (void)state;
    char text[1001];
    for (int i = 0; i < 1000; i++)
        text[i] = (char)(i % 50 == 49 ? '\n' : 'a' + i % 26);
    text[1000] = '\0';
    Place place;
    place_make(&place, "text.txt", text);
    must_prepare(&place, true, 1);
    PreparedSet set;
    MUST(prepared_open(&set, place.set, NULL));
    assert_true(set.stream);
    char decoded[1001] = "";
    size_t used = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        assert_int_equal(set.parts[part].poems, 1);
        assert_int_equal(set.parts[part].tokens, part == PART_TRAIN ? 900 : 50);
        for (int64_t i = 0; i < set.parts[part].tokens; i++)
            used = tokenizer_decode_append(decoded, used, &set.tokenizer,
                                           set.parts[part].ids[i]);
    }
    assert_string_equal(decoded, text);
    prepared_close(&set);
    scratch_remove(place.folder);
}

static void a_failed_preparation_leaves_the_old_set(void **state)
{
    (void)state;
    Place place;
    place_make(&place, "poems.json", POEMS_JSON);
    must_prepare(&place, false, 1);
    uint64_t hash = hash_file(place.set, "train.bin");
    PrepareReport report;
    Error err = {0};
    assert_int_equal(prepare(&place, &report, false, 1000, 1, &err), STATUS_INPUT);
    report_free(&report); /* no character is there 1000 times */
    scratch_text(place.source, "[{\"title\":\"空\",\"paragraphs\":[\"空。\"]}]");
    assert_int_equal(prepare(&place, &report, false, 1, 1, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "no poem"));
    report_free(&report);
    scratch_text(place.source, "[{\"title\":");
    assert_int_equal(prepare(&place, &report, false, 1, 1, &err), STATUS_INPUT);
    report_free(&report);
    assert_true(hash_file(place.set, "train.bin") == hash);
    PreparedSet set;
    MUST(prepared_open(&set, place.set, NULL));
    prepared_close(&set);
    scratch_remove(place.folder);
}

static void a_folder_of_other_things_is_not_replaced(void **state)
{
    (void)state;
    Place place;
    char path[PATH_SIZE];
    place_make(&place, "poems.json", POEMS_JSON);
    MUST(folder_create(place.set, NULL));
    must_prepare(&place, false, 1); /* an empty one is */
    MUST(folder_remove(place.set, NULL));
    MUST(folder_create(place.set, NULL));
    scratch_text(scratch_path(path, place.set, "thesis.txt"), "years of work");
    PrepareReport report;
    Error err = {0};
    assert_int_equal(prepare(&place, &report, false, 1, 1, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, place.set));
    report_free(&report);
    assert_true(scratch_holds(path, "years of work"));
    scratch_remove(place.folder);
}

static void any_changed_byte_is_noticed_and_the_file_named(void **state)
{
    (void)state;
    Place place;
    place_make(&place, "poems.json", POEMS_JSON);
    must_prepare(&place, false, 1);
    for (int i = 0; i < 6; i++) {
        char path[PATH_SIZE];
        scratch_path(path, place.set, FILES[i]);
        FileMap map;
        MUST(file_map(&map, path, NULL));
        size_t size = map.size;
        unsigned char bytes[4096];
        assert_true(size > 0 && size + 8 < sizeof bytes);
        memcpy(bytes, map.data, size);
        file_unmap(&map);
        for (size_t at = 0; at < size; at++) {
            bytes[at] ^= 0x20;
            scratch_write(path, bytes, size);
            bytes[at] ^= 0x20;
            PreparedSet set;
            Error err = {0};
            assert_int_equal(prepared_open(&set, place.set, &err), STATUS_INPUT);
            assert_non_null(strstr(err.message, FILES[i]));
        }
        const size_t sizes[] = {0, 1, size - 1, size - 2, size + 2, size + 8};
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            scratch_write(path, bytes, sizes[k]);
            PreparedSet set;
            Error err = {0};
            assert_int_equal(prepared_open(&set, place.set, &err), STATUS_INPUT);
            assert_non_null(strstr(err.message, FILES[i]));
        }
        scratch_write(path, bytes, size);
    }
    PreparedSet set;
    MUST(prepared_open(&set, place.set, NULL));
    prepared_close(&set);
    assert_int_equal(prepared_open(&set, place.source, NULL), STATUS_INPUT);
    scratch_remove(place.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_prepared_opens_with_all_poems_in_it),
        cmocka_unit_test(evaluation_predicts_characters_and_ends),
        cmocka_unit_test(the_same_input_gives_the_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(a_running_text_is_cut_in_order),
        cmocka_unit_test(a_failed_preparation_leaves_the_old_set),
        cmocka_unit_test(a_folder_of_other_things_is_not_replaced),
        cmocka_unit_test(any_changed_byte_is_noticed_and_the_file_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
