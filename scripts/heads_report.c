/* The table of jueju heads, and what all its reports share. */
#include "scripts/heads_report.h"

#include <math.h>
#include <string.h>

#include "data/utf8.h"

const real *heads_report_map(const HeadsReport *report, int64_t layer, int64_t head)
{
    int64_t n = report->shown->text.n;
    return report->maps + (layer * report->figures->heads + head) * n * n;
}

void heads_token_text(char text[TOKEN_TEXT_SIZE], const HeadsReport *report, int64_t i)
{
    int32_t id = report->shown->ids[i];
    uint32_t point = tokenizer_code_point(&report->checkpoint->tokenizer, id);
    if (point != 0)
        text[utf8_encode(text, point)] = '\0';
    else
        strcpy(text, tokenizer_special_name(id));
}

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x2028 ||
           point == 0x2029 || (point & 0xFFFE) == 0xFFFE;
}

void heads_axis_text(char text[TOKEN_TEXT_SIZE], const HeadsReport *report, int64_t i)
{
    int32_t id = report->shown->ids[i];
    uint32_t point = tokenizer_code_point(&report->checkpoint->tokenizer, id);
    if (point == 0)
        point = report->shown->kinds[i] == KIND_START ? U'◇' : U'□';
    else if (point == '\n')
        point = U'↵';
    else if (point == ' ' || point == '\t' || point == 0x3000)
        point = U'␣';
    else if (is_control(point))
        point = 0xFFFD;
    text[utf8_encode(text, point)] = '\0';
}

/* ---- the table ----------------------------------------------------------------------- */

static const struct {
    Pattern pattern;
    const char *title;
} COLUMNS[] = {
    {PATTERN_SELF, "self"},       {PATTERN_PREVIOUS, "prev"},
    {PATTERN_NEAR, "near"},       {PATTERN_START, "start"},
    {PATTERN_MARKS, "marks"},     {PATTERN_LINE, "line"},
    {PATTERN_LINE_NEXT, "next"},  {PATTERN_DUPLICATE, "dupl"},
    {PATTERN_INDUCTION, "induc"}, {PATTERN_RARE, "rare"},
};

enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };

static void print_score(const Score *score, FILE *stream)
{
    if (score->rows > 0)
        fprintf(stream, " %5.2f", score->value);
    else
        fprintf(stream, " %5s", "-");
}

static void print_head(const HeadFigures *head, int64_t l, FILE *stream)
{
    char name[48];
    snprintf(name, sizeof name, "%lld.%lld", (long long)l, (long long)head->number);
    fprintf(stream, "%-5s %-10s %5.2f %5.2f", name, HEAD_ROLE_NAMES[head->role],
            head->entropy, head->saturation);
    for (int i = 0; i < COLUMN_COUNT; i++)
        print_score(&head->scores[COLUMNS[i].pattern], stream);
    print_score(&head->repeats, stream);
    fprintf(stream, " %5.1f\n", head->stable_rank);
}

/* Chance differs little between heads: the means of the better baseline over all. */
static void print_baseline(const StudyFigures *figures, FILE *stream)
{
    fprintf(stream, "%-5s %-10s %5s %5s", "", "chance", "", "");
    for (int i = 0; i <= COLUMN_COUNT; i++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t l = 0; l < figures->layers; l++) {
            for (int64_t h = 0; h < figures->layer_items[l].heads; h++, count++) {
                const HeadFigures *head = &figures->head_items[l * figures->heads + h];
                const Score *score = i < COLUMN_COUNT
                                         ? &head->scores[COLUMNS[i].pattern]
                                         : &head->repeats;
                sum += fmax(score->uniform, score->shuffled);
            }
        }
        fprintf(stream, " %5.2f", count > 0 ? sum / (double)count : 0);
    }
    putc('\n', stream);
}

static void print_layer(const LayerFigures *layer, const HeadFigures *heads, int64_t l,
                        FILE *stream)
{
    char verdict[VERDICT_SIZE];
    const CollapseFigures *collapse = &layer->collapse;
    collapse_verdict(verdict, layer->signs);
    fprintf(stream, "layer %lld  %.2f of %lld heads in effect (maps %.2f)",
            (long long)l, collapse->effective_heads, (long long)layer->heads,
            collapse->effective_maps);
    if (collapse->closest[0] >= 0)
        fprintf(stream, ", closest %lld.%lld and %lld.%lld at %.3f", (long long)l,
                (long long)heads[collapse->closest[0]].number, (long long)l,
                (long long)heads[collapse->closest[1]].number,
                collapse->min_pair_distance);
    fprintf(stream, ", rank residual %.3f: %s\n", collapse->residual, verdict);
}

void heads_print_table(const HeadsReport *report, FILE *stream)
{
    const StudyFigures *figures = report->figures;
    const ProbeInfo *probe = report->probe;
    fprintf(stream, "%s on ", report->checkpoint->folder);
    if (probe->set != NULL)
        fprintf(stream, "%lld validation %s of %s", (long long)probe->poems,
                report->checkpoint->stream ? "windows" : "poems", probe->set);
    else
        fputs("the given text alone", stream);
    fprintf(stream, ", %lld tokens\n\n", (long long)figures->tokens);
    fprintf(stream, "%-5s %-10s %5s %5s", "head", "role", "entr", "satur");
    for (int i = 0; i < COLUMN_COUNT; i++)
        fprintf(stream, " %5s", COLUMNS[i].title);
    fprintf(stream, " %5s %5s\n", "again", "rank");
    for (int64_t l = 0; l < figures->layers; l++) {
        for (int64_t h = 0; h < figures->layer_items[l].heads; h++)
            print_head(&figures->head_items[l * figures->heads + h], l, stream);
    }
    print_baseline(figures, stream);
    putc('\n', stream);
    for (int64_t l = 0; l < figures->layers; l++)
        print_layer(&figures->layer_items[l], &figures->head_items[l * figures->heads],
                    l, stream);
}
