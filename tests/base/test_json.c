#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/base/json.h"
#include "tests/base/scratch.h"

static Status parse(json_t **out, const char *text, Error *err)
{
    return json_read_text(out, text, strlen(text), "config.json", err);
}

static void getters_give_what_is_there(void **state)
{
    (void)state;
    json_t *object;
    int64_t number = 0;
    double value = 0;
    bool flag = false;
    const char *text = NULL;
    const json_t *inner = NULL;
    assert_int_equal(
        parse(&object,
              "{\"n\":12,\"p\":0.5,\"t\":true,\"s\":\"詩\",\"o\":{\"k\":1},"
              "\"z\":null}",
              NULL),
        STATUS_OK);
    assert_int_equal(json_get_int(&number, object, "n", 1, 12, "f", NULL), STATUS_OK);
    assert_int_equal(number, 12);
    assert_int_equal(json_get_real(&value, object, "p", 0, 1, "f", NULL), STATUS_OK);
    assert_true(value == 0.5);
    assert_int_equal(json_get_real(&value, object, "n", 0, 20, "f", NULL), STATUS_OK);
    assert_true(value == 12);
    assert_int_equal(json_get_bool(&flag, object, "t", "f", NULL), STATUS_OK);
    assert_true(flag);
    assert_int_equal(json_get_text(&text, object, "s", "f", NULL), STATUS_OK);
    assert_string_equal(text, "詩");
    assert_int_equal(json_get_object(&inner, object, "o", "f", NULL), STATUS_OK);
    assert_true(json_has(inner, "k"));
    assert_false(json_has(object, "k"));
    assert_false(json_has(object, "z"));
    json_decref(object);
}

static void errors_name_the_file_the_key_and_both_kinds(void **state)
{
    (void)state;
    json_t *object;
    Error err;
    int64_t number = -7;
    double value = -7;
    bool flag = false;
    const char *text = NULL;
    const json_t *inner = NULL;
    assert_int_equal(parse(&object, "{\"n\":12,\"p\":0.5,\"s\":\"x\"}", NULL),
                     STATUS_OK);
    assert_int_equal(json_get_int(&number, object, "m", 0, 9, "config.json", &err),
                     STATUS_INPUT);
    assert_string_equal(err.message,
                        "config.json: \"m\" is missing (expected an integer)");
    assert_int_equal(json_get_int(&number, object, "n", 0, 9, "config.json", &err),
                     STATUS_INPUT);
    assert_string_equal(err.message, "config.json: \"n\": expected 0 to 9, found 12");
    assert_int_equal(json_get_int(&number, object, "p", 0, 9, "config.json", &err),
                     STATUS_INPUT);
    assert_string_equal(err.message,
                        "config.json: \"p\": expected an integer, found a number");
    assert_int_equal(json_get_real(&value, object, "p", 1, 2, "f", &err), STATUS_INPUT);
    assert_int_equal(json_get_real(&value, object, "s", 1, 2, "f", &err), STATUS_INPUT);
    assert_int_equal(json_get_bool(&flag, object, "n", "f", &err), STATUS_INPUT);
    assert_int_equal(json_get_text(&text, object, "n", "f", &err), STATUS_INPUT);
    assert_int_equal(json_get_object(&inner, object, "s", "f", &err), STATUS_INPUT);
    assert_true(number == -7 && value == -7 && text == NULL && inner == NULL);
    json_decref(object);
}

static void only_strict_objects_are_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "[]",
        "3",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1}x",
        "{\"a\":NaN}",
        "{\"\xff\":1}",
        "{\"a\":1e999}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *object = NULL;
        Error err;
        assert_int_equal(parse(&object, wrong[i], &err), STATUS_INPUT);
        assert_true(strncmp(err.message, "config.json: ", 13) == 0);
        assert_null(object);
    }
}

static void a_written_file_reads_back_the_same(void **state)
{
    (void)state;
    char root[PATH_SIZE];
    char path[PATH_SIZE];
    json_t *object;
    json_t *back;
    scratch_create(root);
    scratch_path(path, root, "config.json");
    assert_int_equal(parse(&object, "{\"z\":[1,2.5],\"a\":{\"絕\":\"句\"}}", NULL),
                     STATUS_OK);
    assert_int_equal(json_write_file(path, object, NULL), STATUS_OK);
    assert_int_equal(json_read_file(&back, path, NULL), STATUS_OK);
    assert_true(json_equal(object, back));
    assert_true(scratch_holds(path, "{\n  \"z\": [\n    1,\n    2.5\n  ],\n"
                                    "  \"a\": {\n    \"絕\": \"句\"\n  }\n}\n"));
    json_decref(object);
    json_decref(back);
    Error err;
    assert_int_equal(json_read_file(&back, root, &err), STATUS_INPUT);
    scratch_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(getters_give_what_is_there),
        cmocka_unit_test(errors_name_the_file_the_key_and_both_kinds),
        cmocka_unit_test(only_strict_objects_are_read),
        cmocka_unit_test(a_written_file_reads_back_the_same),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
