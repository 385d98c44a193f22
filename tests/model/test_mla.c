/* Latent attention: against its equations, against absorbed decoding, gradients. */
#include "model/attention/core.h"
#include "model/attention/mla.h"
#include "model/layers/rope.h"
#include "model/math/blas.h"
#include "model/math/tile.h"
#include "tests/model/attention_case.h"

enum { ROPE_TOKENS = 300, TENSORS = 7 };

typedef struct {
    Pool pool;
    MlaShape shape;
    Segments *segments;
    int64_t N, scratch_size;
    MlaParams params, dparams;
    MlaSaved saved;
    real *x, *y, *dx, *dy, *memory, *scratch;
} Case;

/* Sizes of the parameters, in the order of MlaParams. */
static void tensor_sizes(int64_t sizes[TENSORS], const MlaShape *s)
{
    const int64_t all[TENSORS] = {
        s->C * s->Rq,         s->Rq, (s->Rq > 0 ? s->Rq : s->C) * s->H * (s->P + s->O),
        s->C * (s->R + s->O), s->R,  s->R * s->H * (s->P + s->E),
        s->H * s->E * s->C};
    memcpy(sizes, all, sizeof all);
}

static void tensors_of(real *tensors[TENSORS], const MlaParams *p)
{
    real *const all[TENSORS] = {p->q_down.weight,  p->q_norm,  p->q_up.weight,
                                p->kv_down.weight, p->kv_norm, p->kv_up.weight,
                                p->out.weight};
    memcpy(tensors, all, sizeof all);
}

static MlaParams make_params(Pool *pool, const MlaShape *shape, double deviation)
{
    int64_t sizes[TENSORS];
    real *at[TENSORS];
    tensor_sizes(sizes, shape);
    for (int t = 0; t < TENSORS; t++)
        at[t] = pool_random(pool, sizes[t], deviation, (uint64_t)(10 + t));
    return (MlaParams){{at[0], NULL}, at[1],         {at[2], NULL}, {at[3], NULL},
                       at[4],         {at[5], NULL}, {at[6], NULL}};
}

static Case make_case(MlaShape shape, Segments *segments, const int64_t *starts,
                      int64_t count)
{
    make_segments(segments, starts, count);
    int64_t N = starts[count], C = shape.C;
    Case at = {.shape = shape, .segments = segments, .N = N};
    Pool *pool = &at.pool;
    at.params = make_params(pool, &shape, 0.5);
    at.dparams = make_params(pool, &shape, 0);
    at.memory = pool_reals(pool, mla_saved_reals(&shape, N));
    mla_saved_divide(&at.saved, at.memory, &shape, N);
    at.x = pool_random(pool, N * C, 1, 5);
    at.y = pool_reals(pool, N * C);
    at.dx = pool_reals(pool, N * C);
    at.dy = pool_random(pool, N * C, 1, 6);
    at.scratch_size = mla_scratch(N, longest_segment(&segments->batch), &shape);
    at.scratch = pool_reals(pool, at.scratch_size);
    return at;
}

static void forward(Case *at)
{
    mla_forward(at->y, &at->saved, at->x, &at->params, at->scratch,
                &at->segments->batch, &at->shape);
}

static void backward(Case *at)
{
    mla_backward(at->dx, &at->dparams, at->dy, &at->saved, at->x, &at->params,
                 at->scratch, &at->segments->batch, &at->shape);
}

/* 0 both latents and a rope; 1 queries from x; 2 a window; 3 no rope part; 4 a rope part
 * that is not turned; 5 sizes of whole vectors. */
enum { SHAPES = 6 };

static MlaShape shape_of(int kind, Pool *pool)
{
    /* C, H, Rq, R, P, O, E, window */
    static const int64_t SIZES[SHAPES][8] = {
        {12, 2, 7, 5, 4, 2, 3, 0}, {12, 3, 0, 5, 3, 4, 5, 0},
        {10, 2, 6, 4, 4, 2, 4, 6}, {8, 2, 5, 6, 4, 0, 4, 0},
        {8, 2, 4, 6, 3, 2, 4, 0},  {16, 2, 8, 8, 16, 16, 32, 0},
    };
    const int64_t *s = SIZES[kind];
    MlaShape shape = {.C = s[0],
                      .H = s[1],
                      .Rq = s[2],
                      .R = s[3],
                      .P = s[4],
                      .O = s[5],
                      .E = s[6],
                      .scale = (real)(1 / sqrt((double)(s[4] + s[5]))),
                      .window = s[7],
                      .norm_eps = 1e-6};
    if (shape.O > 0 && kind != 4) {
        real *table = pool_reals(pool, ROPE_TOKENS * shape.O);
        rope_table(table, 50, ROPE_TOKENS, shape.O);
        shape.rope = table;
    }
    return shape;
}

static const int64_t RAGGED[] = {0, 21, 22, 55, 56, 60};
enum { RAGGED_SEGMENTS = 5 };

static void the_fast_path_equals_the_plain_one(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        Segments segments;
        Case at = make_case(shape_of(kind, &own), &segments, RAGGED, RAGGED_SEGMENTS);
        real *y = pool_reals(&own, at.N * at.shape.C);
        int64_t floats = mla_plain_scratch(33, &at.shape);
        real *scratch = pool_reals(&own, floats);
        fill_value(scratch, floats, (double)NAN);
        fill_value(at.memory, mla_saved_reals(&at.shape, at.N), (double)NAN);
        fill_value(at.scratch, at.scratch_size, (double)NAN);
        forward(&at);
        mla_plain_forward(y, at.x, &at.params, scratch, &segments.batch, &at.shape);
        assert_all_near(at.y, y, at.N * at.shape.C, 5 * SAME_TOLERANCE);
        pool_free(&at.pool);
        pool_free(&own);
    }
}

/* ---- decoding in latent space --------------------------------------------------------- */

/* One query of one head, which may look at [ckv k_rope] (R + O) of tokens first .. last only:
 * the query goes into latent space, values are mixed there and leave it at the end. */
static void absorbed_head(double *z, const Case *at, int64_t i, int64_t first,
                          int64_t h, const real *cache)
{
    enum { MOST = 64 };
    const MlaShape *s = &at->shape;
    int64_t D = s->P + s->O, row = s->R + s->O, across = s->H * (s->P + s->E);
    const real *q = at->saved.queries + (i * s->H + h) * D;
    const real *up = at->params.kv_up.weight + h * (s->P + s->E);
    double latent[MOST], mixed[MOST] = {0}, p[MOST], sum = 0;
    for (int64_t r = 0; r < s->R; r++) { /* q_nope W_UK^T */
        latent[r] = 0;
        for (int64_t c = 0; c < s->P; c++)
            latent[r] += (double)q[c] * (double)up[r * across + c];
    }
    for (int64_t j = first; j <= i; j++) {
        double score = 0;
        for (int64_t r = 0; r < s->R; r++)
            score += latent[r] * (double)cache[j * row + r];
        score += sum_products(q + s->P, cache + j * row + s->R, s->O);
        p[j - first] = exp((double)s->scale * score);
        sum += p[j - first];
    }
    for (int64_t j = first; j <= i; j++) {
        for (int64_t r = 0; r < s->R; r++)
            mixed[r] += p[j - first] / sum * (double)cache[j * row + r];
    }
    for (int64_t e = 0; e < s->E; e++) { /* W_UV */
        z[e] = 0;
        for (int64_t r = 0; r < s->R; r++)
            z[e] += mixed[r] * (double)up[r * across + s->P + e];
    }
}

/* Identity (a): the expanded keys and values need not be formed, and R + O numbers a token
 * are all that a decoder keeps. */
static void absorbed_decoding_gives_the_same(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        Segments segments;
        Case at = make_case(shape_of(kind, &own), &segments, RAGGED, RAGGED_SEGMENTS);
        int64_t R = at.shape.R, O = at.shape.O, E = at.shape.E, H = at.shape.H;
        forward(&at);
        real *cache = pool_reals(&own, at.N * (R + O));
        for (int64_t i = 0; i < at.N; i++) {
            memcpy(cache + i * (R + O), at.saved.kv_normed + i * R,
                   (size_t)R * sizeof(real));
            memcpy(cache + i * (R + O) + R, at.saved.kv_latent + i * (R + O) + R,
                   (size_t)O * sizeof(real));
        }
        for (int64_t s = 0; s < RAGGED_SEGMENTS; s++) {
            for (int64_t i = RAGGED[s]; i < RAGGED[s + 1]; i++) {
                int64_t first = RAGGED[s];
                if (at.shape.window > 0 && i - at.shape.window + 1 > first)
                    first = i - at.shape.window + 1;
                for (int64_t h = 0; h < H; h++) {
                    double z[64];
                    absorbed_head(z, &at, i, first, h, cache);
                    for (int64_t e = 0; e < E; e++)
                        assert_near(at.saved.mixed[(i * H + h) * E + e], z[e],
                                    3 * SAME_TOLERANCE);
                }
            }
        }
        pool_free(&at.pool);
        pool_free(&own);
    }
}

/* ---- backward -------------------------------------------------------------------------- */

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, at->N * at->shape.C);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 9, 10, 13};
    for (int kind = 0; kind < SHAPES - 1; kind++) {
        Pool own = {.count = 0};
        Segments segments;
        Case at = make_case(shape_of(kind, &own), &segments, STARTS, 3);
        forward(&at);
        /* What y, dx and scratch hold does not matter: what is saved suffices. */
        fill_value(at.y, at.N * at.shape.C, (double)NAN);
        fill_value(at.dx, at.N * at.shape.C, (double)NAN);
        fill_value(at.scratch, at.scratch_size, (double)NAN);
        backward(&at);
        real *values[TENSORS], *gradients[TENSORS];
        int64_t sizes[TENSORS];
        tensor_sizes(sizes, &at.shape);
        tensors_of(values, &at.params);
        tensors_of(gradients, &at.dparams);
        assert_gradient(at.x, at.dx, at.N * at.shape.C, weighted, &at);
        for (int t = 0; t < TENSORS; t++)
            assert_gradient(values[t], gradients[t], sizes[t], weighted, &at);
        pool_free(&at.pool);
        pool_free(&own);
    }
}

static void parameter_gradients_are_added_to(void **state)
{
    (void)state;
    Pool own = {.count = 0};
    Segments segments;
    MlaShape shape = shape_of(0, &own);
    Case once = make_case(shape, &segments, RAGGED, 2);
    Case added = make_case(shape, &segments, RAGGED, 2);
    real *parts[TENSORS], *sums[TENSORS];
    int64_t sizes[TENSORS];
    tensor_sizes(sizes, &shape);
    tensors_of(parts, &once.dparams);
    tensors_of(sums, &added.dparams);
    for (int t = 0; t < TENSORS; t++)
        fill_value(sums[t], sizes[t], t + 1);
    forward(&once);
    forward(&added);
    backward(&once);
    backward(&added);
    for (int t = 0; t < TENSORS; t++) {
        for (int64_t i = 0; i < sizes[t]; i++)
            assert_near(sums[t][i], t + 1 + (double)parts[t][i], 10 * SAME_TOLERANCE);
    }
    assert_memory_equal(once.dx, added.dx, (size_t)(once.N * 12) * sizeof(real));
    pool_free(&once.pool);
    pool_free(&added.pool);
    pool_free(&own);
}

/* RMSNorm takes the length out of a latent: without eps, a larger W_D changes nothing, and
 * the gradient is perpendicular to it. The rope columns of W_DKV are not in the norm. */
static void the_latents_lengths_do_not_matter(void **state)
{
    (void)state;
    Pool own = {.count = 0};
    Segments segments;
    MlaShape shape = shape_of(0, &own);
    shape.norm_eps = 0;
    Case at = make_case(shape, &segments, RAGGED, RAGGED_SEGMENTS);
    int64_t row = shape.R + shape.O;
    forward(&at);
    backward(&at);
    real *before = pool_copy(&own, at.y, at.N * 12);
    assert_near(
        sum_products(at.params.q_down.weight, at.dparams.q_down.weight, 12 * shape.Rq),
        0, 50 * SAME_TOLERANCE);
    double across = 0;
    for (int64_t i = 0; i < 12; i++)
        across += sum_products(at.params.kv_down.weight + i * row,
                               at.dparams.kv_down.weight + i * row, shape.R);
    assert_near(across, 0, 100 * SAME_TOLERANCE);
    for (int64_t i = 0; i < 12 * shape.Rq; i++)
        at.params.q_down.weight[i] *= 3;
    for (int64_t i = 0; i < 12 * shape.R; i++)
        at.params.kv_down.weight[i / shape.R * row + i % shape.R] *= 2;
    forward(&at);
    assert_all_near(at.y, before, at.N * 12, 5 * SAME_TOLERANCE);
    at.params.kv_down.weight[shape.R] *= 2;
    forward(&at);
    assert_false(
        numbers_agree((double)at.y[5 * 12], (double)before[5 * 12], 1e-4, 1e-4));
    pool_free(&at.pool);
    pool_free(&own);
}

/* ---- masks and positions --------------------------------------------------------------- */

static void a_token_is_known_to_those_that_see_it_only(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        Segments segments;
        Case at = make_case(shape_of(kind, &own), &segments, RAGGED, RAGGED_SEGMENTS);
        int64_t C = at.shape.C, window = at.shape.window;
        forward(&at);
        real *before = pool_copy(&own, at.y, at.N * C);
        real *x = pool_copy(&own, at.x, at.N * C);
        for (int64_t s = 0; s < RAGGED_SEGMENTS; s++) {
            int64_t t = (RAGGED[s] + RAGGED[s + 1] - 1) / 2;
            fill_random(at.x + t * C, C, 2, 77);
            forward(&at);
            memcpy(at.x, x, (size_t)(at.N * C) * sizeof(real));
            for (int64_t i = 0; i < at.N; i++) {
                bool sees =
                    i >= t && i < RAGGED[s + 1] && (window == 0 || i - t < window);
                bool same =
                    memcmp(before + i * C, at.y + i * C, (size_t)C * sizeof(real)) == 0;
                assert_int_equal(same, !sees);
            }
        }
        pool_free(&at.pool);
        pool_free(&own);
    }
}

static void a_window_of_all_tokens_is_none(void **state)
{
    (void)state;
    Pool own = {.count = 0};
    Segments segments;
    MlaShape shape = shape_of(0, &own);
    Case full = make_case(shape, &segments, RAGGED, RAGGED_SEGMENTS);
    shape.window = 33; /* the longest segment */
    Case windowed = make_case(shape, &segments, RAGGED, RAGGED_SEGMENTS);
    forward(&full);
    forward(&windowed);
    backward(&full);
    backward(&windowed);
    assert_memory_equal(full.y, windowed.y, 60 * 12 * sizeof(real));
    assert_memory_equal(full.dx, windowed.dx, 60 * 12 * sizeof(real));
    pool_free(&full.pool);
    pool_free(&windowed.pool);
    pool_free(&own);
}

static void rotary_positions_are_relative(void **state)
{
    (void)state;
    static const int64_t STARTS[] = {0, 40};
    Pool own = {.count = 0};
    Segments segments;
    Case at = make_case(shape_of(0, &own), &segments, STARTS, 1);
    forward(&at);
    real *before = pool_copy(&own, at.y, 40 * 12);
    for (int i = 0; i < 40; i++)
        segments.positions[i] += 111;
    forward(&at);
    assert_all_near(at.y, before, 40 * 12, 20 * SAME_TOLERANCE);
    for (int i = 20; i < 40; i++)
        segments.positions[i] += 3;
    forward(&at);
    assert_all_near(at.y, before, 20 * 12, 20 * SAME_TOLERANCE);
    assert_false(
        numbers_agree((double)at.y[20 * 12], (double)before[20 * 12], 1e-4, 1e-4));
    pool_free(&at.pool);
    pool_free(&own);
}

/* ---- sizes ------------------------------------------------------------------------------ */

/* The parts lie one behind the other and fill what mla_saved_reals says. */
static void what_is_saved_fills_its_memory(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        MlaShape s = shape_of(kind, &own);
        const int64_t N = 13, D = s.P + s.O;
        real *memory = pool_reals(&own, mla_saved_reals(&s, N));
        MlaSaved saved;
        mla_saved_divide(&saved, memory, &s, N);
        real *const parts[] = {saved.q_latent,  saved.q_inverse, saved.q_normed,
                               saved.queries,   saved.kv_latent, saved.kv_inverse,
                               saved.kv_normed, saved.expanded,  saved.keys,
                               saved.mixed,     saved.logsum};
        const int64_t sizes[] = {s.Rq,      s.Rq > 0,  s.Rq, s.H * D,
                                 s.R + s.O, 1,         s.R,  s.H * (s.P + s.E),
                                 s.H * D,   s.H * s.E, s.H};
        const real *next = memory;
        for (int i = 0; i < 11; i++) {
            assert_ptr_equal(parts[i], next);
            assert_int_equal((uintptr_t)parts[i] % TILE_BYTES, 0);
            next += tile_round(N * sizes[i]);
        }
        assert_int_equal(next - memory, mla_saved_reals(&s, N));
        mla_saved_divide(&saved, NULL, &s, N); /* an arena that only counts */
        assert_null(saved.logsum);
        pool_free(&own);
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_path_equals_the_plain_one),
        cmocka_unit_test(absorbed_decoding_gives_the_same),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(parameter_gradients_are_added_to),
        cmocka_unit_test(the_latents_lengths_do_not_matter),
        cmocka_unit_test(a_token_is_known_to_those_that_see_it_only),
        cmocka_unit_test(a_window_of_all_tokens_is_none),
        cmocka_unit_test(rotary_positions_are_relative),
        cmocka_unit_test(what_is_saved_fills_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
