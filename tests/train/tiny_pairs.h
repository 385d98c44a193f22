/* A small set of pairs in the vocabulary of the tiny set. Every lower line answers its upper
 * line character by character, with the character that stands ANSWER further in the list:
 * whoever looks across knows it. */
#ifndef JUEJU_TESTS_TRAIN_TINY_PAIRS_H
#define JUEJU_TESTS_TRAIN_TINY_PAIRS_H

#include "data/pairs.h"
#include "tests/train/tiny_set.h"

enum {
    TINY_PAIRS = 800,                                /* at most */
    TINY_HAN = TINY_VOCABULARY - 1 - TINY_FIRST_HAN, /* without the letter */
    TINY_ANSWER = 7,
};

typedef struct {
    uint16_t ids[TINY_PAIRS * 16];
    uint64_t offsets[TINY_PAIRS + 1];
    uint32_t origins[TINY_PAIRS];
    PairSet view;
} TinyPairs;

static inline int32_t tiny_answer(int32_t id)
{
    return TINY_FIRST_HAN + (id - TINY_FIRST_HAN + TINY_ANSWER) % TINY_HAN;
}

/* Pairs by turns of 5 and 7 characters, those of an upper line all different. */
static inline void tiny_pairs(TinyPairs *pairs, int64_t count, uint64_t seed)
{
    *pairs = (TinyPairs){0};
    uint16_t *to = pairs->ids;
    for (int64_t i = 0; i < count; i++) {
        uint32_t order[TINY_HAN];
        int64_t n = i % 2 == 0 ? 5 : 7;
        Rng rng = rng_stream(seed, (uint64_t)i);
        for (uint32_t c = 0; c < TINY_HAN; c++)
            order[c] = c;
        rng_shuffle(&rng, order, TINY_HAN);
        *to++ = TOKEN_BOS;
        for (int64_t c = 0; c < n; c++)
            *to++ = (uint16_t)(TINY_FIRST_HAN + (int32_t)order[c]);
        for (int64_t c = 0; c < n; c++, to++)
            *to = (uint16_t)tiny_answer(to[-n]);
        *to++ = TOKEN_EOS;
        pairs->offsets[i + 1] = (uint64_t)(to - pairs->ids);
        pairs->origins[i] = pair_origin_pack(i, true, 1);
    }
    pairs->view = (PairSet){.ids = pairs->ids,
                            .offsets = pairs->offsets,
                            .origins = pairs->origins,
                            .pairs = count,
                            .tokens = to - pairs->ids};
}

static inline GptConfig tiny_couplet_config(void)
{
    GptConfig config = gpt_config_open(FAMILY_COUPLET);
    config.vocab_size = TINY_VOCABULARY;
    config.context = 12;
    config.width = 16;
    config.layers = 2;
    config.encoder_layers = 1;
    config.heads = 2;
    config.mlp_width = 24;
    gpt_config_fill(&config);
    return config;
}

#endif
