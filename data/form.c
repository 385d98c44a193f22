#include "data/form.h"

#include "data/clean.h"

static const struct {
    const char *name;
    uint32_t points[2];
} FORMS[FORM_COUNT] = {
    [FORM_WUJUE] = {"五絕", {0x4E94, 0x7D55}},
    [FORM_QIJUE] = {"七絕", {0x4E03, 0x7D55}},
    [FORM_WULU] = {"五律", {0x4E94, 0x5F8B}},
    [FORM_QILU] = {"七律", {0x4E03, 0x5F8B}},
    [FORM_WUYAN_LONG] = {"五言", {0x4E94, 0x8A00}},
    [FORM_QIYAN_LONG] = {"七言", {0x4E03, 0x8A00}},
    [FORM_WUYAN_OTHER] = {"五言", {0x4E94, 0x8A00}},
    [FORM_QIYAN_OTHER] = {"七言", {0x4E03, 0x8A00}},
    [FORM_SANYAN] = {"三言", {0x4E09, 0x8A00}},
    [FORM_SIYAN] = {"四言", {0x56DB, 0x8A00}},
    [FORM_LIUYAN] = {"六言", {0x516D, 0x8A00}},
    [FORM_MIXED] = {"雜言", {0x96DC, 0x8A00}},
};

const char *form_name(Form form)
{
    return FORMS[form].name;
}

const uint32_t *form_points(Form form, size_t *length)
{
    *length = sizeof FORMS[form].points / sizeof FORMS[form].points[0];
    return FORMS[form].points;
}

Form form_find(const uint32_t *body, size_t count)
{
    const uint32_t pause = 0x3001; /* 、 */
    size_t clauses = 0, width = 0, length = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && (body[i] == pause || clean_mark(body[i]) == 0)) {
            length += body[i] != pause;
            continue;
        }
        if (length == 0)
            continue;
        if (clauses > 0 && length != width)
            return FORM_MIXED;
        width = length;
        clauses++;
        length = 0;
    }
    switch (width) {
    case 3:
        return FORM_SANYAN;
    case 4:
        return FORM_SIYAN;
    case 5:
        return clauses == 4   ? FORM_WUJUE
               : clauses == 8 ? FORM_WULU
               : clauses > 8  ? FORM_WUYAN_LONG
                              : FORM_WUYAN_OTHER;
    case 6:
        return FORM_LIUYAN;
    case 7:
        return clauses == 4   ? FORM_QIJUE
               : clauses == 8 ? FORM_QILU
               : clauses > 8  ? FORM_QIYAN_LONG
                              : FORM_QIYAN_OTHER;
    default:
        return FORM_MIXED;
    }
}
