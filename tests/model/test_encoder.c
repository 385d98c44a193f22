/* The encoder–decoder: what the source does to the decoder and what not, batches of pairs
 * against single pairs. Its gradients: tests/train/test_gradcheck.c. */
#include "model/gpt/encoder.h"
#include "tests/model/small_model.h"

static const int64_t LENGTHS[] = {5, 13, 1, 7};
static const int64_t SOURCES[] = {8, 3, 13, 1}; /* none as long as its segment */
enum { SEGMENTS = 4, TOKENS = 26, SOURCE_TOKENS = 25 };
static const GptDropout NONE = {0};

typedef struct {
    Pool pool;
    Gpt gpt;
    Text text, source_text;
    TokenBatch batch, source;
    GptWork *work;
    Gradients grads;
} Case;

static void open_case_of(Case *at, NormPlace place)
{
    GptConfig config = small_config_of(FAMILY_COUPLET);
    config.encoder_layers = 3; /* not as many as the decoder's */
    config.norm_place = place;
    *at = (Case){.gpt = random_model(&config)};
    at->batch = random_text(&at->text, LENGTHS, SEGMENTS, config.vocab_size, 1);
    at->source = random_text(&at->source_text, SOURCES, SEGMENTS, config.vocab_size, 2);
    at->batch.source = &at->source;
    assert_int_equal(at->batch.tokens, TOKENS);
    assert_int_equal(at->source.tokens, SOURCE_TOKENS);
    at->work = work_for(&at->gpt, TOKENS);
    at->grads = gradients_for(&at->pool, &at->gpt);
}

static void open_case(Case *at)
{
    open_case_of(at, NORM_BEFORE);
}

static void close_case(Case *at)
{
    gpt_params_destroy(&at->grads.params);
    gpt_work_destroy(at->work);
    gpt_destroy(&at->gpt);
    pool_free(&at->pool);
}

static real *logits_of(Case *at)
{
    real *logits = pool_reals(&at->pool, TOKENS * at->gpt.config.vocab_size);
    gpt_logits(&at->gpt, at->work, &at->batch, logits);
    return logits;
}

static bool same_row(const Case *at, const real *a, const real *b, int64_t n)
{
    int64_t V = at->gpt.config.vocab_size;
    return memcmp(a + n * V, b + n * V, (size_t)V * sizeof(real)) == 0;
}

/* A source token at the last place as well: the encoder has no mask. */
static void
every_source_token_reaches_every_token_of_its_segment_and_no_other(void **state)
{
    (void)state;
    for (int place = NORM_BEFORE; place <= NORM_AFTER; place++) {
        Case at;
        open_case_of(&at, (NormPlace)place);
        const real *before = logits_of(&at);
        for (int64_t s = 0; s < SEGMENTS; s++) {
            for (int64_t m = at.source.starts[s]; m < at.source.starts[s + 1]; m++) {
                int32_t kept = at.source_text.ids[m];
                at.source_text.ids[m] = (kept + 1) % 17;
                const real *after = logits_of(&at);
                at.source_text.ids[m] = kept;
                for (int64_t n = 0; n < TOKENS; n++) {
                    bool own = n >= at.batch.starts[s] && n < at.batch.starts[s + 1];
                    assert_true(same_row(&at, before, after, n) == !own);
                }
            }
        }
        close_case(&at);
    }
}

/* Memory of the encoder alone. */
typedef struct {
    Arena arena;
    EncoderWork work;
    BlockScratch scratch;
} Alone;

static void lay_out(Alone *alone, const GptConfig *config)
{
    encoder_layout(&alone->work, &alone->arena, config, TOKENS);
    block_scratch_layout(&alone->scratch, &alone->arena, config, TOKENS);
}

static void open_alone(Alone *alone, const GptConfig *config)
{
    *alone = (Alone){0};
    lay_out(alone, config);
    assert_int_equal(arena_create(&alone->arena, alone->arena.used, "a test", NULL),
                     STATUS_OK);
    lay_out(alone, config);
}

/* The last token of a segment changes what becomes of the first, and the other way. */
static void the_encoder_has_no_mask(void **state)
{
    (void)state;
    Case at;
    Alone alone;
    enum { C = 12 };
    real before[SOURCE_TOKENS * C];
    open_case(&at);
    open_alone(&alone, &at.gpt.config);
    memcpy(before,
           encoder_forward(&at.gpt, &alone.work, &alone.scratch, &at.source, &NONE),
           sizeof before);
    for (int64_t s = 0; s < SEGMENTS; s++) {
        int64_t first = at.source.starts[s], end = at.source.starts[s + 1];
        for (int64_t m = first; m < end; m++) {
            int32_t kept = at.source_text.ids[m];
            at.source_text.ids[m] = (kept + 1) % 17;
            const real *after = encoder_forward(&at.gpt, &alone.work, &alone.scratch,
                                                &at.source, &NONE);
            at.source_text.ids[m] = kept;
            for (int64_t i = 0; i < SOURCE_TOKENS; i++) {
                bool own = i >= first && i < end;
                bool same =
                    memcmp(before + i * C, after + i * C, C * sizeof(real)) == 0;
                assert_true(same == !own);
            }
        }
    }
    arena_destroy(&alone.arena);
    close_case(&at);
}

static void the_order_of_the_source_matters(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    at.source_text.ids[0] = 3;
    at.source_text.ids[1] = 4;
    const real *before = logits_of(&at);
    at.source_text.ids[0] = 4;
    at.source_text.ids[1] = 3;
    const real *after = logits_of(&at);
    assert_false(same_row(&at, before, after, 0));
    close_case(&at);
}

static void the_decoder_sees_no_later_token(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    const real *before = logits_of(&at);
    at.text.ids[12] = (at.text.ids[12] + 1) % 17; /* in the second segment, 5 .. 17 */
    const real *after = logits_of(&at);
    for (int64_t n = 0; n < TOKENS; n++)
        assert_true(same_row(&at, before, after, n) == (n < 12 || n > 17));
    close_case(&at);
}

/* Segment s of a batch as a batch of its own. */
static TokenBatch segment_alone(const TokenBatch *batch, int64_t s, int64_t *starts)
{
    int64_t start = batch->starts[s];
    starts[0] = 0;
    starts[1] = batch->starts[s + 1] - start;
    return (TokenBatch){.tokens = starts[1],
                        .segments = 1,
                        .ids = batch->ids + start,
                        .targets = batch->targets + start,
                        .positions = batch->positions + start,
                        .starts = starts};
}

/* Losses of ragged pairs side by side, and their gradients. */
static void pairs_in_a_batch_equal_pairs_alone(void **state)
{
    (void)state;
    for (int place = NORM_BEFORE; place <= NORM_AFTER; place++) {
        Case at;
        open_case_of(&at, (NormPlace)place);
        real together[TOKENS], alone[TOKENS];
        gpt_loss(&at.gpt, at.work, &at.batch, together);
        gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, (real)0.5, &NONE);
        Gradients sum = gradients_for(&at.pool, &at.gpt);
        for (int64_t s = 0; s < SEGMENTS; s++) {
            int64_t starts[2], source_starts[2];
            TokenBatch part = segment_alone(&at.batch, s, starts);
            TokenBatch source = segment_alone(&at.source, s, source_starts);
            part.source = &source;
            gpt_loss(&at.gpt, at.work, &part, alone);
            assert_all_near(alone, together + at.batch.starts[s], part.tokens,
                            SAME_TOLERANCE);
            gpt_train_pass(&at.gpt, &sum.params, at.work, &part, (real)0.5, &NONE);
        }
        assert_all_near(sum.values, at.grads.values, (int64_t)at.gpt.table.total,
                        10 * SAME_TOLERANCE);
        gpt_params_destroy(&sum.params);
        close_case(&at);
    }
}

static void dropout_of_a_part_is_that_of_the_whole(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    GptDropout dropout = {.p = 0.3, .key = 5};
    GptLoss whole =
        gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 1, &dropout);
    double sum = 0;
    for (int64_t s = 0; s < SEGMENTS; s++) {
        int64_t starts[2], source_starts[2];
        TokenBatch part = segment_alone(&at.batch, s, starts);
        TokenBatch source = segment_alone(&at.source, s, source_starts);
        part.source = &source;
        dropout.first_token = (uint64_t)at.batch.starts[s];
        dropout.first_source = (uint64_t)at.source.starts[s];
        sum +=
            gpt_train_pass(&at.gpt, &at.grads.params, at.work, &part, 1, &dropout).nats;
    }
    assert_near(sum, whole.nats, 10 * SAME_TOLERANCE);
    /* ... and it drops something in both stacks. */
    GptLoss dry = gpt_loss(&at.gpt, at.work, &at.batch, NULL);
    assert_false(numbers_agree(dry.nats, whole.nats, 1e-3, 1e-3));
    dropout.first_token = 0;
    dropout.first_source = 100;
    GptLoss other =
        gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 1, &dropout);
    assert_false(numbers_agree(other.nats, whole.nats, 1e-4, 1e-4));
    close_case(&at);
}

static void last_logits_are_those_of_the_last_tokens(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    int64_t V = at.gpt.config.vocab_size;
    const real *all = logits_of(&at);
    real *last = pool_reals(&at.pool, SEGMENTS * V);
    gpt_last_logits(&at.gpt, at.work, &at.batch, last);
    for (int64_t s = 0; s < SEGMENTS; s++)
        assert_all_near(last + s * V, all + (at.batch.starts[s + 1] - 1) * V, V,
                        SAME_TOLERANCE);
    close_case(&at);
}

static void what_an_encoder_cannot_have_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        GptConfig config = small_config_of(FAMILY_COUPLET);
        Error err = {.message = ""};
        const char *word = "encoder";
        assert_int_equal(gpt_config_check(&config, &err), STATUS_OK);
        switch (i) {
        case 0:
            config.encoder_layers = 0;
            break;
        case 1:
            config.encoder_layers = GPT_LAYERS_MAX;
            break;
        case 2:
            config = small_config_of(FAMILY_DEEPSEEK);
            config.family = FAMILY_COUPLET;
            config.encoder_layers = 2;
            break;
        case 3:
            config.window = 4;
            config.sliding[0] = true;
            break;
        case 4:
            config = small_config();
            config.encoder_layers = 1;
            break;
        default:
            config.kv_heads = 2; /* of 3 */
            word = "multiple";
            break;
        }
        assert_int_equal(gpt_config_check(&config, &err), STATUS_USAGE);
        assert_non_null(strstr(err.message, word));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            every_source_token_reaches_every_token_of_its_segment_and_no_other),
        cmocka_unit_test(the_encoder_has_no_mask),
        cmocka_unit_test(the_order_of_the_source_matters),
        cmocka_unit_test(the_decoder_sees_no_later_token),
        cmocka_unit_test(pairs_in_a_batch_equal_pairs_alone),
        cmocka_unit_test(dropout_of_a_part_is_that_of_the_whole),
        cmocka_unit_test(last_logits_are_those_of_the_last_tokens),
        cmocka_unit_test(what_an_encoder_cannot_have_is_refused),
    };
    return cmocka_run_group_tests_name("encoder", tests, NULL, NULL);
}
