/* jueju heads --svg: a layer's maps side by side.
 *
 * Lengths are in units of a cell of 16. Queries run down, keys to the right; a cell's
 * darkness is the square root of its weight, so that small weights are seen, too. */
#include <inttypes.h>
#include <math.h>

#include "model/base/files.h"
#include "scripts/heads_report.h"

enum {
    CELL = 16,
    LABEL = 22, /* room for an axis' characters */
    TITLE = 30,
    GAP = 36,
    MARGIN = 24,
    ACROSS = 4, /* maps in a row */
    LEGEND = 56,
    LEAST = 300, /* no panel is narrower: its title must fit */
};

static const char STYLE[] =
    "<style>\n"
    ".paper{fill:#fbfaf6}.frame{fill:#f1eee6}.w{fill:#17365f}.axis,.title{fill:#2b2a28}"
    ".note{fill:#6f6a60}.line{stroke:#a89f8c;stroke-width:1}\n"
    ".axis{font:13px serif;text-anchor:middle}.title{font:16px sans-serif}"
    ".note{font:13px sans-serif}\n"
    "@media (prefers-color-scheme:dark){.paper{fill:#15171b}.frame{fill:#1e2127}"
    ".w{fill:#f3c969}.axis,.title{fill:#e9e4d8}.note{fill:#9d978a}"
    ".line{stroke:#6c7280}}\n"
    "</style>\n";

static void print_escaped(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", stream);
        else if (*text == '>')
            fputs("&gt;", stream);
        else if (*text == '&')
            fputs("&amp;", stream);
        else
            putc(*text, stream);
    }
}

/* Characters along both axes, and a thin line behind every line of verse. */
static void print_axes(const HeadsReport *report, int64_t n, FILE *stream)
{
    for (int64_t i = 0; i < n; i++) {
        char text[TOKEN_TEXT_SIZE];
        heads_axis_text(text, report, i);
        int64_t at = i * CELL;
        fprintf(stream, "<text class=\"axis\" x=\"-11\" y=\"%" PRId64 "\">",
                at + CELL - 3);
        print_escaped(text, stream);
        fprintf(stream,
                "</text><text class=\"axis\" x=\"%" PRId64 "\" y=\"%" PRId64 "\">",
                at + CELL / 2, n * CELL + CELL);
        print_escaped(text, stream);
        fputs("</text>\n", stream);
        if (report->shown->kinds[i] == KIND_MARK && i + 1 < n)
            fprintf(stream,
                    "<path class=\"line\" d=\"M0 %" PRId64 "H%" PRId64 "M%" PRId64
                    " %" PRId64 "V%" PRId64 "\"/>\n",
                    at + CELL, at + CELL, at + CELL, at + CELL, n * CELL);
    }
}

static void print_cells(const real *map, int64_t n, FILE *stream)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double dark = sqrt((double)map[i * n + j]);
            if (dark >= 0.02)
                fprintf(stream,
                        "<rect class=\"w\" x=\"%" PRId64 "\" y=\"%" PRId64
                        "\" width=\"%d\" "
                        "height=\"%d\" fill-opacity=\"%.2f\"/>\n",
                        j * CELL, i * CELL, CELL, CELL, dark > 1 ? 1 : dark);
        }
    }
}

/* The lower triangle that a causal map can fill. */
static void print_frame(int64_t n, FILE *stream)
{
    fputs("<path class=\"frame\" d=\"M0 0", stream);
    for (int64_t i = 0; i < n; i++)
        fprintf(stream, "h%dv%d", CELL, CELL);
    fprintf(stream, "H0z\"/>\n");
}

static void print_panel(const HeadsReport *report, int64_t head, int64_t x, int64_t y,
                        FILE *stream)
{
    int64_t n = report->shown->text.n;
    int64_t l = report->layer;
    const HeadFigures *figures =
        &report->figures->head_items[l * report->figures->heads + head];
    fprintf(stream, "<g transform=\"translate(%" PRId64 " %" PRId64 ")\">\n", x + LABEL,
            y + TITLE);
    fprintf(stream,
            "<text class=\"title\" x=\"0\" y=\"-12\">head %" PRId64 ".%" PRId64
            "</text>"
            "<text class=\"note\" x=\"80\" y=\"-12\">%s · entropy %.2f · sink "
            "%.2f</text>\n",
            l, figures->number, HEAD_ROLE_NAMES[figures->role], figures->entropy,
            figures->scores[PATTERN_SINK].value);
    print_frame(n, stream);
    print_cells(heads_report_map(report, l, head), n, stream);
    print_axes(report, n, stream);
    fputs("</g>\n", stream);
}

static void print_legend(int64_t y, FILE *stream)
{
    static const double WEIGHTS[] = {0.01, 0.1, 0.25, 0.5, 1};
    fprintf(stream,
            "<g transform=\"translate(%d %" PRId64 ")\"><text class=\"note\" x=\"0\" "
            "y=\"14\">weight</text>\n",
            MARGIN, y);
    for (int i = 0; i < 5; i++)
        fprintf(stream,
                "<rect class=\"w\" x=\"%d\" y=\"2\" width=\"16\" height=\"16\" "
                "fill-opacity=\"%.2f\"/><text class=\"note\" x=\"%d\" "
                "y=\"14\">%g</text>\n",
                60 + i * 64, sqrt(WEIGHTS[i]), 82 + i * 64, WEIGHTS[i]);
    fputs(
        "<text class=\"note\" x=\"400\" y=\"14\">rows ask, columns are looked at; ◇ is "
        "the start of the poem</text></g>\n",
        stream);
}

static void print_svg(const HeadsReport *report, FILE *stream)
{
    int64_t n = report->shown->text.n;
    int64_t H = report->figures->layer_items[report->layer].heads;
    int64_t across = H < 1 ? 1 : H < ACROSS ? H : ACROSS;
    int64_t down = (H + across - 1) / across;
    int64_t width = n * CELL + LABEL > LEAST ? n * CELL + LABEL : LEAST;
    int64_t height = n * CELL + TITLE + LABEL;
    int64_t whole = 2 * MARGIN + across * width + (across - 1) * GAP;
    int64_t legend_width = 2 * MARGIN + 760;
    whole = whole > legend_width ? whole : legend_width;
    int64_t tall = 2 * MARGIN + down * (height + GAP) + LEGEND - GAP;
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:lang=\"zh-Hant\" "
            "viewBox=\"0 0 %" PRId64 " %" PRId64 "\" width=\"%" PRId64
            "\" height=\"%" PRId64 "\">\n"
            "<title>Attention maps of layer %" PRId64 "</title>\n",
            whole, tall, whole, tall, report->layer);
    fputs(STYLE, stream);
    fprintf(stream,
            "<rect class=\"paper\" width=\"%" PRId64 "\" height=\"%" PRId64 "\"/>\n",
            whole, tall);
    for (int64_t h = 0; h < H; h++)
        print_panel(report, h, MARGIN + h % across * (width + GAP),
                    MARGIN + h / across * (height + GAP), stream);
    print_legend(tall - MARGIN - 20, stream);
    fputs("</svg>\n", stream);
}

Status heads_write_svg(const char *path, const HeadsReport *report, Error *err)
{
    FileWriter writer;
    TRY(file_writer_open(&writer, path, err));
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", writer.stream);
    print_svg(report, writer.stream);
    return file_writer_commit(&writer, err);
}
