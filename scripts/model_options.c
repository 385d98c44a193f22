#include "scripts/model_options.h"

#include <stdarg.h>
#include <string.h>

const char *const MODEL_OPTION_NAMES[] = {
    "family",     "layers",        "encoder-layers",
    "heads",      "width",         "context",
    "mlp-width",  "kv-heads",      "head-size",
    "norm",       "norm-place",    "positions",
    "rope-theta", "mlp",           "attention",
    "q-rank",     "kv-rank",       "nope-size",
    "rope-size",  "value-size",    "biases",
    "tied",       "scaled-scores", "scaled-residual",
    "window",     "window-layers", NULL};

ModelOptions model_options_start(void)
{
    return (ModelOptions){.config = gpt_config_open(FAMILY_GPT2)};
}

Status model_options_parse(const CommandInfo *info, void *values, ModelOptions *model,
                           int argc, char **argv, const char **positional,
                           int *positional_count, bool *help, Error *err)
{
    const GptConfig usual = model->config;
    TRY(options_parse(info, values, argc, argv, positional, positional_count, help,
                      err));
    Family family = model->config.family;
    if (family == usual.family)
        return STATUS_OK;
    /* Once more, on top of this family's switches. */
    model->config = gpt_config_open(family);
    model->config.vocab_size = usual.vocab_size;
    model->config.context = usual.context;
    model->config.width = usual.width;
    model->config.layers = usual.layers;
    model->config.heads = usual.heads;
    model->config.mlp_width = usual.mlp_width;
    model->config.dropout = usual.dropout;
    return options_parse(info, values, argc, argv, positional, positional_count, help,
                         err);
}

Status model_options_config(GptConfig *config, const ModelOptions *model, Error *err)
{
    const char *pattern = model->window_layers;
    size_t length = pattern != NULL ? strlen(pattern) : 0;
    *config = model->config;
    config->norm_eps = gpt_config_open(config->family).norm_eps; /* has no option */
    if (pattern != NULL && (length == 0 || strspn(pattern, "sf") != length))
        return error_set(err, STATUS_USAGE,
                         "--window-layers: expected letters s (sliding) and f (full), "
                         "such as sf, found \"%.80s\"",
                         pattern);
    if (pattern != NULL && config->window == 0)
        return error_set(err, STATUS_USAGE,
                         "--window-layers %.80s: there is no --window", pattern);
    for (int64_t l = 0; l < config->layers && l < GPT_LAYERS_MAX; l++)
        config->sliding[l] = config->window > 0 &&
                             (pattern == NULL || pattern[(size_t)l % length] == 's');
    gpt_config_fill(config);
    return STATUS_OK;
}

Status model_options_decoder(GptConfig *config, const ModelOptions *model, Error *err)
{
    TRY(model_options_config(config, model, err));
    if (config->encoder_layers > 0)
        return error_set(err, STATUS_USAGE,
                         "the benchmark times a decoder alone; family couplet has an "
                         "encoder as well");
    return STATUS_OK;
}

/* ---- in words ----------------------------------------------------------------------- */

/* Text that grows until its buffer is full. */
typedef struct {
    char *text;
    size_t size, used;
} Line;

__attribute__((format(printf, 2, 3))) static void say(Line *line, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    int wrote =
        vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    if (wrote > 0)
        line->used += (size_t)wrote;
    if (line->used >= line->size)
        line->used = line->size - 1;
}

static void say_size(Line *line, const char *letter, int64_t size)
{
    say(line, " %s%lld", letter, (long long)size);
}

static void say_sizes(Line *line, const GptConfig *config)
{
    say_size(line, "L", config->layers);
    if (config->encoder_layers > 0)
        say_size(line, "Le", config->encoder_layers);
    say_size(line, "H", config->heads);
    if (config->kv_heads != config->heads)
        say_size(line, "G", config->kv_heads);
    if (config->attention == ATTENTION_MLA) {
        say_size(line, "R", config->kv_rank);
        say_size(line, "Rq", config->q_rank);
        say_size(line, "P", config->nope_size);
        say_size(line, "O", config->rope_size);
        say_size(line, "E", config->value_size);
    } else if (config->heads * config->head_size != config->width) {
        say_size(line, "D", config->head_size);
    }
    say_size(line, "C", config->width);
    say_size(line, "T", config->context);
    say_size(line, "F", config->mlp_width);
    say_size(line, "V", config->vocab_size);
}

/* A switch's name where it is not the family's. */
static void say_switch(Line *line, const char *const *names, int value, int usual)
{
    if (value != usual)
        say(line, ", %s", names[value]);
}

static void say_windows(Line *line, const GptConfig *config)
{
    if (config->window == 0)
        return;
    say(line, ", window %lld in layers ", (long long)config->window);
    for (int64_t l = 0; l < config->layers; l++)
        say(line, "%c", config->sliding[l] ? 's' : 'f');
}

void model_describe(char *text, size_t size, const GptConfig *config)
{
    const GptConfig usual = gpt_config_open(config->family);
    Line line = {.text = text, .size = size};
    int64_t cut = 0;
    say(&line, "%s,", FAMILY_NAMES[config->family]);
    say_sizes(&line, config);
    say_switch(&line, NORM_NAMES, (int)config->norm, (int)usual.norm);
    if (config->norm_place != usual.norm_place)
        say(&line, ", norms %s", NORM_PLACE_NAMES[config->norm_place]);
    if (config->position != usual.position)
        say(&line, ", positions %s", POSITION_NAMES[config->position]);
    say_switch(&line, MLP_NAMES, (int)config->mlp, (int)usual.mlp);
    say_switch(&line, ATTENTION_NAMES, (int)config->attention, (int)usual.attention);
    if (config->biases != usual.biases)
        say(&line, config->biases ? ", biases" : ", no biases");
    if (!config->tied)
        say(&line, ", untied head");
    if (!config->scaled_scores)
        say(&line, ", unscaled scores");
    say_windows(&line, config);
    for (int64_t l = 0; l < config->layers; l++)
        cut += config->heads - gpt_layer_heads(config, l);
    if (cut > 0)
        say(&line, ", %lld heads cut", (long long)cut);
}
