#include "data/vocabulary.h"

#include "data/variants.h"
#include "model/base/files.h"
#include "model/base/memory.h"

Status vocabulary_open(Vocabulary *vocabulary, Error *err)
{
    *vocabulary = (Vocabulary){0};
    int64_t **const arrays[] = {&vocabulary->counts, &vocabulary->homes,
                                &vocabulary->last};
    for (int i = 0; i < 3; i++)
        TRY(memory_allocate(arrays[i], CODE_POINTS, sizeof **arrays[i],
                            "the counts of characters", err));
    return STATUS_OK;
}

void vocabulary_close(Vocabulary *vocabulary)
{
    memory_free(vocabulary->last);
    memory_free(vocabulary->homes);
    memory_free(vocabulary->counts);
    *vocabulary = (Vocabulary){0};
}

void vocabulary_count(Vocabulary *vocabulary, const uint32_t *points, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (points[i] < CODE_POINTS)
            vocabulary->counts[points[i]]++;
    }
}

void vocabulary_count_poem(Vocabulary *vocabulary, const uint32_t *points,
                           size_t length, int64_t poem)
{
    vocabulary_count(vocabulary, points, length);
    for (size_t i = 0; i < length; i++) {
        uint32_t point = points[i];
        if (point >= CODE_POINTS || vocabulary->last[point] == poem + 1)
            continue;
        vocabulary->last[point] = poem + 1;
        vocabulary->homes[point]++;
    }
}

void vocabulary_drop_rare(Vocabulary *vocabulary, int64_t minimum)
{
    for (size_t point = 0; point < CODE_POINTS; point++) {
        if (vocabulary->homes[point] < minimum)
            vocabulary->counts[point] = 0;
    }
}

static Status write_variants(const Vocabulary *vocabulary, const Tokenizer *tokenizer,
                             const char *folder, Error *err)
{
    size_t characters = (size_t)tokenizer->size - TOKEN_SPECIALS;
    const uint32_t *points = tokenizer->points + TOKEN_SPECIALS;
    char path[PATH_SIZE];
    int64_t *counts;
    TRY(path_join(path, folder, "variants.json", err));
    TRY(memory_allocate(&counts, characters, sizeof *counts, "the variants", err));
    for (size_t i = 0; i < characters; i++)
        counts[i] = vocabulary->counts[points[i]];
    Variants variants = {0};
    Status status = variants_build(&variants, points, counts, characters, err);
    if (status == STATUS_OK)
        status = variants_write(&variants, path, err);
    variants_free(&variants);
    memory_free(counts);
    return status;
}

Status vocabulary_write(Tokenizer *tokenizer, const Vocabulary *vocabulary,
                        int64_t minimum, const char *folder, Error *err)
{
    char path[PATH_SIZE];
    TRY(tokenizer_build(tokenizer, vocabulary->counts, minimum, err));
    TRY(path_join(path, folder, "tokenizer.json", err));
    TRY(tokenizer_save(tokenizer, path, err));
    return write_variants(vocabulary, tokenizer, folder, err);
}
