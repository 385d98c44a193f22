#include "model/attention/core.h"
#include "model/layers/crossentropy.h"
#include "model/math/blas.h"
#include "tests/model/small_model.h"

static const int64_t LENGTHS[] = {5, 13, 1, 7};
enum { SEGMENTS = 4, TOKENS = 26 };
static const GptDropout NONE = {0};

typedef struct {
    Pool pool;
    Gpt gpt;
    Text text;
    TokenBatch batch;
    GptWork *work;
    Gradients grads;
} Case;

static void open_case(Case *at)
{
    GptConfig config = small_config();
    *at = (Case){.gpt = random_model(&config)};
    at->batch = random_text(&at->text, LENGTHS, SEGMENTS, config.vocab_size, 1);
    assert_int_equal(at->batch.tokens, TOKENS);
    at->work = work_for(&at->gpt, TOKENS); /* exactly as many as the batch has */
    at->grads = gradients_for(&at->pool, &at->gpt);
}

static void close_case(Case *at)
{
    gpt_params_destroy(&at->grads.params);
    gpt_work_destroy(at->work);
    gpt_destroy(&at->gpt);
    pool_free(&at->pool);
}

static int64_t total(const Case *at)
{
    return (int64_t)at->gpt.table.total;
}

static void loss_logits_and_training_agree(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    const int64_t V = at.gpt.config.vocab_size;
    real token_nats[TOKENS];
    real *logits = pool_reals(&at.pool, TOKENS * V);
    GptLoss loss = gpt_loss(&at.gpt, at.work, &at.batch, token_nats);
    GptLoss trained =
        gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 1, &NONE);
    gpt_logits(&at.gpt, at.work, &at.batch, logits);
    double sum = 0;
    int64_t targets = 0;
    for (int64_t n = 0; n < TOKENS; n++) {
        double exps = 0, nats = 0;
        int32_t target = at.batch.targets[n];
        for (int64_t v = 0; v < V; v++)
            exps += exp((double)logits[n * V + v]);
        if (target != TARGET_NONE) {
            nats = log(exps) - (double)logits[n * V + target];
            targets++;
        }
        assert_near(token_nats[n], nats, SAME_TOLERANCE);
        sum += nats;
    }
    assert_near(loss.nats, sum, SAME_TOLERANCE);
    assert_near(sum_all(token_nats, TOKENS), loss.nats, SAME_TOLERANCE);
    assert_true(trained.nats == loss.nats);
    assert_int_equal(loss.targets, targets);
    assert_int_equal(trained.targets, targets);
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

static void segments_in_a_batch_equal_segments_alone(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    real together[TOKENS], alone[TOKENS];
    gpt_loss(&at.gpt, at.work, &at.batch, together);
    gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, (real)0.5, &NONE);
    Gradients sum = gradients_for(&at.pool, &at.gpt);
    for (int64_t s = 0; s < SEGMENTS; s++) {
        int64_t starts[2];
        TokenBatch part = segment_alone(&at.batch, s, starts);
        gpt_loss(&at.gpt, at.work, &part, alone);
        assert_all_near(alone, together + at.batch.starts[s], part.tokens,
                        SAME_TOLERANCE);
        /* Each pass adds into what the others left there. */
        gpt_train_pass(&at.gpt, &sum.params, at.work, &part, (real)0.5, &NONE);
    }
    assert_all_near(sum.values, at.grads.values, total(&at), 3 * SAME_TOLERANCE);
    gpt_params_destroy(&sum.params);
    close_case(&at);
}

static void a_later_token_changes_no_earlier_loss(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    real before[TOKENS], after[TOKENS];
    gpt_loss(&at.gpt, at.work, &at.batch, before);
    at.text.ids[12] = (at.text.ids[12] + 1) % 17; /* in the second segment, 5 .. 17 */
    gpt_loss(&at.gpt, at.work, &at.batch, after);
    assert_memory_equal(before, after, 12 * sizeof(real));
    assert_memory_equal(before + 18, after + 18, (TOKENS - 18) * sizeof(real));
    assert_true(before[12] != after[12] && before[16] != after[16]);
    close_case(&at);
}

static void positions_matter(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    real before[TOKENS], after[TOKENS];
    gpt_loss(&at.gpt, at.work, &at.batch, before);
    for (int n = 0; n < 5; n++)
        at.text.positions[n] += 3; /* the first segment starts at 3 */
    gpt_loss(&at.gpt, at.work, &at.batch, after);
    assert_false(numbers_agree((double)before[0], (double)after[0], 1e-4, 1e-4));
    assert_memory_equal(before + 5, after + 5, (TOKENS - 5) * sizeof(real));
    close_case(&at);
}

static void gradients_are_added_to_in_proportion_to_scale(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 1, &NONE);
    Gradients more = gradients_for(&at.pool, &at.gpt);
    fill_value(more.values, total(&at), 3);
    real *threes = pool_copy(&at.pool, more.values, total(&at));
    gpt_train_pass(&at.gpt, &more.params, at.work, &at.batch, 0, &NONE);
    assert_memory_equal(more.values, threes, (size_t)total(&at) * sizeof(real));
    gpt_train_pass(&at.gpt, &more.params, at.work, &at.batch, -2, &NONE);
    for (int64_t i = 0; i < total(&at); i++)
        assert_near(more.values[i], 3 - 2 * (double)at.grads.values[i],
                    10 * SAME_TOLERANCE);
    gpt_params_destroy(&more.params);
    close_case(&at);
}

static void padding_between_tensors_is_never_touched(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    real *marks = pool_reals(&at.pool, total(&at));
    for (int64_t t = 0; t < at.gpt.table.count; t++) {
        const ParamInfo *info = &at.gpt.table.items[t];
        fill_value(marks + info->offset, info->rows * info->cols, 1);
    }
    gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 1, &NONE);
    int64_t padding = 0;
    for (int64_t i = 0; i < total(&at); i++) {
        padding += marks[i] == 0;
        assert_true(marks[i] == 1 || at.grads.values[i] == 0);
    }
    assert_true(padding > 0);
    close_case(&at);
}

typedef struct {
    Case *at;
    const real *start, *direction;
    Gradients unused;
    GptDropout dropout;
    real distance;
} Line;

/* The loss along a direction through all parameters at once. */
static double loss_along(void *context)
{
    Line *line = context;
    Case *at = line->at;
    for (int64_t i = 0; i < total(at); i++)
        at->gpt.values[i] = line->start[i] + line->distance * line->direction[i];
    return gpt_train_pass(&at->gpt, &line->unused.params, at->work, &at->batch, 1,
                          &line->dropout)
        .nats;
}

/* train/gradcheck looks at every element; here a few directions, each through all of them. */
static void the_loss_falls_as_the_gradient_says(void **state)
{
    (void)state;
    for (int with_dropout = 0; with_dropout < 2; with_dropout++) {
        Case at;
        open_case(&at);
        Line line = {.at = &at, .unused = gradients_for(&at.pool, &at.gpt)};
        if (with_dropout)
            line.dropout = (GptDropout){.p = 0.2, .key = 5, .first_token = 70};
        line.start = pool_copy(&at.pool, at.gpt.values, total(&at));
        gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 1, &line.dropout);
        for (uint64_t d = 0; d < 6; d++) {
            real *direction = pool_random(&at.pool, total(&at), 0.05, 50 + d);
            line.direction = direction;
            line.distance = 0;
            real slope = (real)sum_products(direction, at.grads.values, total(&at));
            assert_gradient(&line.distance, &slope, 1, loss_along, &line);
        }
        gpt_params_destroy(&line.unused.params);
        close_case(&at);
    }
}

/* The same step in one pass or in two drops the same inputs. */
static void dropout_does_not_depend_on_how_a_step_is_cut(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    GptDropout dropout = {.p = 0.3, .key = 9, .first_token = 100};
    GptLoss whole =
        gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 1, &dropout);
    GptLoss again =
        gpt_train_pass(&at.gpt, &at.grads.params, at.work, &at.batch, 0, &dropout);
    assert_true(whole.nats == again.nats);
    double nats = 0;
    Gradients sum = gradients_for(&at.pool, &at.gpt);
    for (int64_t s = 0; s < SEGMENTS; s++) {
        int64_t starts[2];
        TokenBatch part = segment_alone(&at.batch, s, starts);
        dropout.first_token = 100 + (uint64_t)at.batch.starts[s];
        nats += gpt_train_pass(&at.gpt, &sum.params, at.work, &part, 1, &dropout).nats;
    }
    assert_near(nats, whole.nats, SAME_TOLERANCE);
    assert_all_near(sum.values, at.grads.values, total(&at), 10 * SAME_TOLERANCE);
    dropout.first_token = 101;
    GptLoss other =
        gpt_train_pass(&at.gpt, &sum.params, at.work, &at.batch, 1, &dropout);
    assert_false(numbers_agree(other.nats, whole.nats, 1e-4, 1e-4));
    gpt_params_destroy(&sum.params);
    close_case(&at);
}

static void a_pass_leaves_no_trace_in_the_next(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    real first[TOKENS], second[TOKENS];
    Text other;
    const int64_t lengths[] = {9, 3, 2};
    TokenBatch shorter = random_text(&other, lengths, 3, 17, 8);
    gpt_loss(&at.gpt, at.work, &at.batch, first);
    gpt_train_pass(&at.gpt, &at.grads.params, at.work, &shorter, 1, &NONE);
    gpt_loss(&at.gpt, at.work, &at.batch, second);
    assert_memory_equal(first, second, sizeof first);
    close_case(&at);
}

/* Rows of the map are what the head looked at; mixed is its output. */
static void maps_are_causal_and_sum_to_one(void **state)
{
    (void)state;
    Case at;
    open_case(&at);
    gpt_loss(&at.gpt, at.work, &at.batch, NULL);
    for (int64_t s = 0; s < SEGMENTS; s++) {
        int64_t n = LENGTHS[s];
        real *weights = pool_reals(&at.pool, n * n),
             *mixed = pool_reals(&at.pool, n * 4);
        gpt_attention_map(&at.gpt, at.work, &at.batch, 1, 2, s, weights, mixed);
        for (int64_t i = 0; i < n; i++) {
            assert_near(sum_all(weights + i * n, n), 1, SAME_TOLERANCE);
            for (int64_t j = 0; j < n; j++)
                assert_true(j <= i ? weights[i * n + j] > 0 : weights[i * n + j] == 0);
        }
    }
    close_case(&at);
}

/* What gpt.h and block.h list, each rounded up to 64 bytes. */
static void work_takes_the_bytes_that_its_parts_need(void **state)
{
    (void)state;
    GptConfig config = small_config();
    const int64_t V = 17, T = 13, C = 12, L = 2, H = 3, F = 20;
    const int64_t sizes[] = {1, 12, 13, 26, 127, 128, 129, 1500};
    for (int i = 0; i < 8; i++) {
        int64_t N = sizes[i], longest = N < T ? N : T;
        int64_t saved = 4 * N + 3 * N * C + N * 3 * C + N * C + H * N + 2 * N * F;
        int64_t scratch =
            N * 3 * C + 2 * N * C + attention_scratch(longest, longest, C / H, C / H);
        int64_t reals = (L + 1) * N * C + L * saved + scratch + 2 * N + 2 * N * C +
                        crossentropy_scratch(N, C, V);
        int64_t takes = 2 + (L + 1) + 12 * L + 4 + 5;
        size_t bytes = gpt_work_bytes(&config, N);
        size_t least = (size_t)reals * sizeof(real);
        size_t pointers = 4096; /* streams and views */
        assert_true(bytes >= least);
        assert_true(bytes <= least + (size_t)takes * 64 + pointers);
        Gpt gpt = random_model(&config);
        gpt_work_destroy(work_for(&gpt, N));
        gpt_destroy(&gpt);
    }
    gpt_work_destroy(NULL);
}

static void a_bad_config_makes_no_model(void **state)
{
    (void)state;
    Gpt gpt;
    Error err;
    GptConfig config = small_config();
    config.heads = config.kv_heads = 5;
    config.head_size = 0;
    assert_int_equal(gpt_create(&gpt, &config, &err), STATUS_USAGE);
    gpt_destroy(&gpt); /* harmless */
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_logits_and_training_agree),
        cmocka_unit_test(segments_in_a_batch_equal_segments_alone),
        cmocka_unit_test(a_later_token_changes_no_earlier_loss),
        cmocka_unit_test(positions_matter),
        cmocka_unit_test(gradients_are_added_to_in_proportion_to_scale),
        cmocka_unit_test(padding_between_tensors_is_never_touched),
        cmocka_unit_test(the_loss_falls_as_the_gradient_says),
        cmocka_unit_test(dropout_does_not_depend_on_how_a_step_is_cut),
        cmocka_unit_test(a_pass_leaves_no_trace_in_the_next),
        cmocka_unit_test(maps_are_causal_and_sum_to_one),
        cmocka_unit_test(work_takes_the_bytes_that_its_parts_need),
        cmocka_unit_test(a_bad_config_makes_no_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
