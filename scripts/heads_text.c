#include "scripts/heads_text.h"

#include <string.h>

#include "data/characters.h"
#include "model/base/memory.h"

enum {
    REPEATS = 8,           /* sequences */
    REPEATED_MAXIMUM = 24, /* length of one saying */
    FREQUENT = 1000,       /* characters they are drawn from */
};

void shown_text_free(ShownText *shown)
{
    memory_free(shown->ids);
    memory_free(shown->rarity);
    memory_free(shown->kinds);
    *shown = (ShownText){0};
}

static TokenKind kind_of(const Tokenizer *tokenizer, int32_t id)
{
    uint32_t point = tokenizer_code_point(tokenizer, id);
    if (point == 0)
        return id == TOKEN_BOS ? KIND_START : KIND_OTHER;
    return point == '\n' || clean_mark(point) != 0 ? KIND_MARK : KIND_CHARACTER;
}

/* Ids fall in frequency; what the vocabulary lacks is rarer than all of it. A model of
 * running text may have no specials: kinds go by what an id stands for. */
static Status push(ShownText *shown, int32_t id, const Checkpoint *checkpoint,
                   Error *err)
{
    static const char WHAT[] = "a text";
    const Tokenizer *tokenizer = &checkpoint->tokenizer;
    size_t need = (size_t)shown->text.n + 1;
    TRY(memory_reserve(&shown->ids, &shown->ids_capacity, need, sizeof *shown->ids,
                       WHAT, err));
    TRY(memory_reserve(&shown->rarity, &shown->rarity_capacity, need,
                       sizeof *shown->rarity, WHAT, err));
    TRY(memory_reserve(&shown->kinds, &shown->kinds_capacity, need, 1, WHAT, err));
    shown->ids[need - 1] = id;
    shown->rarity[need - 1] = id == TOKEN_UNK ? tokenizer->size : id;
    shown->kinds[need - 1] = (uint8_t)kind_of(tokenizer, id);
    shown->text = (HeadText){.n = (int64_t)need,
                             .ids = shown->ids,
                             .kinds = shown->kinds,
                             .rarity = shown->rarity};
    return STATUS_OK;
}

static Status start(ShownText *shown, const Checkpoint *checkpoint, Error *err)
{
    shown->text.n = 0;
    return checkpoint->stream ? STATUS_OK : push(shown, TOKEN_BOS, checkpoint, err);
}

Status shown_text_set(ShownText *shown, const PromptText *prompt, const char *option,
                      const Checkpoint *checkpoint, Error *err)
{
    int64_t room = checkpoint->gpt.config.context - !checkpoint->stream;
    if (prompt->count == 0)
        return error_set(err, STATUS_USAGE, "%s: expected characters, found none",
                         option);
    if ((int64_t)prompt->count > room)
        return error_set(
            err, STATUS_USAGE,
            "%s: expected at most %lld characters (the model's context), found %zu",
            option, (long long)room, prompt->count);
    TRY(start(shown, checkpoint, err));
    for (size_t i = 0; i < prompt->count; i++)
        TRY(push(shown, prompt->ids[i], checkpoint, err));
    return STATUS_OK;
}

/* ---- the probe set ------------------------------------------------------------------- */

/* An id of the set's vocabulary in the checkpoint's. */
static int32_t translate(const Tokenizer *from, const Checkpoint *checkpoint,
                         uint16_t id)
{
    uint32_t point = tokenizer_code_point(from, id);
    return point == 0 ? TOKEN_UNK : tokenizer_id(&checkpoint->tokenizer, point);
}

static Status push_body(ShownText *shown, const uint16_t *ids, int64_t count,
                        const Tokenizer *from, const Checkpoint *checkpoint, Error *err)
{
    TRY(start(shown, checkpoint, err));
    for (int64_t i = 0; i < count && shown->text.n < checkpoint->gpt.config.context;
         i++)
        TRY(push(shown, translate(from, checkpoint, ids[i]), checkpoint, err));
    return STATUS_OK;
}

/* Text `place` of `count`: a poem's body, or a window of a running text. */
static Status push_text(ShownText *shown, const PoemSet *set, int64_t place,
                        int64_t count, const Tokenizer *from,
                        const Checkpoint *checkpoint, Error *err)
{
    if (set->stream) {
        int64_t T = checkpoint->gpt.config.context;
        int64_t last = set->tokens > T ? set->tokens - T : 0;
        int64_t first = count > 1 ? last / (count - 1) * place : 0;
        return push_body(shown, set->ids + first, set->tokens - first, from, checkpoint,
                         err);
    }
    int64_t poem = set->poems / count * place + set->poems % count * place / count;
    const uint16_t *sequence = set->ids + set->offsets[poem];
    int64_t length = (int64_t)(set->offsets[poem + 1] - set->offsets[poem]);
    SequenceParts parts;
    TRY(pack_parse(&parts, sequence, length, err));
    int64_t body = parts.bos + 1;
    return push_body(shown, sequence + body, length - body - 1, from, checkpoint, err);
}

Status probe_add_poems(Study *study, ProbeInfo *info, const PoemSet *set,
                       const Tokenizer *from, const Checkpoint *checkpoint,
                       int64_t poems, Error *err)
{
    int64_t T = checkpoint->gpt.config.context;
    int64_t there = set->stream ? (set->tokens + T - 1) / T : set->poems;
    int64_t count = poems < there ? poems : there;
    if (there == 0)
        return error_set(err, STATUS_INPUT, "expected validation poems, found none");
    ShownText shown = {0};
    Status status = STATUS_OK;
    for (int64_t place = 0; place < count && status == STATUS_OK; place++) {
        status = push_text(&shown, set, place, count, from, checkpoint, err);
        if (status == STATUS_OK)
            study_add(study, &shown.text);
    }
    shown_text_free(&shown);
    info->poems = count;
    return status;
}

/* ---- random repeats ------------------------------------------------------------------ */

/* The most frequent characters, by ids[0 .. *count-1]. */
static void frequent(int32_t ids[FREQUENT], int64_t *count, const Tokenizer *tokenizer)
{
    *count = 0;
    for (int32_t id = 0; id < tokenizer->size && *count < FREQUENT; id++) {
        if (kind_of(tokenizer, id) == KIND_CHARACTER)
            ids[(*count)++] = id;
    }
}

static Status push_repeats(ShownText *shown, int32_t *ids, int64_t count,
                           int64_t length, const Checkpoint *checkpoint, Rng *rng,
                           Error *err)
{
    for (int64_t i = 0; i < length; i++) { /* the first `length` of a shuffle */
        int64_t j = i + (int64_t)rng_below(rng, (uint64_t)(count - i));
        int32_t id = ids[i];
        ids[i] = ids[j];
        ids[j] = id;
    }
    TRY(start(shown, checkpoint, err));
    for (int64_t i = 0; i < 2 * length; i++)
        TRY(push(shown, ids[i % length], checkpoint, err));
    return STATUS_OK;
}

Status probe_add_repeats(Study *study, ProbeInfo *info, const Checkpoint *checkpoint,
                         uint64_t seed, Error *err)
{
    int32_t ids[FREQUENT];
    int64_t count;
    frequent(ids, &count, &checkpoint->tokenizer);
    int64_t length = (checkpoint->gpt.config.context - 1) / 2;
    length = length < REPEATED_MAXIMUM ? length : REPEATED_MAXIMUM;
    length = length < count ? length : count;
    info->repeats = length >= 2 ? REPEATS : 0;
    Rng rng = rng_stream(seed, 0x74776963); /* "twic" */
    ShownText shown = {0};
    Status status = STATUS_OK;
    for (int64_t i = 0; i < info->repeats && status == STATUS_OK; i++) {
        status = push_repeats(&shown, ids, count, length, checkpoint, &rng, err);
        if (status == STATUS_OK)
            study_add_repeats(study, &shown.text);
    }
    shown_text_free(&shown);
    return status;
}
