/* The options that say what a model is, for every command that makes one, and a model in a
 * line of words.
 *
 *     typedef struct { CommonOptions common; ModelOptions model; ... } Values;
 *     static const Option OPTIONS[] = {MODEL_OPTIONS(Values, model), ..., {0}};
 *     Values values = {.model = model_options_start(), ...};
 *     TRY(model_options_parse(&INFO, &values, &values.model, argc, argv, ..., err));
 *     TRY(model_options_config(&config, &values.model, err)); */
#ifndef JUEJU_SCRIPTS_MODEL_OPTIONS_H
#define JUEJU_SCRIPTS_MODEL_OPTIONS_H

#include "model/gpt/config.h"
#include "scripts/options.h"

typedef struct {
    GptConfig config;          /* sizes may be open */
    const char *window_layers; /* which layers slide: letters s and f, repeated */
} ModelOptions;

/* The options, as rows of a command's table; type has a ModelOptions called member. */
#define MODEL_FIELD(type, member, field) offsetof(type, member.config.field)
#define MODEL_INT(name, letter, at, argument, help, least, most)                       \
    {                                                                                  \
        name, letter, OPTION_INT, at, argument, help, least, most, NULL                \
    }
#define MODEL_REAL(name, at, help, least, most)                                        \
    {                                                                                  \
        name, 0, OPTION_REAL, at, "X", help, least, most, NULL                         \
    }
#define MODEL_CHOICE(name, at, names, help)                                            \
    {                                                                                  \
        name, 0, OPTION_CHOICE, at, NULL, help, 0, 0, names                            \
    }
#define MODEL_FLAG(name, at, help)                                                     \
    {                                                                                  \
        name, 0, OPTION_FLAG, at, NULL, help, 0, 0, NULL                               \
    }
#define MODEL_OPTIONS(type, member)                                                    \
    MODEL_CHOICE("family", MODEL_FIELD(type, member, family), FAMILY_NAMES,            \
                 "the defaults of all that follows"),                                  \
        MODEL_INT("layers", 'L', MODEL_FIELD(type, member, layers), "L",               \
                  "transformer blocks, with an encoder those of the decoder", 1,       \
                  GPT_LAYERS_MAX),                                                     \
        MODEL_INT("encoder-layers", 0, MODEL_FIELD(type, member, encoder_layers), "N", \
                  "blocks of the encoder, in family couplet", 0, GPT_LAYERS_MAX),      \
        MODEL_INT("heads", 'H', MODEL_FIELD(type, member, heads), "H",                 \
                  "attention heads", 1, 1024),                                         \
        MODEL_INT("width", 'C', MODEL_FIELD(type, member, width), "C",                 \
                  "width of the model", 1, 65536),                                     \
        MODEL_INT("context", 'T', MODEL_FIELD(type, member, context), "T",             \
                  "positions", 2, 1048576),                                            \
        MODEL_INT("mlp-width", 'F', MODEL_FIELD(type, member, mlp_width), "F",         \
                  "width of the MLP; 0 means 4C, with swiglu 8C/3", 0, 262144),        \
        MODEL_INT("kv-heads", 'G', MODEL_FIELD(type, member, kv_heads), "G",           \
                  "key/value heads, a divisor of H; 0 means H, in family llama H/2",   \
                  0, 1024),                                                            \
        MODEL_INT("head-size", 0, MODEL_FIELD(type, member, head_size), "D",           \
                  "channels of a head; 0 means C/H", 0, 65536),                        \
        MODEL_CHOICE("norm", MODEL_FIELD(type, member, norm), NORM_NAMES, "norms"),    \
        MODEL_CHOICE("norm-place", MODEL_FIELD(type, member, norm_place),              \
                     NORM_PLACE_NAMES, "norms before or after attention and MLP"),     \
        MODEL_CHOICE("positions", MODEL_FIELD(type, member, position), POSITION_NAMES, \
                     "how a token knows its place"),                                   \
        MODEL_REAL("rope-theta", MODEL_FIELD(type, member, rope_theta),                \
                   "base of RoPE's angles", 1e-3, 1e15),                               \
        MODEL_CHOICE("mlp", MODEL_FIELD(type, member, mlp), MLP_NAMES, "kind of MLP"), \
        MODEL_CHOICE("attention", MODEL_FIELD(type, member, attention),                \
                     ATTENTION_NAMES,                                                  \
                     "heads (MHA, GQA, MQA) or multi-head latent attention"),          \
        MODEL_INT("q-rank", 0, MODEL_FIELD(type, member, q_rank), "N",                 \
                  "mla: latent of queries; 0: none, -1: 3C/4", -1, 65536),             \
        MODEL_INT("kv-rank", 0, MODEL_FIELD(type, member, kv_rank), "R",               \
                  "mla: latent of keys and values; 0 means C/2", 0, 65536),            \
        MODEL_INT("nope-size", 0, MODEL_FIELD(type, member, nope_size), "P",           \
                  "mla: channels of a key that are not turned; 0 means C/H", 0,        \
                  65536),                                                              \
        MODEL_INT("rope-size", 0, MODEL_FIELD(type, member, rope_size), "O",           \
                  "mla: channels that are; -1: C/2H, without rope 0", -1, 65536),      \
        MODEL_INT("value-size", 0, MODEL_FIELD(type, member, value_size), "E",         \
                  "mla: channels of a value; 0 means C/H", 0, 65536),                  \
        MODEL_FLAG("biases", MODEL_FIELD(type, member, biases),                        \
                   "biases in the linear layers"),                                     \
        MODEL_FLAG("tied", MODEL_FIELD(type, member, tied),                            \
                   "the output head is the token embedding"),                          \
        MODEL_FLAG("scaled-scores", MODEL_FIELD(type, member, scaled_scores),          \
                   "scores times 1/sqrt(D)"),                                          \
        MODEL_FLAG("scaled-embedding", MODEL_FIELD(type, member, scaled_embedding),    \
                   "token embeddings times sqrt(C), in family couplet"),               \
        MODEL_FLAG("scaled-residual", MODEL_FIELD(type, member, scaled_residual),      \
                   "start values of residual projections times 1/sqrt(2L)"),           \
        MODEL_INT("window", 0, MODEL_FIELD(type, member, window), "N",                 \
                  "tokens that a sliding layer sees; 0: all", 0, 1 << 30),             \
        {"window-layers",                                                              \
         0,                                                                            \
         OPTION_TEXT,                                                                  \
         offsetof(type, member.window_layers),                                         \
         "PATTERN",                                                                    \
         "s for a sliding layer, f for a full one, repeated: sf; without it all "      \
         "slide",                                                                      \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        MODEL_REAL("dropout", MODEL_FIELD(type, member, dropout),                      \
                   "dropout on embeddings and residual branches", 0, 0.95)

/* Their names but for dropout, closed by NULL: what a checkpoint decides when there is one. */
extern const char *const MODEL_OPTION_NAMES[];

/* Family gpt2. */
ModelOptions model_options_start(void);

/* options_parse, but what the user does not give are the defaults of the family that the
 * user gives; V, T, C, L, H, F and dropout stay those of the command. model is part of
 * values. */
Status model_options_parse(const CommandInfo *info, void *values, ModelOptions *model,
                           int argc, char **argv, const char **positional,
                           int *positional_count, bool *help, Error *err);

/* The model that the options say, open sizes filled; STATUS_USAGE for a pattern of layers
 * that is none. gpt_config_check is left to whoever makes the model. */
Status model_options_config(GptConfig *config, const ModelOptions *model, Error *err);

/* The same for the benchmarks, which refuse a model with an encoder. */
Status model_options_decoder(GptConfig *config, const ModelOptions *model, Error *err);

/* "llama, L4 H4 G2 C128 T128 F352 V7294", and the switches that are not the family's. */
void model_describe(char *text, size_t size, const GptConfig *config);

#endif
