/* Twins of a pair set: proof that no line stands in two parts.
 *
 * Works on what was written, like data/twins.h and with its report: decodes the lines of
 * both files, folds them (data/fold.h), sorts the lines of the searched part and looks
 * each held-out line up, character by character. Lines that differ only in characters that
 * are <unk> to the set count as equal, so a doubtful pair is a twin. */
#ifndef JUEJU_DATA_PAIR_TWINS_H
#define JUEJU_DATA_PAIR_TWINS_H

#include "data/prepared.h"
#include "data/twins.h"
#include "model/base/error.h"

/* A twin here is a pair of an earlier part with a line, upper or lower, of the held-out
 * one. The set is one of prepared_open_pairs. */
Status pair_twins_find(TwinReport *report, const PreparedSet *set, Error *err);

#endif
