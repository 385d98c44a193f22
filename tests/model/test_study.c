#include "model/gpt/init.h"
#include "model/heads/probe.h"
#include "model/heads/study.h"
#include "model/math/blas.h"
#include "tests/model/small_model.h"

/* <bos>, two lines of four, marks between them; ids are their own rarity. */
enum { N = 11, TEXTS = 3 };

typedef struct {
    int32_t ids[N], rarity[N];
    uint8_t kinds[N];
} Verse;

static HeadText make_verse(Verse *verse, uint64_t name)
{
    Rng rng = rng_stream(11, name);
    for (int i = 0; i < N; i++) {
        bool mark = i == 5 || i == 10;
        verse->ids[i] = i == 0 ? 1 : mark ? 3 : 4 + (int32_t)rng_below(&rng, 13);
        verse->kinds[i] = i == 0 ? KIND_START : mark ? KIND_MARK : KIND_CHARACTER;
        verse->rarity[i] = verse->ids[i];
    }
    return (HeadText){
        .n = N, .ids = verse->ids, .kinds = verse->kinds, .rarity = verse->rarity};
}

static StudyFigures study_of(const Gpt *gpt, uint64_t seed)
{
    Study study;
    StudyFigures figures;
    Error err;
    Verse verse;
    assert_int_equal(study_create(&study, gpt, gpt->config.context, seed, &err),
                     STATUS_OK);
    for (uint64_t t = 0; t < TEXTS; t++) {
        HeadText text = make_verse(&verse, t);
        study_add(&study, &text);
    }
    HeadText text = make_verse(&verse, 100);
    text.n = 8; /* texts may differ in length */
    study_add_repeats(&study, &text);
    assert_int_equal(study_finish(&figures, &study, &err), STATUS_OK);
    study_destroy(&study);
    return figures;
}

static Gpt model_of(InitKind kind)
{
    GptConfig config = small_config();
    Gpt gpt;
    Error err;
    assert_int_equal(gpt_create(&gpt, &config, &err), STATUS_OK);
    gpt_init(&gpt, kind, 1);
    return gpt;
}

static void a_study_agrees_with_the_probe(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    StudyFigures figures = study_of(&gpt, 1);
    int32_t ids[TEXTS * N], targets[TEXTS * N], positions[TEXTS * N];
    int64_t starts[TEXTS + 1] = {0};
    Verse verse;
    for (int t = 0; t < TEXTS; t++) {
        make_verse(&verse, (uint64_t)t);
        for (int i = 0; i < N; i++) {
            ids[t * N + i] = verse.ids[i];
            targets[t * N + i] = TARGET_NONE;
            positions[t * N + i] = i;
        }
        starts[t + 1] = (t + 1) * N;
    }
    TokenBatch batch = {.tokens = TEXTS * N,
                        .segments = TEXTS,
                        .ids = ids,
                        .targets = targets,
                        .positions = positions,
                        .starts = starts};
    LayerProbe layers[2];
    Error err;
    GptWork *work = work_for(&gpt, TEXTS * N);
    assert_int_equal(heads_probe(layers, &gpt, work, &batch, &err), STATUS_OK);
    gpt_work_destroy(work);
    assert_int_equal(figures.tokens, TEXTS * N);
    for (int l = 0; l < 2; l++) {
        const LayerFigures *layer = &figures.layer_items[l];
        assert_near(layer->entropy, layers[l].entropy, SAME_TOLERANCE);
        assert_near(layer->collapse.min_pair_distance, layers[l].min_distance,
                    SAME_TOLERANCE);
    }
    study_figures_free(&figures);
    gpt_destroy(&gpt);
}

static void identical_heads_collapse_and_others_do_not(void **state)
{
    (void)state;
    Gpt same = model_of(INIT_IDENTICAL_HEADS);
    Gpt apart = model_of(INIT_XAVIER_PER_HEAD);
    StudyFigures one = study_of(&same, 1);
    StudyFigures many = study_of(&apart, 1);
    for (int l = 0; l < 2; l++) {
        const LayerFigures *layer = &one.layer_items[l];
        assert_true(layer->collapse.min_pair_distance == 0);
        assert_near(layer->collapse.effective_heads, 1, 1e-4);
        assert_near(layer->q_overlap[1], 1, 1e-6);
        assert_true(layer->signs & SIGN_ALL_ALIKE);
        layer = &many.layer_items[l];
        assert_true(layer->collapse.min_pair_distance > 0);
        assert_true(layer->collapse.effective_heads > 1.5);
        assert_true(layer->q_overlap[1] < 0.9);
        assert_true(!(layer->signs & SIGN_ALL_ALIKE));
    }
    study_figures_free(&one);
    study_figures_free(&many);
    gpt_destroy(&same);
    gpt_destroy(&apart);
}

/* All weights zero: every map is even, every score its uniform baseline, no role. */
static void a_model_of_zeros_has_no_roles(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt;
    Error err;
    assert_int_equal(gpt_create(&gpt, &config, &err), STATUS_OK);
    StudyFigures figures = study_of(&gpt, 1);
    for (int64_t i = 0; i < figures.layers * figures.heads; i++) {
        const HeadFigures *head = &figures.head_items[i];
        assert_near(head->entropy, 1, 1e-6);
        assert_true(head->saturation == 0 && head->role == HEAD_ROLE_UNCLEAR);
        assert_true(head->norms[HEAD_Q] == 0 && head->stable_rank == 0);
        for (int p = 0; p < PATTERN_COUNT; p++)
            assert_near(head->scores[p].value, head->scores[p].uniform, 1e-6);
        for (int o = 0; o < N - 1; o++)
            assert_near(head->offsets[o], head->offset_uniform[o], 1e-6);
    }
    study_figures_free(&figures);
    gpt_destroy(&gpt);
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    StudyFigures a = study_of(&gpt, 1), b = study_of(&gpt, 1), c = study_of(&gpt, 2);
    bool differs = false;
    for (int64_t i = 0; i < a.layers * a.heads; i++) {
        for (int p = 0; p < PATTERN_COUNT; p++) {
            const Score *x = &a.head_items[i].scores[p];
            const Score *y = &b.head_items[i].scores[p];
            const Score *z = &c.head_items[i].scores[p];
            assert_true(x->value == y->value && x->shuffled == y->shuffled);
            assert_true(x->value == z->value); /* only the deals depend on the seed */
            differs = differs || x->shuffled != z->shuffled;
        }
    }
    assert_true(differs);
    study_figures_free(&a);
    study_figures_free(&b);
    study_figures_free(&c);
    gpt_destroy(&gpt);
}

/* ---- the view ------------------------------------------------------------------------ */

static double square_of(const Gpt *gpt, int64_t layer, int64_t head, HeadMatrix kind)
{
    double w[12 * 4], sum = 0;
    view_matrix(w, gpt, layer, head, kind);
    for (int i = 0; i < 12 * 4; i++)
        sum += w[i] * w[i];
    return sum;
}

enum { C = 12, MOST = 8 };

/* Gains 1 and biases 0 in front of attention, so that slices are all there is. */
static void make_plain(Gpt *gpt)
{
    for (int64_t t = 0; t < gpt->table.count; t++) {
        const ParamInfo *info = &gpt->table.items[t];
        real *values = gpt->values + info->offset;
        if (info->role == ROLE_NORM1_GAIN)
            fill_value(values, C, 1);
        if (info->role == ROLE_NORM1_BIAS || info->role == ROLE_QKV_BIAS)
            fill_value(values, info->cols, 0);
    }
}

/* a (N, C): the stream before a layer as its norm hands it on. */
static void norm_rows(double a[N][C], const real *x, const GptConfig *config)
{
    for (int i = 0; i < N; i++, x += C) {
        double mean = config->norm == NORM_LAYER ? sum_all(x, C) / C : 0;
        double variance = sum_products(x, x, C) / C - mean * mean;
        for (int c = 0; c < C; c++)
            a[i][c] = ((double)x[c] - mean) / sqrt(variance + config->norm_eps);
    }
}

/* out (N, columns) = a W, a row's scale by its own. */
static void project(double out[N][MOST], double a[N][C], const double *w,
                    int64_t columns, const double *scale)
{
    for (int i = 0; i < N; i++) {
        for (int64_t d = 0; d < columns; d++) {
            out[i][d] = 0;
            for (int c = 0; c < C; c++)
                out[i][d] += scale[i] * a[i][c] * w[d * C + c];
        }
    }
}

/* What the norm of a latent, `rank` columns of a matrix (C, width), makes of a row's size. */
static void latent_scales(double *scale, double a[N][C], const real *down,
                          int64_t width, int64_t rank)
{
    for (int i = 0; i < N; i++) {
        double square = 0;
        for (int64_t r = 0; r < rank; r++) {
            double sum = 0;
            for (int c = 0; c < C; c++)
                sum += a[i][c] * (double)down[c * width + r];
            square += sum * sum;
        }
        scale[i] = rank > 0 ? 1 / sqrt(square / (double)rank + 1e-6) : 1;
    }
}

/* One head's map and output, again from its slices: softmax of (a W_Q)(a W_K)^T times
 * 1 / sqrt(D), and that times a W_V. */
static void check_head(const HeadsView *view, int64_t l, int64_t h, double a[N][C])
{
    const Gpt *gpt = view->gpt;
    const MlaParams *mla = &gpt->params.blocks[l].mla;
    int64_t D = view_matrix_columns(gpt, HEAD_Q);
    int64_t E = view_matrix_columns(gpt, HEAD_V);
    double w[C * MOST], q[N][MOST], k[N][MOST], v[N][MOST], query[N], key[N];
    real map[N * N], output[N * MOST];
    int64_t R = gpt->config.kv_rank;
    bool latent = gpt->config.attention == ATTENTION_MLA;
    latent_scales(query, a, latent ? mla->q_down.weight : NULL, gpt->config.q_rank,
                  latent ? gpt->config.q_rank : 0);
    latent_scales(key, a, latent ? mla->kv_down.weight : NULL, R, latent ? R : 0);
    view_matrix(w, gpt, l, h, HEAD_Q);
    project(q, a, w, D, query);
    view_matrix(w, gpt, l, h, HEAD_K);
    project(k, a, w, D, key);
    view_matrix(w, gpt, l, h, HEAD_V);
    project(v, a, w, E, key);
    view_map(view, l, h, map, output);
    for (int i = 0; i < N; i++) {
        double p[N], total = 0;
        for (int j = 0; j <= i; j++) {
            double score = 0;
            for (int64_t d = 0; d < D; d++)
                score += q[i][d] * k[j][d];
            p[j] = exp(score / sqrt((double)D));
            total += p[j];
        }
        for (int64_t d = 0; d < E; d++) {
            double mixed = 0;
            for (int j = 0; j <= i; j++)
                mixed += p[j] / total * v[j][d];
            assert_near(output[i * E + d], mixed, 20 * SAME_TOLERANCE);
        }
        for (int j = 0; j <= i; j++)
            assert_near(map[i * N + j], p[j] / total, 20 * SAME_TOLERANCE);
    }
}

static void check_slices(const GptConfig *config)
{
    Gpt gpt = random_model(config);
    HeadsView view;
    Error err;
    Verse verse;
    make_verse(&verse, 3);
    make_plain(&gpt);
    assert_int_equal(view_create(&view, &gpt, N, &err), STATUS_OK);
    view_read(&view, verse.ids, N);
    for (int64_t l = 0; l < view_layers(&gpt); l++) {
        double a[N][C];
        norm_rows(a, view_stream(&view, l), config);
        for (int64_t h = 0; h < view_heads(&gpt, l); h++)
            check_head(&view, l, h, a);
    }
    view_destroy(&view);
    gpt_destroy(&gpt);
}

static void slices_are_what_attention_works_with(void **state)
{
    (void)state;
    GptConfig config = small_config();
    check_slices(&config);
}

/* Six query heads that read two groups: a head's keys are its group's. */
static GptConfig grouped_config(void)
{
    GptConfig config = gpt_config_open(FAMILY_LLAMA);
    config.vocab_size = 17;
    config.context = 13;
    config.width = C;
    config.layers = 2;
    config.heads = 6;
    config.kv_heads = 2;
    config.head_size = 4;
    config.mlp_width = 20;
    config.position = POSITION_NONE; /* slices know no turning */
    gpt_config_fill(&config);
    return config;
}

static void query_heads_have_the_keys_of_their_group(void **state)
{
    (void)state;
    GptConfig config = grouped_config();
    check_slices(&config);
    Gpt gpt = random_model(&config);
    double first[C * 4], other[C * 4];
    view_matrix(first, &gpt, 0, 0, HEAD_K);
    for (int64_t h = 0; h < 6; h++) {
        view_matrix(other, &gpt, 0, h, HEAD_K);
        assert_true((memcmp(first, other, sizeof first) == 0) == (h < 3));
    }
    StudyFigures figures = study_of(&gpt, 1);
    const double *overlap = figures.layer_items[0].k_overlap;
    assert_near(overlap[0 * 6 + 2], 1, 1e-9);
    assert_true(overlap[0 * 6 + 3] < 0.95);
    assert_true(figures.layer_items[0].q_overlap[0 * 6 + 2] < 0.95);
    study_figures_free(&figures);
    gpt_destroy(&gpt);
}

static GptConfig latent_config(void)
{
    GptConfig config = gpt_config_open(FAMILY_DEEPSEEK);
    config.vocab_size = 17;
    config.context = 13;
    config.width = C;
    config.layers = 2;
    config.heads = 3;
    config.mlp_width = 20;
    config.q_rank = 7;
    config.kv_rank = 6;
    config.nope_size = 5;
    config.rope_size = 2;
    config.value_size = 3;
    gpt_config_fill(&config);
    return config;
}

static void latent_heads_are_products_of_their_matrices(void **state)
{
    (void)state;
    GptConfig config = latent_config();
    config.position = POSITION_NONE;
    config.rope_size = 0;
    check_slices(&config);
    config.q_rank = 0; /* queries straight from the stream */
    check_slices(&config);
}

/* The rope part of K is the same for all heads: the last columns of W_DKV. */
static void latent_heads_share_the_rope_part(void **state)
{
    (void)state;
    GptConfig config = latent_config();
    Gpt gpt = random_model(&config);
    double w[C * 7];
    for (int64_t h = 0; h < 3; h++) {
        view_matrix(w, &gpt, 1, h, HEAD_K);
        for (int d = 0; d < 2; d++) {
            for (int c = 0; c < C; c++)
                assert_true(
                    w[(5 + d) * C + c] ==
                    (double)gpt.params.blocks[1].mla.kv_down.weight[c * 8 + 6 + d]);
        }
    }
    StudyFigures figures = study_of(&gpt, 1);
    assert_int_equal(figures.head_items[0].score_rank, 7);
    study_figures_free(&figures);
    gpt_destroy(&gpt);
}

/* Of layer 0 heads 1 and 4 are cut, of layer 1 all. */
static void heads_that_are_left_keep_their_numbers(void **state)
{
    (void)state;
    GptConfig config = grouped_config();
    config.removed[0] = 1 << 1 | 1 << 4;
    config.removed[1] = 63;
    check_slices(&config);
    Gpt gpt = random_model(&config);
    StudyFigures figures = study_of(&gpt, 1);
    static const int64_t NUMBERS[] = {0, 2, 3, 5};
    assert_int_equal(figures.layer_items[0].heads, 4);
    for (int h = 0; h < 4; h++)
        assert_int_equal(figures.head_items[h].number, NUMBERS[h]);
    assert_int_equal(figures.layer_items[1].heads, 0);
    assert_true(figures.layer_items[1].collapse.effective_heads == 0);
    assert_true(figures.layer_items[1].entropy == 1);
    assert_true(!(figures.layer_items[1].signs & ~(unsigned)SIGN_RANK));
    study_figures_free(&figures);
    gpt_destroy(&gpt);
}

/* What a head adds to the stream is its output times its slice of W_O. */
static void the_output_slice_writes_what_the_head_says(void **state)
{
    (void)state;
    GptConfig config = small_config();
    config.layers = 1;
    Gpt gpt = random_model(&config);
    BlockParams *block = &gpt.params.blocks[0];
    HeadsView view;
    Error err;
    Verse verse;
    make_verse(&verse, 3);
    /* The MLP says nothing, W_O has no bias: the block adds what the heads add. */
    fill_value(block->mlp.down.weight, 20 * 12, 0);
    fill_value(block->mlp.down.bias, 12, 0);
    fill_value(block->attention.out.bias, 12, 0);
    assert_int_equal(view_create(&view, &gpt, N, &err), STATUS_OK);
    view_read(&view, verse.ids, N);
    double added[N * 12] = {0};
    for (int64_t h = 0; h < 3; h++) {
        real map[N * N], output[N * 4];
        double wo[48];
        view_map(&view, 0, h, map, output);
        view_matrix(wo, &gpt, 0, h, HEAD_O);
        for (int i = 0; i < N; i++) {
            for (int c = 0; c < 12; c++) {
                for (int d = 0; d < 4; d++)
                    added[i * 12 + c] += (double)output[i * 4 + d] * wo[d * 12 + c];
            }
        }
    }
    for (int i = 0; i < N * 12; i++)
        assert_near(view_stream(&view, 1)[i],
                    (double)view_stream(&view, 0)[i] + added[i], 10 * SAME_TOLERANCE);
    view_destroy(&view);
    gpt_destroy(&gpt);
}

static void norms_and_ranks_are_those_of_the_slices(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    StudyFigures figures = study_of(&gpt, 1);
    for (int64_t l = 0; l < 2; l++) {
        for (int64_t h = 0; h < 3; h++) {
            const HeadFigures *head = &figures.head_items[l * 3 + h];
            for (int kind = 0; kind < HEAD_MATRICES; kind++)
                assert_near(head->norms[kind],
                            sqrt(square_of(&gpt, l, h, (HeadMatrix)kind)), 1e-9);
            assert_true(head->stable_rank >= 1 && head->stable_rank <= 4);
            assert_int_equal(head->score_rank, 4);
        }
        assert_near(figures.layer_items[l].random_overlap, 4.0 / 12, 1e-12);
    }
    study_figures_free(&figures);
    gpt_destroy(&gpt);
}

static void the_residual_is_taken_behind_the_layer(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    StudyFigures figures = study_of(&gpt, 1);
    HeadsView view;
    Error err;
    Verse verse;
    double residual[2] = {0};
    assert_int_equal(view_create(&view, &gpt, N, &err), STATUS_OK);
    for (uint64_t t = 0; t < TEXTS; t++) {
        make_verse(&verse, t);
        view_read(&view, verse.ids, N);
        for (int64_t l = 0; l < 2; l++)
            residual[l] += rank_residual(view_stream(&view, l + 1), N, 12) / TEXTS;
    }
    for (int64_t l = 0; l < 2; l++)
        assert_near(figures.layer_items[l].collapse.residual, residual[l], 1e-12);
    view_destroy(&view);
    study_figures_free(&figures);
    gpt_destroy(&gpt);
}

static void repeats_count_for_induction_alone(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    Study study;
    StudyFigures figures;
    Error err;
    Verse verse;
    HeadText text = make_verse(&verse, 1);
    for (int i = 1; i < N; i++) { /* <bos> a b c d e a b c d e */
        verse.ids[i] = 4 + (i - 1) % 5;
        verse.kinds[i] = KIND_CHARACTER;
    }
    assert_int_equal(study_create(&study, &gpt, N, 1, &err), STATUS_OK);
    study_add_repeats(&study, &text);
    make_verse(&verse, 2);
    study_add(&study, &text);
    assert_int_equal(study_finish(&figures, &study, &err), STATUS_OK);
    assert_int_equal(figures.texts, 1);
    for (int64_t i = 0; i < figures.layers * figures.heads; i++) {
        assert_int_equal(figures.head_items[i].repeats.rows, 5);
        assert_int_equal(figures.head_items[i].scores[PATTERN_SELF].rows, N - 1);
    }
    study_figures_free(&figures);
    study_destroy(&study);
    gpt_destroy(&gpt);
}

static void weights_that_are_not_finite_are_an_error(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    Study study;
    StudyFigures figures;
    Error err;
    Verse verse;
    HeadText text = make_verse(&verse, 1);
    gpt.params.blocks[1].attention.qkv.weight[7] = (real)NAN;
    assert_int_equal(study_create(&study, &gpt, N, 1, &err), STATUS_OK);
    study_add(&study, &text);
    assert_int_equal(study_finish(&figures, &study, &err), STATUS_NUMERIC);
    assert_non_null(strstr(err.message, "layer 1"));
    assert_null(figures.head_items);
    study_destroy(&study);
    gpt_destroy(&gpt);
}

static void a_text_of_one_token_says_nothing(void **state)
{
    (void)state;
    GptConfig config = small_config();
    Gpt gpt = random_model(&config);
    Study study;
    StudyFigures figures;
    Error err;
    Verse verse;
    HeadText text = make_verse(&verse, 1);
    text.n = 1;
    assert_int_equal(study_create(&study, &gpt, N, 1, &err), STATUS_OK);
    study_add(&study, &text);
    assert_int_equal(study_finish(&figures, &study, &err), STATUS_OK);
    for (int64_t i = 0; i < figures.layers * figures.heads; i++)
        assert_int_equal(figures.head_items[i].role, HEAD_ROLE_UNCLEAR);
    assert_true(!(figures.layer_items[0].signs & (SIGN_ENTROPY | SIGN_RANK)));
    study_figures_free(&figures);
    study_destroy(&study);
    gpt_destroy(&gpt);
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_agrees_with_the_probe),
        cmocka_unit_test(identical_heads_collapse_and_others_do_not),
        cmocka_unit_test(a_model_of_zeros_has_no_roles),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
        cmocka_unit_test(slices_are_what_attention_works_with),
        cmocka_unit_test(query_heads_have_the_keys_of_their_group),
        cmocka_unit_test(latent_heads_are_products_of_their_matrices),
        cmocka_unit_test(latent_heads_share_the_rope_part),
        cmocka_unit_test(heads_that_are_left_keep_their_numbers),
        cmocka_unit_test(the_output_slice_writes_what_the_head_says),
        cmocka_unit_test(norms_and_ranks_are_those_of_the_slices),
        cmocka_unit_test(the_residual_is_taken_behind_the_layer),
        cmocka_unit_test(repeats_count_for_induction_alone),
        cmocka_unit_test(weights_that_are_not_finite_are_an_error),
        cmocka_unit_test(a_text_of_one_token_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
