/* Grouping key/value heads by averaging. */
#include "model/gpt/regroup.h"
#include "tests/model/small_model.h"

enum { H = 4, D = 6 };

static GptConfig config_with(Family family, int64_t kv_heads)
{
    GptConfig config = gpt_config_open(family);
    config.vocab_size = 17;
    config.context = 13;
    config.width = H * D;
    config.layers = 2;
    config.heads = H;
    config.kv_heads = kv_heads;
    gpt_config_fill(&config);
    return config;
}

static void logits_of(real *logits, const Gpt *gpt)
{
    static const int64_t LENGTHS[] = {13, 1, 6};
    Text text;
    TokenBatch batch = random_text(&text, LENGTHS, 3, 17, 3);
    GptWork *work = work_for(gpt, batch.tokens);
    gpt_logits(gpt, work, &batch, logits);
    gpt_work_destroy(work);
}

static void assert_same_function(const Gpt *a, const Gpt *b)
{
    enum { LOGITS = 20 * 17 };
    real of_a[LOGITS], of_b[LOGITS];
    logits_of(of_a, a);
    logits_of(of_b, b);
    assert_all_near(of_a, of_b, LOGITS, 10 * SAME_TOLERANCE);
}

/* Column of a tensor's part: head, channel. */
static real *number(const Gpt *gpt, const ParamInfo *info, int part, int64_t row,
                    int64_t head, int64_t channel)
{
    const ParamPart *at = &info->part[part];
    return gpt->values + info->offset + row * info->cols + at->first + head * at->step +
           channel;
}

static void keys_and_values_are_means_and_queries_stay(void **state)
{
    (void)state;
    for (int family = FAMILY_GPT2; family <= FAMILY_LLAMA; family++) {
        GptConfig config = config_with((Family)family, H);
        Gpt old = random_model(&config);
        for (int64_t G = 1; G <= H; G *= 2) {
            Gpt new;
            Error err;
            assert_int_equal(gpt_regroup(&new, &old, G, &err), STATUS_OK);
            assert_int_equal(new.config.kv_heads, G);
            assert_int_equal(new.table.count, old.table.count);
            for (int64_t t = 0; t < old.table.count; t++) {
                const ParamInfo *from = &old.table.items[t];
                const ParamInfo *to = &new.table.items[t];
                if (from->role != ROLE_QKV && from->role != ROLE_QKV_BIAS) {
                    assert_memory_equal(
                        new.values + to->offset, old.values + from->offset,
                        (size_t)(from->rows * from->cols) * sizeof(real));
                    continue;
                }
                for (int64_t row = 0; row < from->rows; row++) {
                    for (int64_t d = 0; d < D; d++) {
                        for (int64_t h = 0; h < H; h++)
                            assert_true(*number(&new, to, 0, row, h, d) ==
                                        *number(&old, from, 0, row, h, d));
                        for (int64_t g = 0; g < 2 * G; g++) {
                            int part = g < G ? 1 : 2;
                            double mean = 0;
                            for (int64_t i = 0; i < H / G; i++)
                                mean += (double)*number(&old, from, part, row,
                                                        g % G * (H / G) + i, d);
                            mean /= (double)(H / G);
                            assert_near(*number(&new, to, part, row, g % G, d), mean,
                                        SAME_TOLERANCE);
                        }
                    }
                }
            }
            gpt_destroy(&new);
        }
        gpt_destroy(&old);
    }
}

/* With the heads of each group equal, averaging loses nothing; nor does copying. */
static void equal_heads_keep_the_function(void **state)
{
    (void)state;
    for (int family = FAMILY_GPT2; family <= FAMILY_LLAMA; family++) {
        for (int64_t G = 1; G <= 2; G++) {
            GptConfig config = config_with((Family)family, G);
            Gpt few = random_model(&config), many, again;
            Error err;
            assert_int_equal(gpt_spread(&many, &few, H, &err), STATUS_OK);
            assert_int_equal(many.config.kv_heads, H);
            assert_same_function(&few, &many);
            assert_int_equal(gpt_regroup(&again, &many, G, &err), STATUS_OK);
            assert_all_near(again.values, few.values, (int64_t)few.table.total,
                            SAME_TOLERANCE);
            assert_same_function(&few, &again);
            gpt_destroy(&few);
            gpt_destroy(&many);
            gpt_destroy(&again);
        }
    }
}

static void what_cannot_be_grouped_is_refused(void **state)
{
    (void)state;
    Gpt made;
    Error err;
    GptConfig config = config_with(FAMILY_LLAMA, H);
    Gpt gpt = random_model(&config);
    const int64_t wrong[] = {0, 3, 5, 8, -1};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(gpt_regroup(&made, &gpt, wrong[i], &err), STATUS_USAGE);
        assert_null(made.values);
    }
    assert_int_equal(gpt_spread(&made, &gpt, 2, &err), STATUS_USAGE);
    assert_int_equal(gpt_spread(&made, &gpt, 8, &err), STATUS_USAGE); /* over H */
    gpt_destroy(&gpt);
    config.removed[1] = 2;
    gpt = random_model(&config);
    assert_int_equal(gpt_regroup(&made, &gpt, 2, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "layer 1"));
    gpt_destroy(&gpt);
    config = config_with(FAMILY_DEEPSEEK, H);
    gpt = random_model(&config);
    assert_int_equal(gpt_regroup(&made, &gpt, 2, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "MLA"));
    gpt_destroy(&gpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_values_are_means_and_queries_stay),
        cmocka_unit_test(equal_heads_keep_the_function),
        cmocka_unit_test(what_cannot_be_grouped_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
