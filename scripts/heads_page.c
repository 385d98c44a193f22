/* jueju heads --html: one page with everything in it.
 *
 * The markup has places {{style}}, {{report}}, {{maps}} and {{script}}.
 *   report  the JSON of heads_json, and under "page" what only the page needs
 *   maps    a line a head, layers first: the weights of its rows one behind the other,
 *           row i with i+1 of them, each as two digits (base 64, most significant first)
 *           of q = round(4095 sqrt(w)), so that w = (q / 4095)^2 is right to 3 places */
#include "scripts/heads_page.h"

#include <math.h>
#include <string.h>

#include "model/base/files.h"
#include "scripts/heads_report.h"

static const char DIGITS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void print_map(const real *map, int64_t n, FILE *stream)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double root = sqrt(fmin(1, fmax(0, (double)map[i * n + j])));
            int q = (int)lround(4095 * root);
            putc(DIGITS[q >> 6], stream);
            putc(DIGITS[q & 63], stream);
        }
    }
    putc('\n', stream);
}

static void print_maps(const HeadsReport *report, FILE *stream)
{
    int64_t n = report->shown->text.n;
    for (int64_t l = 0; l < report->figures->layers; l++) {
        for (int64_t h = 0; h < report->figures->layer_items[l].heads; h++)
            print_map(heads_report_map(report, l, h), n, stream);
    }
}

/* A script element ends at the first "</", whatever it means in JSON. */
static int write_harmless(const char *text, size_t size, void *stream)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '<')
            fputs("\\u003c", stream);
        else
            putc(text[i], stream);
    }
    return 0;
}

static Status add_page(json_t *report_json, const HeadsReport *report, Error *err)
{
    json_t *axis = json_array();
    json_t *marks = json_array();
    int failed = 0;
    for (int64_t i = 0; i < report->shown->text.n; i++) {
        char text[TOKEN_TEXT_SIZE];
        heads_axis_text(text, report, i);
        failed |= json_array_append_new(axis, json_string(text));
        failed |= json_array_append_new(
            marks, json_integer(report->shown->kinds[i] == KIND_MARK));
    }
    json_t *page = json_pack("{s:o, s:o, s:I}", "axis", axis, "marks", marks, "layer",
                             (json_int_t)report->layer);
    if (failed || json_object_set_new(report_json, "page", page) != 0)
        return error_set(err, STATUS_MEMORY, "heads: no memory for JSON");
    return STATUS_OK;
}

static void print_page(const HeadsReport *report, const json_t *json, FILE *stream)
{
    const char *rest = HEADS_PAGE_HTML;
    const char *place;
    while ((place = strstr(rest, "{{")) != NULL) {
        fwrite(rest, 1, (size_t)(place - rest), stream);
        if (strncmp(place, "{{style}}", 9) == 0)
            fputs(HEADS_PAGE_CSS, stream);
        else if (strncmp(place, "{{script}}", 10) == 0)
            fprintf(stream, "%s\n%s", HEADS_PAGE_MAPS_JS, HEADS_PAGE_JS);
        else if (strncmp(place, "{{maps}}", 8) == 0)
            print_maps(report, stream);
        else
            json_dump_callback(json, write_harmless, stream,
                               JSON_COMPACT | JSON_REAL_PRECISION(6));
        rest = strstr(place, "}}") + 2;
    }
    fputs(rest, stream);
}

Status heads_write_page(const char *path, const HeadsReport *report, Error *err)
{
    json_t *json;
    TRY(heads_json(&json, report, err));
    FileWriter writer;
    Status status = add_page(json, report, err);
    if (status == STATUS_OK)
        status = file_writer_open(&writer, path, err);
    if (status == STATUS_OK) {
        print_page(report, json, writer.stream);
        status = file_writer_commit(&writer, err);
    }
    json_decref(json);
    return status;
}
