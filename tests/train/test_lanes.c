/* A step's gradient on several threads, and the loss over a whole split. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/math/blas.h"
#include "tests/train/tiny_set.h"
#include "train/evaluate.h"
#include "train/lanes.h"

static TinySet set;
static char root[PATH_SIZE];

static int make_set(void **state)
{
    (void)state;
    scratch_create(root);
    tiny_set_create(&set, root);
    return 0;
}

static int free_set(void **state)
{
    (void)state;
    tiny_set_free(&set);
    scratch_remove(root);
    return 0;
}

/* A batch of `rows` training rows, or of them all. */
typedef struct {
    BatchStream stream;
    RowBatch rows;
} Rows;

static void rows_open(Rows *rows, int64_t count)
{
    BatchOptions options = {.row_tokens = TINY_CONTEXT,
                            .seed = 3,
                            .keep_form = 0.5,
                            .keep_title = 0.5,
                            .keep_author = 0.5,
                            .shuffle = true};
    TINY_MUST(batch_stream_open(&rows->stream, &set.train.view, &set.tokenizer,
                                &options, err));
    TINY_MUST(batch_stream_next(&rows->stream, count, &rows->rows, err));
}

static const GptDropout NO_DROPOUT = {0};

/* The gradient by lanes; a new buffer of gpt->table.total reals. */
static real *by_lanes(GptLoss *loss, const Gpt *gpt, const RowBatch *batch,
                      const GptDropout *dropout, int64_t lanes, int64_t pass_tokens)
{
    Passes passes;
    Lanes made;
    real *grads;
    size_t total = gpt->table.total;
    TINY_MUST(passes_create(&passes, &gpt->config, pass_tokens, err));
    TINY_MUST(lanes_create(&made, gpt, &passes, lanes, err));
    TINY_MUST(memory_allocate(&grads, total, sizeof *grads, "a test", err));
    lanes_gradient(&made, batch, dropout); /* what it leaves must not add up */
    *loss = lanes_gradient(&made, batch, dropout);
    memcpy(grads, made.grads[0], total * sizeof *grads);
    lanes_destroy(&made);
    passes_destroy(&passes);
    return grads;
}

/* The same in one pass. */
static real *in_one(GptLoss *loss, const Gpt *gpt, const RowBatch *batch,
                    const GptDropout *dropout)
{
    GptWork *work;
    GptParams view;
    real *grads;
    TINY_MUST(gpt_work_create(&work, &gpt->config, batch->batch.tokens, err));
    TINY_MUST(memory_allocate(&grads, gpt->table.total, sizeof *grads, "a test", err));
    TINY_MUST(gpt_params_create(&view, &gpt->table, &gpt->config, grads, err));
    *loss = gpt_train_pass(gpt, &view, work, &batch->batch, 1 / (real)batch->targets,
                           dropout);
    gpt_params_destroy(&view);
    gpt_work_destroy(work);
    return grads;
}

static double largest(const real *a, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)a[i]));
    return most;
}

static double largest_difference(const real *a, const real *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* Rows that do not divide by the lanes, fewer rows than lanes, one lane; small passes and
 * large ones; with and without dropout. */
static void lanes_together_are_one_pass_over_the_batch(void **state)
{
    (void)state;
    static const int64_t ROWS[] = {1, 3, 7, 13};
    static const int64_t LANES[] = {1, 2, 8, 32};
    static const int64_t PASSES[] = {TINY_CONTEXT, 3 * TINY_CONTEXT + 1, 1000};
    const GptDropout dropouts[] = {{0}, {.p = 0.3, .key = 99}};
    Gpt gpt;
    tiny_model(&gpt, 1);
    size_t total = gpt.table.total;
    for (size_t r = 0; r < 4; r++) {
        Rows rows;
        rows_open(&rows, ROWS[r]);
        for (size_t d = 0; d < 2; d++) {
            GptLoss whole;
            real *expected = in_one(&whole, &gpt, &rows.rows, &dropouts[d]);
            assert_int_equal(whole.targets, rows.rows.targets);
            for (size_t i = 0; i < 12; i++) {
                GptLoss loss;
                real *grads = by_lanes(&loss, &gpt, &rows.rows, &dropouts[d],
                                       LANES[i % 4], PASSES[i / 4]);
                assert_int_equal(loss.targets, whole.targets);
                assert_near(loss.nats, whole.nats, 1e-5 * whole.nats);
                assert_true(largest_difference(grads, expected, total) <
                            2e-5 * largest(expected, total));
                memory_free(grads);
            }
            memory_free(expected);
        }
        batch_stream_close(&rows.stream);
    }
    gpt_destroy(&gpt);
}

/* The property above would hold for a dropout that does nothing. */
static void dropout_and_its_key_change_the_gradient(void **state)
{
    (void)state;
    Gpt gpt;
    Rows rows;
    GptLoss loss;
    tiny_model(&gpt, 1);
    rows_open(&rows, 4);
    const GptDropout first = {.p = 0.3, .key = 1}, second = {.p = 0.3, .key = 2};
    real *plain = by_lanes(&loss, &gpt, &rows.rows, &NO_DROPOUT, 4, TINY_CONTEXT);
    real *one = by_lanes(&loss, &gpt, &rows.rows, &first, 4, TINY_CONTEXT);
    real *two = by_lanes(&loss, &gpt, &rows.rows, &second, 4, TINY_CONTEXT);
    double size = largest(plain, gpt.table.total);
    assert_true(largest_difference(plain, one, gpt.table.total) > 0.01 * size);
    assert_true(largest_difference(one, two, gpt.table.total) > 0.01 * size);
    memory_free(two);
    memory_free(one);
    memory_free(plain);
    batch_stream_close(&rows.stream);
    gpt_destroy(&gpt);
}

static void lanes_give_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    Gpt gpt;
    Rows rows;
    GptLoss first, loss;
    const GptDropout dropout = {.p = 0.1, .key = 5};
    tiny_model(&gpt, 1);
    rows_open(&rows, 11);
    omp_set_num_threads(1);
    real *one = by_lanes(&first, &gpt, &rows.rows, &dropout, 8, 2 * TINY_CONTEXT);
    for (int threads = 2; threads <= 5; threads++) {
        omp_set_num_threads(threads);
        real *more = by_lanes(&loss, &gpt, &rows.rows, &dropout, 8, 2 * TINY_CONTEXT);
        assert_memory_equal(&loss.nats, &first.nats, sizeof loss.nats);
        assert_memory_equal(more, one, gpt.table.total * sizeof(real));
        memory_free(more);
    }
    memory_free(one);
    batch_stream_close(&rows.stream);
    gpt_destroy(&gpt);
}

/* Padding between tensors stays zero: the norm and the optimizer run over it. */
static void the_padding_of_the_gradient_is_zero(void **state)
{
    (void)state;
    Gpt gpt;
    Rows rows;
    GptLoss loss;
    tiny_model(&gpt, 1);
    rows_open(&rows, 5);
    real *grads = by_lanes(&loss, &gpt, &rows.rows, &NO_DROPOUT, 4, TINY_CONTEXT);
    int64_t padding = 0;
    for (int64_t t = 0; t < gpt.table.count; t++) {
        const ParamInfo *info = &gpt.table.items[t];
        size_t end = t + 1 < gpt.table.count ? info[1].offset : gpt.table.total;
        size_t i = info->offset + (size_t)(info->rows * info->cols);
        for (; i < end; i++, padding++)
            assert_true(grads[i] == 0);
    }
    assert_true(padding > 0);
    memory_free(grads);
    batch_stream_close(&rows.stream);
    gpt_destroy(&gpt);
}

/* ---- passes ------------------------------------------------------------------------- */

static void passes_take_as_many_rows_as_fit(void **state)
{
    (void)state;
    Rows rows;
    GptConfig config = tiny_config();
    rows_open(&rows, 13);
    const int64_t *starts = rows.rows.batch.starts;
    const int64_t *segments = rows.rows.row_segments;
    for (int64_t tokens = TINY_CONTEXT; tokens < 120; tokens += 7) {
        Passes passes;
        TINY_MUST(passes_create(&passes, &config, tokens, err));
        for (int64_t first = 0; first < 13;) {
            int64_t count = passes_rows(&passes, &rows.rows, first, 13);
            int64_t from = starts[segments[first]];
            assert_true(count >= 1 && first + count <= 13);
            assert_true(starts[segments[first + count]] - from <= tokens);
            if (first + count < 13)
                assert_true(starts[segments[first + count + 1]] - from > tokens);
            first += count;
        }
        passes_destroy(&passes);
    }
    batch_stream_close(&rows.stream);
}

/* ---- the loss over a split ---------------------------------------------------------- */

static Evaluation evaluate_with(const Gpt *gpt, int64_t pass_tokens)
{
    Passes passes;
    Evaluation result;
    TINY_MUST(passes_create(&passes, &gpt->config, pass_tokens, err));
    TINY_MUST(evaluate(&result, gpt, &passes, &set.held_out.view, &set.tokenizer, err));
    passes_destroy(&passes);
    return result;
}

/* The losses of one poem's pieces, added up token by token. */
static void add_up(Evaluation *sums, const Gpt *gpt)
{
    BatchStream stream;
    BatchOptions options = {.row_tokens = TINY_CONTEXT};
    RowBatch row;
    real nats[TINY_CONTEXT];
    GptWork *work;
    TINY_MUST(gpt_work_create(&work, &gpt->config, TINY_CONTEXT, err));
    TINY_MUST(
        batch_stream_open(&stream, &set.held_out.view, &set.tokenizer, &options, err));
    for (int64_t r = 0;; r++) {
        TINY_MUST(batch_stream_rows(&stream, r, 1, &row, err));
        if (row.rows == 0)
            break;
        gpt_loss(gpt, work, &row.batch, nats);
        for (int64_t n = 0; n < row.batch.tokens; n++) {
            int32_t target = row.batch.targets[n];
            if (target == TARGET_NONE)
                continue;
            LossClass kind = target == TOKEN_EOS            ? LOSS_END
                             : target == TOKEN_UNK          ? LOSS_HAN
                             : target < TINY_FIRST_HAN      ? LOSS_MARK
                             : target < TINY_VOCABULARY - 1 ? LOSS_HAN
                                                            : LOSS_OTHER;
            sums->nats[kind] += (double)nats[n];
            sums->tokens[kind]++;
        }
    }
    batch_stream_close(&stream);
    gpt_work_destroy(work);
}

static void the_loss_is_the_sum_of_all_token_losses(void **state)
{
    (void)state;
    Gpt gpt;
    tiny_model(&gpt, 4);
    Evaluation sums = {0};
    add_up(&sums, &gpt);
    static const int64_t PASSES[] = {TINY_CONTEXT, 50, 1000};
    for (int p = 0; p < 3; p++) {
        Evaluation result = evaluate_with(&gpt, PASSES[p]);
        double nats = 0;
        int64_t tokens = 0;
        for (int kind = 0; kind < LOSS_CLASSES; kind++) {
            assert_int_equal(result.tokens[kind], sums.tokens[kind]);
            assert_true(result.tokens[kind] > 0);
            assert_near(result.nats[kind], sums.nats[kind], 1e-5 * sums.nats[kind]);
            assert_near(evaluation_class_nats(&result, (LossClass)kind),
                        sums.nats[kind] / (double)sums.tokens[kind], 1e-4);
            nats += sums.nats[kind];
            tokens += sums.tokens[kind];
        }
        assert_int_equal(evaluation_tokens(&result), tokens);
        assert_near(evaluation_nats(&result), nats / (double)tokens, 1e-5);
    }
    gpt_destroy(&gpt);
}

/* Characters, marks and <eos> of every poem, and nothing up to <bos>. */
static void every_body_token_is_counted_once(void **state)
{
    (void)state;
    Gpt gpt;
    tiny_model(&gpt, 4);
    Evaluation result = evaluate_with(&gpt, 64);
    int64_t body = 0;
    const PoemSet *view = &set.held_out.view;
    for (int64_t p = 0; p < view->poems; p++) {
        uint64_t i = view->offsets[p];
        while (view->ids[i] != TOKEN_BOS)
            i++;
        body += (int64_t)(view->offsets[p + 1] - i) - 1;
    }
    assert_int_equal(evaluation_tokens(&result), body);
    assert_int_equal(result.tokens[LOSS_END], view->poems);
    gpt_destroy(&gpt);
}

/* Zero weights predict every token alike: ln V each. */
static void a_model_that_knows_nothing_loses_ln_v(void **state)
{
    (void)state;
    Gpt gpt;
    GptConfig config = tiny_config();
    TINY_MUST(gpt_create(&gpt, &config, err));
    Evaluation result = evaluate_with(&gpt, 64);
    assert_near(evaluation_nats(&result), log(TINY_VOCABULARY), 1e-5);
    gpt_destroy(&gpt);
    const Evaluation empty = {0};
    assert_true(evaluation_nats(&empty) == 0);
    assert_true(evaluation_class_nats(&empty, LOSS_HAN) == 0);
}

static void the_loss_has_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    Gpt gpt;
    tiny_model(&gpt, 4);
    omp_set_num_threads(1);
    Evaluation one = evaluate_with(&gpt, 40);
    for (int threads = 2; threads <= 4; threads++) {
        omp_set_num_threads(threads);
        Evaluation more = evaluate_with(&gpt, 40);
        assert_memory_equal(&more, &one, sizeof one);
    }
    gpt_destroy(&gpt);
}

static void a_loss_that_is_not_finite_is_an_error(void **state)
{
    (void)state;
    Gpt gpt;
    Passes passes;
    Evaluation result;
    tiny_model(&gpt, 4);
    gpt.params.norm.gain[3] = (real)NAN;
    TINY_MUST(passes_create(&passes, &gpt.config, 64, err));
    assert_int_equal(
        evaluate(&result, &gpt, &passes, &set.held_out.view, &set.tokenizer, NULL),
        STATUS_NUMERIC);
    passes_destroy(&passes);
    gpt_destroy(&gpt);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_together_are_one_pass_over_the_batch),
        cmocka_unit_test(dropout_and_its_key_change_the_gradient),
        cmocka_unit_test(lanes_give_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(the_padding_of_the_gradient_is_zero),
        cmocka_unit_test(passes_take_as_many_rows_as_fit),
        cmocka_unit_test(the_loss_is_the_sum_of_all_token_losses),
        cmocka_unit_test(every_body_token_is_counted_once),
        cmocka_unit_test(a_model_that_knows_nothing_loses_ln_v),
        cmocka_unit_test(the_loss_has_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(a_loss_that_is_not_finite_is_an_error),
    };
    return cmocka_run_group_tests_name("lanes", tests, make_set, free_set);
}
