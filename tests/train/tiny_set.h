/* A small set of poems for tests of training: in memory, with tokenizer.json and
 * variants.json in a folder as a prepared set has them.
 *
 * A poem is two to five lines of four characters and a mark, all drawn from its own random
 * stream, with a form, a title and an author of one to three characters. */
#ifndef JUEJU_TESTS_TRAIN_TINY_SET_H
#define JUEJU_TESTS_TRAIN_TINY_SET_H

#include <math.h>
#include <stdlib.h>

#include "data/batch.h"
#include "data/variants.h"
#include "model/base/rng.h"
#include "model/gpt/gpt.h"
#include "tests/base/scratch.h"

/* By falling frequency: ids 6, 7, ... Letters and digits are neither Han nor marks. */
static const uint32_t TINY_POINTS[] = {
    U'，', U'。', U'山', U'水', U'風', U'月', U'花', U'鳥', U'人', U'心', U'天',
    U'地', U'春', U'秋', U'雲', U'雨', U'江', U'河', U'日', U'夜', U'x',
};

enum {
    TINY_CHARACTERS = sizeof TINY_POINTS / sizeof *TINY_POINTS,
    TINY_VOCABULARY = TOKEN_SPECIALS + TINY_CHARACTERS,
    TINY_FIRST_HAN = TOKEN_SPECIALS + 2, /* behind the two marks */
    TINY_TRAIN = 14,
    TINY_HELD_OUT = 5,
    TINY_LONGEST = 5 * 5 + 14,
    TINY_CONTEXT = 16, /* shorter than the longest poems: these are cut */
};

#define TINY_MUST(call)                                                                \
    do {                                                                               \
        Error tiny_error_ = {0};                                                       \
        Error *err = &tiny_error_;                                                     \
        if ((call) != STATUS_OK) {                                                     \
            fprintf(stderr, "%s\n", tiny_error_.message);                              \
            abort();                                                                   \
        }                                                                              \
    } while (0)

/* For tests; false for a NaN. */
#define assert_near(a, b, tolerance)                                                   \
    assert_true(fabs((double)(a) - (double)(b)) <= (double)(tolerance))

typedef struct {
    uint16_t ids[TINY_TRAIN * TINY_LONGEST];
    uint64_t offsets[TINY_TRAIN + 1];
    PoemSet view;
} TinyPart;

typedef struct {
    Tokenizer tokenizer;
    TinyPart train, held_out;
} TinySet;

static inline int32_t tiny_han(Rng *rng)
{
    return TINY_FIRST_HAN +
           (int32_t)rng_below(rng, TINY_VOCABULARY - 1 - TINY_FIRST_HAN);
}

static inline void tiny_poem(TinyPart *part, uint64_t seed)
{
    static const int32_t MARKS[] = {TOKEN_FORM, TOKEN_TITLE, TOKEN_AUTHOR};
    PoemSet *view = &part->view;
    uint16_t *to = part->ids + view->tokens;
    Rng rng = rng_stream(seed, 0);
    for (int field = 0; field < 3; field++) {
        *to++ = (uint16_t)MARKS[field];
        for (uint64_t i = 1 + rng_below(&rng, 3); i > 0; i--)
            *to++ = (uint16_t)tiny_han(&rng);
    }
    *to++ = TOKEN_BOS;
    uint64_t lines = 2 + rng_below(&rng, 4);
    for (uint64_t line = 0; line < lines; line++) {
        for (int i = 0; i < 4; i++)
            *to++ = (uint16_t)tiny_han(&rng);
        *to++ = (uint16_t)(TOKEN_SPECIALS + line % 2);
    }
    to[-3] = TOKEN_UNK; /* a character that the vocabulary lacks */
    to[-4] = (uint16_t)(TINY_VOCABULARY - 1); /* neither Han nor a mark */
    *to++ = TOKEN_EOS;
    view->tokens = to - part->ids;
    part->offsets[++view->poems] = (uint64_t)view->tokens;
}

static inline void tiny_part(TinyPart *part, int poems, uint64_t seed)
{
    *part = (TinyPart){0};
    part->view.ids = part->ids;
    part->view.offsets = part->offsets;
    for (int i = 0; i < poems; i++)
        tiny_poem(part, rng_hash(seed, (uint64_t)i));
}

static inline void tiny_set_create(TinySet *set, const char *folder)
{
    int64_t *counts;
    int64_t frequencies[TINY_CHARACTERS];
    char path[PATH_SIZE];
    TINY_MUST(memory_allocate(&counts, CODE_POINTS, sizeof *counts, "a test", err));
    for (int i = 0; i < TINY_CHARACTERS; i++)
        counts[TINY_POINTS[i]] = frequencies[i] = 1000 - i;
    TINY_MUST(tokenizer_build(&set->tokenizer, counts, 1, err));
    memory_free(counts);
    TINY_MUST(folder_create(folder, err));
    TINY_MUST(tokenizer_save(&set->tokenizer,
                             scratch_path(path, folder, "tokenizer.json"), err));
    Variants variants;
    TINY_MUST(
        variants_build(&variants, TINY_POINTS, frequencies, TINY_CHARACTERS, err));
    TINY_MUST(
        variants_write(&variants, scratch_path(path, folder, "variants.json"), err));
    variants_free(&variants);
    tiny_part(&set->train, TINY_TRAIN, 1);
    tiny_part(&set->held_out, TINY_HELD_OUT, 2);
}

static inline void tiny_set_free(TinySet *set)
{
    tokenizer_free(&set->tokenizer);
}

static inline GptConfig tiny_config(void)
{
    GptConfig config = gpt_config_open(FAMILY_GPT2);
    config.vocab_size = TINY_VOCABULARY;
    config.context = TINY_CONTEXT;
    config.width = 16;
    config.layers = 2;
    config.heads = 2;
    config.mlp_width = 24;
    gpt_config_fill(&config);
    return config;
}

/* A model whose every number is random, gains and biases too. */
static inline void tiny_model(Gpt *gpt, uint64_t seed)
{
    GptConfig config = tiny_config();
    TINY_MUST(gpt_create(gpt, &config, err));
    for (int64_t t = 0; t < gpt->table.count; t++) {
        const ParamInfo *info = &gpt->table.items[t];
        Rng rng = rng_stream(seed, (uint64_t)t);
        for (int64_t i = 0; i < info->rows * info->cols; i++)
            gpt->values[info->offset + (size_t)i] =
                (real)((info->kind == PARAM_GAIN) + 0.3 * rng_normal(&rng));
    }
}

#endif
