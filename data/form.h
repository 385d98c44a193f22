/* Poem forms by clause lengths: 四 clauses of five characters are a 五絕, and so on.
 *
 * Clauses end at any mark but 、. What a form says about tones and rhyme is not checked:
 * a 五律 here is any poem of eight five-character clauses. */
#ifndef JUEJU_DATA_FORM_H
#define JUEJU_DATA_FORM_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    FORM_WUJUE,       /* 五絕 4 x 5 */
    FORM_QIJUE,       /* 七絕 4 x 7 */
    FORM_WULU,        /* 五律 8 x 5 */
    FORM_QILU,        /* 七律 8 x 7 */
    FORM_WUYAN_LONG,  /* 五言, more than 8 clauses */
    FORM_QIYAN_LONG,  /* 七言, more than 8 clauses */
    FORM_WUYAN_OTHER, /* 五言, another number of clauses */
    FORM_QIYAN_OTHER, /* 七言 */
    FORM_SANYAN,      /* 三言 */
    FORM_SIYAN,       /* 四言 */
    FORM_LIUYAN,      /* 六言 */
    FORM_MIXED, /* 雜言: clauses of different lengths, or of another one length */
    FORM_COUNT
} Form;

/* The form of a cleaned body. */
Form form_find(const uint32_t *body, size_t count);

/* Its name as UTF-8 and as code points (*length of them). */
const char *form_name(Form form);
const uint32_t *form_points(Form form, size_t *length);

#endif
