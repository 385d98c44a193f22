/* Traditional and simplified script, by OpenCC.
 *
 * OpenCC's t2s maps many traditional variants to one simplified character: 雲 and 云 to 云,
 * 迴 and 回 to 回. The characters with one image are a class, and the image is its key.
 * script_fold adds variant pairs that t2s leaves apart (鴈 雁; the table in script.c). */
#ifndef JUEJU_DATA_SCRIPT_H
#define JUEJU_DATA_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "data/corpus.h"
#include "data/poem.h"
#include "model/base/error.h"

/* folded[i] = key of the class of points[i], or points[i] itself where there is none.
 * May alias. STATUS_IO when OpenCC or its tables can't be opened. */
Status script_fold(uint32_t *folded, const uint32_t *points, size_t count, Error *err);

/* Brings all poems into the traditional script of the traditional ones among them: OpenCC
 * s2t, then a variant that those poems hardly use gives way to the one they use (閒 to 閑).
 * Works on poems of simplified collections and on those of files and mixed collections that
 * have more simplified characters than traditional ones. Nothing happens unless a group of
 * files in traditional script is there, too. Counts the changes in
 * stats->groups[..].converted_*. */
Status script_unify(PoemList *list, CorpusStats *stats, Error *err);

#endif
