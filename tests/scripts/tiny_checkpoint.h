/* Small checkpoints for tests of commands: a few characters and a model that is either
 * random or draws every token from one fixed distribution, whatever it has read. */
#ifndef JUEJU_TESTS_SCRIPTS_TINY_CHECKPOINT_H
#define JUEJU_TESTS_SCRIPTS_TINY_CHECKPOINT_H

#include <math.h>
#include <stdlib.h>

#include "data/tokenizer.h"
#include "data/variants.h"
#include "model/base/files.h"
#include "model/base/memory.h"
#include "model/base/rng.h"
#include "model/gpt/weights.h"

/* By falling frequency, so the ids are 6, 7, ... in this order. 云 is rarer than 雲. */
static const uint32_t TINY_POINTS[] = {
    U'，', U'。', U'？', U'！', U'雲', U'舉', U'頭', U'望', U'明', U'月', U'云',
    U'春', U'夏', U'秋', U'冬', U'山', U'水', U'風', U'花', U'鳥', U'人', U'詩',
};
enum {
    TINY_CHARACTERS = sizeof TINY_POINTS / sizeof *TINY_POINTS,
    TINY_VOCABULARY = TOKEN_SPECIALS + TINY_CHARACTERS,
    TINY_CONTEXT = 40,
    TINY_WIDTH = 24,
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

static inline void tiny_tokenizer(Tokenizer *tokenizer)
{
    int64_t *counts;
    TINY_MUST(memory_allocate(&counts, CODE_POINTS, sizeof *counts, "a test", err));
    for (int i = 0; i < TINY_CHARACTERS; i++)
        counts[TINY_POINTS[i]] = 1000 - i;
    TINY_MUST(tokenizer_build(tokenizer, counts, 1, err));
    memory_free(counts);
}

static inline void tiny_variants(Variants *variants)
{
    int64_t counts[TINY_CHARACTERS];
    for (int i = 0; i < TINY_CHARACTERS; i++)
        counts[i] = 1000 - i;
    TINY_MUST(variants_build(variants, TINY_POINTS, counts, TINY_CHARACTERS, err));
}

static inline Gpt tiny_model(void)
{
    GptConfig config = gpt_config_open(FAMILY_GPT2);
    config.vocab_size = TINY_VOCABULARY;
    config.context = TINY_CONTEXT;
    config.width = TINY_WIDTH;
    config.layers = 2;
    config.heads = 2;
    config.mlp_width = 32;
    gpt_config_fill(&config);
    Gpt gpt;
    TINY_MUST(gpt_create(&gpt, &config, err));
    return gpt;
}

static inline Gpt tiny_random_model(uint64_t seed)
{
    Gpt gpt = tiny_model();
    for (int64_t t = 0; t < gpt.table.count; t++) {
        const ParamInfo *info = &gpt.table.items[t];
        Rng rng = rng_stream(seed, (uint64_t)t);
        for (int64_t i = 0; i < info->rows * info->cols; i++)
            gpt.values[info->offset + (size_t)i] =
                (real)((info->kind == PARAM_GAIN) + 0.3 * rng_normal(&rng));
    }
    return gpt;
}

/* The final norm gives the vector (1, 0, 0, ...) whatever it is given, and the embedding
 * of token v begins with its logit. */
static inline Gpt tiny_fixed_model(const double logits[TINY_VOCABULARY])
{
    Gpt gpt = tiny_model();
    gpt.params.norm.bias[0] = 1;
    for (int64_t v = 0; v < TINY_VOCABULARY; v++)
        gpt.params.tokens[v * TINY_WIDTH] = (real)logits[v];
    return gpt;
}

/* Writes a checkpoint folder (made if need be) and destroys the model. */
static inline void tiny_save(Gpt *gpt, bool stream, const char *folder)
{
    char path[PATH_SIZE];
    Tokenizer tokenizer;
    Variants variants;
    ModelTokens tokens = {
        .bos = TOKEN_BOS,
        .eos = TOKEN_EOS,
        .bos_text = "<bos>",
        .eos_text = "<eos>",
        .unk_text = "<unk>",
    };
    if (stream)
        tokens = (ModelTokens){.bos = -1, .eos = -1, .unk_text = "<unk>"};
    TINY_MUST(folder_create(folder, err));
    TINY_MUST(weights_save(gpt, &tokens, folder, err));
    tiny_tokenizer(&tokenizer);
    TINY_MUST(path_join(path, folder, "tokenizer.json", err));
    TINY_MUST(tokenizer_save(&tokenizer, path, err));
    tokenizer_free(&tokenizer);
    tiny_variants(&variants);
    TINY_MUST(path_join(path, folder, "variants.json", err));
    TINY_MUST(variants_write(&variants, path, err));
    variants_free(&variants);
    gpt_destroy(gpt);
}

#endif
