/* What jueju heads found, in four forms: a table, JSON, a still figure, a page. */
#ifndef JUEJU_SCRIPTS_HEADS_REPORT_H
#define JUEJU_SCRIPTS_HEADS_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "scripts/heads_text.h"

typedef struct {
    const Checkpoint *checkpoint;
    const StudyFigures *figures;
    const ProbeInfo *probe;
    const ShownText *shown;
    const real *maps; /* (L, H, n, n) of the shown text, H the most of a layer */
    int64_t layer;    /* that the figure shows and the page opens with */
} HeadsReport;

/* Map (n, n) of a head on the shown text. */
const real *heads_report_map(const HeadsReport *report, int64_t layer, int64_t head);

enum { TOKEN_TEXT_SIZE = 16 };

/* Token i of the shown text: the character, "<bos>", or "<unk>" for one that the model does
 * not know; a line break is "\n". */
void heads_token_text(char text[TOKEN_TEXT_SIZE], const HeadsReport *report, int64_t i);

/* The same for an axis, one glyph: "◇" for <bos>, "□" for <unk>, "↵" and "␣" for blanks,
 * "�" for a control character. */
void heads_axis_text(char text[TOKEN_TEXT_SIZE], const HeadsReport *report, int64_t i);

/* For people. */
void heads_print_table(const HeadsReport *report, FILE *stream);

/* A new reference: {"tokens", "layers": [{"heads": [{"entropy", ...}], ...}], ...}. Numbers
 * that are not finite cannot be there. */
Status heads_json(json_t **out, const HeadsReport *report, Error *err);

/* The maps of one layer side by side, the characters along both axes. Light and dark follow
 * the viewer, as do the fonts. One atomic write. */
Status heads_write_svg(const char *path, const HeadsReport *report, Error *err);

/* One page that needs nothing else: maps of all layers and heads and their figures
 * (scripts/heads_page.html). One atomic write. */
Status heads_write_page(const char *path, const HeadsReport *report, Error *err);

#endif
