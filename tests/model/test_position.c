#include "model/layers/embedding.h"
#include "model/layers/position.h"
#include "tests/model/numeric.h"

enum { T = 50, WIDEST = 17 };

static void table_is_its_formula(void **state)
{
    (void)state;
    for (int64_t C = 1; C <= WIDEST; C++) {
        Pool pool = {.count = 0};
        real *table = pool_reals(&pool, T * C);
        position_sinusoidal(table, T, C);
        for (int64_t p = 0; p < T; p++) {
            for (int64_t i = 0; 2 * i < C; i++) {
                int64_t half = (C + 1) / 2;
                double angle = (double)p / pow(10000, 2.0 * (double)i / (double)C);
                assert_near(table[p * C + i], sin(angle), SAME_TOLERANCE);
                if (half + i < C)
                    assert_near(table[p * C + half + i], cos(angle), SAME_TOLERANCE);
            }
        }
        pool_free(&pool);
    }
}

static void a_product_depends_on_the_distance_only(void **state)
{
    (void)state;
    enum { C = 16 };
    Pool pool = {.count = 0};
    real *table = pool_reals(&pool, T * C);
    position_sinusoidal(table, T, C);
    for (int64_t p = 0; p < T; p++) {
        for (int64_t s = 0; s <= p; s++)
            assert_near(sum_products(table + p * C, table + s * C, C),
                        sum_products(table + (p - s) * C, table, C), SAME_TOLERANCE);
    }
    pool_free(&pool);
}

static void embedding_adds_it_and_leaves_it_alone(void **state)
{
    (void)state;
    enum { C = 6, V = 3, N = 4 };
    const int32_t ids[N] = {2, 0, 2, 1}, places[N] = {0, 1, 0, 49};
    Pool pool = {.count = 0};
    real *table = pool_reals(&pool, T * C), *x = pool_reals(&pool, N * C);
    real *tokens = pool_random(&pool, V * C, 1, 1), *dtokens = pool_reals(&pool, V * C);
    position_sinusoidal(table, T, C);
    embedding_forward(x, tokens, 1, table, ids, places, N, C);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t j = 0; j < C; j++)
            assert_true(x[n * C + j] ==
                        tokens[ids[n] * C + j] + table[places[n] * C + j]);
    }
    embedding_backward(dtokens, 1, NULL, x, ids, NULL, N, C);
    assert_near(sum_all(dtokens, V * C), sum_all(x, N * C), SAME_TOLERANCE);
    pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_its_formula),
        cmocka_unit_test(a_product_depends_on_the_distance_only),
        cmocka_unit_test(embedding_adds_it_and_leaves_it_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
