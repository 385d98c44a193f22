/* Every switch of a model against another way to compute the same. */
#include "model/gpt/init.h"
#include "model/math/blas.h"
#include "tests/model/small_model.h"

static const int64_t LENGTHS[] = {5, 13, 1, 7};
enum { SEGMENTS = 4, TOKENS = 26, V = 17, C = 16, H = 4, L = 2 };
static const GptDropout NONE = {0};

static GptConfig open_config(Family family)
{
    GptConfig config = gpt_config_open(family);
    config.vocab_size = V;
    config.context = 16;
    config.width = C;
    config.layers = L;
    config.heads = H;
    config.mlp_width = 20;
    return config;
}

static GptConfig config_of(Family family)
{
    GptConfig config = open_config(family);
    gpt_config_fill(&config);
    return config;
}

static TokenBatch text_of(Text *text)
{
    return random_text(text, LENGTHS, SEGMENTS, V, 1);
}

static void logits_of(real *logits, const Gpt *gpt)
{
    Text text;
    TokenBatch batch = text_of(&text);
    GptWork *work = work_for(gpt, TOKENS);
    gpt_logits(gpt, work, &batch, logits);
    gpt_work_destroy(work);
}

static void assert_same_logits(const Gpt *a, const Gpt *b)
{
    real first[TOKENS * V], second[TOKENS * V];
    logits_of(first, a);
    logits_of(second, b);
    assert_all_near(first, second, TOKENS * V, 20 * SAME_TOLERANCE);
    /* And they say something. */
    assert_true(sum_products(first, first, TOKENS * V) > 1);
}

static void assert_other_logits(const Gpt *a, const Gpt *b)
{
    real first[TOKENS * V], second[TOKENS * V];
    logits_of(first, a);
    logits_of(second, b);
    double difference = 0;
    for (int i = 0; i < TOKENS * V; i++)
        difference += fabs((double)first[i] - (double)second[i]);
    assert_true(difference > 0.01 * TOKENS * V);
}

static real *values_of(const Gpt *gpt, const char *name)
{
    const ParamInfo *info = param_table_find(&gpt->table, name);
    if (info == NULL)
        fail_msg("no tensor %s", name);
    return gpt->values + info->offset;
}

/* Tensors of the same name and shape. */
static void copy_common(Gpt *to, const Gpt *from)
{
    for (int64_t t = 0; t < to->table.count; t++) {
        const ParamInfo *info = &to->table.items[t];
        const ParamInfo *other = param_table_find(&from->table, info->name);
        if (other != NULL && other->rows == info->rows && other->cols == info->cols)
            memcpy(to->values + info->offset, from->values + other->offset,
                   (size_t)(info->rows * info->cols) * sizeof(real));
    }
}

/* ---- groups ------------------------------------------------------------------------- */

/* W_QKV of `to` (MHA) from that of `from` (GQA): each query head gets a copy of the key and
 * value head that it reads. */
static void copy_groups(Gpt *to, const Gpt *from, int64_t G)
{
    const int64_t D = C / H;
    for (int64_t l = 0; l < L; l++) {
        const LinearParams *qkv = &from->params.blocks[l].attention.qkv;
        LinearParams *out = &to->params.blocks[l].attention.qkv;
        for (int64_t i = 0; i <= C; i++) { /* the rows, then the bias */
            if (i == C && qkv->bias == NULL)
                break;
            const real *row = i < C ? qkv->weight + i * (C + 2 * G * D) : qkv->bias;
            real *wide = i < C ? out->weight + i * 3 * C : out->bias;
            memcpy(wide, row, C * sizeof(real));
            for (int64_t h = 0; h < H; h++) {
                int64_t g = h / (H / G);
                memcpy(wide + C + h * D, row + C + g * D, (size_t)D * sizeof(real));
                memcpy(wide + 2 * C + h * D, row + C + G * D + g * D,
                       (size_t)D * sizeof(real));
            }
        }
    }
}

static void groups_equal_heads_with_copied_keys_and_values(void **state)
{
    (void)state;
    for (int family = FAMILY_GPT2; family <= FAMILY_LLAMA; family++) {
        for (int64_t G = 1; G < H; G *= 2) {
            GptConfig config = config_of((Family)family);
            config.kv_heads = G;
            Gpt grouped = random_model(&config);
            config.kv_heads = H;
            Gpt copied = random_model(&config);
            copy_common(&copied, &grouped);
            copy_groups(&copied, &grouped, G);
            assert_same_logits(&grouped, &copied);
            gpt_destroy(&copied);
            gpt_destroy(&grouped);
        }
    }
}

/* ---- heads that are cut ------------------------------------------------------------- */

/* W_O reads nothing from these heads. */
static void silence(Gpt *gpt, int64_t layer, uint64_t removed)
{
    bool mla = gpt->config.attention == ATTENTION_MLA;
    const BlockParams *block = &gpt->params.blocks[layer];
    real *out = mla ? block->mla.out.weight : block->attention.out.weight;
    int64_t rows = gpt_value_size(&gpt->config);
    for (int64_t h = 0; h < H; h++) {
        if (removed >> h & 1)
            fill_value(out + h * rows * C, rows * C, 0);
    }
}

/* The slices of `from` whose heads are left, layer by layer. */
static void copy_left_heads(Gpt *to, const Gpt *from)
{
    const GptConfig *config = &to->config;
    for (int64_t t = 0; t < to->table.count; t++) {
        const ParamInfo *info = &to->table.items[t];
        const ParamInfo *whole = param_table_find(&from->table, info->name);
        real *values = to->values + info->offset;
        const real *all = from->values + whole->offset;
        int64_t l = info->layer;
        bool columns = info->kind == PARAM_HEADS || info->role == ROLE_QKV_BIAS;
        if (columns && info->role != ROLE_KV_DOWN) {
            for (int p = 0; p < info->parts; p++) {
                const ParamPart *part = &info->part[p], *old = &whole->part[p];
                for (int64_t i = 0; i < part->heads; i++) {
                    int64_t head = part->keys ? gpt_layer_kv_head(config, l, i)
                                              : gpt_layer_head(config, l, i);
                    for (int64_t r = 0; r < info->rows; r++)
                        memcpy(values + r * info->cols + part->first + i * part->step,
                               all + r * whole->cols + old->first + head * old->step,
                               (size_t)part->width * sizeof(real));
                }
            }
        } else if (info->head_rows > 0) {
            for (int64_t i = 0; i < info->rows / info->head_rows; i++)
                memcpy(values + i * info->head_rows * C,
                       all + gpt_layer_head(config, l, i) * info->head_rows * C,
                       (size_t)(info->head_rows * C) * sizeof(real));
        } else {
            memcpy(values, all, (size_t)(info->rows * info->cols) * sizeof(real));
        }
    }
}

static void a_head_that_is_cut_is_one_that_nobody_reads(void **state)
{
    (void)state;
    static const uint64_t CUTS[][L] = {{1, 0}, {0, 6}, {3, 8}, {15, 0}, {15, 15}};
    for (int family = FAMILY_GPT2; family <= FAMILY_DEEPSEEK; family++) {
        for (int c = 0; c < 5; c++) {
            GptConfig config = config_of((Family)family); /* llama: two heads a group */
            Gpt whole = random_model(&config);
            config.removed[0] = CUTS[c][0];
            config.removed[1] = CUTS[c][1];
            Gpt cut = random_model(&config);
            copy_left_heads(&cut, &whole);
            silence(&whole, 0, CUTS[c][0]);
            silence(&whole, 1, CUTS[c][1]);
            assert_true(cut.table.parameters < whole.table.parameters);
            assert_same_logits(&cut, &whole);
            gpt_destroy(&cut);
            gpt_destroy(&whole);
        }
    }
}

/* ---- positions ---------------------------------------------------------------------- */

static void sinusoidal_positions_are_a_table_that_is_not_learned(void **state)
{
    (void)state;
    GptConfig config = config_of(FAMILY_GPT2);
    Gpt learned = random_model(&config);
    config.position = POSITION_SINUSOIDAL;
    Gpt fixed = random_model(&config);
    copy_common(&fixed, &learned);
    memcpy(learned.params.positions, fixed.tables.sinusoids,
           (size_t)(config.context * C) * sizeof(real));
    assert_same_logits(&learned, &fixed);
    assert_true(gpt_positions(&fixed) == fixed.tables.sinusoids);
    config.position = POSITION_NONE;
    Gpt none = random_model(&config);
    copy_common(&none, &learned);
    fill_value(learned.params.positions, config.context * C, 0);
    assert_same_logits(&learned, &none);
    assert_null(gpt_positions(&none));
    gpt_destroy(&none);
    gpt_destroy(&fixed);
    gpt_destroy(&learned);
}

/* RoPE sees distances only: a text that begins at position 3 gives the same loss. */
static void rope_depends_on_distances_only(void **state)
{
    (void)state;
    for (int family = FAMILY_LLAMA; family <= FAMILY_DEEPSEEK; family++) {
        for (int turned = 0; turned < 2; turned++) {
            GptConfig config = open_config((Family)family);
            if (!turned)
                config.position = POSITION_NONE;
            gpt_config_fill(&config);
            Gpt gpt = random_model(&config);
            GptWork *work = work_for(&gpt, TOKENS);
            Text text;
            TokenBatch batch = text_of(&text);
            double before = gpt_loss(&gpt, work, &batch, NULL).nats;
            for (int n = 0; n < TOKENS; n++)
                text.positions[n] += 3;
            double moved = gpt_loss(&gpt, work, &batch, NULL).nats;
            assert_near(moved, before, 1e-4);
            for (int n = 0; n < TOKENS; n++) /* the first token of each stays at 3 */
                text.positions[n] = 3 + (text.positions[n] - 3) / 2;
            double squeezed = gpt_loss(&gpt, work, &batch, NULL).nats;
            assert_true((fabs(squeezed - before) > 1e-3) == (turned == 1));
            gpt_work_destroy(work);
            gpt_destroy(&gpt);
        }
    }
}

static void theta_matters(void **state)
{
    (void)state;
    GptConfig config = config_of(FAMILY_LLAMA);
    Gpt usual = random_model(&config);
    config.rope_theta = 10;
    Gpt fast = random_model(&config);
    assert_memory_equal(fast.values, usual.values, usual.table.total * sizeof(real));
    assert_other_logits(&usual, &fast);
    gpt_destroy(&fast);
    gpt_destroy(&usual);
}

/* ---- windows ------------------------------------------------------------------------ */

static void a_wide_window_is_none_and_a_narrow_one_hides(void **state)
{
    (void)state;
    for (int family = FAMILY_GPT2; family <= FAMILY_DEEPSEEK; family++) {
        GptConfig config = config_of((Family)family);
        Gpt full = random_model(&config);
        config.window = 16;
        config.sliding[0] = config.sliding[1] = true;
        Gpt wide = random_model(&config);
        assert_same_logits(&full, &wide);
        config.window = 3;
        Gpt narrow = random_model(&config);
        assert_other_logits(&full, &narrow);
        /* Two layers of 3 reach 4 back: token 5 of a segment doesn't see token 0. */
        real before[TOKENS], after[TOKENS];
        GptWork *work = work_for(&narrow, TOKENS);
        Text text;
        TokenBatch batch = text_of(&text);
        gpt_loss(&narrow, work, &batch, before);
        text.ids[5] = (text.ids[5] + 1) % V; /* begins the segment of 13 */
        gpt_loss(&narrow, work, &batch, after);
        int changed = 0;
        for (int n = 5; n < 10; n++)
            changed += before[n] != after[n];
        assert_true(changed >= 3); /* all that have a target */
        assert_memory_equal(before + 10, after + 10, (TOKENS - 10) * sizeof(real));
        gpt_work_destroy(work);
        gpt_destroy(&narrow);
        gpt_destroy(&wide);
        gpt_destroy(&full);
    }
}

/* ---- head, scores, norms ------------------------------------------------------------ */

static void an_untied_head_may_be_the_embedding(void **state)
{
    (void)state;
    for (int family = FAMILY_GPT2; family <= FAMILY_DEEPSEEK; family++) {
        GptConfig config = config_of((Family)family);
        Gpt tied = random_model(&config);
        assert_ptr_equal(tied.params.head, tied.params.tokens);
        config.tied = false;
        Gpt untied = random_model(&config);
        assert_ptr_equal(untied.params.head, values_of(&untied, "lm_head.weight"));
        copy_common(&untied, &tied);
        assert_other_logits(&tied, &untied);
        memcpy(untied.params.head, untied.params.tokens, V * C * sizeof(real));
        assert_same_logits(&tied, &untied);
        gpt_destroy(&untied);
        gpt_destroy(&tied);
    }
}

/* Scores that are not scaled are those of queries that are sqrt(D) times as long. */
static void scores_are_scaled_by_the_root_of_the_head_size(void **state)
{
    (void)state;
    for (int family = FAMILY_GPT2; family <= FAMILY_DEEPSEEK; family++) {
        GptConfig config = config_of((Family)family);
        Gpt scaled = random_model(&config);
        config.scaled_scores = false;
        Gpt plain = random_model(&config);
        assert_other_logits(&plain, &scaled);
        real shrink = (real)(1 / sqrt((double)gpt_score_size(&config)));
        for (int64_t t = 0; t < plain.table.count; t++) {
            const ParamInfo *info = &plain.table.items[t];
            bool queries = info->role == ROLE_QKV || info->role == ROLE_QKV_BIAS ||
                           info->role == ROLE_Q_UP;
            const ParamPart *part = &info->part[0];
            real *values = plain.values + info->offset;
            for (int64_t r = 0; queries && r < info->rows; r++) {
                for (int64_t j = 0; j < part->heads * part->width; j++)
                    values[r * info->cols + j] *= shrink;
            }
        }
        assert_same_logits(&plain, &scaled);
        gpt_destroy(&plain);
        gpt_destroy(&scaled);
    }
}

/* All heads cut and W_down zero: the branches add nothing, and only the norms are left.
 * Post-norm: y = Norm_2(Norm_1(x)) in each block and no norm at the end. */
static void post_norm_is_norm_after_norm(void **state)
{
    (void)state;
    for (int kind = NORM_LAYER; kind <= NORM_RMS; kind++) {
        GptConfig config = config_of(FAMILY_GPT2);
        config.norm = (NormKind)kind;
        config.norm_place = NORM_AFTER;
        config.biases = false;
        config.removed[0] = config.removed[1] = 15;
        Gpt gpt = random_model(&config);
        Text text;
        text_of(&text);
        real x[TOKENS * C], y[TOKENS * C], mean[TOKENS], inverse[TOKENS];
        real expected[TOKENS * V], found[TOKENS * V];
        NormSaved saved = {.mean = mean, .inverse = inverse};
        for (int64_t n = 0; n < TOKENS; n++) {
            for (int64_t c = 0; c < C; c++)
                x[n * C + c] = gpt.params.tokens[text.ids[n] * C + c] +
                               gpt.params.positions[text.positions[n] * C + c];
        }
        for (int64_t l = 0; l < L; l++) {
            const BlockParams *block = &gpt.params.blocks[l];
            fill_value(block->mlp.down.weight, config.mlp_width * C, 0);
            norm_forward(config.norm, y, &saved, x, &block->norm1, config.norm_eps,
                         TOKENS, C);
            norm_forward(config.norm, x, &saved, y, &block->norm2, config.norm_eps,
                         TOKENS, C);
        }
        for (int64_t n = 0; n < TOKENS; n++) {
            for (int64_t v = 0; v < V; v++)
                expected[n * V + v] =
                    (real)sum_products(x + n * C, gpt.params.head + v * C, C);
        }
        logits_of(found, &gpt);
        assert_all_near(found, expected, TOKENS * V, 10 * SAME_TOLERANCE);
        assert_null(gpt.params.norm.gain);
        gpt_destroy(&gpt);
    }
}

static void layernorm_is_rmsnorm_of_what_is_centred(void **state)
{
    (void)state;
    GptConfig config = config_of(FAMILY_GPT2);
    Gpt layer = random_model(&config);
    config.norm = NORM_RMS;
    Gpt rms = random_model(&config);
    copy_common(&rms, &layer);
    assert_null(rms.params.norm.bias);
    /* Centre all that writes into the stream; drop the norms' biases. */
    for (int64_t t = 0; t < layer.table.count; t++) {
        const ParamInfo *info = &layer.table.items[t];
        bool writes = info->kind == PARAM_EMBEDDING || info->kind == PARAM_RESIDUAL ||
                      info->role == ROLE_OUT_BIAS || info->role == ROLE_DOWN_BIAS;
        bool shifts = info->role == ROLE_NORM1_BIAS || info->role == ROLE_NORM2_BIAS ||
                      info->role == ROLE_NORM_BIAS;
        real *values = layer.values + info->offset;
        if (shifts)
            fill_value(values, info->cols, 0);
        for (int64_t r = 0; writes && r < info->rows; r++) {
            real mean = (real)(sum_all(values + r * C, C) / C);
            for (int64_t c = 0; c < C; c++)
                values[r * C + c] -= mean;
        }
    }
    copy_common(&rms, &layer);
    assert_same_logits(&layer, &rms);
    gpt_destroy(&rms);
    gpt_destroy(&layer);
}

/* ---- maps --------------------------------------------------------------------------- */

static void maps_are_those_of_the_heads_that_are_left(void **state)
{
    (void)state;
    for (int family = FAMILY_GPT2; family <= FAMILY_DEEPSEEK; family++) {
        GptConfig config = config_of((Family)family);
        config.window = 4;
        config.sliding[1] = true;
        Gpt whole = random_model(&config);
        config.removed[0] = 2;
        config.removed[1] = 5;
        Gpt cut = random_model(&config);
        copy_left_heads(&cut, &whole);
        silence(&whole, 0, 2);
        silence(&whole, 1, 5);
        GptWork *all = work_for(&whole, TOKENS), *left = work_for(&cut, TOKENS);
        Text text;
        TokenBatch batch = text_of(&text);
        gpt_loss(&whole, all, &batch, NULL);
        gpt_loss(&cut, left, &batch, NULL);
        enum { N = 13, E = 4 };
        real expected[N * N], found[N * N], mixed[N * E], same[N * E];
        for (int64_t l = 0; l < L; l++) {
            for (int64_t i = 0; i < gpt_layer_heads(&config, l); i++) {
                int64_t h = gpt_layer_head(&config, l, i);
                gpt_attention_map(&whole, all, &batch, l, h, 1, expected, same);
                gpt_attention_map(&cut, left, &batch, l, i, 1, found, mixed);
                assert_all_near(found, expected, N * N, 20 * SAME_TOLERANCE);
                assert_all_near(mixed, same, N * E, 20 * SAME_TOLERANCE);
                for (int64_t r = 0; r < N; r++) {
                    assert_near(sum_all(found + r * N, N), 1, SAME_TOLERANCE);
                    for (int64_t j = 0; j < N; j++) {
                        bool seen = j <= r && (l == 0 || j > r - 4);
                        assert_true((found[r * N + j] > 0) == seen);
                    }
                }
            }
        }
        gpt_work_destroy(left);
        gpt_work_destroy(all);
        gpt_destroy(&cut);
        gpt_destroy(&whole);
    }
}

/* ---- passes ------------------------------------------------------------------------- */

static void a_pass_in_parts_adds_up_and_leaves_no_trace(void **state)
{
    (void)state;
    for (int family = FAMILY_LLAMA; family <= FAMILY_DEEPSEEK; family++) {
        Pool pool = {0};
        GptConfig config = config_of((Family)family);
        config.norm_place = NORM_AFTER;
        config.window = 3;
        config.sliding[0] = true;
        config.removed[1] = 1;
        Gpt gpt = random_model(&config);
        int64_t total = (int64_t)gpt.table.total;
        GptWork *work = work_for(&gpt, TOKENS);
        Gradients whole = gradients_for(&pool, &gpt),
                  parts = gradients_for(&pool, &gpt);
        Text text;
        TokenBatch batch = text_of(&text);
        gpt_train_pass(&gpt, &whole.params, work, &batch, 1, &NONE);
        for (int64_t s = 0; s < SEGMENTS; s++) {
            int64_t start = batch.starts[s];
            int64_t starts[] = {0, batch.starts[s + 1] - start};
            TokenBatch part = {.tokens = starts[1],
                               .segments = 1,
                               .ids = batch.ids + start,
                               .targets = batch.targets + start,
                               .positions = batch.positions + start,
                               .starts = starts};
            gpt_train_pass(&gpt, &parts.params, work, &part, 1, &NONE);
        }
        assert_all_near(parts.values, whole.values, total, 20 * SAME_TOLERANCE);
        /* The same pass once more gives the same bits twice. */
        Gradients again = gradients_for(&pool, &gpt);
        gpt_train_pass(&gpt, &again.params, work, &batch, 1, &NONE);
        assert_memory_equal(again.values, whole.values, (size_t)total * sizeof(real));
        gpt_params_destroy(&again.params);
        gpt_params_destroy(&parts.params);
        gpt_params_destroy(&whole.params);
        gpt_work_destroy(work);
        gpt_destroy(&gpt);
        pool_free(&pool);
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_equal_heads_with_copied_keys_and_values),
        cmocka_unit_test(a_head_that_is_cut_is_one_that_nobody_reads),
        cmocka_unit_test(sinusoidal_positions_are_a_table_that_is_not_learned),
        cmocka_unit_test(rope_depends_on_distances_only),
        cmocka_unit_test(theta_matters),
        cmocka_unit_test(a_wide_window_is_none_and_a_narrow_one_hides),
        cmocka_unit_test(an_untied_head_may_be_the_embedding),
        cmocka_unit_test(scores_are_scaled_by_the_root_of_the_head_size),
        cmocka_unit_test(post_norm_is_norm_after_norm),
        cmocka_unit_test(layernorm_is_rmsnorm_of_what_is_centred),
        cmocka_unit_test(maps_are_those_of_the_heads_that_are_left),
        cmocka_unit_test(a_pass_in_parts_adds_up_and_leaves_no_trace),
    };
    return cmocka_run_group_tests_name("gpt families", tests, NULL, NULL);
}
