/* Sequences of a part while a set is prepared: tokens, offsets, and origins of pairs. */
#ifndef JUEJU_DATA_SEQUENCES_H
#define JUEJU_DATA_SEQUENCES_H

#include <stddef.h>
#include <stdint.h>

#include "data/pair_cut.h"
#include "data/poem.h"
#include "data/prepared.h"
#include "data/tokenizer.h"
#include "model/base/error.h"

/* Zero it to start; every part begins with sequences_clear. */
typedef struct {
    uint16_t *ids;
    size_t used, capacity;
    uint64_t *offsets; /* (count + 1) once a sequence was added */
    uint32_t *origins; /* (count) when they are pairs */
    size_t count;
    size_t offsets_capacity, origins_capacity;
} Sequences;

void sequences_clear(Sequences *sequences); /* keeps the memory */
void sequences_free(Sequences *sequences);

/* Appends tokens to the sequence that is being made, without ending it. */
Status sequences_add_text(Sequences *sequences, const Tokenizer *tokenizer,
                          const PoemList *poems, Text text, Error *err);

/* [<form>F][<title>T][<author>A]<bos>body<eos> */
Status sequences_add_poem(Sequences *sequences, const Tokenizer *tokenizer,
                          const PoemList *poems, const Poem *poem, Error *err);

/* <bos>upper lower<eos>, and the origin */
Status sequences_add_pair(Sequences *sequences, const Tokenizer *tokenizer,
                          const PoemList *poems, const Pair *pair, Error *err);

/* The .bin and .idx files of a part (prepared_write_part). */
Status sequences_write(PartStats *stats, Sequences *sequences, const char *folder,
                       Part part, Error *err);

#endif
