/* Cross-attention: against single heads by their definition, gradients, who sees whom. */
#include "model/attention/core.h"
#include "model/attention/cross.h"
#include "model/math/blas.h"
#include "tests/model/attention_case.h"

enum { TENSORS = 6 };

typedef struct {
    Pool pool;
    HeadsShape shape;
    Segments *decoder, *encoder;
    int64_t N, M, scratch_size;
    CrossParams params, dparams;
    CrossSaved saved;
    real *x, *s, *y, *dx, *ds, *dy, *dq, *dkv, *dmixed, *scratch;
} Case;

static HeadsShape cross_shape(int64_t C, int64_t H, int64_t G, int64_t D)
{
    return (HeadsShape){
        .C = C, .H = H, .G = G, .D = D, .scale = (real)(1 / sqrt((double)D))};
}

static CrossParams make_params(Pool *pool, const HeadsShape *s, double deviation)
{
    return (CrossParams){pool_linear(pool, s->C, s->H * s->D, deviation, 11),
                         pool_linear(pool, s->C, 2 * s->G * s->D, deviation, 13),
                         pool_linear(pool, s->H * s->D, s->C, deviation, 15)};
}

/* decoder, encoder: filled here. */
static Case make_case(HeadsShape shape, Segments *decoder, const int64_t *starts,
                      Segments *encoder, const int64_t *source_starts, int64_t count)
{
    make_segments(decoder, starts, count);
    make_segments(encoder, source_starts, count);
    int64_t N = starts[count], M = source_starts[count];
    int64_t C = shape.C, across = shape.H * shape.D, wide = 2 * shape.G * shape.D;
    Case at = {.shape = shape, .decoder = decoder, .encoder = encoder, .N = N, .M = M};
    Pool *pool = &at.pool;
    at.params = make_params(pool, &shape, 0.5);
    at.dparams = make_params(pool, &shape, 0);
    at.saved =
        (CrossSaved){pool_reals(pool, N * across), pool_reals(pool, M * wide),
                     pool_reals(pool, N * across), pool_reals(pool, shape.H * N)};
    at.x = pool_random(pool, N * C, 1, 1);
    at.s = pool_random(pool, M * C, 1, 2);
    at.y = pool_reals(pool, N * C);
    at.dx = pool_reals(pool, N * C);
    at.ds = pool_reals(pool, M * C);
    at.dy = pool_random(pool, N * C, 1, 3);
    at.dq = pool_reals(pool, N * across);
    at.dkv = pool_reals(pool, M * wide);
    at.dmixed = pool_reals(pool, N * across);
    at.scratch_size = cross_scratch(longest_segment(&decoder->batch),
                                    longest_segment(&encoder->batch), &shape);
    at.scratch = pool_reals(pool, at.scratch_size);
    return at;
}

static void forward(Case *at)
{
    cross_forward(at->y, &at->saved, at->x, at->s, &at->params, at->scratch,
                  &at->decoder->batch, &at->encoder->batch, &at->shape);
}

static void backward(Case *at)
{
    cross_backward(at->dx, at->ds, &at->dparams, at->dy, &at->saved, at->x, at->s,
                   &at->params, at->dq, at->dkv, at->dmixed, at->scratch,
                   &at->decoder->batch, &at->encoder->batch, &at->shape);
}

static const int64_t STARTS[] = {0, 5, 6, 23, 24};
static const int64_t SOURCE[] = {0, 7, 27, 28, 29};
enum { SEGMENTS = 4, SHAPES = 4 };

/* MHA, GQA, MQA, and heads that share unevenly: one key head is read by nobody. */
static HeadsShape shape_of(int kind)
{
    static const uint16_t UNEVEN[] = {2, 0, 0};
    static const int64_t SIZES[SHAPES][4] = {
        {8, 2, 2, 4}, {10, 4, 2, 3}, {16, 4, 1, 16}, {6, 3, 3, 4}};
    const int64_t *size = SIZES[kind];
    HeadsShape shape = cross_shape(size[0], size[1], size[2], size[3]);
    if (kind == 3)
        shape.groups = UNEVEN;
    return shape;
}

/* out (n, D) = rows in (n, C) times columns first .. first+D-1 of W (C, width), and bias. */
static real *project(Pool *pool, const real *in, int64_t n, int64_t C,
                     const LinearParams *params, int64_t width, int64_t first,
                     int64_t D)
{
    real *out = pool_reals(pool, n * D);
    matmul_plain(PLAIN, PLAIN, n, D, C, 1, in, C, params->weight + first, width, 0, out,
                 D);
    for (int64_t i = 0; i < n * D; i++)
        out[i] += params->bias[first + i % D];
    return out;
}

/* Each head of each segment with its own products; y is the sum of their shares. */
static real *by_definition(Case *at, Pool *pool)
{
    const HeadsShape *s = &at->shape;
    int64_t C = s->C, H = s->H, G = s->G, D = s->D;
    real *y = pool_reals(pool, at->N * C);
    for (int64_t i = 0; i < at->N * C; i++)
        y[i] = at->params.out.bias[i % C];
    for (int64_t i = 0; i < SEGMENTS; i++) {
        const real *x = at->x + STARTS[i] * C, *source = at->s + SOURCE[i] * C;
        int64_t n = STARTS[i + 1] - STARTS[i], m = SOURCE[i + 1] - SOURCE[i];
        for (int64_t h = 0; h < H; h++) {
            Pool own = {.count = 0};
            int64_t g = heads_group(s, h), wide = 2 * G * D;
            real *q = project(&own, x, n, C, &at->params.q, H * D, h * D, D);
            real *k = project(&own, source, m, C, &at->params.kv, wide, g * D, D);
            real *v = project(&own, source, m, C, &at->params.kv, wide, (G + g) * D, D);
            real *z = pool_reals(&own, n * D), *weights = pool_reals(&own, n * m);
            AttentionShape single = {.n = n,
                                     .m = m,
                                     .D = D,
                                     .E = D,
                                     .stride_q = D,
                                     .stride_k = D,
                                     .stride_v = D,
                                     .stride_z = D,
                                     .scale = s->scale};
            attention_plain_forward(z, weights, q, k, v, &single);
            matmul_plain(PLAIN, PLAIN, n, C, D, 1, z, D,
                         at->params.out.weight + h * D * C, C, 1, y + STARTS[i] * C, C);
            pool_free(&own);
        }
    }
    return y;
}

static void every_segment_looks_at_its_own_source(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Pool own = {.count = 0};
        Segments decoder, encoder;
        Case at =
            make_case(shape_of(kind), &decoder, STARTS, &encoder, SOURCE, SEGMENTS);
        fill_value(at.scratch, at.scratch_size, (double)NAN);
        forward(&at);
        const real *y = by_definition(&at, &own);
        assert_all_near(at.y, y, at.N * at.shape.C, 2 * SAME_TOLERANCE);
        pool_free(&at.pool);
        pool_free(&own);
    }
}

static double weighted(void *context)
{
    Case *at = context;
    forward(at);
    return sum_products(at->y, at->dy, at->N * at->shape.C);
}

static void tensors_of(real *tensors[TENSORS], int64_t sizes[TENSORS],
                       const CrossParams *params, const HeadsShape *s)
{
    real *const all[TENSORS] = {params->q.weight, params->q.bias,     params->kv.weight,
                                params->kv.bias,  params->out.weight, params->out.bias};
    const int64_t counts[TENSORS] = {s->C * s->H * s->D,     s->H * s->D,
                                     s->C * 2 * s->G * s->D, 2 * s->G * s->D,
                                     s->H * s->D * s->C,     s->C};
    memcpy(tensors, all, sizeof all);
    memcpy(sizes, counts, sizeof counts);
}

static void backward_is_the_gradient(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++) {
        Segments decoder, encoder;
        Case at =
            make_case(shape_of(kind), &decoder, STARTS, &encoder, SOURCE, SEGMENTS);
        int64_t C = at.shape.C;
        forward(&at);
        /* What y, dx and the scratch buffers hold does not matter: what is saved suffices. */
        fill_value(at.y, at.N * C, (double)NAN);
        fill_value(at.dx, at.N * C, (double)NAN);
        fill_value(at.dq, at.N * at.shape.H * at.shape.D, (double)NAN);
        fill_value(at.dkv, at.M * 2 * at.shape.G * at.shape.D, (double)NAN);
        fill_value(at.dmixed, at.N * at.shape.H * at.shape.D, (double)NAN);
        fill_value(at.scratch, at.scratch_size, (double)NAN);
        backward(&at);
        real *values[TENSORS], *gradients[TENSORS];
        int64_t sizes[TENSORS];
        tensors_of(values, sizes, &at.params, &at.shape);
        tensors_of(gradients, sizes, &at.dparams, &at.shape);
        assert_gradient(at.x, at.dx, at.N * C, weighted, &at);
        assert_gradient(at.s, at.ds, at.M * C, weighted, &at);
        for (int t = 0; t < TENSORS; t++)
            assert_gradient(values[t], gradients[t], sizes[t], weighted, &at);
        pool_free(&at.pool);
    }
}

/* The encoder's output goes to every layer of the decoder: ds adds up, as parameters do. */
static void gradients_of_source_and_parameters_are_added_to(void **state)
{
    (void)state;
    Segments decoder, encoder;
    HeadsShape shape = shape_of(1);
    Case once = make_case(shape, &decoder, STARTS, &encoder, SOURCE, SEGMENTS);
    Case added = make_case(shape, &decoder, STARTS, &encoder, SOURCE, SEGMENTS);
    real *parts[TENSORS], *sums[TENSORS];
    int64_t sizes[TENSORS];
    tensors_of(parts, sizes, &once.dparams, &shape);
    tensors_of(sums, sizes, &added.dparams, &shape);
    for (int t = 0; t < TENSORS; t++)
        fill_value(sums[t], sizes[t], t + 1);
    fill_value(added.ds, added.M * 10, -3);
    fill_value(added.dx, added.N * 10, -3); /* dx is written */
    forward(&once);
    forward(&added);
    backward(&once);
    backward(&added);
    for (int t = 0; t < TENSORS; t++) {
        for (int64_t i = 0; i < sizes[t]; i++)
            assert_near(sums[t][i], t + 1 + (double)parts[t][i], 5 * SAME_TOLERANCE);
    }
    for (int64_t i = 0; i < added.M * 10; i++)
        assert_near(added.ds[i], -3 + (double)once.ds[i], 5 * SAME_TOLERANCE);
    assert_memory_equal(once.dx, added.dx, (size_t)(once.N * 10) * sizeof(real));
    pool_free(&once.pool);
    pool_free(&added.pool);
}

/* Another source token changes all tokens of its segment and no others; another decoder
 * token only itself. And no gradient takes another way. */
static void segments_and_decoder_tokens_do_not_see_each_other(void **state)
{
    (void)state;
    Segments decoder, encoder;
    Case at = make_case(shape_of(0), &decoder, STARTS, &encoder, SOURCE, SEGMENTS);
    forward(&at);
    real *before = pool_copy(&at.pool, at.y, at.N * 8);
    fill_random(at.s + 26 * 8, 8, 2, 77); /* the last of source segment 1 */
    fill_random(at.x + 2 * 8, 8, 2, 78);  /* in segment 0 */
    forward(&at);
    for (int64_t i = 0; i < at.N; i++) {
        bool same = memcmp(before + i * 8, at.y + i * 8, 8 * sizeof(real)) == 0;
        assert_int_equal(same, i != 5 && i != 2);
    }
    fill_value(at.dy, at.N * 8, 0);
    fill_value(at.dy + 5 * 8, 8, 1); /* segment 1 is token 5 alone */
    backward(&at);
    for (int64_t j = 0; j < at.M; j++) {
        bool some = false;
        for (int64_t c = 0; c < 8; c++)
            some = some || at.ds[j * 8 + c] != 0;
        assert_int_equal(some, j >= SOURCE[1] && j < SOURCE[2]);
    }
    pool_free(&at.pool);
}

/* Of one source token all see the same: y = v W_O + b_O whatever x is. */
static void a_source_of_one_token_gives_its_value(void **state)
{
    (void)state;
    Segments decoder, encoder;
    Case at = make_case(shape_of(0), &decoder, STARTS, &encoder, SOURCE, SEGMENTS);
    forward(&at);
    backward(&at);
    for (int64_t i = STARTS[2]; i < STARTS[3];
         i++) { /* source segment 2 has one token */
        for (int64_t c = 0; c < 8; c++) {
            double y = (double)at.params.out.bias[c];
            for (int64_t d = 0; d < 8; d++)
                y += (double)at.saved.kv[SOURCE[2] * 16 + 8 + d] *
                     (double)at.params.out.weight[d * 8 + c];
            assert_near(at.y[i * 8 + c], y, SAME_TOLERANCE);
            assert_near(at.dx[i * 8 + c], 0, SAME_TOLERANCE);
        }
    }
    pool_free(&at.pool);
}

/* With s = x it is self-attention without a mask. */
static void looking_at_oneself_is_an_encoders_self_attention(void **state)
{
    (void)state;
    Segments decoder, encoder, both;
    HeadsShape shape = cross_shape(16, 4, 2, 4);
    Case at = make_case(shape, &decoder, STARTS, &encoder, STARTS, SEGMENTS);
    memcpy(at.s, at.x, (size_t)(at.N * 16) * sizeof(real));
    forward(&at);
    Pool own = {.count = 0};
    make_segments(&both, STARTS, SEGMENTS);
    HeadsParams params = {pool_linear(&own, 16, 32, 0, 1), at.params.out};
    for (int64_t i = 0; i < 16; i++) {
        memcpy(params.qkv.weight + i * 32, at.params.q.weight + i * 16,
               16 * sizeof(real));
        memcpy(params.qkv.weight + i * 32 + 16, at.params.kv.weight + i * 16,
               16 * sizeof(real));
    }
    memcpy(params.qkv.bias, at.params.q.bias, 16 * sizeof(real));
    memcpy(params.qkv.bias + 16, at.params.kv.bias, 16 * sizeof(real));
    HeadsSaved saved = {pool_reals(&own, at.N * 32), pool_reals(&own, at.N * 16),
                        pool_reals(&own, 4 * at.N)};
    real *y = pool_reals(&own, at.N * 16);
    real *scratch = pool_reals(&own, heads_scratch(17, &shape));
    heads_forward(y, &saved, at.x, &params, scratch, &both.batch, &shape);
    assert_all_near(at.y, y, at.N * 16, 2 * SAME_TOLERANCE);
    pool_free(&own);
    pool_free(&at.pool);
}

/* All heads cut: y = b_O, and nothing flows back. */
static void a_layer_without_heads_gives_its_bias(void **state)
{
    (void)state;
    Segments decoder, encoder;
    Case at = make_case(cross_shape(8, 0, 0, 4), &decoder, STARTS, &encoder, SOURCE,
                        SEGMENTS);
    fill_value(at.dx, at.N * 8, (double)NAN);
    forward(&at);
    backward(&at);
    for (int64_t i = 0; i < at.N * 8; i++)
        assert_true(at.y[i] == at.params.out.bias[i % 8] && at.dx[i] == 0);
    for (int64_t i = 0; i < at.M * 8; i++)
        assert_true(at.ds[i] == 0);
    pool_free(&at.pool);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_segment_looks_at_its_own_source),
        cmocka_unit_test(backward_is_the_gradient),
        cmocka_unit_test(gradients_of_source_and_parameters_are_added_to),
        cmocka_unit_test(segments_and_decoder_tokens_do_not_see_each_other),
        cmocka_unit_test(a_source_of_one_token_gives_its_value),
        cmocka_unit_test(looking_at_oneself_is_an_encoders_self_attention),
        cmocka_unit_test(a_layer_without_heads_gives_its_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
