/* What the parts of hf_config share: a place in the JSON, fields with several spellings,
 * notes and sources. Nothing outside hf_*.c includes this. */
#ifndef JUEJU_MODEL_GPT_HF_READER_H
#define JUEJU_MODEL_GPT_HF_READER_H

#include "model/base/json.h"
#include "model/gpt/hf_config.h"
#include "model/gpt/hf_families.h"

typedef struct {
    const json_t *root;   /* the whole file */
    const json_t *object; /* where the decoder's sizes stand */
    char where[4352];     /* "FILE", "FILE: text_config": what messages begin with */
    const HfFamily *family;
    HfConfig *config;
} HfReader;

/* A size and where it stands. */
typedef struct {
    int64_t value;
    const char *field; /* NULL: missing or null */
} HfSize;

/* Reads the one size that has all these spellings (NULL at the end), 1 .. maximum.
 * STATUS_INPUT when two of them disagree. */
Status hf_size(HfSize *out, const HfReader *reader, const char *const *spellings,
               int64_t maximum, Error *err);
Status hf_size_one(HfSize *out, const HfReader *reader, const char *field,
                   int64_t minimum, int64_t maximum, Error *err);

/* The same where it must be there: STATUS_INPUT lists the spellings, `what` names it. */
Status hf_size_needed(HfSize *out, const HfReader *reader, const char *what,
                      const char *const *spellings, int64_t maximum, Error *err);

/* A switch with the value that it has when it is missing (a switch without a field always
 * has it). */
Status hf_switch(bool *out, const HfReader *reader, HfSwitch choice, Error *err);

/* Whether the field is missing altogether, not merely null. */
bool hf_missing(const HfReader *reader, const char *field);

void hf_note(HfReader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hf_source(HfReader *reader, const char *size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef enum {
    HF_LAYER_FULL,
    HF_LAYER_WINDOW,
    HF_LAYER_CHUNK,
    HF_LAYER_NONE
} HfLayerKind;

/* One kind a layer; `from` names what said so (NULL: nothing did). */
typedef struct {
    unsigned char *kinds;
    int64_t count;
    const char *from;
} HfLayers;

/* From a list in the file, in any of its forms; *known: there was one. */
Status hf_read_kinds(bool *known, HfLayers *layers, const HfReader *reader, Error *err);

/* A number a layer, 1 for `one` and 0 for `zero` (MiniMax, Llama 4). */
Status hf_by_bits(HfLayers *layers, const char *field, HfLayerKind zero,
                  HfLayerKind one, const HfReader *reader, Error *err);

/* Layers i with i mod period = offset are `chosen`, the others `rest`. */
void hf_by_period(HfLayers *layers, int64_t period, int64_t offset, HfLayerKind chosen,
                  HfLayerKind rest, const char *field);

/* The parts, in the order in which hf_config.c calls them. */
Status hf_read_attention(HfReader *reader, MemoryLayers *usual, Error *err);
Status hf_read_layers(HfReader *reader, const MemoryLayers *usual, Error *err);
Status hf_read_weights(HfReader *reader, Error *err);

extern const char *const HF_LAYERS[];
extern const char *const HF_WIDTH[];

#endif
