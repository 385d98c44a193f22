/* A layer of heads with all that its passes need, in every kind of shape. */
#ifndef JUEJU_TESTS_MODEL_HEADS_CASE_H
#define JUEJU_TESTS_MODEL_HEADS_CASE_H

#include "model/attention/heads.h"
#include "model/layers/rope.h"
#include "tests/model/attention_case.h"

enum { ROPE_TOKENS = 300, TENSORS = 4 };

typedef struct {
    Pool pool;
    HeadsShape shape;
    Segments *segments;
    int64_t N, width, across; /* across: H D */
    HeadsParams params, dparams;
    HeadsSaved saved;
    real *x, *y, *dx, *dy, *dqkv, *dmixed, *scratch;
} Case;

static inline HeadsShape causal_shape(int64_t C, int64_t H, int64_t G, int64_t D)
{
    return (HeadsShape){.C = C,
                        .H = H,
                        .G = G,
                        .D = D,
                        .scale = (real)(1 / sqrt((double)D)),
                        .causal = true};
}

static inline Case make_case(HeadsShape shape, Segments *segments,
                             const int64_t *starts, int64_t count)
{
    make_segments(segments, starts, count);
    Case at = {.shape = shape,
               .segments = segments,
               .N = starts[count],
               .width = heads_qkv_width(&shape),
               .across = shape.H * shape.D};
    Pool *pool = &at.pool;
    int64_t C = shape.C, N = at.N;
    at.params = (HeadsParams){pool_linear(pool, C, at.width, 0.5, 1),
                              pool_linear(pool, at.across, C, 0.5, 3)};
    at.dparams = (HeadsParams){pool_linear(pool, C, at.width, 0, 1),
                               pool_linear(pool, at.across, C, 0, 3)};
    at.saved =
        (HeadsSaved){pool_reals(pool, N * at.width), pool_reals(pool, N * at.across),
                     pool_reals(pool, shape.H * N)};
    at.x = pool_random(pool, N * C, 1, 5);
    at.y = pool_reals(pool, N * C);
    at.dx = pool_reals(pool, N * C);
    at.dy = pool_random(pool, N * C, 1, 6);
    at.dqkv = pool_reals(pool, N * at.width);
    at.dmixed = pool_reals(pool, N * at.across);
    at.scratch =
        pool_reals(pool, heads_scratch(longest_segment(&segments->batch), &shape));
    return at;
}

static inline real *rope_of(Pool *pool, int64_t D)
{
    real *table = pool_reals(pool, ROPE_TOKENS * D);
    rope_table(table, 100, ROPE_TOKENS, D);
    return table;
}

static inline void forward(Case *at)
{
    heads_forward(at->y, &at->saved, at->x, &at->params, at->scratch,
                  &at->segments->batch, &at->shape);
}

static inline void backward(Case *at)
{
    heads_backward(at->dx, &at->dparams, at->dy, &at->saved, at->x, &at->params,
                   at->dqkv, at->dmixed, at->scratch, &at->segments->batch, &at->shape);
}

/* The four tensors of `params`, and their sizes. */
static inline void tensors_of(real *tensors[TENSORS], int64_t sizes[TENSORS],
                              const HeadsParams *params, const Case *at)
{
    real *const all[] = {params->qkv.weight, params->qkv.bias, params->out.weight,
                         params->out.bias};
    const int64_t counts[] = {at->shape.C * at->width, at->width,
                              at->across * at->shape.C, at->shape.C};
    memcpy(tensors, all, sizeof all);
    memcpy(sizes, counts, sizeof counts);
}

static inline void assert_gradients_near(const Case *a, const HeadsParams *da,
                                         const real *dx, double tolerance)
{
    real *mine[TENSORS], *other[TENSORS];
    int64_t sizes[TENSORS];
    tensors_of(mine, sizes, &a->dparams, a);
    tensors_of(other, sizes, da, a);
    assert_all_near(a->dx, dx, a->N * a->shape.C, tolerance);
    for (int t = 0; t < TENSORS; t++)
        assert_all_near(mine[t], other[t], sizes[t], tolerance);
}

/* Shapes of every kind: 0-2 MHA, GQA, MQA; 3 other widths; 4 as after cutting heads: one
 * key head is read by three, one by none; 5 an encoder; 6-7 windows and rotary positions. */
enum { SHAPES = 8 };

static inline HeadsShape shape_of(int kind, Pool *pool)
{
    static const uint16_t UNEVEN[] = {2, 0, 0, 3, 0};
    static const int64_t SIZES[SHAPES][4] = {
        {16, 4, 4, 4}, {16, 4, 2, 4}, {16, 4, 1, 4}, {10, 3, 3, 7},
        {12, 5, 4, 6}, {8, 4, 2, 16}, {8, 2, 1, 8},  {6, 4, 2, 2}};
    const int64_t *size = SIZES[kind];
    HeadsShape shape = causal_shape(size[0], size[1], size[2], size[3]);
    if (kind == 4)
        shape.groups = UNEVEN;
    shape.causal = kind != 5;
    if (kind >= 5)
        shape.rope = rope_of(pool, shape.D);
    if (kind >= 6)
        shape.window = kind == 6 ? 5 : 19;
    return shape;
}

static const int64_t RAGGED[] = {0, 21, 22, 55, 56, 60};
enum { RAGGED_SEGMENTS = 5 };

#endif
