#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/batch.h"
#include "tests/data/made.h"

enum { VOCABULARY = 40 };

typedef struct {
    MadeSet made;
    PoemSet set;
    Tokenizer tokenizer;
} Fixture;

static void fixture_make(Fixture *fixture, int poems)
{
    *fixture = (Fixture){0};
    made_tokenizer(&fixture->tokenizer,
                   "。，甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"
                   "天地玄黃宇宙洪荒日月");
    assert_true(fixture->tokenizer.size == VOCABULARY);
    Rng rng = rng_stream(9, 9);
    for (int i = 0; i < poems; i++)
        made_random_sequence(&fixture->made, &rng, VOCABULARY, 70);
    fixture->set = made_view(&fixture->made);
}

/* A running text that counts 6, 7, 8, ... so that a token tells its place. */
static void fixture_make_stream(Fixture *fixture, int tokens)
{
    *fixture = (Fixture){0};
    made_tokenizer(&fixture->tokenizer, "。，甲乙");
    for (int i = 0; i < tokens; i++)
        made_token(&fixture->made, TOKEN_SPECIALS + i);
    made_end(&fixture->made);
    fixture->set = made_view(&fixture->made);
    fixture->set.stream = true;
}

static void fixture_free(Fixture *fixture)
{
    made_free(&fixture->made);
    tokenizer_free(&fixture->tokenizer);
}

static const BatchOptions TRAINING = {.row_tokens = 64,
                                      .seed = 5,
                                      .keep_form = 0.5,
                                      .keep_title = 0.5,
                                      .keep_author = 0.5,
                                      .shuffle = true};

static uint64_t hash_batch(const RowBatch *batch)
{
    uint64_t hash = (uint64_t)batch->rows;
    for (int64_t i = 0; i < batch->batch.tokens; i++) {
        hash = rng_hash(hash, (uint64_t)batch->batch.ids[i]);
        hash = rng_hash(hash, (uint64_t)batch->batch.targets[i]);
        hash = rng_hash(hash, (uint64_t)batch->batch.positions[i]);
    }
    for (int64_t s = 0; s <= batch->batch.segments; s++)
        hash = rng_hash(hash, (uint64_t)batch->batch.starts[s]);
    for (int64_t r = 0; r <= batch->rows; r++)
        hash = rng_hash(hash, (uint64_t)batch->row_segments[r]);
    return hash;
}

/* What every batch promises, whatever is in it. */
static void check_batch(const RowBatch *batch, int32_t row_tokens)
{
    const TokenBatch *tokens = &batch->batch;
    assert_int_equal(tokens->starts[0], 0);
    assert_int_equal(tokens->starts[tokens->segments], tokens->tokens);
    assert_int_equal(batch->row_segments[0], 0);
    assert_int_equal(batch->row_segments[batch->rows], tokens->segments);
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t length = tokens->starts[batch->row_segments[r + 1]] -
                         tokens->starts[batch->row_segments[r]];
        assert_in_range(length, 1, row_tokens);
    }
    int64_t targets = 0;
    for (int64_t s = 0; s < tokens->segments; s++) {
        for (int64_t i = tokens->starts[s]; i < tokens->starts[s + 1]; i++) {
            bool last = i + 1 == tokens->starts[s + 1];
            assert_int_equal(tokens->positions[i], i - tokens->starts[s]);
            if (tokens->targets[i] != TARGET_NONE && !last)
                assert_int_equal(tokens->targets[i], tokens->ids[i + 1]);
            if (last)
                assert_int_not_equal(tokens->targets[i], TARGET_NONE);
            assert_int_not_equal(tokens->targets[i], TOKEN_BOS);
            targets += tokens->targets[i] != TARGET_NONE;
        }
    }
    assert_int_equal(targets, batch->targets);
}

static void every_body_token_comes_once_an_epoch_in_batches_of_any_size(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 500);
    int64_t wanted[VOCABULARY] = {0};
    for (int64_t i = 0; i < fixture.set.poems; i++) {
        const uint16_t *sequence = fixture.set.ids + fixture.set.offsets[i];
        int64_t length = (int64_t)(fixture.set.offsets[i + 1] - fixture.set.offsets[i]);
        SequenceParts parts;
        MUST(pack_parse(&parts, sequence, length, NULL));
        for (int64_t k = parts.bos + 1; k < length; k++)
            wanted[sequence[k]]++;
    }
    for (int64_t size = 1; size < 40; size += 6) {
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            BatchOptions options = TRAINING;
            options.shuffle = shuffle;
            BatchStream stream;
            MUST(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &options,
                                   NULL));
            int64_t found[VOCABULARY] = {0};
            RowBatch batch;
            int64_t row = 0;
            do {
                MUST(batch_stream_rows(&stream, row, size, &batch, NULL));
                check_batch(&batch, options.row_tokens);
                for (int64_t i = 0; i < batch.batch.tokens; i++) {
                    if (batch.batch.targets[i] != TARGET_NONE)
                        found[batch.batch.targets[i]]++;
                }
                row += batch.rows;
            } while (batch.rows > 0);
            assert_int_equal(row, stream.epoch_rows);
            assert_memory_equal(found, wanted, sizeof found);
            batch_stream_close(&stream);
        }
    }
    fixture_free(&fixture);
}

static void batches_run_on_over_the_end_of_an_epoch(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 60);
    BatchStream stream;
    MUST(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &TRAINING, NULL));
    int64_t rows[4] = {0}; /* of an epoch; every epoch draws its fields anew */
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        MUST(batch_stream_seek(&stream, epoch, 0, NULL));
        rows[epoch] = stream.epoch_rows;
    }
    MUST(batch_stream_seek(&stream, 0, 0, NULL));
    int64_t all = rows[0] + rows[1] + rows[2];
    RowBatch batch;
    MUST(batch_stream_next(&stream, all + 1, &batch, NULL));
    check_batch(&batch, TRAINING.row_tokens);
    assert_int_equal(batch.rows, all + 1);
    assert_int_equal(stream.epoch, 3);
    assert_int_equal(stream.row, 1);
    batch_stream_close(&stream);
    fixture_free(&fixture);
}

static void a_stream_resumed_at_its_state_gives_the_same_bits(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        Fixture fixture;
        if (kind == 0)
            fixture_make(&fixture, 80);
        else
            fixture_make_stream(&fixture, 2000);
        BatchStream whole, resumed;
        RowBatch batch;
        MUST(batch_stream_open(&whole, &fixture.set, &fixture.tokenizer, &TRAINING,
                               NULL));
        for (int step = 0; step < 40; step++) {
            uint64_t epoch = whole.epoch;
            int64_t row = whole.row;
            MUST(batch_stream_next(&whole, 7, &batch, NULL));
            uint64_t hash = hash_batch(&batch);
            MUST(batch_stream_open(&resumed, &fixture.set, &fixture.tokenizer,
                                   &TRAINING, NULL));
            MUST(batch_stream_seek(&resumed, epoch, row, NULL));
            MUST(batch_stream_next(&resumed, 7, &batch, NULL));
            assert_true(hash_batch(&batch) == hash);
            assert_int_equal(resumed.epoch, whole.epoch);
            assert_int_equal(resumed.row, whole.row);
            batch_stream_close(&resumed);
        }
        assert_true(whole.epoch > 2);
        batch_stream_close(&whole);
        fixture_free(&fixture);
    }
}

static void a_state_of_another_set_is_refused(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 20);
    BatchStream stream;
    MUST(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &TRAINING, NULL));
    MUST(batch_stream_seek(&stream, 2, 0, NULL));
    MUST(batch_stream_seek(&stream, 2, stream.epoch_rows, NULL));
    assert_int_equal(batch_stream_seek(&stream, 2, stream.epoch_rows + 1, NULL),
                     STATUS_INPUT);
    assert_int_equal(batch_stream_seek(&stream, 2, -1, NULL), STATUS_INPUT);
    batch_stream_close(&stream);
    fixture_free(&fixture);
}

static void slices_put_together_are_the_batch(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 200);
    BatchStream stream;
    RowBatch batch;
    MUST(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &TRAINING, NULL));
    MUST(batch_stream_next(&stream, 13, &batch, NULL));
    BatchSlice room;
    MUST(batch_slice_create(&room, batch.batch.segments, NULL));
    int64_t tokens = 0;
    int64_t segments = 0;
    for (int64_t row = 0; row < batch.rows; row += 4) {
        int64_t rows = batch.rows - row < 4 ? batch.rows - row : 4;
        const TokenBatch *slice = batch_slice(&room, &batch, row, rows);
        assert_null(slice->source);
        assert_ptr_equal(slice->ids, batch.batch.ids + tokens);
        assert_ptr_equal(slice->targets, batch.batch.targets + tokens);
        assert_ptr_equal(slice->positions, batch.batch.positions + tokens);
        assert_int_equal(slice->starts[0], 0);
        for (int64_t s = 0; s < slice->segments; s++)
            assert_int_equal(slice->starts[s + 1] - slice->starts[s],
                             batch.batch.starts[segments + s + 1] -
                                 batch.batch.starts[segments + s]);
        assert_int_equal(slice->starts[slice->segments], slice->tokens);
        tokens += slice->tokens;
        segments += slice->segments;
    }
    assert_int_equal(tokens, batch.batch.tokens);
    assert_int_equal(segments, batch.batch.segments);
    const TokenBatch *empty = batch_slice(&room, &batch, batch.rows, 0);
    assert_int_equal(empty->tokens, 0);
    batch_slice_destroy(&room);
    batch_stream_close(&stream);
    fixture_free(&fixture);
}

static void evaluation_of_a_running_text_predicts_each_token_but_the_first(void **state)
{
    (void)state;
    for (int tokens = 2; tokens < 200; tokens += 9) {
        Fixture fixture;
        fixture_make_stream(&fixture, tokens);
        BatchOptions options = {.row_tokens = 16};
        BatchStream stream;
        RowBatch batch;
        MUST(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &options,
                               NULL));
        int32_t next = TOKEN_SPECIALS + 1;
        int64_t row = 0;
        do {
            MUST(batch_stream_rows(&stream, row, 3, &batch, NULL));
            check_batch(&batch, 16);
            for (int64_t i = 0; i < batch.batch.tokens; i++)
                assert_int_equal(batch.batch.targets[i], next++);
            row += batch.rows;
        } while (batch.rows > 0);
        assert_int_equal(next, TOKEN_SPECIALS + tokens);
        batch_stream_close(&stream);
        fixture_free(&fixture);
    }
}

static void training_windows_of_a_running_text_reach_every_place(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make_stream(&fixture, 40);
    BatchOptions options = TRAINING;
    options.row_tokens = 8;
    BatchStream stream;
    RowBatch batch;
    MUST(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &options, NULL));
    assert_int_equal(stream.epoch_rows, 4);
    MUST(batch_stream_next(&stream, 2000, &batch, NULL));
    check_batch(&batch, 8);
    int starts[32] = {0};
    for (int64_t row = 0; row < batch.rows; row++) {
        int32_t first = batch.batch.ids[row * 8] - TOKEN_SPECIALS;
        assert_in_range(first, 0, 31);
        starts[first]++;
        assert_int_equal(batch.batch.targets[row * 8 + 7], TOKEN_SPECIALS + first + 8);
    }
    for (int i = 0; i < 32; i++) /* 62.5 expected, deviation 7.8 */
        assert_in_range(starts[i], 30, 95);
    batch_stream_close(&stream);
    fixture_free(&fixture);

    fixture_make_stream(&fixture, 5); /* shorter than a row */
    MUST(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &options, NULL));
    MUST(batch_stream_next(&stream, 3, &batch, NULL));
    assert_int_equal(batch.batch.tokens, 12);
    batch_stream_close(&stream);
    fixture_free(&fixture);
}

static void nothing_to_read_and_impossible_rows_are_errors(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 3);
    BatchStream stream;
    const int32_t sizes[] = {-1, 0, 1, BATCH_LONGEST_ROW + 1};
    for (int i = 0; i < 4; i++) {
        BatchOptions options = {.row_tokens = sizes[i]};
        assert_int_equal(batch_stream_open(&stream, &fixture.set, &fixture.tokenizer,
                                           &options, NULL),
                         STATUS_INPUT);
    }
    PoemSet empty = {.offsets = fixture.set.offsets};
    assert_int_equal(
        batch_stream_open(&stream, &empty, &fixture.tokenizer, &TRAINING, NULL),
        STATUS_INPUT);
    fixture_free(&fixture);
    fixture_make_stream(&fixture, 1);
    assert_int_equal(
        batch_stream_open(&stream, &fixture.set, &fixture.tokenizer, &TRAINING, NULL),
        STATUS_INPUT);
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_body_token_comes_once_an_epoch_in_batches_of_any_size),
        cmocka_unit_test(batches_run_on_over_the_end_of_an_epoch),
        cmocka_unit_test(a_stream_resumed_at_its_state_gives_the_same_bits),
        cmocka_unit_test(a_state_of_another_set_is_refused),
        cmocka_unit_test(slices_put_together_are_the_batch),
        cmocka_unit_test(
            evaluation_of_a_running_text_predicts_each_token_but_the_first),
        cmocka_unit_test(training_windows_of_a_running_text_reach_every_place),
        cmocka_unit_test(nothing_to_read_and_impossible_rows_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
