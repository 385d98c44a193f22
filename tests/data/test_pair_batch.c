#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/pair_batch.h"
#include "tests/data/made.h"

/* Pair i of 5 or 7 characters; tokens tell the pair and the place. */
typedef struct {
    MadeSet made;
    uint32_t *origins;
    PairSet set;
} Fixture;

static int32_t token_of(int64_t pair, int64_t place)
{
    return TOKEN_SPECIALS + (int32_t)(pair * 16 + place);
}

static int64_t width_of(int64_t pair)
{
    return pair % 3 == 0 ? 5 : 7;
}

static void fixture_make(Fixture *fixture, int64_t pairs)
{
    *fixture = (Fixture){0};
    MUST(memory_allocate(&fixture->origins, (size_t)pairs, sizeof *fixture->origins,
                         "test", NULL));
    for (int64_t i = 0; i < pairs; i++) {
        made_token(&fixture->made, TOKEN_BOS);
        for (int64_t place = 0; place < 2 * width_of(i); place++)
            made_token(&fixture->made, token_of(i, place));
        made_token(&fixture->made, TOKEN_EOS);
        made_end(&fixture->made);
        fixture->origins[i] = pair_origin_pack(i, true, 1);
    }
    fixture->set = (PairSet){.ids = fixture->made.ids,
                             .offsets = fixture->made.offsets,
                             .origins = fixture->origins,
                             .pairs = pairs,
                             .tokens = (int64_t)fixture->made.used};
}

static void fixture_free(Fixture *fixture)
{
    made_free(&fixture->made);
    memory_free(fixture->origins);
}

static const PairOptions TRAINING = {.seed = 5, .shuffle = true};

static uint64_t hash_tokens(uint64_t hash, const TokenBatch *batch)
{
    for (int64_t i = 0; i < batch->tokens; i++) {
        hash = rng_hash(hash, (uint64_t)batch->ids[i]);
        hash = rng_hash(hash, (uint64_t)batch->targets[i]);
        hash = rng_hash(hash, (uint64_t)batch->positions[i]);
    }
    for (int64_t s = 0; s <= batch->segments; s++)
        hash = rng_hash(hash, (uint64_t)batch->starts[s]);
    return hash;
}

static uint64_t hash_batch(const RowBatch *batch, const uint32_t *number)
{
    uint64_t hash = hash_tokens(1, batch->batch.source);
    hash = hash_tokens(hash, &batch->batch);
    for (int64_t s = 0; s < batch->rows; s++)
        hash = rng_hash(hash, number[s]);
    return hash;
}

/* The picture in data/pair_batch.h, token by token. */
static void check_pairs(const TokenBatch *target, int64_t pairs, const uint32_t *number)
{
    const TokenBatch *source = target->source;
    assert_int_equal(source->segments, pairs);
    assert_int_equal(target->segments, pairs);
    assert_int_equal(source->tokens, target->tokens);
    int64_t at = 0;
    for (int64_t s = 0; s < pairs; s++) {
        int64_t pair = number[s];
        int64_t n = width_of(pair);
        assert_int_equal(source->starts[s], at);
        assert_int_equal(target->starts[s], at);
        for (int64_t i = 0; i <= n; i++, at++) {
            int32_t upper = i < n ? token_of(pair, i) : TOKEN_EOS;
            int32_t input = i == 0 ? TOKEN_BOS : token_of(pair, n + i - 1);
            int32_t output = i < n ? token_of(pair, n + i) : TOKEN_EOS;
            assert_int_equal(source->ids[at], upper);
            assert_int_equal(source->targets[at], TARGET_NONE);
            assert_int_equal(source->positions[at], i);
            assert_int_equal(target->ids[at], input);
            assert_int_equal(target->targets[at], output);
            assert_int_equal(target->positions[at], i);
        }
    }
    assert_int_equal(source->starts[pairs], at);
    assert_int_equal(target->starts[pairs], at);
    assert_int_equal(target->tokens, at);
}

/* ... and every pair a row. */
static void check_batch(const RowBatch *batch, const uint32_t *number)
{
    check_pairs(&batch->batch, batch->rows, number);
    assert_int_equal(batch->targets, batch->batch.tokens);
    for (int64_t r = 0; r <= batch->rows; r++)
        assert_int_equal(batch->row_segments[r], r);
}

static void every_pair_comes_once_an_epoch_in_batches_of_any_size(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 50);
    for (int size = 1; size < 60; size += 9) {
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            PairOptions options = {.seed = 3, .shuffle = shuffle};
            PairStream stream;
            RowBatch batch;
            MUST(pair_stream_open(&stream, &fixture.set, &options, NULL));
            int found[50] = {0};
            int64_t pair = 0;
            do {
                MUST(pair_stream_range(&stream, pair, size, &batch, NULL));
                check_batch(&batch, stream.number);
                for (int64_t s = 0; s < batch.rows; s++) {
                    found[stream.number[s]]++;
                    if (!shuffle)
                        assert_int_equal(stream.number[s], pair + s);
                }
                pair += batch.rows;
            } while (batch.rows > 0);
            for (int i = 0; i < 50; i++)
                assert_int_equal(found[i], 1);
            MUST(pair_stream_range(&stream, 1000, 5, &batch, NULL));
            assert_int_equal(batch.rows, 0);
            pair_stream_close(&stream);
        }
    }
    fixture_free(&fixture);
}

static void batches_run_on_over_the_end_of_an_epoch(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 20);
    PairStream stream;
    RowBatch batch;
    MUST(pair_stream_open(&stream, &fixture.set, &TRAINING, NULL));
    MUST(pair_stream_next(&stream, 61, &batch, NULL));
    check_batch(&batch, stream.number);
    assert_int_equal(batch.rows, 61);
    assert_int_equal(stream.epoch, 3);
    assert_int_equal(stream.pair, 1);
    int moved = 0;
    for (int epoch = 0; epoch < 3; epoch++) {
        int found[20] = {0};
        for (int i = 0; i < 20; i++) {
            found[stream.number[epoch * 20 + i]]++;
            moved += stream.number[epoch * 20 + i] != stream.number[i];
        }
        for (int i = 0; i < 20; i++)
            assert_int_equal(found[i], 1);
    }
    assert_true(moved > 20); /* every epoch has an order of its own */
    pair_stream_close(&stream);
    fixture_free(&fixture);
}

static void a_stream_resumed_at_its_state_gives_the_same_bits(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 45);
    PairStream whole, resumed;
    RowBatch batch;
    MUST(pair_stream_open(&whole, &fixture.set, &TRAINING, NULL));
    for (int step = 0; step < 40; step++) {
        uint64_t epoch = whole.epoch;
        int64_t pair = whole.pair;
        MUST(pair_stream_next(&whole, 7, &batch, NULL));
        uint64_t hash = hash_batch(&batch, whole.number);
        MUST(pair_stream_open(&resumed, &fixture.set, &TRAINING, NULL));
        MUST(pair_stream_seek(&resumed, epoch, pair, NULL));
        MUST(pair_stream_next(&resumed, 7, &batch, NULL));
        assert_true(hash_batch(&batch, resumed.number) == hash);
        assert_int_equal(resumed.epoch, whole.epoch);
        assert_int_equal(resumed.pair, whole.pair);
        pair_stream_close(&resumed);
    }
    assert_true(whole.epoch > 4);
    pair_stream_close(&whole);
    fixture_free(&fixture);
}

static void a_seed_is_an_order_of_its_own(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 40);
    uint64_t hashes[4];
    for (uint64_t seed = 0; seed < 4; seed++) {
        PairOptions options = {.seed = seed / 2, .shuffle = true};
        PairStream stream;
        RowBatch batch;
        MUST(pair_stream_open(&stream, &fixture.set, &options, NULL));
        MUST(pair_stream_next(&stream, 40, &batch, NULL));
        hashes[seed] = hash_batch(&batch, stream.number);
        pair_stream_close(&stream);
    }
    assert_true(hashes[0] == hashes[1] && hashes[2] == hashes[3]);
    assert_true(hashes[0] != hashes[2]);
    fixture_free(&fixture);
}

static void a_look_at_a_range_does_not_move_the_stream(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 30);
    PairStream plain, looking;
    RowBatch batch;
    MUST(pair_stream_open(&plain, &fixture.set, &TRAINING, NULL));
    MUST(pair_stream_open(&looking, &fixture.set, &TRAINING, NULL));
    for (int step = 0; step < 12; step++) {
        MUST(pair_stream_next(&plain, 8, &batch, NULL));
        uint64_t hash = hash_batch(&batch, plain.number);
        MUST(pair_stream_range(&looking, step, 11, &batch, NULL));
        MUST(pair_stream_next(&looking, 8, &batch, NULL));
        assert_true(hash_batch(&batch, looking.number) == hash);
    }
    pair_stream_close(&plain);
    pair_stream_close(&looking);
    fixture_free(&fixture);
}

static void a_state_of_another_set_is_refused(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 10);
    PairStream stream;
    RowBatch batch;
    MUST(pair_stream_open(&stream, &fixture.set, &TRAINING, NULL));
    assert_int_equal(pair_stream_seek(&stream, 2, 11, NULL), STATUS_INPUT);
    assert_int_equal(pair_stream_seek(&stream, 2, -1, NULL), STATUS_INPUT);
    assert_int_equal(stream.epoch, 0); /* and nothing has moved */
    MUST(pair_stream_seek(&stream, 2, 10, NULL));
    MUST(pair_stream_next(&stream, 1, &batch, NULL));
    assert_int_equal(stream.epoch, 3);
    MUST(pair_stream_seek(&stream, UINT64_MAX, 0, NULL));
    MUST(pair_stream_next(&stream, 10, &batch, NULL));
    check_batch(&batch, stream.number);
    pair_stream_close(&stream);
    PairSet empty = {.offsets = fixture.set.offsets};
    assert_int_equal(pair_stream_open(&stream, &empty, &TRAINING, NULL), STATUS_INPUT);
    fixture_free(&fixture);
}

static void slices_put_together_are_the_batch(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_make(&fixture, 40);
    PairStream stream;
    RowBatch batch;
    BatchSlice slice;
    MUST(batch_slice_create(&slice, 8, NULL));
    MUST(pair_stream_open(&stream, &fixture.set, &TRAINING, NULL));
    MUST(pair_stream_next(&stream, 33, &batch, NULL));
    int64_t tokens = 0;
    for (int64_t first = 0; first < 33; first += 8) {
        int64_t pairs = 33 - first < 8 ? 33 - first : 8;
        const TokenBatch *cut = batch_slice(&slice, &batch, first, pairs);
        check_pairs(cut, pairs, stream.number + first);
        assert_ptr_equal(cut->source->ids, batch.batch.source->ids + tokens);
        assert_ptr_equal(cut->ids, batch.batch.ids + tokens);
        tokens += cut->tokens;
    }
    assert_int_equal(tokens, batch.targets);
    const TokenBatch *empty = batch_slice(&slice, &batch, 33, 0);
    assert_int_equal(empty->tokens, 0);
    assert_int_equal(empty->source->tokens, 0);
    pair_stream_close(&stream);
    batch_slice_destroy(&slice);
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_comes_once_an_epoch_in_batches_of_any_size),
        cmocka_unit_test(batches_run_on_over_the_end_of_an_epoch),
        cmocka_unit_test(a_stream_resumed_at_its_state_gives_the_same_bits),
        cmocka_unit_test(a_seed_is_an_order_of_its_own),
        cmocka_unit_test(a_look_at_a_range_does_not_move_the_stream),
        cmocka_unit_test(a_state_of_another_set_is_refused),
        cmocka_unit_test(slices_put_together_are_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
