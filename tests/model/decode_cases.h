/* Models that decoding is tested with: each family, each switch alone, some together. */
#ifndef JUEJU_TESTS_MODEL_DECODE_CASES_H
#define JUEJU_TESTS_MODEL_DECODE_CASES_H

#include "tests/model/small_model.h"

/* What differs from the family's own switches and from L 2, H 4, C 32, T 70, F 50, V 61; 0:
 * nothing. Switches are given as their value and 1. */
typedef struct {
    const char *name;
    Family family;
    int64_t vocab_size, context, width, layers, heads, mlp_width, kv_heads, head_size;
    int norm, place, position, mlp, attention, biases, tied, scaled;
    int64_t q_rank, kv_rank, nope_size, rope_size, value_size;
    int64_t window;
    uint64_t full_layers; /* bit l: layer l does not slide */
    uint64_t removed[4];
} DecodeCase;

enum { NO = 1, YES = 2 };
#define SIZES(V, T, C, L, H, F)                                                        \
    .vocab_size = (V), .context = (T), .width = (C), .layers = (L), .heads = (H),      \
    .mlp_width = (F)
#define SET(value) ((int)(value) + 1)

static const DecodeCase DECODE_CASES[] = {
    /* The default's shape; D = 8, 12, 20, 1; C and F no multiple of a vector; V under and
     * over whole panels; one layer, one head, one position. */
    {"default", SIZES(203, 40, 128, 4, 4, 512)},
    {"narrow", SIZES(61, 24, 32, 2, 4, 128)},
    {"odd", SIZES(97, 70, 36, 3, 3, 50)},
    {"odder", SIZES(32, 40, 60, 2, 3, 31)},
    {"D 1", SIZES(7, 33, 5, 1, 5, 3)},
    {"one head", SIZES(40, 129, 24, 1, 1, 16)},
    {"one position", SIZES(11, 1, 16, 2, 2, 64)},
    /* Switches alone. */
    {"rmsnorm", .norm = SET(NORM_RMS)},
    {"post-norm", .place = SET(NORM_AFTER)},
    {"sinusoidal", .position = SET(POSITION_SINUSOIDAL)},
    {"rope", .position = SET(POSITION_ROPE)},
    {"no positions", .position = SET(POSITION_NONE)},
    {"swiglu", .mlp = SET(MLP_SWIGLU)},
    {"no biases", .biases = NO},
    {"own head", .tied = NO},
    {"scores not scaled", .scaled = NO},
    {"H D over C", .head_size = 12},
    {"H D under C", .head_size = 5},
    {"G 2", .kv_heads = 2},
    {"G 1", .kv_heads = 1},
    {"G 1 of 7", .width = 35, .heads = 7, .kv_heads = 1},
    {"G 2 of 6", .width = 36, .heads = 6, .kv_heads = 2},
    {"window 9", .window = 9},
    {"window 1", .window = 1},
    {"window 33", .window = 33},
    {"window over T", .window = 1000},
    {"every second layer slides", .layers = 4, .window = 9, .full_layers = 0x5},
    {"heads cut", .layers = 3, .removed = {0x2, 0x0, 0xd}},
    {"a layer without heads", .layers = 3, .removed = {0x0, 0xf, 0x1}},
    {"mla in gpt2", .attention = SET(ATTENTION_MLA), .biases = NO},
    /* Families, and several switches. */
    {"llama", .family = FAMILY_LLAMA},
    {"llama, one position", FAMILY_LLAMA, .context = 1},
    {"llama, windows", FAMILY_LLAMA, .layers = 3, .window = 11, .full_layers = 0x2},
    {"llama, post-norm", FAMILY_LLAMA, .place = SET(NORM_AFTER)},
    {"llama with gpt2's rest", FAMILY_LLAMA, .norm = SET(NORM_LAYER),
     .mlp = SET(MLP_GELU), .biases = YES, .tied = NO},
    {"G 2 and windows", .kv_heads = 2, .layers = 3, .window = 5, .full_layers = 0x1},
    {"cut and grouped", FAMILY_LLAMA, .width = 48, .layers = 4, .heads = 6,
     .kv_heads = 3, .removed = {0x01, 0x30, 0x3f, 0x16}},
    {"cut, grouped, windows", FAMILY_LLAMA, .width = 64, .heads = 8, .kv_heads = 2,
     .removed = {0x84, 0x60}, .window = 17},
    {"deepseek", .family = FAMILY_DEEPSEEK},
    {"deepseek, one position", FAMILY_DEEPSEEK, .context = 1},
    {"deepseek, no query latent", FAMILY_DEEPSEEK, .q_rank = SET(0)},
    {"deepseek, windows", FAMILY_DEEPSEEK, .layers = 3, .window = 9,
     .full_layers = 0x2},
    {"deepseek, odd sizes", FAMILY_DEEPSEEK, .width = 21, .heads = 3, .q_rank = SET(7),
     .kv_rank = 37, .nope_size = 5, .rope_size = SET(6), .value_size = 11},
    {"deepseek, many heads", FAMILY_DEEPSEEK, .width = 50, .heads = 9, .kv_rank = 19,
     .nope_size = 3, .rope_size = SET(2), .value_size = 33},
    {"deepseek, heads cut", FAMILY_DEEPSEEK, .layers = 4,
     .removed = {0x2, 0xf, 0x7, 0x0}},
    {"deepseek, post-norm, gelu", FAMILY_DEEPSEEK, .norm = SET(NORM_LAYER),
     .place = SET(NORM_AFTER), .mlp = SET(MLP_GELU), .tied = NO},
    {"deepseek, cut, windows", FAMILY_DEEPSEEK, .layers = 3, .removed = {0x5, 0x0, 0x8},
     .window = 20, .full_layers = 0x4},
};
enum { DECODE_CASES_COUNT = sizeof DECODE_CASES / sizeof *DECODE_CASES };

static inline int64_t or_else(int64_t given, int64_t usual)
{
    return given > 0 ? given : usual;
}

static inline GptConfig case_config(const DecodeCase *c)
{
    GptConfig config = gpt_config_open(c->family);
    config.vocab_size = or_else(c->vocab_size, 61);
    config.context = or_else(c->context, 70);
    config.width = or_else(c->width, 32);
    config.layers = or_else(c->layers, 2);
    config.heads = or_else(c->heads, 4);
    config.mlp_width = or_else(c->mlp_width, 50);
    config.kv_heads = c->kv_heads;
    config.head_size = c->head_size;
    config.norm = c->norm > 0 ? (NormKind)(c->norm - 1) : config.norm;
    config.norm_place = c->place > 0 ? (NormPlace)(c->place - 1) : config.norm_place;
    config.position =
        c->position > 0 ? (PositionKind)(c->position - 1) : config.position;
    config.mlp = c->mlp > 0 ? (MlpKind)(c->mlp - 1) : config.mlp;
    config.attention =
        c->attention > 0 ? (AttentionKind)(c->attention - 1) : config.attention;
    config.biases = c->biases > 0 ? c->biases == YES : config.biases;
    config.tied = c->tied != NO;
    config.scaled_scores = c->scaled != NO;
    config.q_rank = c->q_rank > 0 ? c->q_rank - 1 : config.q_rank;
    config.kv_rank = c->kv_rank;
    config.nope_size = c->nope_size;
    config.rope_size = c->rope_size > 0 ? c->rope_size - 1 : config.rope_size;
    config.value_size = c->value_size;
    config.window = c->window;
    for (int64_t l = 0; l < config.layers; l++) {
        config.sliding[l] = c->window > 0 && (c->full_layers >> l & 1) == 0;
        config.removed[l] = c->removed[l];
    }
    gpt_config_fill(&config);
    return config;
}

#endif
