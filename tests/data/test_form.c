#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/form.h"
#include "tests/data/texts.h"

/* A body of `clauses` clauses of `width` characters, marked ，。 in turn. */
static Form regular(size_t clauses, size_t width)
{
    Points body = {0};
    for (size_t i = 0; i < clauses; i++) {
        for (size_t j = 0; j < width; j++)
            assert_int_equal(points_push(&body, 0x5C71, NULL), STATUS_OK);
        assert_int_equal(points_push(&body, i % 2 == 0 ? 0xFF0C : 0x3002, NULL),
                         STATUS_OK);
    }
    Form form = form_find(body.points, body.used);
    points_free(&body);
    return form;
}

static Form of(const char *text)
{
    Points body = {0};
    text_points(&body, text);
    Form form = form_find(body.points, body.used);
    points_free(&body);
    return form;
}

static void regular_poems_have_the_form_of_their_lengths(void **state)
{
    (void)state;
    assert_int_equal(regular(4, 5), FORM_WUJUE);
    assert_int_equal(regular(4, 7), FORM_QIJUE);
    assert_int_equal(regular(8, 5), FORM_WULU);
    assert_int_equal(regular(8, 7), FORM_QILU);
    assert_int_equal(regular(9, 5), FORM_WUYAN_LONG);
    assert_int_equal(regular(60, 7), FORM_QIYAN_LONG);
    assert_int_equal(regular(2, 5), FORM_WUYAN_OTHER);
    assert_int_equal(regular(6, 7), FORM_QIYAN_OTHER);
    assert_int_equal(regular(4, 3), FORM_SANYAN);
    assert_int_equal(regular(8, 4), FORM_SIYAN);
    assert_int_equal(regular(4, 6), FORM_LIUYAN);
    assert_int_equal(regular(4, 8), FORM_MIXED);
}

static void one_other_clause_makes_it_mixed(void **state)
{
    (void)state;
    assert_int_equal(of("山山山山山，山山山山山。山山山山山，山山山山。"), FORM_MIXED);
    assert_int_equal(of("山山山山山？山山山山山！山山山山山；山山山山山。"),
                     FORM_WUJUE);
    assert_int_equal(of("山山、山山山，山山山山山。山山山山山，山山山山山。"),
                     FORM_WUJUE);
    assert_int_equal(form_find(NULL, 0), FORM_MIXED);
}

static void names_and_code_points_agree(void **state)
{
    (void)state;
    for (int form = 0; form < FORM_COUNT; form++) {
        size_t length;
        const uint32_t *points = form_points((Form)form, &length);
        assert_points(points, length, form_name((Form)form));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_poems_have_the_form_of_their_lengths),
        cmocka_unit_test(one_other_clause_makes_it_mixed),
        cmocka_unit_test(names_and_code_points_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
