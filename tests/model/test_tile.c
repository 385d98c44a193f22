#include "model/math/blas.h"
#include "model/math/tile.h"
#include "tests/model/numeric.h"

typedef struct {
    int64_t m, n, k;
    bool transposed, add;
    int64_t gap; /* further vectors between the rows of B and C */
} Product;

static void assert_product(const Product *x)
{
    Pool pool = {0};
    int64_t ld = x->n + x->gap * TILE_LANES;
    int64_t lda = (x->transposed ? x->m : x->k) + 3;
    int64_t rows_a = x->transposed ? x->k : x->m;
    const real *a = pool_random(&pool, rows_a * lda, 1, 1);
    const real *b = pool_random(&pool, x->k * ld, 1, 2);
    real *expected = pool_random(&pool, x->m * ld, 1, 3);
    real *got = pool_copy(&pool, expected, x->m * ld);
    if (!x->add) {
        for (int64_t i = 0; i < x->m; i++)
            fill_value(got + i * ld, x->n, (double)NAN); /* overwritten, not added to */
    }
    tile_matmul(got, ld, (TileStart){x->add ? got : NULL, ld}, a,
                x->transposed ? 1 : lda, x->transposed ? lda : 1, b, ld, x->m, x->n,
                x->k);
    matmul_plain(x->transposed ? TRANSPOSED : PLAIN, PLAIN, x->m, x->n, x->k, 1, a, lda,
                 b, ld, x->add ? 1 : 0, expected, ld);
    assert_all_near(got, expected, x->m * ld, SAME_TOLERANCE);
    pool_free(&pool);
}

static void tiles_equal_three_loops(void **state)
{
    (void)state;
    static const int64_t DEPTHS[] = {0, 1, 2, 7, 16, 31, 40};
    for (int64_t m = 0; m <= 20; m++) {
        for (int64_t vectors = 1; vectors <= 5; vectors++) {
            for (int d = 0; d < 7; d++) {
                for (int way = 0; way < 4; way++)
                    assert_product(&(Product){m, vectors * TILE_LANES, DEPTHS[d],
                                              way & 1, way & 2, (m + d) % 3});
            }
        }
    }
}

static void round_gives_the_next_whole_vector(void **state)
{
    (void)state;
    assert_int_equal(tile_round(0), 0);
    for (int64_t n = 1; n < 70; n++) {
        assert_int_equal(tile_round(n) % TILE_LANES, 0);
        assert_true(tile_round(n) >= n && tile_round(n) < n + TILE_LANES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_equal_three_loops),
        cmocka_unit_test(round_gives_the_next_whole_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
