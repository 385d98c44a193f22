#include "data/sequences.h"

#include "model/base/memory.h"

void sequences_clear(Sequences *sequences)
{
    sequences->used = 0;
    sequences->count = 0;
}

void sequences_free(Sequences *sequences)
{
    memory_free(sequences->ids);
    memory_free(sequences->offsets);
    memory_free(sequences->origins);
    *sequences = (Sequences){0};
}

Status sequences_add_text(Sequences *sequences, const Tokenizer *tokenizer,
                          const PoemList *poems, Text text, Error *err)
{
    TRY(memory_reserve(&sequences->ids, &sequences->capacity,
                       sequences->used + text.length, sizeof *sequences->ids,
                       "the sequences", err));
    for (size_t i = 0; i < text.length; i++)
        sequences->ids[sequences->used++] =
            (uint16_t)tokenizer_id(tokenizer, poems->points[text.start + i]);
    return STATUS_OK;
}

static Status add_special(Sequences *sequences, int special, Error *err)
{
    TRY(memory_reserve(&sequences->ids, &sequences->capacity, sequences->used + 1,
                       sizeof *sequences->ids, "the sequences", err));
    sequences->ids[sequences->used++] = (uint16_t)special;
    return STATUS_OK;
}

static Status end_sequence(Sequences *sequences, Error *err)
{
    TRY(add_special(sequences, TOKEN_EOS, err));
    TRY(memory_reserve(&sequences->offsets, &sequences->offsets_capacity,
                       sequences->count + 2, sizeof *sequences->offsets, "the offsets",
                       err));
    sequences->offsets[++sequences->count] = sequences->used;
    return STATUS_OK;
}

Status sequences_add_poem(Sequences *sequences, const Tokenizer *tokenizer,
                          const PoemList *poems, const Poem *poem, Error *err)
{
    const struct {
        int special;
        Text text;
    } fields[] = {{TOKEN_FORM, poem->form},
                  {TOKEN_TITLE, poem->title},
                  {TOKEN_AUTHOR, poem->author}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].text.length == 0)
            continue;
        TRY(add_special(sequences, fields[i].special, err));
        TRY(sequences_add_text(sequences, tokenizer, poems, fields[i].text, err));
    }
    TRY(add_special(sequences, TOKEN_BOS, err));
    TRY(sequences_add_text(sequences, tokenizer, poems, poem->body, err));
    return end_sequence(sequences, err);
}

Status sequences_add_pair(Sequences *sequences, const Tokenizer *tokenizer,
                          const PoemList *poems, const Pair *pair, Error *err)
{
    TRY(memory_reserve(&sequences->origins, &sequences->origins_capacity,
                       sequences->count + 1, sizeof *sequences->origins,
                       "the origins of the pairs", err));
    sequences->origins[sequences->count] = pair->origin;
    TRY(add_special(sequences, TOKEN_BOS, err));
    TRY(sequences_add_text(sequences, tokenizer, poems, pair->upper, err));
    TRY(sequences_add_text(sequences, tokenizer, poems, pair->lower, err));
    return end_sequence(sequences, err);
}

Status sequences_write(PartStats *stats, Sequences *sequences, const char *folder,
                       Part part, Error *err)
{
    TRY(memory_reserve(&sequences->offsets, &sequences->offsets_capacity, 1,
                       sizeof *sequences->offsets, "the offsets", err));
    sequences->offsets[0] = 0;
    PoemSet poems = {.ids = sequences->ids,
                     .offsets = sequences->offsets,
                     .poems = (int64_t)sequences->count,
                     .tokens = (int64_t)sequences->used};
    return prepared_write_part(stats, folder, part, &poems, err);
}
