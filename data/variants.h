/* Variants of the vocabulary's characters, so that a prompt in any script can be read.
 *
 * A class is the set of characters with one simplified form (its key, data/script.h), with
 * the frequency of each member in the corpus. Built once with OpenCC when a set is
 * prepared, kept as variants.json; a sampler then needs no OpenCC. Members that the
 * vocabulary lacks stay in the class with count 0: they can be mapped from, not to. */
#ifndef JUEJU_DATA_VARIANTS_H
#define JUEJU_DATA_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/error.h"

typedef struct {
    uint32_t point;
    int64_t count; /* in the training text; 0: not in the vocabulary */
} Variant;

typedef struct {
    uint32_t key; /* the simplified character; may itself be a member */
    size_t start; /* members[start .. start+length-1], by falling count */
    size_t length;
} VariantClass;

typedef struct {
    VariantClass *classes; /* by rising key */
    size_t class_count, class_capacity;
    Variant *members;
    size_t member_count, member_capacity;
    Variant *lookup; /* by rising point; count is the index of its class */
    size_t lookup_count, lookup_capacity;
} Variants;

/* Classes of a vocabulary of `count` code points (specials left out) with their counts in
 * the training text. Every vocabulary character is in exactly one class. */
Status variants_build(Variants *variants, const uint32_t *points, const int64_t *counts,
                      size_t count, Error *err);
void variants_free(Variants *variants);

/* variants.json: {"version":1,"classes":{"云":[["雲",11847],["云",656]],...}} */
Status variants_write(const Variants *variants, const char *path, Error *err);
Status variants_load(Variants *variants, const char *path, Error *err);

/* The class of a character, or NULL. */
const VariantClass *variants_class(const Variants *variants, uint32_t point);

/* The members of its class by falling count, vocabulary members first; *known of them are
 * in the vocabulary. 0 when the character belongs to no class. */
size_t variants_candidates(const Variants *variants, uint32_t point,
                           const Variant **members, size_t *known);

/* What happened to one character of a prompt. */
typedef struct {
    size_t index; /* place in the prompt */
    uint32_t from, to;
    bool unknown; /* no member of its class is in the vocabulary: to = from */
} PromptChange;

typedef struct {
    uint32_t *points; /* the mapped prompt, as long as the given one */
    size_t count, points_capacity;
    PromptChange *changes; /* characters mapped or unknown, in order */
    size_t change_count, change_capacity;
} MappedPrompt;

/* Maps a prompt (NFC code points) to the corpus' own variants. Line by line:
 *   - a line with a character that is only simplified (举) is simplified: every character
 *     becomes the most frequent member of its class;
 *   - else a line with a character that is only traditional (詩) stays as it is;
 *   - a line with neither (云想衣裳花想容) goes with the rest of the prompt: it stays when
 *     the others are traditional and none is simplified, else it is mapped.
 * In every line a character that the vocabulary lacks is mapped if its class has a member
 * in it (half-width punctuation to full-width, too), else reported as unknown. Line breaks
 * and spaces are passed through. */
Status variants_map_prompt(MappedPrompt *mapped, const Variants *variants,
                           const uint32_t *points, size_t count, Error *err);
void mapped_prompt_free(MappedPrompt *mapped);

#endif
