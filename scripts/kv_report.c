#include "scripts/kv_report.h"

#include <stdio.h>
#include <string.h>

#include "scripts/console.h"

enum { CELL_SIZE = 64, COLUMNS = 9 };

/* "48 KiB", "3.003 GiB": four digits. */
static void format_bytes(char out[CELL_SIZE], int64_t bytes)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(out, CELL_SIZE, "%.4g %s", value, UNITS[unit]);
}

/* "20,914,757,184". */
static void format_number(char out[CELL_SIZE], int64_t number)
{
    char digits[CELL_SIZE];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)number);
    int at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

/* "20.91 B" weights. */
static void format_weights(char out[CELL_SIZE], int64_t number)
{
    static const char *const UNITS[] = {"", " K", " M", " B", " T"};
    double value = (double)number;
    int unit = 0;
    while (value >= 1000 && unit < 4) {
        value /= 1000;
        unit++;
    }
    snprintf(out, CELL_SIZE, "%.4g%s", value, UNITS[unit]);
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static const char *source(const KvReport *report, const char *size)
{
    return hf_config_source(&report->config, size);
}

/* ---- several lines ------------------------------------------------------------------ */

static void print_kind(const KvReport *report)
{
    const MemoryShape *shape = &report->config.shape;
    printf("%-14s%s: ", "attention", MEMORY_KIND_NAMES[shape->kind]);
    switch (shape->kind) {
    case MEMORY_MHA:
        printf("%lld query heads, each with its own key and value head",
               (long long)shape->query_heads);
        break;
    case MEMORY_MQA:
        printf("%lld query heads share one KV head", (long long)shape->query_heads);
        break;
    case MEMORY_GQA:
        printf("%lld query heads share %lld KV heads", (long long)shape->query_heads,
               (long long)shape->kv_heads);
        break;
    case MEMORY_MLA:
        printf("%lld query heads read one latent of %lld + %lld numbers",
               (long long)shape->query_heads, (long long)shape->latent,
               (long long)shape->rope_size);
        break;
    }
    printf(" (%s)\n", source(report, "kind"));
}

static void print_sizes(const KvReport *report)
{
    const MemoryShape *shape = &report->config.shape;
    const MemoryCache *cache = &report->cache;
    printf("%-14s%lld (%s)\n", "query heads", (long long)shape->query_heads,
           source(report, "query_heads"));
    if (shape->head_size > 0)
        printf("%-14s%lld (%s)\n", "head size", (long long)shape->head_size,
               source(report, "head_dim"));
    printf("%-14s%lld (%s)", "layers", (long long)shape->layers,
           source(report, "layers"));
    if (cache->cached_layers < shape->layers)
        printf(", %lld of them keep keys and values", (long long)cache->cached_layers);
    int64_t window = 0;
    for (int64_t i = 0; i < shape->group_count; i++)
        window = shape->groups[i].window > window ? shape->groups[i].window : window;
    if (cache->window_layers > 0)
        printf(", %lld with a window of %lld tokens", (long long)cache->window_layers,
               (long long)window);
    if (*source(report, "windows"))
        printf(" (%s)", source(report, "windows"));
    putchar('\n');
}

static void print_token(const KvReport *report)
{
    const MemoryCache *cache = &report->cache;
    char size[CELL_SIZE], exact[CELL_SIZE];
    format_bytes(size, cache->per_token);
    format_number(exact, cache->per_token);
    printf("%-14s%s a token (%s B), %s (%s)", "KV cache", size, exact,
           report->cache_type.name, report->cache_type.from);
    if (cache->per_token_full < cache->per_token) {
        format_bytes(size, cache->per_token_full);
        printf("; %s when the windows are full", size);
    }
    putchar('\n');
    if (cache->mha_per_token > 0 && report->config.shape.kind != MEMORY_MHA) {
        format_bytes(size, cache->mha_per_token);
        format_number(exact, cache->mha_per_token);
        printf("%-14s%s a token (%s B), %.4g times as much\n", "as MHA", size, exact,
               share(cache->mha_per_token, cache->per_token));
    }
    if (cache->indexer_per_token > 0) {
        format_bytes(size, cache->indexer_per_token);
        printf("%-14s%s a token more (index_head_dim)\n", "indexer", size);
    }
    if (cache->source_per_token > 0) {
        format_bytes(size, cache->source_per_token);
        printf("%-14s%s a token of the source (is_encoder_decoder)\n", "cross", size);
    }
}

static void print_use(const KvReport *report)
{
    const MemoryUse *use = &report->use;
    const MemoryCache *cache = &report->cache;
    char size[CELL_SIZE], other[CELL_SIZE];
    if (use->tokens > 0) {
        format_bytes(size, cache->total);
        format_bytes(other, cache->total_unbounded);
        printf("%-14s%s for %lld tokens, batch %lld", "in use", size,
               (long long)use->tokens, (long long)use->batch);
        if (cache->total < cache->total_unbounded)
            printf("; %s without windows", other);
        if (cache->mha_total > 0 && report->config.shape.kind != MEMORY_MHA) {
            format_bytes(other, cache->mha_total);
            printf("; %s as MHA", other);
        }
        putchar('\n');
    }
    if (use->cards > 1) {
        format_bytes(size, cache->card_per_token);
        printf("%-14s%s a token on each of %lld", "cards", size, (long long)use->cards);
        if (report->config.shape.kind == MEMORY_MLA)
            printf(" (the whole latent)");
        else
            printf(" (%lld KV head%s)", (long long)cache->card_kv_heads,
                   cache->card_kv_heads == 1 ? "" : "s");
        if (use->tokens > 0) {
            format_bytes(size, cache->card_total);
            printf("; %s in use", size);
        }
        putchar('\n');
    }
}

static void print_weights(const KvReport *report)
{
    const MemoryParameters *parameters = &report->parameters;
    char number[CELL_SIZE];
    if (!report->counted) {
        printf("%-14snot counted\n", "parameters");
        return;
    }
    format_number(number, parameters->total);
    printf("%-14s%s: embedding %.1f%%, attention %.1f%%, MLP %.1f%%, norms %.2f%%\n",
           "parameters", number, 100 * share(parameters->embedding, parameters->total),
           100 * share(parameters->attention, parameters->total),
           100 * share(parameters->mlp, parameters->total),
           100 * share(parameters->norms, parameters->total));
    if (parameters->active < parameters->total) {
        format_number(number, parameters->active);
        printf("%-14s%s that a token meets\n", "", number);
    }
    format_bytes(number, report->weight_bytes);
    printf("%-14s%s, %s (%s)\n", "weights", number, report->weight_type.name,
           report->weight_type.from);
}

void kv_report_print(const KvReport *report)
{
    console_print_safe(report->path, stdout);
    if (report->config.model_type[0]) {
        fputs(": ", stdout);
        console_print_safe(report->config.model_type, stdout);
    }
    putchar('\n');
    print_kind(report);
    print_sizes(report);
    print_token(report);
    print_use(report);
    print_weights(report);
}

/* ---- a table ------------------------------------------------------------------------ */

/* "tests/configs/gpt-oss-20b.json" -> "gpt-oss-20b", "tang/best/config.json" ->
 * "tang/best". */
static void short_name(char out[CELL_SIZE], const char *path)
{
    char text[PATH_SIZE];
    snprintf(text, sizeof text, "%s", path);
    char *slash = strrchr(text, '/');
    if (slash && strcmp(slash, "/config.json") == 0) {
        *slash = '\0';
        slash = strrchr(text, '/');
        if (slash) {
            *slash = '\0';
            char *above = strrchr(text, '/');
            *slash = '/';
            slash = above;
        }
    } else {
        char *dot = strrchr(text, '.');
        if (dot && strcmp(dot, ".json") == 0)
            *dot = '\0';
    }
    const char *name = slash ? slash + 1 : text;
    snprintf(out, CELL_SIZE, "%.*s", (int)console_fit(name, 40), name);
}

typedef char Row[COLUMNS][CELL_SIZE];

static void fill_row(Row row, const KvReport *report)
{
    const MemoryShape *shape = &report->config.shape;
    const MemoryCache *cache = &report->cache;
    const MemoryUse *use = &report->use;
    short_name(row[0], report->path);
    snprintf(row[1], CELL_SIZE, "%s", MEMORY_KIND_NAMES[shape->kind]);
    if (shape->kind == MEMORY_MLA)
        snprintf(row[2], CELL_SIZE, "%lld", (long long)shape->query_heads);
    else
        snprintf(row[2], CELL_SIZE, "%lld/%lld", (long long)shape->query_heads,
                 (long long)shape->kv_heads);
    snprintf(row[3], CELL_SIZE, "%lld", (long long)shape->head_size);
    snprintf(row[4], CELL_SIZE, "%lld", (long long)shape->layers);
    format_bytes(row[5], use->cards > 1 ? cache->card_per_token : cache->per_token);
    snprintf(row[6], CELL_SIZE, "-");
    if (use->tokens > 0)
        format_bytes(row[6], use->cards > 1 ? cache->card_total : cache->total);
    snprintf(row[7], CELL_SIZE, "-");
    if (cache->mha_per_token > 0)
        snprintf(row[7], CELL_SIZE, "%.4g",
                 share(cache->mha_per_token, cache->per_token));
    snprintf(row[8], CELL_SIZE, "-");
    if (report->counted)
        format_weights(row[8], report->parameters.total);
    if (shape->head_size == 0)
        snprintf(row[3], CELL_SIZE, "-");
}

static void print_row(Row row, const int widths[COLUMNS], const bool shown[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        if (!shown[i])
            continue;
        int pad = widths[i] - console_width(row[i]);
        if (i > 1) /* numbers stand at the right */
            printf("  %*s", pad, "");
        else if (i == 1)
            printf("  ");
        console_print_safe(row[i], stdout);
        if (i <= 1)
            printf("%*s", pad, "");
    }
    putchar('\n');
}

void kv_report_table(const KvReport *const *reports, int count)
{
    const MemoryUse *use = &reports[0]->use;
    bool cards = use->cards > 1;
    const bool shown[COLUMNS] = {true, true, true, true, true, true, use->tokens > 0,
                                 true, true};
    Row row = {"config",  "kind",   "heads",      "head size", "layers",
               "a token", "in use", "MHA / this", "parameters"};
    int widths[COLUMNS];
    if (cards) {
        snprintf(row[5], CELL_SIZE, "a token, card");
        snprintf(row[6], CELL_SIZE, "in use, card");
    }
    for (int i = 0; i < COLUMNS; i++)
        widths[i] = console_width(row[i]);
    for (int r = 0; r < count; r++) {
        Row cells;
        fill_row(cells, reports[r]);
        for (int i = 0; i < COLUMNS; i++)
            if (console_width(cells[i]) > widths[i])
                widths[i] = console_width(cells[i]);
    }
    print_row(row, widths, shown);
    for (int r = 0; r < count; r++) {
        fill_row(row, reports[r]);
        print_row(row, widths, shown);
    }
}
