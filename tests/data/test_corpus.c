#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/base/scratch_root.h"
#include "tests/data/texts.h"

/* Writes root/name, with the folders above it. */
static void put(const char *name, const char *text)
{
    char path[PATH_SIZE], folder[PATH_SIZE];
    scratch_path(path, root, name);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(folder_create(folder, NULL), STATUS_OK);
    scratch_text(path, text);
}

static void read_all(Reading *reading, const char *const *sources, int count,
                     int threads)
{
    CorpusOptions options = {
        .root = root, .minimum_body = CORPUS_MINIMUM_BODY, .threads = threads};
    *reading = (Reading){0};
    reading->status = corpus_read(&reading->list, &reading->stats, sources, count,
                                  &options, &reading->error);
}

#define MOON "床前明月光，疑是地上霜。"
#define SUN "白日依山盡，黃河入海流。"
#define WORK(title, body)                                                              \
    "[{\"title\":\"" title "\",\"author\":\"李白\",\"paragraphs\":[\"" body "\"]}]"

static void the_table_is_found_by_name_and_only_so(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"tang",    "song",   "songci", "yuanqu",
                                        "shijing", "chuci",  "nalan",  "huajian",
                                        "nantang", "caocao", "shuimo"};
    assert_int_equal(collection_count(), sizeof NAMES / sizeof *NAMES);
    for (int i = 0; i < collection_count(); i++) {
        assert_int_equal(collection_find(NAMES[i]), i);
        assert_string_equal(collection_at(i)->name, NAMES[i]);
    }
    assert_int_equal(collection_find("Tang"), COLLECTION_FILES);
    assert_int_equal(collection_find(""), COLLECTION_FILES);
    assert_null(collection_at(COLLECTION_FILES));
    assert_null(collection_at(collection_count()));
}

static void a_collection_owns_its_files_once(void **state)
{
    (void)state;
    int64_t number;
    const Collection *tang = collection_at(collection_find("tang"));
    const Collection *songci = collection_at(collection_find("songci"));
    const Collection *huajian = collection_at(collection_find("huajian"));
    assert_true(collection_owns(tang, "poet.tang.57000.json", &number));
    assert_int_equal(number, 57000);
    assert_false(collection_owns(tang, "poet.song.0.json", &number));
    assert_false(collection_owns(tang, "poet.tang.0.simplified.json", &number));
    assert_false(collection_owns(tang, "authors.tang.json", &number));
    assert_true(collection_owns(songci, "ci.song.2019y.json", &number));
    assert_int_equal(number, 2019);
    assert_true(collection_owns(huajian, "huajianji-x-juan.json", &number));
    assert_false(collection_owns(huajian, "huajianji-0-preface.json", &number));
}

static void a_collection_is_read_in_numeric_order_and_counted_by_group(void **state)
{
    (void)state;
    put("quantangshi/poet.tang.10000.json", WORK("乙", MOON));
    put("quantangshi/poet.tang.2000.json", WORK("甲", SUN));
    put("quantangshi/poet.tang.50000.json",
        "[{\"title\":\"丙\",\"paragraphs\":[\"" MOON
        "\",\"（按：見《x》。\",\"y。）\"]},"
        "{\"title\":\"丁\",\"paragraphs\":[\"" MOON "此詩見《廬山記》。\"]}]");
    put("quantangshi/poet.tang.2000.simplified.json", WORK("甲", SUN));
    put("quantangshi/poet.song.0.json", WORK("戊", SUN));
    put("quantangshi/authors.tang.json", "[{\"name\":\"李白\",\"desc\":\"x\"}]");
    put("quantangshi/error/poet.tang.0.json", WORK("己", SUN));
    const char *sources[] = {"tang", "tang"};
    Reading reading;
    read_all(&reading, sources, 2, 2);
    assert_int_equal(reading.status, STATUS_OK);
    assert_int_equal(reading.list.count, 3);
    const char *const titles[] = {"甲", "乙", "丙"};
    for (size_t i = 0; i < 3; i++) {
        const Poem *poem = &reading.list.items[i];
        assert_text(&reading.list, poem->title, titles[i]);
        assert_int_equal(poem->group, i == 2);
        assert_int_equal(poem->collection, collection_find("tang"));
    }
    assert_text(&reading.list, reading.list.items[2].body, MOON);
    assert_text(&reading.list, reading.list.items[0].author, "李白");
    assert_text(&reading.list, reading.list.items[0].form, "五言");
    assert_int_equal(reading.stats.group_count, 2);
    assert_string_equal(reading.stats.groups[0].name, "tang 0-49000");
    assert_int_equal(reading.stats.groups[0].files, 2);
    assert_int_equal(reading.stats.groups[0].characters, 24);
    assert_int_equal(reading.stats.groups[0].han, 20);
    assert_string_equal(reading.stats.groups[1].name, "tang 50000+");
    assert_int_equal(reading.stats.groups[1].dropped[DROP_MARKUP], 1);
    assert_int_equal(reading.stats.groups[1].notes, 1);
    assert_int_equal(reading.stats.skipped_count, 3);
    reading_close(&reading);
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    char name[64];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "many/%d.json", i * 37 % 40);
        put(name, i % 3 == 0 ? WORK("三", SUN) : WORK("[四]", MOON MOON));
    }
    char path[PATH_SIZE];
    const char *sources[] = {scratch_path(path, root, "many")};
    Reading one, other;
    read_all(&one, sources, 1, 1);
    assert_int_equal(one.list.count, 40);
    for (int threads = 2; threads <= 5; threads++) {
        read_all(&other, sources, 1, threads);
        assert_int_equal(other.list.count, one.list.count);
        assert_int_equal(other.list.points_used, one.list.points_used);
        assert_memory_equal(other.list.points, one.list.points,
                            one.list.points_used * sizeof *one.list.points);
        assert_memory_equal(other.list.items, one.list.items,
                            one.list.count * sizeof *one.list.items);
        reading_close(&other);
    }
    reading_close(&one);
}

static void the_first_damaged_file_is_reported_by_any_thread(void **state)
{
    (void)state;
    char name[64], path[PATH_SIZE];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "damaged/%d.json", i);
        put(name, i < 11 ? WORK("一", SUN) : "[{");
    }
    const char *sources[] = {scratch_path(path, root, "damaged")};
    for (int threads = 1; threads <= 4; threads++) {
        Reading reading;
        read_all(&reading, sources, 1, threads);
        assert_int_equal(reading.status, STATUS_INPUT);
        assert_non_null(strstr(reading.error.message, "damaged/11.json: unexpected"));
        reading_close(&reading);
    }
}

static void every_schema_gives_its_fields(void **state)
{
    (void)state;
    static const struct {
        const char *text, *title, *author, *form;
    } WORKS[] = {
        {"[{\"author\":\"苏轼\",\"rhythmic\":\"醉落魄・一斛珠\",\"paragraphs\":[\"" MOON
         "\"]}]",
         "", "苏轼", "醉落魄"},
        {"[{\"title\":\"关雎\",\"chapter\":\"国风\",\"section\":\"周南\",\"content\":["
         "\"" MOON "\"]}]",
         "关雎", "", "五言"},
        {"[{\"title\":\"长相思·山一程\",\"author\":\"纳兰性德\",\"para\":[\"" MOON
         "\"]}]",
         "长相思山一程", "纳兰性德", "长相思"},
        {"[{\"dynasty\":\"yuan\",\"author\":\"关汉卿\",\"title\":\"诈妮子调风月・仙吕/"
         "点绛唇\","
         "\"paragraphs\":[\"" MOON "\"]}]",
         "诈妮子调风月", "关汉卿", "点绛唇"},
        {"[{\"dynasty\":\"yuan\",\"title\":\"迎仙客・行过芍药圃、菊花篱，沉香亭\","
         "\"paragraphs\":[\"" MOON "\"]}]",
         "", "", "迎仙客"},
        {"[{\"dynasty\":\"yuan\",\"title\":\"双调・蟾宫曲题《录鬼簿》\",\"paragraphs\":"
         "[\"" MOON "\"]}]",
         "蟾宫曲题录鬼簿", "", "五言"},
        {"[{\"title\":\"菩萨蛮 其一\",\"rhythmic\":\"菩萨蛮\",\"notes\":[\"1.x\"],"
         "\"author\":\"温庭筠\",\"paragraphs\":[\"" MOON "\"]}]",
         "菩萨蛮其一", "温庭筠", "菩萨蛮"},
        {"[{\"title\":\"□明\",\"author\":7,\"paragraphs\":[\"" MOON "\"]}]", "", "",
         "五言"},
    };
    char path[PATH_SIZE];
    put("schema.json", "");
    scratch_path(path, root, "schema.json");
    for (size_t i = 0; i < sizeof WORKS / sizeof *WORKS; i++) {
        Reading reading;
        scratch_text(path, WORKS[i].text);
        reading_open(&reading, path, NULL);
        assert_int_equal(reading.status, STATUS_OK);
        assert_int_equal(reading.list.count, 1);
        const Poem *poem = &reading.list.items[0];
        assert_text(&reading.list, poem->body, MOON);
        assert_text(&reading.list, poem->title, WORKS[i].title);
        assert_text(&reading.list, poem->author, WORKS[i].author);
        assert_text(&reading.list, poem->form, WORKS[i].form);
        reading_close(&reading);
    }
}

static void files_without_poems_are_skipped_with_a_reason(void **state)
{
    (void)state;
    static const char *const FILES[][3] = {
        {"skip/plain.json", "[{\"name\":\"x\",\"description\":\"y\"}]", "biographies"},
        {"skip/counts.json", "[{\"title\":\"x\",\"baidu\":7}]", "search engine"},
        {"skip/tones.json", "[{\"id\":\"x\",\"strains\":[\"平\"]}]", "tone patterns"},
        {"skip/flags.json", "[{\"strains\":[],\"paragraphs\":[\"" MOON "\"]}]",
         "flags"},
        {"skip/old.json", "[{\"biography\":\"\",\"paragraphs\":[\"" MOON "\"]}]",
         "damaged"},
        {"skip/sayings.json", "[{\"chapter\":\"学而\",\"paragraphs\":[\"" MOON "\"]}]",
         "prose"},
        {"skip/dreams.json", "[{\"content\":\"" MOON "\",\"comment\":[]}]", "prose"},
        {"skip/glyphs.json", "{\"{x}\":[]}", "without paragraphs"},
        {"skip/intro.json", WORK("甲", MOON), "introduction"},
        {"skip/author.song.json", WORK("甲", MOON), "biographies"},
        {"skip/宋词三百首.json", WORK("甲", MOON), "selection"},
        {"skip/a.simplified.json", WORK("甲", MOON), "simplified"},
        {"skip/rank/a.json", WORK("甲", MOON), "search engine"},
        {"skip/picture.png", "x", "neither"},
    };
    enum { FILES_TOTAL = sizeof FILES / sizeof *FILES };
    char path[PATH_SIZE];
    for (int i = 0; i < FILES_TOTAL; i++)
        put(FILES[i][0], FILES[i][1]);
    put("skip/poems.json", WORK("甲", MOON));
    Reading reading;
    reading_open(&reading, scratch_path(path, root, "skip"), NULL);
    assert_int_equal(reading.status, STATUS_OK);
    assert_int_equal(reading.list.count, 1);
    assert_int_equal(reading.stats.skipped_count, FILES_TOTAL);
    for (int i = 0; i < FILES_TOTAL; i++) {
        const CorpusNote *found = NULL;
        for (size_t j = 0; j < reading.stats.skipped_count; j++)
            if (strstr(reading.stats.skipped[j].path, FILES[i][0]) != NULL)
                found = &reading.stats.skipped[j];
        if (found == NULL || strstr(found->reason, FILES[i][2]) == NULL)
            fail_msg("%s: %s", FILES[i][0], found != NULL ? found->reason : "no note");
    }
    reading_close(&reading);
}

static void a_file_named_twice_is_read_once(void **state)
{
    (void)state;
    char file[PATH_SIZE], link[PATH_SIZE], folder[PATH_SIZE];
    put("twice/a.json", WORK("甲", MOON));
    scratch_path(file, root, "twice/a.json");
    assert_int_equal(symlink(file, scratch_path(link, root, "twice/b.json")), 0);
    const char *sources[] = {file, scratch_path(folder, root, "twice"), link};
    Reading reading;
    read_all(&reading, sources, 3, 1);
    assert_int_equal(reading.list.count, 1);
    reading_close(&reading);
}

static void the_least_length_is_an_option(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    put("short.json", WORK("甲", "打麥，麥打。"));
    scratch_path(path, root, "short.json");
    CorpusOptions options = {.minimum_body = 5};
    Reading reading;
    reading_open(&reading, path, &options);
    assert_int_equal(reading.status, STATUS_INPUT);
    assert_int_equal(reading.stats.dropped[DROP_SHORT], 1);
    reading_close(&reading);
    options.minimum_body = 4;
    reading_open(&reading, path, &options);
    assert_int_equal(reading.status, STATUS_OK);
    reading_close(&reading);
}

static void a_collection_that_is_not_there_is_named(void **state)
{
    (void)state;
    const char *sources[] = {"chuci"};
    Reading reading;
    read_all(&reading, sources, 1, 1);
    assert_int_equal(reading.status, STATUS_INPUT);
    assert_non_null(strstr(reading.error.message, "chuci"));
    reading_close(&reading);
    reading_open(&reading, "chuci", NULL); /* no root */
    assert_int_equal(reading.status, STATUS_USAGE);
    reading_close(&reading);
    read_all(&reading, sources, 0, 1);
    assert_int_equal(reading.status, STATUS_USAGE);
    reading_close(&reading);
}

typedef struct {
    int64_t done, total, calls;
} Progress;

static void follow(void *context, int64_t done, int64_t total)
{
    Progress *progress = context;
    assert_true(done > progress->done && done <= total);
    *progress = (Progress){done, total, progress->calls + 1};
}

static void progress_rises_to_the_total(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    put("steps/a.json", WORK("甲", MOON));
    put("steps/b.json", WORK("乙", SUN));
    Progress progress = {0};
    CorpusOptions options = {.progress = follow, .context = &progress, .threads = 2};
    Reading reading;
    reading_open(&reading, scratch_path(path, root, "steps"), &options);
    assert_int_equal(progress.calls, 2);
    assert_int_equal(progress.done, progress.total);
    assert_int_equal(progress.total, reading.stats.bytes);
    reading_close(&reading);
}

static void reasons_have_names_of_their_own(void **state)
{
    (void)state;
    for (int i = 0; i < DROP_REASONS; i++) {
        assert_non_null(drop_reason_name((DropReason)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(drop_reason_name((DropReason)i),
                                    drop_reason_name((DropReason)j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_found_by_name_and_only_so),
        cmocka_unit_test(a_collection_owns_its_files_once),
        cmocka_unit_test(a_collection_is_read_in_numeric_order_and_counted_by_group),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(the_first_damaged_file_is_reported_by_any_thread),
        cmocka_unit_test(every_schema_gives_its_fields),
        cmocka_unit_test(files_without_poems_are_skipped_with_a_reason),
        cmocka_unit_test(a_file_named_twice_is_read_once),
        cmocka_unit_test(the_least_length_is_an_option),
        cmocka_unit_test(a_collection_that_is_not_there_is_named),
        cmocka_unit_test(progress_rises_to_the_total),
        cmocka_unit_test(reasons_have_names_of_their_own),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
