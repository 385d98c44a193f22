#include "scripts/sample_print.h"

#include <jansson.h>
#include <string.h>

#include "data/utf8.h"
#include "model/base/memory.h"
#include "scripts/console.h"

/* A control character that a model of running text has learned must not reach a terminal. */
static void print_point(uint32_t point, FILE *stream)
{
    bool control = (point < 0x20 && point != '\n' && point != '\t') ||
                   (point >= 0x7F && point < 0xA0);
    if (control)
        point = 0xFFFD;
    char bytes[UTF8_MAXIMUM];
    size_t length = utf8_encode(bytes, point);
    fwrite(bytes, 1, length, stream);
}

static void print_points(const uint32_t *points, size_t count, FILE *stream)
{
    for (size_t i = 0; i < count; i++)
        print_point(points[i], stream);
}

/* ---- for people -------------------------------------------------------------------- */

/* "登高　杜甫" */
static void print_heading(const SamplePlan *plan, FILE *stream)
{
    if (plan->title.count == 0 && plan->author.count == 0)
        return;
    print_points(plan->title.points, plan->title.count, stream);
    if (plan->title.count > 0 && plan->author.count > 0)
        print_point(U'　', stream);
    print_points(plan->author.points, plan->author.count, stream);
    putc('\n', stream);
}

/* Characters first .. last-1 of the body; returns whether they leave a line open. */
static bool print_body(const SamplePrinter *printer, const Poem *poem, size_t first,
                       size_t last)
{
    bool poems = !printer->plan->checkpoint->stream;
    bool open = false;
    for (size_t i = first; i < last; i++) {
        print_point(poem->points[i], printer->stream);
        open = poem->points[i] != '\n';
        if (poems && prompt_ends_line(poem->points[i])) {
            putc('\n', printer->stream);
            open = false;
        }
    }
    return open;
}

/* ---- on a terminal ----------------------------------------------------------------- */

/* Where the line begins that character `place` stands on. */
static size_t line_start(const Poem *poem, size_t place)
{
    while (place > 0 && !prompt_ends_line(poem->points[place - 1]))
        place--;
    return place;
}

/* Takes back what was printed behind the last whole line of a poem that was cut. The open
 * line may have wrapped onto several rows of the terminal. */
static void erase_open_line(const SamplePrinter *printer, const Poem *poem)
{
    int columns = console_columns(printer->stream);
    int64_t width = 0;
    for (size_t i = printer->line_start; i < printer->printed; i++) {
        char text[UTF8_MAXIMUM + 1];
        text[utf8_encode(text, poem->points[i])] = '\0';
        width += console_width(text);
    }
    int64_t above = columns > 0 && width > 0 ? (width - 1) / columns : 0;
    putc('\r', printer->stream);
    if (above > 0)
        fprintf(printer->stream, "\033[%lldA", (long long)above);
    fputs("\033[J", printer->stream);
}

void sample_print_token(void *context, const Poem *poem)
{
    SamplePrinter *printer = context;
    if (!printer->live)
        return;
    if (!printer->begun)
        print_heading(printer->plan, printer->stream);
    printer->begun = true;
    if (poem->count >= printer->printed) {
        print_body(printer, poem, printer->printed, poem->count);
        printer->printed = poem->count;
        if (!printer->plan->checkpoint->stream)
            printer->line_start = line_start(poem, poem->count);
    } else {
        erase_open_line(printer, poem);
        printer->printed = poem->count;
        printer->line_start = poem->count;
    }
    fflush(printer->stream);
}

void sample_print_stopped(SamplePrinter *printer)
{
    if (printer->live && printer->begun && printer->printed > printer->line_start)
        putc('\n', printer->stream);
}

/* ---- JSON -------------------------------------------------------------------------- */

static json_t *json_points(const uint32_t *points, size_t count)
{
    char *text;
    size_t size = utf8_length(points, count);
    if (memory_allocate(&text, size + 1, 1, "a poem", NULL) != STATUS_OK)
        return NULL;
    utf8_write(text, points, count);
    json_t *string = json_stringn(text, size);
    memory_free(text);
    return string;
}

static bool set_field(json_t *object, const char *key, const PromptText *text)
{
    return text->count == 0 ||
           json_object_set_new(object, key, json_points(text->points, text->count)) ==
               0;
}

static Status print_json(const SamplePrinter *printer, const Poem *poem, Error *err)
{
    const SamplePlan *plan = printer->plan;
    const char *ended = poem->ended == ENDED_EOS ? "eos" : "length";
    json_t *object = json_pack("{s:o*, s:I, s:f, s:I, s:s}", "text",
                               json_points(poem->points, poem->count), "seed",
                               (json_int_t)poem->seed, "nats", poem_mean_nats(poem),
                               "tokens", (json_int_t)poem->drawn, "ended", ended);
    bool whole = object != NULL && json_object_get(object, "text") != NULL &&
                 set_field(object, "title", &plan->title) &&
                 set_field(object, "author", &plan->author) &&
                 set_field(object, "form", &plan->form) &&
                 set_field(object, "acrostic", &plan->acrostic);
    Status status = STATUS_OK;
    if (!whole)
        status = error_set(err, STATUS_MEMORY, "out of memory for a poem as JSON");
    else
        json_dumpf(object, printer->stream, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    putc('\n', printer->stream);
    return status;
}

/* ---- whole poems ------------------------------------------------------------------- */

Status sample_print_poem(void *context, int64_t index, const Poem *poem, Error *err)
{
    SamplePrinter *printer = context;
    FILE *stream = printer->stream;
    if (printer->json) {
        TRY(print_json(printer, poem, err));
    } else if (printer->live) {
        if (printer->printed > printer->line_start)
            putc('\n', stream);
    } else {
        if (index > 0)
            putc('\n', stream);
        print_heading(printer->plan, stream);
        if (print_body(printer, poem, 0, poem->count))
            putc('\n', stream);
    }
    printer->inside_line += poem->inside_line;
    if (fflush(stream) != 0 || ferror(stream))
        return error_errno(err, "standard output");
    return STATUS_OK;
}
