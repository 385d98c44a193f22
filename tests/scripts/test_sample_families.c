/* Poems from checkpoints of every family: drawn with the cache, judged without it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scripts/sample_batch.h"
#include "tests/base/scratch.h"
#include "tests/scripts/tiny_checkpoint.h"

enum { POEMS = 70 }; /* more than are written side by side */

/* A family with some of its switches, and a name for its folder. */
typedef struct {
    const char *name;
    Family family;
    int64_t kv_heads, window;
    AttentionKind attention;
    uint64_t removed; /* of the first layer */
    NormPlace place;
} Member;

static const Member MEMBERS[] = {
    {"gpt2", FAMILY_GPT2, 0, 0, ATTENTION_HEADS, 0, NORM_BEFORE},
    {"grouped", FAMILY_GPT2, 2, 0, ATTENTION_HEADS, 0, NORM_BEFORE},
    {"one", FAMILY_GPT2, 1, 7, ATTENTION_HEADS, 0, NORM_AFTER},
    {"cut", FAMILY_GPT2, 0, 0, ATTENTION_HEADS, 0x5, NORM_BEFORE},
    {"llama", FAMILY_LLAMA, 0, 0, ATTENTION_HEADS, 0, NORM_BEFORE},
    {"llama-window", FAMILY_LLAMA, 0, 6, ATTENTION_HEADS, 0x2, NORM_BEFORE},
    {"deepseek", FAMILY_DEEPSEEK, 0, 0, ATTENTION_MLA, 0, NORM_BEFORE},
    {"deepseek-window", FAMILY_DEEPSEEK, 0, 9, ATTENTION_MLA, 0x8, NORM_BEFORE},
};

static Gpt model_of(const Member *member)
{
    GptConfig config = gpt_config_open(member->family);
    config.vocab_size = TINY_VOCABULARY;
    config.context = TINY_CONTEXT;
    config.width = 32;
    config.layers = 2;
    config.heads = 4;
    config.mlp_width = 40;
    config.kv_heads = member->kv_heads;
    config.attention = member->attention;
    config.norm_place = member->place;
    config.removed[0] = member->removed;
    config.window = member->window;
    config.sliding[1] = member->window > 0;
    gpt_config_fill(&config);
    Gpt gpt;
    TINY_MUST(gpt_create(&gpt, &config, err));
    for (int64_t t = 0; t < gpt.table.count; t++) {
        const ParamInfo *info = &gpt.table.items[t];
        Rng rng = rng_stream(1, (uint64_t)t);
        for (int64_t i = 0; i < info->rows * info->cols; i++)
            gpt.values[info->offset + (size_t)i] =
                (real)((info->kind == PARAM_GAIN) + 0.3 * rng_normal(&rng));
    }
    return gpt;
}

/* What the model itself, reading the whole poem at once, says of it. */
typedef struct {
    const Gpt *gpt;
    GptWork *work;
    int poems;
} Judge;

static Status judge_poem(void *context, int64_t index, const Poem *poem, Error *err)
{
    (void)err;
    Judge *judge = context;
    int32_t ids[TINY_CONTEXT + 1] = {TOKEN_BOS};
    int32_t places[TINY_CONTEXT + 1];
    int64_t N = (int64_t)poem->count + (poem->ended == ENDED_EOS);
    assert_in_range(N, 1, TINY_CONTEXT);
    assert_int_equal(poem->drawn, N);
    for (int64_t i = 0; i < (int64_t)poem->count; i++)
        ids[i + 1] = poem->ids[i];
    if (poem->ended == ENDED_EOS)
        ids[N] = TOKEN_EOS;
    for (int32_t i = 0; i < N; i++)
        places[i] = i;
    int64_t starts[] = {0, N};
    TokenBatch batch = {.tokens = N,
                        .segments = 1,
                        .ids = ids,
                        .targets = ids + 1,
                        .positions = places,
                        .starts = starts};
    double nats = gpt_loss(judge->gpt, judge->work, &batch, NULL).nats;
    assert_true(fabs(poem->nats - nats) <= 1e-4 * (1 + fabs(nats)));
    assert_int_equal(index, judge->poems++);
    return STATUS_OK;
}

static void poems_of_every_family_have_the_models_own_nats(void **state)
{
    const char *scratch = *state;
    for (size_t m = 0; m < sizeof MEMBERS / sizeof *MEMBERS; m++) {
        char folder[PATH_SIZE];
        Gpt made = model_of(&MEMBERS[m]);
        tiny_save(&made, false, scratch_path(folder, scratch, MEMBERS[m].name));
        Checkpoint checkpoint;
        TINY_MUST(checkpoint_open(&checkpoint, folder, err));
        SamplePlan plan = {
            .checkpoint = &checkpoint,
            .settings = {.temperature = 1, .top_p = 1, .repetition_penalty = 1}};
        TINY_MUST(sample_plan_finish(&plan, 0, err));
        Judge judge = {.gpt = &checkpoint.gpt};
        TINY_MUST(
            gpt_work_create(&judge.work, &checkpoint.gpt.config, TINY_CONTEXT, err));
        SampleHooks hooks = {.context = &judge, .poem = judge_poem};
        TINY_MUST(sample_batch(&plan, POEMS, 5, &hooks, err));
        assert_int_equal(judge.poems, POEMS);
        gpt_work_destroy(judge.work);
        sample_plan_free(&plan);
        checkpoint_close(&checkpoint);
    }
}

static int create(void **state)
{
    static char scratch[PATH_SIZE];
    scratch_create(scratch);
    *state = scratch;
    return 0;
}

static int destroy(void **state)
{
    scratch_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poems_of_every_family_have_the_models_own_nats),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
