/* A prepared set on disk, opened for reading.
 *
 *     data/prepared/NAME/
 *         train.bin val.bin test.bin   uint16 little-endian ids
 *         train.idx val.idx test.idx   uint64 little-endian: where each poem starts, in
 *                                      tokens, and the end: poems + 1 numbers
 *         tokenizer.json  variants.json  stats.json
 *
 * A poem is the sequence of data/pack.h with all its fields. A stream set has one running
 * text in each part and no specials. A pair set (data/pairs.h) has couplets for poems, and
 *         train.pairs val.pairs test.pairs   uint32 little-endian: the origin of each
 * Everything is mapped, and checked on opening: nobody behind prepared_open or
 * prepared_open_pairs needs to check a token again. */
#ifndef JUEJU_DATA_PREPARED_H
#define JUEJU_DATA_PREPARED_H

#include <stdbool.h>
#include <stdint.h>

#include "data/pack.h"
#include "data/pairs.h"
#include "data/split.h"
#include "data/stats.h"
#include "data/tokenizer.h"
#include "model/base/error.h"
#include "model/base/files.h"

typedef struct {
    char path[PATH_SIZE]; /* of the folder, for the other files in it */
    Tokenizer tokenizer;
    PoemSet parts[PART_COUNT];
    PairSet pairs[PART_COUNT]; /* the same sequences, of a pair set only */
    SetStats stats;
    bool stream;
    FileMap bins[PART_COUNT], indexes[PART_COUNT], origins[PART_COUNT];
} PreparedSet;

/* STATUS_INPUT names the file, and the poem in it, when anything is not as above: sizes,
 * offsets, ids, a sequence's parts, or digests and counts other than in stats.json; and
 * when the set is of the other kind: prepared_open takes poems and running texts,
 * prepared_open_pairs takes pairs. A PreparedSet must not be moved while a BatchStream or a
 * PairStream uses its parts. */
Status prepared_open(PreparedSet *set, const char *path, Error *err);
Status prepared_open_pairs(PreparedSet *set, const char *path, Error *err);

/* Whether a set has pairs, by its stats.json alone. */
Status prepared_has_pairs(bool *pairs, const char *path, Error *err);

void prepared_close(PreparedSet *set);

/* Writes the .bin and .idx files of one part into a folder; fills tokens and digest. */
Status prepared_write_part(PartStats *stats, const char *folder, Part part,
                           const PoemSet *poems, Error *err);

/* Writes the .pairs file of one part; fills its digest. */
Status prepared_write_origins(PartStats *stats, const char *folder, Part part,
                              const uint32_t *origins, int64_t pairs, Error *err);

#endif
