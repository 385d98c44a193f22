#include <omp.h>

#include "model/math/blas.h"
#include "tests/model/numeric.h"

static const int64_t SIZES[] = {1, 2, 3, 5, 8, 17, 33, 70};
enum { SIZES_COUNT = sizeof SIZES / sizeof *SIZES };

/* matmul takes the kernel that suits the shapes; matmul_blas is always the library's. */
typedef void Matmul(Transpose, Transpose, int64_t, int64_t, int64_t, real, const real *,
                    int64_t, const real *, int64_t, real, real *, int64_t);
static Matmul *const WAYS[] = {matmul, matmul_blas};

typedef struct {
    int64_t m, n, k;
    int64_t gap; /* how much wider than the matrix a row of memory is */
    real alpha, beta;
} Product;

static void assert_product(Transpose ta, Transpose tb, const Product *x)
{
    Pool pool = {0};
    int64_t rows_a = ta == PLAIN ? x->m : x->k, cols_a = ta == PLAIN ? x->k : x->m;
    int64_t rows_b = tb == PLAIN ? x->k : x->n, cols_b = tb == PLAIN ? x->n : x->k;
    int64_t lda = (cols_a > 0 ? cols_a : 1) + x->gap;
    int64_t ldb = (cols_b > 0 ? cols_b : 1) + x->gap;
    int64_t ldc = x->n + x->gap;
    const real *a = pool_random(&pool, rows_a * lda, 1, 1);
    const real *b = pool_random(&pool, rows_b * ldb, 1, 2);
    real *expected = pool_random(&pool, x->m * ldc, 1, 3);
    real *got[] = {pool_copy(&pool, expected, x->m * ldc),
                   pool_copy(&pool, expected, x->m * ldc)};
    for (int way = 0; way < 2; way++)
        WAYS[way](ta, tb, x->m, x->n, x->k, x->alpha, a, lda, b, ldb, x->beta, got[way],
                  ldc);
    matmul_plain(ta, tb, x->m, x->n, x->k, x->alpha, a, lda, b, ldb, x->beta, expected,
                 ldc);
    /* Over all of memory: what lies between the rows stays as it was. */
    for (int way = 0; way < 2; way++)
        assert_all_near(got[way], expected, x->m * ldc,
                        SAME_TOLERANCE * (1 + (double)x->k / 128));
    pool_free(&pool);
}

static void matmul_equals_three_loops(void **state)
{
    (void)state;
    static const real ALPHA[] = {1, (real)-0.5, 2};
    static const real BETA[] = {0, 1, (real)0.25};
    int turn = 0;
    for (int i = 0; i < SIZES_COUNT; i++) {
        for (int j = 0; j < SIZES_COUNT; j++) {
            for (int p = 0; p < SIZES_COUNT; p++, turn++) {
                Product x = {SIZES[i], SIZES[j],        SIZES[p],
                             turn % 4, ALPHA[turn % 3], BETA[turn / 3 % 3]};
                assert_product(PLAIN, PLAIN, &x);
                assert_product(PLAIN, TRANSPOSED, &x);
                assert_product(TRANSPOSED, PLAIN, &x);
                assert_product(TRANSPOSED, TRANSPOSED, &x);
            }
        }
    }
}

/* Those of a layer for a few hundred tokens, where matmul may choose another kernel. */
static void training_shapes_equal_three_loops(void **state)
{
    (void)state;
    static const int64_t SHAPES[][3] = {
        {257, 64, 33}, {128, 96, 130}, {40, 64, 520}, {96, 32, 300}, {33, 259, 64}};
    for (int s = 0; s < 5; s++) {
        int64_t m = SHAPES[s][0], n = SHAPES[s][1], k = SHAPES[s][2];
        for (int way = 0; way < 8; way++)
            assert_product(
                way & 1 ? TRANSPOSED : PLAIN, way & 2 ? TRANSPOSED : PLAIN,
                &(Product){m, n, k, way % 3 * 8, (real)0.5, (real)(way / 4)});
    }
}

static void empty_products(void **state)
{
    (void)state;
    /* k = 0: only beta C is left. m = 0 or n = 0: nothing is touched. */
    assert_product(PLAIN, PLAIN, &(Product){3, 5, 0, 1, 1, (real)0.5});
    assert_product(TRANSPOSED, PLAIN, &(Product){3, 5, 0, 0, 1, 0});
    real c = 7;
    for (int way = 0; way < 2; way++) {
        WAYS[way](PLAIN, PLAIN, 0, 1, 1, 1, &c, 1, &c, 1, 0, &c, 1);
        WAYS[way](PLAIN, PLAIN, 1, 0, 1, 1, &c, 1, &c, 1, 0, &c, 1);
    }
    assert_true(c == 7);
}

static void beta_zero_overwrites_nan(void **state)
{
    (void)state;
    Pool pool = {0};
    for (int s = 0; s < SIZES_COUNT; s++) {
        int64_t n = SIZES[s];
        const real *a = pool_random(&pool, n * n, 1, 4);
        real *expected = pool_reals(&pool, n * n);
        real *got = pool_reals(&pool, n * n);
        fill_value(expected, n * n, (double)NAN);
        matmul_plain(PLAIN, TRANSPOSED, n, n, n, 1, a, n, a, n, 0, expected, n);
        for (int way = 0; way < 2; way++) {
            fill_value(got, n * n, (double)NAN);
            WAYS[way](PLAIN, TRANSPOSED, n, n, n, 1, a, n, a, n, 0, got, n);
            assert_all_near(got, expected, n * n, SAME_TOLERANCE);
        }
    }
    pool_free(&pool);
}

static void assert_bits_without_threads(Matmul *product)
{
    enum { M = 210, N = 301, K = 157 };
    Pool pool = {0};
    int before = omp_get_max_threads();
    const real *a = pool_random(&pool, M * K, 1, 5);
    const real *b = pool_random(&pool, K * N, 1, 6);
    real *one = pool_reals(&pool, M * N);
    omp_set_num_threads(1);
    product(PLAIN, PLAIN, M, N, K, 1, a, K, b, N, 0, one, N);
    for (int threads = 2; threads <= 4; threads++) {
        real *other = pool_reals(&pool, M * N);
        omp_set_num_threads(threads);
        product(PLAIN, PLAIN, M, N, K, 1, a, K, b, N, 0, other, N);
        assert_memory_equal(one, other, M * N * sizeof(real));
        assert_int_equal(omp_get_max_threads(), threads); /* put back */
    }
    /* Two threads at once, where the library allows it. */
    real *inside[2] = {pool_reals(&pool, M * N), pool_reals(&pool, M * N)};
    int team = blas_thread_safe() ? 2 : 1;
    omp_set_dynamic(0);
#pragma omp parallel for num_threads(team) schedule(static, 1)
    for (int t = 0; t < 2; t++)
        product(PLAIN, PLAIN, M, N, K, 1, a, K, b, N, 0, inside[t], N);
    assert_memory_equal(one, inside[0], M * N * sizeof(real));
    assert_memory_equal(one, inside[1], M * N * sizeof(real));
    omp_set_num_threads(before);
    pool_free(&pool);
}

static void the_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++)
        assert_bits_without_threads(WAYS[way]);
}

static void the_library_says_what_it_is(void **state)
{
    (void)state;
    BlasInfo info = blas_info();
    assert_true(info.kernels != NULL && info.kernels[0] != '\0');
    assert_int_equal(strcmp(info.threading, "serial") == 0, !blas_thread_safe());
    const char *better = blas_better_kernels();
    assert_true(better == NULL || strcmp(better, info.kernels) != 0);
}

static void a_bias_is_added_to_every_row(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES_COUNT; i++) {
        for (int j = 0; j < SIZES_COUNT; j++) {
            Pool pool = {0};
            int64_t m = SIZES[i], n = SIZES[j], k = SIZES[(i + j) % SIZES_COUNT];
            const real *a = pool_random(&pool, m * k, 1, 1);
            const real *b = pool_random(&pool, k * n, 1, 2);
            const real *bias = pool_random(&pool, n, 1, 3);
            real *got = pool_reals(&pool, m * (n + 3));
            real *expected = pool_reals(&pool, m * (n + 3));
            fill_value(got, m * (n + 3), 5);
            fill_value(expected, m * (n + 3), 5);
            for (int with = 0; with < 2; with++) {
                for (int64_t r = 0; r < m; r++) {
                    for (int64_t c = 0; c < n; c++)
                        expected[r * (n + 3) + c] = with ? bias[c] : 0;
                }
                matmul_plain(PLAIN, PLAIN, m, n, k, 1, a, k, b, n, 1, expected, n + 3);
                matmul_bias(PLAIN, m, n, k, a, k, b, n, with ? bias : NULL, got, n + 3);
                assert_all_near(got, expected, m * (n + 3), SAME_TOLERANCE);
            }
            pool_free(&pool);
        }
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_equals_three_loops),
        cmocka_unit_test(training_shapes_equal_three_loops),
        cmocka_unit_test(a_bias_is_added_to_every_row),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(beta_zero_overwrites_nan),
        cmocka_unit_test(the_bits_do_not_depend_on_threads),
        cmocka_unit_test(the_library_says_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
