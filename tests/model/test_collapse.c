#include "model/heads/collapse.h"
#include "model/heads/subspace.h"
#include "model/math/svd.h"
#include "tests/model/numeric.h"

/* ---- singular values ----------------------------------------------------------------- */

static void fill(double *values, int64_t count, uint64_t name)
{
    Rng rng = rng_stream(3, name);
    for (int64_t i = 0; i < count; i++)
        values[i] = rng_normal(&rng);
}

static void check_svd(int64_t m, int64_t n)
{
    Error err;
    double a[64], copy[64], u[64], s[8], vt[64], alone[8];
    int64_t k = m < n ? m : n;
    fill(a, m * n, (uint64_t)(m * 100 + n));
    memcpy(copy, a, sizeof a);
    assert_int_equal(svd(s, u, vt, copy, m, n, &err), STATUS_OK);
    memcpy(copy, a, sizeof a);
    assert_int_equal(svd(alone, NULL, NULL, copy, m, n, &err), STATUS_OK);
    for (int64_t p = 0; p < k; p++) {
        assert_near(alone[p], s[p], 1e-12);
        assert_true(s[p] >= 0 && (p == 0 || s[p] <= s[p - 1]));
        for (int64_t q = 0; q < k; q++) {
            double left = 0, right = 0;
            for (int64_t i = 0; i < m; i++)
                left += u[p * m + i] * u[q * m + i];
            for (int64_t j = 0; j < n; j++)
                right += vt[j * k + p] * vt[j * k + q];
            assert_near(left, p == q, 1e-12);
            assert_near(right, p == q, 1e-12);
        }
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += u[p * m + i] * s[p] * vt[j * k + p];
            assert_near(sum, a[j * m + i], 1e-12);
        }
    }
}

static void a_matrix_is_the_product_of_its_parts(void **state)
{
    (void)state;
    check_svd(7, 4);
    check_svd(4, 7);
    check_svd(5, 5);
    check_svd(1, 6);
    check_svd(1, 1);
}

static void what_is_not_finite_has_no_singular_values(void **state)
{
    (void)state;
    Error err;
    double s[2];
    for (int bad = 0; bad < 2; bad++) {
        double a[4] = {1, 2, 3, bad ? INFINITY : NAN};
        assert_int_equal(svd(s, NULL, NULL, a, 2, 2, &err), STATUS_NUMERIC);
    }
}

/* ---- subspaces ----------------------------------------------------------------------- */

static Subspace space_of(const double *w, int64_t rows, int64_t columns)
{
    Subspace space;
    Error err;
    assert_int_equal(subspace_create(&space, w, rows, columns, &err), STATUS_OK);
    return space;
}

static SubspaceAngles angles_between(const double *a, const double *b, int64_t rows,
                                     int64_t columns)
{
    SubspaceAngles angles;
    Error err;
    Subspace first = space_of(a, rows, columns);
    Subspace second = space_of(b, rows, columns);
    assert_int_equal(subspace_angles(&angles, &first, &second, &err), STATUS_OK);
    subspace_destroy(&first);
    subspace_destroy(&second);
    return angles;
}

static void the_same_span_by_another_basis_is_at_angle_zero(void **state)
{
    (void)state;
    double a[6 * 2], b[6 * 2];
    fill(a, 12, 1);
    for (int i = 0; i < 6; i++) {
        b[i] = 2 * a[i] - 5 * a[6 + i];
        b[6 + i] = -a[i] + a[6 + i];
    }
    SubspaceAngles angles = angles_between(a, b, 6, 2);
    assert_near(angles.overlap, 1, 1e-12);
    assert_near(angles.largest, 0, 1e-6);
}

static void planes_that_share_a_line_have_one_angle(void **state)
{
    (void)state;
    const double t = 0.7;
    const double a[] = {1, 0, 0, 0, 0, 3, 0, 0};           /* e1, e2 */
    const double b[] = {2, 0, 0, 0, 0, cos(t), sin(t), 0}; /* e1, e2 turned to e3 */
    const double c[] = {0, 0, 1, 0, 0, 0, 0, 1};           /* e3, e4 */
    SubspaceAngles angles = angles_between(a, b, 4, 2);
    assert_near(angles.smallest, 0, 1e-7);
    assert_near(angles.largest, t, 1e-12);
    assert_near(angles.overlap, (1 + cos(t) * cos(t)) / 2, 1e-12);
    angles = angles_between(a, c, 4, 2);
    assert_near(angles.overlap, 0, 1e-12);
    assert_near(angles.smallest, acos(0), 1e-12);
}

/* Columns that depend on each other span less. */
static void the_span_of_equal_columns_is_a_line(void **state)
{
    (void)state;
    const double a[] = {1, 1, 0, 2, 2, 0};
    const double zero[6] = {0};
    Subspace line = space_of(a, 3, 2);
    Subspace nothing = space_of(zero, 3, 2);
    SubspaceAngles angles;
    Error err;
    assert_int_equal(line.rank, 1);
    assert_int_equal(nothing.rank, 0);
    assert_near(subspace_norm(&line), sqrt(10), 1e-12);
    assert_int_equal(subspace_angles(&angles, &line, &line, &err), STATUS_OK);
    assert_near(angles.overlap, 1, 1e-12);
    assert_int_equal(subspace_angles(&angles, &line, &nothing, &err), STATUS_OK);
    assert_true(angles.overlap == 0);
    subspace_destroy(&line);
    subspace_destroy(&nothing);
}

/* Against the singular values of W_Q W_K^T itself, tall and wide. */
static void check_stable_rank(int64_t C, int64_t D)
{
    Error err;
    double q[64], k[64], product[64], s[8], rank;
    fill(q, C * D, 8);
    fill(k, C * D, 9);
    for (int64_t i = 0; i < C; i++) {
        for (int64_t j = 0; j < C; j++) {
            product[j * C + i] = 0;
            for (int64_t d = 0; d < D; d++)
                product[j * C + i] += q[d * C + i] * k[d * C + j];
        }
    }
    assert_int_equal(svd(s, NULL, NULL, product, C, C, &err), STATUS_OK);
    double sum = 0;
    for (int64_t i = 0; i < C; i++)
        sum += s[i] * s[i];
    Subspace wq = space_of(q, C, D);
    Subspace wk = space_of(k, C, D);
    assert_int_equal(subspace_stable_rank(&rank, &wq, &wk, &err), STATUS_OK);
    assert_near(rank, sum / (s[0] * s[0]), 1e-10);
    assert_true(rank >= 1 && rank <= (double)(C < D ? C : D));
    subspace_destroy(&wq);
    subspace_destroy(&wk);
}

static void stable_rank_is_that_of_the_product(void **state)
{
    (void)state;
    check_stable_rank(8, 3);
    check_stable_rank(4, 6);
}

static void stable_rank_runs_from_one_to_the_head_size(void **state)
{
    (void)state;
    Error err;
    double rank;
    const double even[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double one[] = {1, 2, 3, 2, 4, 6, 0, 0, 0};
    const double zero[9] = {0};
    Subspace spaces[] = {space_of(even, 3, 3), space_of(one, 3, 3),
                         space_of(zero, 3, 3)};
    const double expected[] = {3, 1, 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(subspace_stable_rank(&rank, &spaces[i], &spaces[0], &err),
                         STATUS_OK);
        assert_near(rank, expected[i], 1e-12);
    }
    for (int i = 0; i < 3; i++)
        subspace_destroy(&spaces[i]);
}

static void the_effective_number_counts_what_differs(void **state)
{
    (void)state;
    Error err;
    double number;
    const double apart[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double same[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const double twins[] = {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1};
    const double half[] = {1, 0.5, 0.5, 1}; /* eigenvalues 0.75 and 0.25 of S/2 */
    assert_int_equal(effective_number(&number, apart, 3, &err), STATUS_OK);
    assert_near(number, 3, 1e-12);
    assert_int_equal(effective_number(&number, same, 3, &err), STATUS_OK);
    assert_near(number, 1, 1e-12);
    assert_int_equal(effective_number(&number, twins, 4, &err), STATUS_OK);
    assert_near(number, 2, 1e-12);
    assert_int_equal(effective_number(&number, half, 2, &err), STATUS_OK);
    assert_near(number, exp(-0.75 * log(0.75) - 0.25 * log(0.25)), 1e-12);
    assert_int_equal(effective_number(&number, same, 1, &err), STATUS_OK);
    assert_near(number, 1, 1e-12);
}

/* ---- collapse ------------------------------------------------------------------------ */

enum { HEADS = 3, TOKENS = 24, SIZE = 2, WIDTH = 5 };

typedef struct {
    real maps[HEADS * TOKENS * TOKENS];
    real outputs[HEADS * TOKENS * SIZE];
    real stream[TOKENS * WIDTH];
} Layer;

/* Head h looks `back` tokens back. */
static void look_back(Layer *layer, int h, int back)
{
    real *map = layer->maps + h * TOKENS * TOKENS;
    for (int i = 0; i < TOKENS * TOKENS; i++)
        map[i] = 0;
    for (int i = 0; i < TOKENS; i++)
        map[i * TOKENS + (i >= back ? i - back : 0)] = 1;
}

/* A wave of `turns` over the text and its quarter turn: waves of different turns are
 * orthogonal over the tokens and have no mean. */
static void wave(Layer *layer, int h, int turns, double angle, double scale)
{
    for (int i = 0; i < TOKENS; i++) {
        double at = 2 * acos(-1) * turns * i / TOKENS + angle;
        real *z = layer->outputs + (h * TOKENS + i) * SIZE;
        z[0] = (real)(scale * cos(at));
        z[1] = (real)(scale * sin(at));
    }
}

static Layer make_layer(void)
{
    Layer layer;
    for (int h = 0; h < HEADS; h++) {
        look_back(&layer, h, h);
        wave(&layer, h, h + 1, 0, 1);
    }
    fill_random(layer.stream, TOKENS * WIDTH, 1, 4);
    return layer;
}

static CollapseFigures figures_of(const Layer *layer, int texts)
{
    CollapseSums sums;
    CollapseFigures figures;
    Error err;
    assert_int_equal(collapse_create(&sums, HEADS, SIZE, &err), STATUS_OK);
    for (int t = 0; t < texts; t++)
        collapse_add(&sums, layer->maps, layer->outputs, layer->stream, TOKENS, WIDTH);
    assert_int_equal(collapse_finish(&figures, &sums, &err), STATUS_OK);
    collapse_destroy(&sums);
    return figures;
}

static void orthogonal_heads_all_count(void **state)
{
    (void)state;
    Layer layer = make_layer();
    CollapseFigures figures = figures_of(&layer, 2);
    assert_near(figures.effective_heads, HEADS, 1e-5);
    assert_near(figures.cka[1], 0, 1e-6);
    assert_near(figures.cosine[1], 0, 1e-6);
    assert_true(figures.effective_maps > 2.5); /* row 1 is shared by two of them */
    assert_true(collapse_signs(&figures, 0.5, 0) == 0);
    collapse_figures_free(&figures);
}

static void identical_heads_are_one(void **state)
{
    (void)state;
    Layer layer = make_layer();
    for (int h = 0; h < HEADS; h++) {
        look_back(&layer, h, 1);
        wave(&layer, h, 1, 0, 1);
    }
    CollapseFigures figures = figures_of(&layer, 2);
    assert_near(figures.effective_heads, 1, 1e-6);
    assert_near(figures.effective_maps, 1, 1e-6);
    assert_true(figures.min_pair_distance == 0);
    assert_near(figures.cosine[1], 1, 1e-6);
    assert_true(collapse_signs(&figures, 0.5, 0) == SIGN_ALL_ALIKE);
    collapse_figures_free(&figures);
}

/* CKA does not see a turn of the head's axes, nor its size; the cosine does. */
static void two_heads_that_are_one_turned_are_alike(void **state)
{
    (void)state;
    Layer layer = make_layer();
    look_back(&layer, 2, 1);
    wave(&layer, 1, 2, 0, 1);
    wave(&layer, 2, 2, 1.1, 7);
    CollapseFigures figures = figures_of(&layer, 1);
    assert_near(figures.cka[1 * HEADS + 2], 1, 1e-6);
    assert_near(figures.cosine[1 * HEADS + 2], cos(1.1), 1e-6);
    assert_near(figures.effective_heads, exp(log(3) - 2.0 / 3 * log(2)), 1e-5);
    assert_int_equal(figures.closest[0], 1);
    assert_int_equal(figures.closest[1], 2);
    assert_true(collapse_signs(&figures, 0.5, 0) == SIGN_ALIKE);
    collapse_figures_free(&figures);
}

/* A constant added to an output is no likeness. */
static void cka_is_its_definition(void **state)
{
    (void)state;
    Layer layer = make_layer();
    fill_random(layer.outputs, HEADS * TOKENS * SIZE, 1, 9);
    for (int i = 0; i < TOKENS * SIZE; i++)
        layer.outputs[i] += 40;
    CollapseFigures figures = figures_of(&layer, 1);
    double z[2][TOKENS][SIZE];
    for (int h = 0; h < 2; h++) {
        for (int d = 0; d < SIZE; d++) {
            double mean = 0;
            for (int i = 0; i < TOKENS; i++)
                mean += (double)layer.outputs[(h * TOKENS + i) * SIZE + d] / TOKENS;
            for (int i = 0; i < TOKENS; i++)
                z[h][i][d] = (double)layer.outputs[(h * TOKENS + i) * SIZE + d] - mean;
        }
    }
    double square[2][2] = {{0}};
    for (int g = 0; g < 2; g++) {
        for (int h = 0; h < 2; h++) {
            for (int a = 0; a < SIZE; a++) {
                for (int b = 0; b < SIZE; b++) {
                    double sum = 0;
                    for (int i = 0; i < TOKENS; i++)
                        sum += z[g][i][a] * z[h][i][b];
                    square[g][h] += sum * sum;
                }
            }
        }
    }
    assert_near(figures.cka[1], square[0][1] / sqrt(square[0][0] * square[1][1]), 1e-8);
    collapse_figures_free(&figures);
}

static void a_silent_head_is_like_no_other(void **state)
{
    (void)state;
    Layer layer = make_layer();
    wave(&layer, 2, 1, 0, 0);
    CollapseFigures figures = figures_of(&layer, 1);
    assert_true(figures.cka[2] == 0 && figures.cosine[2] == 0);
    wave(&layer, 1, 1, 0, 0);
    collapse_figures_free(&figures);
    figures = figures_of(&layer, 1);
    assert_true(figures.cka[1 * HEADS + 2] == 1 && figures.cosine[1 * HEADS + 2] == 1);
    collapse_figures_free(&figures);
}

static void the_residual_is_what_differs_between_tokens(void **state)
{
    (void)state;
    real x[TOKENS * WIDTH], shared[WIDTH];
    fill_random(shared, WIDTH, 1, 5);
    for (int i = 0; i < TOKENS; i++) {
        for (int c = 0; c < WIDTH; c++)
            x[i * WIDTH + c] = shared[c];
    }
    assert_near(rank_residual(x, TOKENS, WIDTH), 0, 1e-3); /* root of a rounding */
    for (int i = 0; i < TOKENS; i++) {
        for (int c = 0; c < WIDTH; c++)
            x[i * WIDTH + c] = i % 2 == 0 ? shared[c] : -shared[c];
    }
    assert_near(rank_residual(x, TOKENS, WIDTH), 1, 1e-6);
    const real mixed[] = {3, 4, 3, -4}; /* mean (3, 0): rest 32 of 50 */
    assert_near(rank_residual(mixed, 2, 2), sqrt(32.0 / 50), 1e-6);
    const real zero[4] = {0};
    assert_true(rank_residual(zero, 2, 2) == 0);
}

static void the_three_collapses_are_told_apart(void **state)
{
    (void)state;
    char verdict[VERDICT_SIZE];
    Layer layer = make_layer();
    for (int i = 0; i < TOKENS * WIDTH; i++)
        layer.stream[i] = 1 + layer.stream[i] / 100;
    CollapseFigures figures = figures_of(&layer, 1);
    assert_true(collapse_signs(&figures, 0.5, 0) == SIGN_RANK);
    assert_true(collapse_signs(&figures, 0.01, 0) == (SIGN_RANK | SIGN_ENTROPY));
    assert_true(collapse_signs(&figures, 0.5, 0.95) == (SIGN_RANK | SIGN_ENTROPY));
    collapse_figures_free(&figures);
    collapse_verdict(verdict, 0);
    assert_string_equal(verdict, "healthy");
    collapse_verdict(verdict, SIGN_ALIKE | SIGN_RANK);
    assert_string_equal(verdict, "heads alike, rank collapse");
    collapse_verdict(verdict, SIGN_ALL_ALIKE | SIGN_ALIKE | SIGN_ENTROPY | SIGN_RANK);
    assert_string_equal(
        verdict, "all heads alike, heads alike, entropy collapse, rank collapse");
}

static void a_map_that_is_not_finite_is_an_error_and_no_collapse(void **state)
{
    (void)state;
    Layer layer = make_layer();
    CollapseSums sums;
    CollapseFigures figures;
    Error err;
    layer.outputs[5] = (real)NAN;
    assert_int_equal(collapse_create(&sums, HEADS, SIZE, &err), STATUS_OK);
    collapse_add(&sums, layer.maps, layer.outputs, layer.stream, TOKENS, WIDTH);
    assert_int_equal(collapse_finish(&figures, &sums, &err), STATUS_NUMERIC);
    collapse_destroy(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_is_the_product_of_its_parts),
        cmocka_unit_test(what_is_not_finite_has_no_singular_values),
        cmocka_unit_test(the_same_span_by_another_basis_is_at_angle_zero),
        cmocka_unit_test(planes_that_share_a_line_have_one_angle),
        cmocka_unit_test(the_span_of_equal_columns_is_a_line),
        cmocka_unit_test(stable_rank_is_that_of_the_product),
        cmocka_unit_test(stable_rank_runs_from_one_to_the_head_size),
        cmocka_unit_test(the_effective_number_counts_what_differs),
        cmocka_unit_test(orthogonal_heads_all_count),
        cmocka_unit_test(identical_heads_are_one),
        cmocka_unit_test(two_heads_that_are_one_turned_are_alike),
        cmocka_unit_test(cka_is_its_definition),
        cmocka_unit_test(a_silent_head_is_like_no_other),
        cmocka_unit_test(the_residual_is_what_differs_between_tokens),
        cmocka_unit_test(the_three_collapses_are_told_apart),
        cmocka_unit_test(a_map_that_is_not_finite_is_an_error_and_no_collapse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
