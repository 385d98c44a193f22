#include "model/gpt/init.h"
#include "model/math/blas.h"
#include "tests/model/small_model.h"

enum { LAYERS = 2 };

#ifdef JUEJU_REAL_DOUBLE
#define DIGESTS 0x43e519c652353b76, 0xd8fd950bd184e4db, 0, 0xae4620588d00efa1
#else
#define DIGESTS 0xbadc7edc32e40975, 0xa27c16ddecfc3c7c, 0, 0x78c4383151cc8580
#endif

/* C = 128, D = 32 as in the default; two layers, so residual weights are scaled by 1/2. */
static Gpt started(InitKind kind, uint64_t seed)
{
    GptConfig config = gpt_config_default();
    config.vocab_size = 50;
    config.layers = LAYERS;
    Gpt gpt;
    Error err;
    assert_int_equal(gpt_create(&gpt, &config, &err), STATUS_OK);
    gpt_init(&gpt, kind, seed);
    return gpt;
}

typedef struct {
    double mean, variance, largest;
} Moments;

/* Of the (rows, width) slice of a matrix whose rows are `stride` apart. */
static Moments moments(const real *slice, int64_t stride, int64_t rows, int64_t width)
{
    Moments m = {0};
    double count = (double)(rows * width);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < width; j++) {
            double w = (double)slice[i * stride + j];
            m.mean += w / count;
            m.variance += w * w / count;
            m.largest = fmax(m.largest, fabs(w));
        }
    }
    return m;
}

/* Uniform in [-bound, bound]: the variance is bound^2 / 3. */
static void assert_uniform(const real *slice, int64_t stride, int64_t rows,
                           int64_t width, double bound)
{
    Moments m = moments(slice, stride, rows, width);
    double count = (double)(rows * width), variance = bound * bound / 3;
    assert_true(m.largest <= bound * (1 + 1e-6));
    assert_true(m.largest >= bound * (1 - 20 / count));
    assert_true(fabs(m.mean) <= 4.5 * sqrt(variance / count));
    /* The variance of w^2 is 4/45 bound^4. */
    double spread = sqrt(4.0 / 45 / count) * bound * bound;
    assert_true(fabs(m.variance - variance) <= 4.5 * spread);
}

static void assert_normal(const real *values, int64_t count, double deviation)
{
    Moments m = moments(values, count, 1, count);
    double variance = deviation * deviation;
    assert_true(fabs(m.mean) <= 4.5 * deviation / sqrt((double)count));
    assert_true(fabs(m.variance - variance) <=
                4.5 * variance * sqrt(2 / (double)count));
    assert_true(m.largest > 2 * deviation && m.largest < 7 * deviation);
}

static const InitKind KINDS[] = {INIT_XAVIER_PER_HEAD, INIT_XAVIER_PACKED, INIT_NORMAL,
                                 INIT_IDENTICAL_HEADS};
static const double PER_HEAD = 0.1936, WHOLE = 0.1531, PACKED = 0.1083;

static void the_three_bounds_are_those_of_the_header(void **state)
{
    (void)state;
    assert_near(sqrt(6.0 / (128 + 32)), PER_HEAD, 5e-4);
    assert_near(sqrt(6.0 / (128 + 128)), WHOLE, 5e-4);
    assert_near(sqrt(6.0 / (128 + 384)), PACKED, 5e-4);
}

static void each_kind_has_its_bounds_and_variances(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        Gpt gpt = started(KINDS[k], 3);
        for (int64_t l = 0; l < LAYERS; l++) {
            const BlockParams *block = &gpt.params.blocks[l];
            const real *qkv = block->attention.qkv.weight;
            for (int64_t head = 0; head < 12; head++) { /* of Q, of K, of V */
                if (KINDS[k] == INIT_XAVIER_PER_HEAD ||
                    KINDS[k] == INIT_IDENTICAL_HEADS)
                    assert_uniform(qkv + head * 32, 384, 128, 32, sqrt(6.0 / 160));
                if (KINDS[k] == INIT_XAVIER_PACKED)
                    assert_uniform(qkv + head * 32, 384, 128, 32, sqrt(6.0 / 512));
            }
            double scale = 1 / sqrt(2.0 * LAYERS);
            if (KINDS[k] == INIT_NORMAL) {
                assert_normal(qkv, 128 * 384, 0.02);
                assert_normal(block->mlp.up.weight, 128 * 512, 0.02);
                assert_normal(block->attention.out.weight, 128 * 128, 0.02 * scale);
                assert_normal(block->mlp.down.weight, 512 * 128, 0.02 * scale);
                continue;
            }
            /* Rows 0 .. 31 of W_O are head 0's: of identical heads all have these. */
            assert_uniform(block->attention.out.weight, 128, 32, 128,
                           scale * sqrt(6.0 / 256));
            assert_uniform(block->mlp.up.weight, 512, 128, 512, sqrt(6.0 / 640));
            assert_uniform(block->mlp.down.weight, 128, 512, 128,
                           scale * sqrt(6.0 / 640));
        }
        gpt_destroy(&gpt);
    }
}

static void embeddings_gains_and_biases(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        Gpt gpt = started(KINDS[k], 4);
        fill_value(gpt.params.norm.bias, 128, 9); /* what was there is overwritten */
        gpt_init(&gpt, KINDS[k], 4);
        assert_normal(gpt.params.tokens, 50 * 128, 0.02);
        assert_normal(gpt.params.positions, 128 * 128, 0.02);
        for (int64_t t = 0; t < gpt.table.count; t++) {
            const ParamInfo *info = &gpt.table.items[t];
            for (int64_t i = 0; info->is_vector && i < info->cols; i++)
                assert_true(gpt.values[info->offset + (size_t)i] ==
                            (info->kind == PARAM_GAIN ? 1 : 0));
        }
        gpt_destroy(&gpt);
    }
}

/* No two tensors, and no two heads, start with the same numbers. */
static void every_tensor_and_head_has_a_stream_of_its_own(void **state)
{
    (void)state;
    Gpt gpt = started(INIT_XAVIER_PER_HEAD, 5);
    enum { SLICES = LAYERS * (12 + 3) + 2 };
    double first[SLICES];
    int count = 0;
    first[count++] = (double)gpt.params.tokens[0] / 0.02;
    first[count++] = (double)gpt.params.positions[0] / 0.02;
    for (int64_t l = 0; l < LAYERS; l++) {
        const BlockParams *block = &gpt.params.blocks[l];
        for (int64_t head = 0; head < 12; head++)
            first[count++] =
                (double)block->attention.qkv.weight[head * 32] / sqrt(6.0 / 160);
        first[count++] = (double)block->attention.out.weight[0] / sqrt(6.0 / 256) * 2;
        first[count++] = (double)block->mlp.up.weight[0] / sqrt(6.0 / 640);
        first[count++] = (double)block->mlp.down.weight[0] / sqrt(6.0 / 640) * 2;
    }
    assert_int_equal(count, SLICES);
    for (int i = 0; i < SLICES; i++) {
        for (int j = 0; j < i; j++)
            assert_true(fabs(first[i] - first[j]) > 1e-6);
    }
    gpt_destroy(&gpt);
}

/* Four heads or six, in rows of any width: each head's values are its own. */
static void another_head_leaves_the_others_as_they_were(void **state)
{
    (void)state;
    enum { ROWS = 128, D = 32, FEW = 4 * D, MANY = 6 * D };
    Pool pool = {0};
    real *few = pool_reals(&pool, ROWS * FEW), *many = pool_reals(&pool, ROWS * MANY);
    for (uint64_t h = 0; h < 6; h++) {
        if (h < 4)
            init_xavier_slice(few + h * D, FEW, ROWS, D, 7, h);
        init_xavier_slice(many + h * D, MANY, ROWS, D, 7, h);
    }
    for (int64_t i = 0; i < ROWS; i++)
        assert_memory_equal(few + i * FEW, many + i * MANY, FEW * sizeof(real));
    assert_uniform(few, FEW, ROWS, D, sqrt(6.0 / 160));
    pool_free(&pool);
}

/* A whole model with one head more is wider, so fan_in grows; what was drawn stays. */
static void a_model_with_one_head_more_keeps_what_was_drawn(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt three, four;
    Error err;
    assert_int_equal(gpt_create(&three, &config, &err), STATUS_OK);
    config.heads = 4;
    config.kv_heads = 4;
    config.width = 16; /* D stays 4 */
    assert_int_equal(gpt_create(&four, &config, &err), STATUS_OK);
    gpt_init(&three, INIT_XAVIER_PER_HEAD, 11);
    gpt_init(&four, INIT_XAVIER_PER_HEAD, 11);
    for (int64_t l = 0; l < 2; l++) {
        const real *a = three.params.blocks[l].attention.qkv.weight;
        const real *b = four.params.blocks[l].attention.qkv.weight;
        for (int64_t q = 0; q < 3; q++) {
            for (int64_t i = 0; i < 12; i++) {
                for (int64_t j = 0; j < 12; j++)
                    assert_near((double)a[i * 36 + q * 12 + j] / sqrt(6.0 / (12 + 4)),
                                (double)b[i * 48 + q * 16 + j] / sqrt(6.0 / (16 + 4)),
                                1e-6);
            }
        }
    }
    gpt_destroy(&three);
    gpt_destroy(&four);
}

static void a_seed_decides_everything(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        Gpt a = started(KINDS[k], 1), same = started(KINDS[k], 1);
        Gpt other = started(KINDS[k], 2);
        assert_memory_equal(a.values, same.values, a.table.total * sizeof(real));
        for (int64_t t = 0; t < a.table.count; t++) {
            const ParamInfo *info = &a.table.items[t];
            int64_t equal = 0, count = info->rows * info->cols;
            for (int64_t i = 0; !info->is_vector && i < count; i++)
                equal += a.values[info->offset + (size_t)i] ==
                         other.values[info->offset + (size_t)i];
            assert_true(equal * 100 < count);
        }
        gpt_destroy(&a);
        gpt_destroy(&same);
        gpt_destroy(&other);
    }
}

/* Every head's W_Q, W_K, W_V columns, biases and W_O rows have the bits of head 0's. */
static void assert_equal_heads(const HeadsParams *heads, int64_t C, int64_t D)
{
    for (int64_t h = 1; h < C / D; h++) {
        for (int64_t q = 0; q < 3; q++) {
            for (int64_t i = 0; i < C; i++) {
                const real *row = heads->qkv.weight + i * 3 * C + q * C;
                assert_memory_equal(row, row + h * D, (size_t)D * sizeof(real));
            }
            const real *bias = heads->qkv.bias + q * C;
            assert_memory_equal(bias, bias + h * D, (size_t)D * sizeof(real));
        }
        assert_memory_equal(heads->out.weight, heads->out.weight + h * D * C,
                            (size_t)(D * C) * sizeof(real));
    }
}

static void identical_heads_get_identical_gradients(void **state)
{
    (void)state;
    Pool pool = {0};
    Gpt gpt = started(INIT_IDENTICAL_HEADS, 6);
    GptWork *work = work_for(&gpt, TEXT_TOKENS);
    Gradients grads = gradients_for(&pool, &gpt);
    Text text;
    const int64_t lengths[] = {29, 50, 1};
    TokenBatch batch = random_text(&text, lengths, 3, 50, 3);
    gpt_train_pass(&gpt, &grads.params, work, &batch, (real)0.02,
                   &(GptDropout){.p = 0});
    for (int64_t l = 0; l < LAYERS; l++) {
        assert_equal_heads(&gpt.params.blocks[l].attention, 128, 32);
        assert_equal_heads(&grads.params.blocks[l].attention, 128, 32);
        const real *dqkv = grads.params.blocks[l].attention.qkv.weight;
        assert_true(sum_products(dqkv, dqkv, 128 * 384) > 0);
        /* Q, K and V are not each other's copies. */
        assert_true(memcmp(gpt.params.blocks[l].attention.qkv.weight,
                           gpt.params.blocks[l].attention.qkv.weight + 128,
                           32 * sizeof(real)) != 0);
    }
    gpt_params_destroy(&grads.params);
    gpt_work_destroy(work);
    gpt_destroy(&gpt);
    pool_free(&pool);
}

/* ---- other models ------------------------------------------------------------------- */

/* FNV-1a over the bits of a tensor. */
static uint64_t digest(uint64_t hash, const real *values, int64_t count)
{
    const unsigned char *bytes = (const unsigned char *)values;
    for (size_t i = 0; i < (size_t)count * sizeof(real); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

/* Runs that were started once can be started again: matrices of the default model, the
 * uniform ones, have the bits that they always had. */
static void the_default_starts_as_it_always_did(void **state)
{
    (void)state;
    static const uint64_t EXPECTED[] = {DIGESTS};
    for (int k = 0; k < 4; k++) {
        GptConfig config = gpt_config_default();
        config.vocab_size = 50;
        Gpt gpt;
        assert_int_equal(gpt_create(&gpt, &config, NULL), STATUS_OK);
        gpt_init(&gpt, KINDS[k], 7);
        uint64_t hash = 14695981039346656037u;
        for (int64_t t = 0; t < gpt.table.count; t++) {
            const ParamInfo *info = &gpt.table.items[t];
            if (info->kind != PARAM_EMBEDDING)
                hash = digest(hash, gpt.values + info->offset, info->rows * info->cols);
        }
        if (KINDS[k] != INIT_NORMAL) /* whose logarithms are the library's */
            assert_int_equal(hash, EXPECTED[k]);
        gpt_destroy(&gpt);
    }
}

static Gpt started_as(const GptConfig *config, InitKind kind)
{
    Gpt gpt;
    Error err = {.message = ""};
    if (gpt_create(&gpt, config, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    gpt_init(&gpt, kind, 9);
    return gpt;
}

static GptConfig wide_config(Family family)
{
    GptConfig config = gpt_config_family(family);
    config.vocab_size = 50;
    config.layers = LAYERS;
    return config;
}

static const ParamInfo *tensor(const Gpt *gpt, ParamRole role, int64_t layer)
{
    for (int64_t t = 0; t < gpt->table.count; t++) {
        if (gpt->table.items[t].role == role && gpt->table.items[t].layer == layer)
            return &gpt->table.items[t];
    }
    fail_msg("no tensor of role %d", (int)role);
    return NULL;
}

/* Slice i of a part, where it begins. */
static const real *slice(const Gpt *gpt, const ParamInfo *info, int part, int64_t i)
{
    return gpt->values + info->offset + info->part[part].first +
           i * info->part[part].step;
}

static void each_slice_of_a_head_has_its_own_bound(void **state)
{
    (void)state;
    static const ParamRole ROLES[] = {ROLE_QKV, ROLE_Q_UP, ROLE_KV_DOWN, ROLE_KV_UP};
    static const int PARTS[] = {3, 1, 2, 2};
    for (int r = 0; r < 4; r++) {
        GptConfig config = wide_config(r == 0 ? FAMILY_LLAMA : FAMILY_DEEPSEEK);
        Gpt gpt = started_as(&config, INIT_XAVIER_PER_HEAD);
        const ParamInfo *info = tensor(&gpt, ROLES[r], 1);
        assert_int_equal(info->kind, PARAM_HEADS);
        assert_int_equal(info->parts, PARTS[r]);
        int64_t columns = 0;
        for (int p = 0; p < info->parts; p++) {
            int64_t width = info->part[p].width;
            columns += info->part[p].heads * width;
            for (int64_t i = 0; i < info->part[p].heads; i++)
                assert_uniform(slice(&gpt, info, p, i), info->cols, info->rows, width,
                               sqrt(6.0 / (double)(info->rows + width)));
        }
        assert_int_equal(columns, info->cols);
        gpt_destroy(&gpt);
    }
}

/* Fewer key/value heads leave the queries, and the heads that there are, as they were. */
static void a_head_keeps_its_stream_whatever_the_others_do(void **state)
{
    (void)state;
    GptConfig config = wide_config(FAMILY_LLAMA);
    Gpt two = started_as(&config, INIT_XAVIER_PER_HEAD);
    config.kv_heads = 1;
    Gpt one = started_as(&config, INIT_XAVIER_PER_HEAD);
    config.kv_heads = 2;
    config.removed[0] = 3; /* the first group, and one of the second */
    config.removed[0] |= 4;
    Gpt cut = started_as(&config, INIT_XAVIER_PER_HEAD);
    const ParamInfo *all = tensor(&two, ROLE_QKV, 0);
    const ParamInfo *single = tensor(&one, ROLE_QKV, 0);
    const ParamInfo *left = tensor(&cut, ROLE_QKV, 0);
    for (int64_t r = 0; r < 128; r++) {
        const size_t bytes = 32 * sizeof(real);
        for (int64_t h = 0; h < 4; h++)
            assert_memory_equal(slice(&two, all, 0, h) + r * all->cols,
                                slice(&one, single, 0, h) + r * single->cols, bytes);
        assert_memory_equal(slice(&two, all, 0, 3) + r * all->cols,
                            slice(&cut, left, 0, 0) + r * left->cols, bytes);
        for (int p = 1; p < 3; p++) {
            assert_memory_equal(slice(&two, all, p, 0) + r * all->cols,
                                slice(&one, single, p, 0) + r * single->cols, bytes);
            assert_memory_equal(slice(&two, all, p, 1) + r * all->cols,
                                slice(&cut, left, p, 0) + r * left->cols, bytes);
        }
    }
    gpt_destroy(&cut);
    gpt_destroy(&one);
    gpt_destroy(&two);
}

static void identical_heads_are_identical_in_every_family(void **state)
{
    (void)state;
    for (int f = FAMILY_LLAMA; f <= FAMILY_DEEPSEEK; f++) {
        Pool pool = {0};
        GptConfig config = wide_config((Family)f);
        Gpt gpt = started_as(&config, INIT_IDENTICAL_HEADS);
        GptWork *work = work_for(&gpt, TEXT_TOKENS);
        Gradients grads = gradients_for(&pool, &gpt);
        Text text;
        const int64_t lengths[] = {29, 50, 1};
        TokenBatch batch = random_text(&text, lengths, 3, 50, 3);
        gpt_train_pass(&gpt, &grads.params, work, &batch, (real)0.02,
                       &(GptDropout){.p = 0});
        const real *both[] = {gpt.values, grads.values};
        for (int b = 0; b < 2; b++) {
            for (int64_t t = 0; t < gpt.table.count; t++) {
                const ParamInfo *info = &gpt.table.items[t];
                const real *values = both[b] + info->offset;
                for (int p = 0; p < info->parts; p++) {
                    const ParamPart *part = &info->part[p];
                    for (int64_t i = 1; i < part->heads; i++) {
                        const real *head = values + part->first + i * part->step;
                        for (int64_t r = 0; r < info->rows; r++)
                            assert_memory_equal(head + r * info->cols,
                                                values + part->first + r * info->cols,
                                                (size_t)part->width * sizeof(real));
                    }
                }
                for (int64_t h = 1;
                     info->head_rows > 0 && h < info->rows / info->head_rows; h++)
                    assert_memory_equal(
                        values, values + h * info->head_rows * info->cols,
                        (size_t)(info->head_rows * info->cols) * sizeof(real));
            }
        }
        gpt_params_destroy(&grads.params);
        gpt_work_destroy(work);
        gpt_destroy(&gpt);
        pool_free(&pool);
    }
}

static void residual_projections_are_scaled_unless_told_not_to(void **state)
{
    (void)state;
    GptConfig config = wide_config(FAMILY_LLAMA);
    Gpt scaled = started_as(&config, INIT_XAVIER_PER_HEAD);
    config.scaled_residual = false;
    Gpt plain = started_as(&config, INIT_XAVIER_PER_HEAD);
    int residual = 0;
    for (int64_t t = 0; t < plain.table.count; t++) {
        const ParamInfo *info = &plain.table.items[t];
        const real *a = scaled.values + info->offset, *b = plain.values + info->offset;
        double factor = info->kind == PARAM_RESIDUAL ? 1 / sqrt(2.0 * LAYERS) : 1;
        residual += info->kind == PARAM_RESIDUAL;
        for (int64_t i = 0; i < info->rows * info->cols; i++)
            assert_near(a[i], factor * (double)b[i], 1e-7);
    }
    assert_int_equal(residual, 2 * LAYERS);
    gpt_destroy(&plain);
    gpt_destroy(&scaled);
}

static void names_are_those_of_the_kinds(void **state)
{
    (void)state;
    assert_string_equal(INIT_NAMES[INIT_XAVIER_PER_HEAD], "xavier-per-head");
    assert_string_equal(INIT_NAMES[INIT_XAVIER_PACKED], "xavier-packed");
    assert_string_equal(INIT_NAMES[INIT_NORMAL], "normal");
    assert_string_equal(INIT_NAMES[INIT_IDENTICAL_HEADS], "identical-heads");
    assert_null(INIT_NAMES[INIT_IDENTICAL_HEADS + 1]);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_three_bounds_are_those_of_the_header),
        cmocka_unit_test(each_kind_has_its_bounds_and_variances),
        cmocka_unit_test(embeddings_gains_and_biases),
        cmocka_unit_test(every_tensor_and_head_has_a_stream_of_its_own),
        cmocka_unit_test(another_head_leaves_the_others_as_they_were),
        cmocka_unit_test(a_model_with_one_head_more_keeps_what_was_drawn),
        cmocka_unit_test(a_seed_decides_everything),
        cmocka_unit_test(identical_heads_get_identical_gradients),
        cmocka_unit_test(the_default_starts_as_it_always_did),
        cmocka_unit_test(each_slice_of_a_head_has_its_own_bound),
        cmocka_unit_test(a_head_keeps_its_stream_whatever_the_others_do),
        cmocka_unit_test(identical_heads_are_identical_in_every_family),
        cmocka_unit_test(residual_projections_are_scaled_unless_told_not_to),
        cmocka_unit_test(names_are_those_of_the_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
