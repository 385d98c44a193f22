#include "model/layers/embedding.h"
#include "tests/model/numeric.h"

static const real SCALE = (real)1.5;
enum { N = 8, C = 5, V = 6, T = 4 };

/* Two segments; token 3 comes three times, tokens 0 and 5 never. */
static const int32_t IDS[N] = {3, 1, 3, 4, 3, 2, 2, 1};
static const int32_t PLACES[N] = {0, 1, 2, 3, 0, 1, 2, 3};

typedef struct {
    real tokens[V * C], positions[T * C];
    real dx[N * C];
} Case;

static Case make_case(void)
{
    Case at;
    fill_random(at.tokens, V * C, 1, 1);
    fill_random(at.positions, T * C, 1, 2);
    fill_random(at.dx, N * C, 1, 3);
    return at;
}

static double weighted(void *context)
{
    const Case *at = context;
    real x[N * C];
    embedding_forward(x, at->tokens, SCALE, at->positions, IDS, PLACES, N, C);
    return sum_products(x, at->dx, N * C);
}

static void forward_looks_rows_up(void **state)
{
    (void)state;
    Case at = make_case();
    real x[N * C];
    embedding_forward(x, at.tokens, 1, at.positions, IDS, PLACES, N, C);
    for (int n = 0; n < N; n++) {
        for (int j = 0; j < C; j++)
            assert_true(x[n * C + j] ==
                        at.tokens[IDS[n] * C + j] + at.positions[PLACES[n] * C + j]);
    }
}

static void a_scale_is_the_tokens_and_not_the_positions(void **state)
{
    (void)state;
    Case at = make_case();
    real x[N * C], y[N * C];
    embedding_forward(x, at.tokens, SCALE, at.positions, IDS, PLACES, N, C);
    embedding_forward(y, at.tokens, SCALE, NULL, IDS, NULL, N, C);
    for (int n = 0; n < N; n++) {
        for (int j = 0; j < C; j++) {
            assert_near(y[n * C + j], SCALE * at.tokens[IDS[n] * C + j],
                        SAME_TOLERANCE);
            assert_near(x[n * C + j], y[n * C + j] + at.positions[PLACES[n] * C + j],
                        SAME_TOLERANCE);
        }
    }
}

static void without_positions_a_row_is_its_token(void **state)
{
    (void)state;
    Case at = make_case();
    real x[N * C];
    embedding_forward(x, at.tokens, 1, NULL, IDS, NULL, N, C);
    for (int n = 0; n < N; n++)
        assert_memory_equal(x + n * C, at.tokens + IDS[n] * C, C * sizeof(real));
}

/* For no positions, and for positions that are fixed. */
static void without_dpositions_tokens_have_the_same_gradient(void **state)
{
    (void)state;
    Case at = make_case();
    real alone[V * C] = {0}, both[V * C] = {0}, dpositions[T * C] = {0};
    embedding_backward(alone, 1, NULL, at.dx, IDS, NULL, N, C);
    embedding_backward(both, 1, dpositions, at.dx, IDS, PLACES, N, C);
    assert_memory_equal(alone, both, sizeof both);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    Case at = make_case();
    real dtokens[V * C] = {0}, dpositions[T * C] = {0};
    embedding_backward(dtokens, SCALE, dpositions, at.dx, IDS, PLACES, N, C);
    assert_gradient(at.tokens, dtokens, V * C, weighted, &at);
    assert_gradient(at.positions, dpositions, T * C, weighted, &at);
    assert_near(sum_all(dtokens, V * C), (double)SCALE * sum_all(at.dx, N * C),
                SAME_TOLERANCE);
    assert_near(sum_all(dpositions, T * C), sum_all(at.dx, N * C), SAME_TOLERANCE);
}

static void gradients_are_added_to(void **state)
{
    (void)state;
    Case at = make_case();
    real once[V * C] = {0}, added[V * C], places[T * C] = {0}, more[T * C];
    fill_value(added, V * C, 3);
    fill_value(more, T * C, -4);
    embedding_backward(once, 1, places, at.dx, IDS, PLACES, N, C);
    embedding_backward(added, 1, more, at.dx, IDS, PLACES, N, C);
    for (int i = 0; i < V * C; i++)
        assert_near(added[i], 3 + (double)once[i], SAME_TOLERANCE);
    for (int i = 0; i < T * C; i++)
        assert_near(more[i], -4 + (double)places[i], SAME_TOLERANCE);
    for (int j = 0; j < C; j++)
        assert_true(added[0 * C + j] == 3 && added[5 * C + j] == 3); /* never seen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_looks_rows_up),
        cmocka_unit_test(a_scale_is_the_tokens_and_not_the_positions),
        cmocka_unit_test(without_positions_a_row_is_its_token),
        cmocka_unit_test(without_dpositions_tokens_have_the_same_gradient),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(gradients_are_added_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
