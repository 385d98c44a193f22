/* Packing: poems to pieces of at most T tokens, pieces to rows of at most T tokens.
 *
 * A poem is stored as one sequence
 *     s = [<form>F][<title>T][<author>A]<bos>body<eos>
 * with every field it has. For an epoch each field is kept or dropped at random, and what
 * is left is cut into pieces: a piece is an input range [a,b) of s with b-a <= T, and its
 * targets are s[a+1..b]. The next piece begins at b, so
 *     every character of the body and <eos> is a target exactly once,
 *     only the first piece has <bos> (and the fields), only the last has <eos>, as its last
 *     target.
 * Targets up to and including <bos> are TARGET_NONE: fields are given, never learned. The
 * cut is where s[b] ends a sentence if there is such a place, else a clause, else at T.
 *
 * A row holds whole pieces; nothing is padded. Training pieces are shuffled and packed best
 * fit into a bounded number of open rows. */
#ifndef JUEJU_DATA_PACK_H
#define JUEJU_DATA_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "data/tokenizer.h"
#include "model/base/batch.h"
#include "model/base/error.h"

/* The sequences of a split, usually mapped from a prepared set (data/prepared.h), which
 * has checked them. Poem i is ids[offsets[i] .. offsets[i+1]-1]. A stream is one running
 * text without specials: poems = 1. */
typedef struct {
    const uint16_t *ids;
    const uint64_t *offsets; /* (poems + 1) */
    int64_t poems;
    int64_t tokens;
    bool stream;
} PoemSet;

typedef enum { CUT_NOWHERE, CUT_CLAUSE, CUT_SENTENCE } CutClass;

/* classes[id] for all V ids: 。！？ and the like end a sentence, ，、；： a clause. */
Status pack_cut_classes(uint8_t **classes, const Tokenizer *tokenizer, Error *err);

typedef struct {
    int32_t row_tokens; /* T, at least 2 */
    uint64_t seed;
    double keep_form, keep_title, keep_author; /* probabilities; 0 never, 1 always */
    bool shuffle; /* false: pieces stay in order, rows are filled in order */
    const uint8_t *cut_classes; /* of the tokenizer; kept by pointer */
} PackOptions;

/* Inputs are made[start .. start+length-1], targets the same range one further; the first
 * `silent` targets are TARGET_NONE. */
typedef struct {
    int64_t start;
    int32_t length;
    int32_t silent;
} Piece;

/* One epoch. Row r holds pieces order[rows[r]] .. order[rows[r+1]-1]. Start with {0}; an
 * epoch built into the same Packing reuses its memory. */
typedef struct {
    uint16_t *made; /* the sequences with the fields that were kept */
    size_t made_count, made_capacity;
    Piece *pieces;
    size_t piece_count, piece_capacity;
    uint32_t *order; /* (pieces) */
    int64_t *rows;   /* (row_count + 1) */
    int64_t row_count;
    int64_t inputs;  /* input tokens of all pieces: fill = inputs / (row_count T) */
    int64_t targets; /* of them with a target */
    size_t order_capacity, rows_capacity;
    uint32_t *row_of; /* scratch: row of a piece, in order of arrival */
    size_t row_of_capacity;
} Packing;

/* Builds epoch `epoch` of set (not a stream). The same arguments give the same rows. */
Status pack_epoch(Packing *packing, const PoemSet *set, const PackOptions *options,
                  uint64_t epoch, Error *err);
void packing_free(Packing *packing);

/* Length of the sequence's part before <bos>, and where its fields are; a field that is not
 * there has length 0, else it includes its marker. STATUS_INPUT says what is wrong with a
 * sequence that is not of the form above (for a set's check on opening; no path). */
typedef struct {
    int64_t form, form_length;
    int64_t title, title_length;
    int64_t author, author_length;
    int64_t bos;
} SequenceParts;
Status pack_parse(SequenceParts *parts, const uint16_t *sequence, int64_t length,
                  Error *err);

#endif
