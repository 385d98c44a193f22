/* Decoding with the cache against the model without one, and against itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/base/rng.h"
#include "model/generate/decode.h"
#include "model/generate/panels.h"
#include "model/math/blas.h"
#include "tests/model/decode_cases.h"

static const double TOLERANCE = 1e-5;

/* Both forms of MLA; other models have one. */
static int forms(const Gpt *gpt)
{
    return gpt->config.attention == ATTENTION_MLA ? 2 : 1;
}

static void random_tokens(int32_t *ids, int64_t count, int64_t V, uint64_t seed)
{
    Rng rng = rng_stream(seed, 99);
    for (int64_t i = 0; i < count; i++)
        ids[i] = (int32_t)rng_below(&rng, (uint64_t)V);
}

static real *reals(int64_t count)
{
    real *numbers;
    Error err;
    assert_int_equal(
        memory_allocate(&numbers, (size_t)count, sizeof *numbers, "a test", &err),
        STATUS_OK);
    return numbers;
}

/* logits (n, V) of the whole sequence, by the model itself. */
static real *uncached(const Gpt *gpt, const int32_t *ids, int64_t n)
{
    enum { LONGEST = 256 };
    int32_t targets[LONGEST], places[LONGEST];
    assert_true(n <= LONGEST);
    for (int32_t i = 0; i < (int32_t)n; i++) {
        targets[i] = TARGET_NONE;
        places[i] = i;
    }
    int64_t starts[] = {0, n};
    TokenBatch batch = {.tokens = n,
                        .segments = 1,
                        .ids = ids,
                        .targets = targets,
                        .positions = places,
                        .starts = starts};
    GptWork *work;
    Error err;
    assert_int_equal(gpt_work_create(&work, &gpt->config, n, &err), STATUS_OK);
    real *logits = reals(n * gpt->config.vocab_size);
    gpt_logits(gpt, work, &batch, logits);
    gpt_work_destroy(work);
    return logits;
}

static void assert_close(const real *a, const real *b, int64_t V, const char *name)
{
    for (int64_t v = 0; v < V; v++) {
        double error = fabs((double)(a[v] - b[v]));
        if (!(error <= TOLERANCE * (1 + fabs((double)b[v]))))
            fail_msg("%s: logit %d is %g instead of %g", name, (int)v, (double)a[v],
                     (double)b[v]);
    }
}

static Decoder *decoder_of(const Gpt *gpt, int64_t rows, int64_t threads, int form)
{
    Decoder *decoder;
    Error err;
    DecoderOptions options = {.rows = rows, .threads = threads, .mla = (MlaForm)form};
    assert_int_equal(decoder_create(&decoder, gpt, &options, &err), STATUS_OK);
    return decoder;
}

static Gpt model_of(const DecodeCase *c)
{
    GptConfig config = case_config(c);
    return random_model(&config);
}

static const DecodeCase *case_named(const char *name)
{
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        if (strcmp(DECODE_CASES[c].name, name) == 0)
            return &DECODE_CASES[c];
    }
    fail_msg("no case \"%s\"", name);
    return NULL;
}

static void one_by_one_equals_the_whole_up_to_the_context(void **state)
{
    (void)state;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        Gpt gpt = model_of(&DECODE_CASES[c]);
        int64_t T = gpt.config.context;
        int64_t V = gpt.config.vocab_size;
        int32_t ids[256];
        random_tokens(ids, T, V, 5);
        real *expected = uncached(&gpt, ids, T);
        for (int form = 0; form < forms(&gpt); form++) {
            Decoder *decoder = decoder_of(&gpt, 1, 1, form);
            const int32_t row = 0;
            for (int64_t i = 0; i < T; i++) {
                assert_int_equal(decoder_length(decoder, 0), i);
                decoder_step(decoder, &row, &ids[i], 1);
                assert_close(decoder_logits(decoder, 0), expected + i * V, V,
                             DECODE_CASES[c].name);
            }
            decoder_destroy(decoder);
        }
        memory_free(expected);
        gpt_destroy(&gpt);
    }
}

static void prompts_of_any_length_equal_the_whole(void **state)
{
    (void)state;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        const char *name = DECODE_CASES[c].name;
        Gpt gpt = model_of(&DECODE_CASES[c]);
        int64_t T = gpt.config.context;
        int64_t V = gpt.config.vocab_size;
        int32_t ids[256];
        random_tokens(ids, T, V, 6);
        real *expected = uncached(&gpt, ids, T);
        for (int form = 0; form < forms(&gpt); form++) {
            Decoder *decoder = decoder_of(&gpt, 2, 2, form);
            const int32_t row = 1;
            for (int64_t n = 1; n <= T; n++) {
                decoder_clear(decoder, row);
                decoder_prefill(decoder, row, ids, n);
                assert_close(decoder_logits(decoder, 0), expected + (n - 1) * V, V,
                             name);
                if (n == T)
                    break;
                decoder_step(decoder, &row, &ids[n], 1); /* and on from there */
                assert_close(decoder_logits(decoder, 0), expected + n * V, V, name);
            }
            decoder_destroy(decoder);
        }
        memory_free(expected);
        gpt_destroy(&gpt);
    }
}

enum { ROWS = 19, STEPS = 16 };

/* Runs ROWS sequences with prompts of 0, 1, 2 ... tokens; keeps logits (ROWS, STEPS, V). */
static real *run_batch(const Gpt *gpt, int64_t threads, bool alone, bool prefill,
                       int form)
{
    int64_t V = gpt->config.vocab_size;
    real *kept = reals(ROWS * STEPS * V);
    int32_t ids[ROWS][2 * STEPS];
    for (int32_t r = 0; r < ROWS; r++)
        random_tokens(ids[r], 2 * STEPS, V, 100 + (uint64_t)r);
    Decoder *decoder = decoder_of(gpt, ROWS, threads, form);
    for (int32_t first = 0; first < ROWS; first += alone ? 1 : ROWS) {
        int32_t last = alone ? first + 1 : ROWS;
        for (int32_t r = first; r < last; r++) {
            if (prefill && r % STEPS > 0)
                decoder_prefill(decoder, r, ids[r], r % STEPS);
            for (int32_t i = 0; !prefill && i < r % STEPS; i++)
                decoder_step(decoder, &r, &ids[r][i], 1);
        }
        for (int32_t s = 0; s < STEPS; s++) {
            /* Row r ends after STEPS - r / 2 steps: the batch shrinks. */
            int32_t rows[ROWS], next[ROWS];
            int64_t count = 0;
            for (int32_t r = first; r < last; r++) {
                if (s >= STEPS - r / 2)
                    continue;
                rows[count] = r;
                next[count++] = ids[r][r % STEPS + s];
            }
            decoder_step(decoder, rows, next, count);
            for (int64_t i = 0; i < count; i++)
                memcpy(kept + (rows[i] * STEPS + s) * V, decoder_logits(decoder, i),
                       (size_t)V * sizeof(real));
        }
    }
    decoder_destroy(decoder);
    return kept;
}

static void rows_have_the_same_bits_whatever_the_batch_and_the_threads(void **state)
{
    (void)state;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        GptConfig config = case_config(&DECODE_CASES[c]);
        config.context = 2 * STEPS;
        Gpt gpt = random_model(&config);
        size_t bytes = (size_t)(ROWS * STEPS * config.vocab_size) * sizeof(real);
        for (int form = 0; form < forms(&gpt); form++) {
            real *batch = run_batch(&gpt, 1, false, true, form);
            for (int way = 0; way < 3; way++) {
                static const int64_t THREADS[] = {3, 1, 8};
                real *other = run_batch(&gpt, THREADS[way], way == 1, way != 1, form);
                if (memcmp(batch, other, bytes) != 0)
                    fail_msg("%s: other bits", DECODE_CASES[c].name);
                memory_free(other);
            }
            memory_free(batch);
        }
        gpt_destroy(&gpt);
    }
}

static void a_copied_row_goes_on_as_the_original(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"odd", "window 9", "deepseek",
                                        "deepseek, windows", "cut, grouped, windows"};
    for (size_t c = 0; c < sizeof NAMES / sizeof *NAMES; c++) {
        Gpt gpt = model_of(case_named(NAMES[c]));
        int64_t V = gpt.config.vocab_size;
        int32_t ids[64];
        random_tokens(ids, 64, V, 8);
        for (int length = 3; length < 60; length += 14) {
            Decoder *decoder = decoder_of(&gpt, 3, 1, MLA_ABSORBED);
            /* what is copied over leaves no trace */
            decoder_prefill(decoder, 2, ids + 5, 50);
            decoder_prefill(decoder, 0, ids, length);
            decoder_copy(decoder, 2, 0);
            decoder_copy(decoder, 0, 0);
            assert_int_equal(decoder_length(decoder, 2), length);
            for (int i = length; i < 64; i++) {
                const int32_t rows[] = {2, 0};
                const int32_t both[] = {ids[i], ids[i]};
                decoder_step(decoder, rows, both, 2);
                assert_memory_equal(decoder_logits(decoder, 0),
                                    decoder_logits(decoder, 1),
                                    (size_t)V * sizeof(real));
            }
            decoder_destroy(decoder);
        }
        gpt_destroy(&gpt);
    }
}

static void rows_do_not_see_each_other(void **state)
{
    (void)state;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        GptConfig config = case_config(&DECODE_CASES[c]);
        if (config.context < 24)
            continue;
        Gpt gpt = random_model(&config);
        int64_t V = config.vocab_size;
        int32_t ids[24], others[24];
        random_tokens(ids, 24, V, 9);
        random_tokens(others, 24, V, 10);
        real *expected = uncached(&gpt, ids, 24);
        Decoder *decoder = decoder_of(&gpt, 3, 1, MLA_ABSORBED);
        decoder_prefill(decoder, 0, others, 20);
        decoder_prefill(decoder, 1, ids, 10);
        decoder_prefill(decoder, 2, others, 3);
        for (int i = 10; i < 14; i++) {
            const int32_t rows[] = {0, 2, 1};
            const int32_t next[] = {others[i], others[i + 1], ids[i]};
            decoder_step(decoder, rows, next, 3);
            assert_close(decoder_logits(decoder, 2), expected + i * V, V,
                         DECODE_CASES[c].name);
        }
        decoder_destroy(decoder);
        memory_free(expected);
        gpt_destroy(&gpt);
    }
}

/* A row that is used again, after a longer sequence, starts like a new one. */
static void a_cleared_row_is_as_new(void **state)
{
    (void)state;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        Gpt gpt = model_of(&DECODE_CASES[c]);
        int64_t T = gpt.config.context;
        int64_t V = gpt.config.vocab_size;
        int32_t ids[256], others[256];
        random_tokens(ids, T, V, 11);
        random_tokens(others, T, V, 12);
        for (int form = 0; form < forms(&gpt); form++) {
            Decoder *used = decoder_of(&gpt, 1, 1, form);
            Decoder *fresh = decoder_of(&gpt, 1, 1, form);
            decoder_prefill(used, 0, others, T);
            decoder_clear(used, 0);
            assert_int_equal(decoder_length(used, 0), 0);
            for (int64_t i = 0; i < T; i++) {
                const int32_t row = 0;
                decoder_step(used, &row, &ids[i], 1);
                decoder_step(fresh, &row, &ids[i], 1);
                assert_memory_equal(decoder_logits(used, 0), decoder_logits(fresh, 0),
                                    (size_t)V * sizeof(real));
            }
            decoder_destroy(used);
            decoder_destroy(fresh);
        }
        gpt_destroy(&gpt);
    }
}

/* An expanded key is c W_UK: what the two forms multiply is the same, in another order. */
static void absorbed_equals_expanded(void **state)
{
    (void)state;
    for (int c = 0; c < DECODE_CASES_COUNT; c++) {
        Gpt gpt = model_of(&DECODE_CASES[c]);
        int64_t T = gpt.config.context;
        int64_t V = gpt.config.vocab_size;
        int32_t ids[256];
        random_tokens(ids, T, V, 13);
        Decoder *absorbed = decoder_of(&gpt, 1, 1, MLA_ABSORBED);
        Decoder *expanded = decoder_of(&gpt, 1, 1, MLA_EXPANDED);
        bool differ = false;
        for (int64_t i = 0; i < T; i++) {
            const int32_t row = 0;
            decoder_step(absorbed, &row, &ids[i], 1);
            decoder_step(expanded, &row, &ids[i], 1);
            const real *a = decoder_logits(absorbed, 0);
            const real *b = decoder_logits(expanded, 0);
            assert_close(a, b, V, DECODE_CASES[c].name);
            differ = differ || memcmp(a, b, (size_t)V * sizeof(real)) != 0;
        }
        /* the switch does something, and only there; one token alone is no sum */
        assert_int_equal(differ, gpt.config.attention == ATTENTION_MLA && T > 1);
        decoder_destroy(absorbed);
        decoder_destroy(expanded);
        gpt_destroy(&gpt);
    }
}

static void panels_are_the_matrix_product(void **state)
{
    (void)state;
    static const int64_t SHAPES[][3] = {{1, 1, 1},   {2, 5, 33},    {3, 128, 32},
                                        {7, 40, 31}, {12, 17, 100}, {21, 64, 64}};
    for (int s = 0; s < 6; s++) {
        int64_t m = SHAPES[s][0], in = SHAPES[s][1], out = SHAPES[s][2];
        real *a = reals((m + 4) * in), *weight = reals(in * out), *bias = reals(out);
        real *transposed = reals(in * out), *expected = reals(m * out);
        Rng rng = rng_stream(1, (uint64_t)s);
        for (int64_t i = 0; i < m * in; i++)
            a[i] = (real)rng_normal(&rng);
        for (int64_t i = 0; i < in * out; i++)
            weight[i] = (real)rng_normal(&rng);
        for (int64_t i = 0; i < in * out; i++)
            transposed[i % out * in + i / out] = weight[i];
        for (int64_t i = 0; i < out; i++)
            bias[i] = (real)rng_normal(&rng);
        matmul_plain(PLAIN, PLAIN, m, out, in, 1, a, in, weight, out, 0, expected, out);

        Error err;
        Arena arena = {0};
        Panels panels, tied;
        real *c = NULL;
        for (int pass = 0; pass < 2; pass++) {
            if (pass == 1)
                assert_int_equal(arena_create(&arena, arena.used, "a test", &err),
                                 STATUS_OK);
            panels_layout(&panels, &arena, in, out);
            panels_layout(&tied, &arena, in, out);
            c = arena_reals(&arena, (m + 4) * panels.stride);
        }
        panels_pack(&panels, weight, out, bias);
        panels_pack_transposed(&tied, transposed, in);
        for (int way = 0; way < 3; way++) {
            /* way 0: W + b; 1: the same added once more; 2: W^T without a bias */
            if (way == 0)
                panels_write(c, panels.stride, a, in, &panels, m);
            if (way == 1)
                panels_add(c, panels.stride, a, in, &panels, m);
            for (int64_t p = 0; way == 2 && p < tied.stride / PANEL; p++)
                panels_write_one(c, tied.stride, a, in, &tied, p, m);
            for (int64_t i = 0; i < m * out; i++) {
                double want = way == 2
                                  ? (double)expected[i]
                                  : (way + 1) * (double)(expected[i] + bias[i % out]);
                double got = (double)c[i / out * panels.stride + i % out];
                assert_true(fabs(got - want) <= 2e-5 * (1 + fabs(want)));
            }
        }
        arena_destroy(&arena);
        memory_free(a);
        memory_free(weight);
        memory_free(transposed);
        memory_free(bias);
        memory_free(expected);
    }
}

static void models_with_an_encoder_are_refused(void **state)
{
    (void)state;
    GptConfig config = small_config_of(FAMILY_COUPLET);
    Gpt gpt = random_model(&config);
    Decoder *decoder;
    Error err;
    assert_int_equal(decoder_create(&decoder, &gpt, &(DecoderOptions){.rows = 1}, &err),
                     STATUS_USAGE);
    assert_null(decoder);
    assert_non_null(strstr(err.message, "encoder"));
    gpt_destroy(&gpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_are_the_matrix_product),
        cmocka_unit_test(one_by_one_equals_the_whole_up_to_the_context),
        cmocka_unit_test(prompts_of_any_length_equal_the_whole),
        cmocka_unit_test(rows_have_the_same_bits_whatever_the_batch_and_the_threads),
        cmocka_unit_test(a_copied_row_goes_on_as_the_original),
        cmocka_unit_test(rows_do_not_see_each_other),
        cmocka_unit_test(a_cleared_row_is_as_new),
        cmocka_unit_test(absorbed_equals_expanded),
        cmocka_unit_test(models_with_an_encoder_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
