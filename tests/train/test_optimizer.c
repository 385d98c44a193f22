/* Schedule, clipping, AdamW, Muon and who gets which of them. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/math/blas.h"
#include "tests/train/tiny_set.h"
#include "train/clip.h"
#include "train/optimizer.h"
#include "train/schedule.h"

static void fill(real *to, int64_t count, double scale, uint64_t seed)
{
    Rng rng = rng_stream(seed, 7);
    for (int64_t i = 0; i < count; i++)
        to[i] = (real)(scale * rng_normal(&rng));
}

/* ---- the schedule ------------------------------------------------------------------- */

static void the_rate_rises_to_its_peak_and_falls_to_its_end(void **state)
{
    (void)state;
    assert_near(schedule_factor(0, 100, 10, 0.1), 0.1, 1e-12);
    assert_near(schedule_factor(9, 100, 10, 0.1), 1, 1e-12);
    assert_near(schedule_factor(10, 100, 10, 0.1), 1, 1e-12);
    assert_near(schedule_factor(55, 100, 10, 0.1), 0.55, 1e-12); /* half way */
    assert_near(schedule_factor(100, 100, 10, 0.1), 0.1, 1e-12);
    for (int64_t step = 1; step < 100; step++) {
        double before = schedule_factor(step - 1, 100, 10, 0.1);
        double now = schedule_factor(step, 100, 10, 0.1);
        assert_true(step < 10 ? now > before : now <= before);
        assert_true(now >= 0.1 && now <= 1);
    }
}

static void a_schedule_at_its_edges_is_finite(void **state)
{
    (void)state;
    assert_near(schedule_factor(0, 1, 0, 0), 1, 0);          /* no warm-up */
    assert_near(schedule_factor(4, 5, 9, 0), 5. / 9, 1e-12); /* never warm */
    assert_near(schedule_factor(5, 5, 5, 0.3), 0.3, 0);      /* no time to fall */
    assert_near(schedule_factor(7, 5, 2, 0.3), 0.3, 0);      /* over */
    assert_near(schedule_factor(3, 10, 2, 1), 1, 1e-12);     /* stays at its peak */
}

/* ---- clipping ----------------------------------------------------------------------- */

static double plain_norm(const real *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

enum { CLIPPED = 1003 };

static void a_long_gradient_is_scaled_to_the_limit(void **state)
{
    (void)state;
    real grads[CLIPPED], before[CLIPPED];
    fill(before, CLIPPED, 2, 1);
    memcpy(grads, before, sizeof grads);
    double norm = clip_global_norm(grads, CLIPPED, 1.5);
    assert_near(norm, plain_norm(before, CLIPPED), 1e-9 * norm);
    assert_near(plain_norm(grads, CLIPPED), 1.5, 1e-5);
    for (int i = 0; i < CLIPPED; i++)
        assert_near(grads[i], before[i] * 1.5 / norm, 1e-6 * fabs((double)before[i]));
}

static void a_short_gradient_stays_as_it_is(void **state)
{
    (void)state;
    real grads[CLIPPED], before[CLIPPED];
    fill(before, CLIPPED, 2, 1);
    const double limits[] = {1e3, 0, -1}; /* 0 and less: no limit */
    for (int i = 0; i < 3; i++) {
        memcpy(grads, before, sizeof grads);
        assert_true(clip_global_norm(grads, CLIPPED, limits[i]) > 1);
        assert_memory_equal(grads, before, sizeof grads);
    }
    memset(grads, 0, sizeof grads);
    assert_near(clip_global_norm(grads, CLIPPED, 1), 0, 0);
    assert_near(clip_global_norm(grads, 0, 1), 0, 0);
}

static void a_gradient_that_is_not_finite_is_told_and_left_alone(void **state)
{
    (void)state;
    real grads[CLIPPED], before[CLIPPED];
    const real bad[] = {(real)NAN, (real)INFINITY, -(real)INFINITY};
    for (int i = 0; i < 3; i++) {
        fill(before, CLIPPED, 2, 1);
        before[CLIPPED - 1] = bad[i];
        memcpy(grads, before, sizeof grads);
        double norm = clip_global_norm(grads, CLIPPED, 1);
        assert_true(!(norm <= DBL_MAX));
        assert_memory_equal(grads, before, sizeof grads);
    }
}

static void large_gradients_do_not_overflow_the_norm(void **state)
{
    (void)state;
    real grads[8];
    for (int i = 0; i < 8; i++)
        grads[i] = (real)1e30;
    assert_near(clip_global_norm(grads, 8, 2) / (1e30 * sqrt(8)), 1, 1e-6);
    assert_near(plain_norm(grads, 8), 2, 1e-5);
}

static void clipping_gives_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static real grads[3][50021];
    double norms[3];
    for (int t = 0; t < 3; t++) {
        omp_set_num_threads(t + 1);
        fill(grads[t], 50021, 1, 5);
        norms[t] = clip_global_norm(grads[t], 50021, 1);
        assert_memory_equal(&norms[t], &norms[0], sizeof(double));
        assert_memory_equal(grads[t], grads[0], sizeof grads[0]);
    }
}

/* ---- AdamW -------------------------------------------------------------------------- */

static const AdamwOptions ADAMW = {
    .rate = 3e-3, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1};

static void adamw_is_its_definition(void **state)
{
    (void)state;
    enum { N = 9001, UPDATES = 7 };
    static real w[N], m[N], v[N], g[N];
    static double w2[N], m2[N], v2[N];
    fill(w, N, 1, 1);
    for (int i = 0; i < N; i++) {
        w2[i] = (double)w[i];
        m[i] = v[i] = 0;
        m2[i] = v2[i] = 0;
    }
    const AdamwOptions *o = &ADAMW;
    for (int t = 1; t <= UPDATES; t++) {
        fill(g, N, 0.02, (uint64_t)t + 10);
        adamw_update(w, m, v, g, N, o, t);
        for (int i = 0; i < N; i++) {
            double gi = (double)g[i];
            m2[i] = o->beta1 * m2[i] + (1 - o->beta1) * gi;
            v2[i] = o->beta2 * v2[i] + (1 - o->beta2) * gi * gi;
            double mhat = m2[i] / (1 - pow(o->beta1, t));
            double vhat = v2[i] / (1 - pow(o->beta2, t));
            w2[i] -= o->rate * (o->decay * w2[i] + mhat / (sqrt(vhat) + o->eps));
        }
    }
    for (int i = 0; i < N; i++) {
        assert_near(w[i], w2[i], 4e-6 * (1 + fabs(w2[i])));
        assert_near(m[i], m2[i], 1e-8);
        assert_near(v[i], v2[i], 1e-9);
    }
}

/* With g = 0 nothing but the decay moves w; without decay it stays to the bit. */
static void decay_is_decoupled_from_the_gradient(void **state)
{
    (void)state;
    real w[5] = {1, -2, 3, 0, 5}, m[5] = {0}, v[5] = {0}, g[5] = {0};
    real before[5];
    memcpy(before, w, sizeof w);
    AdamwOptions options = ADAMW;
    options.rate = 0.5;
    adamw_update(w, m, v, g, 5, &options, 1);
    for (int i = 0; i < 5; i++)
        assert_near(w[i], before[i] * (real)0.95, 1e-6);
    memcpy(w, before, sizeof w);
    options.decay = 0;
    adamw_update(w, m, v, g, 5, &options, 2);
    assert_memory_equal(w, before, sizeof w);
}

/* The first step is rate sign(g), however small g is (above eps). */
static void the_first_step_does_not_depend_on_the_gradients_size(void **state)
{
    (void)state;
    real w[4] = {0}, m[4] = {0}, v[4] = {0};
    const real g[4] = {(real)1e-5, (real)-1e-2, 1, (real)-1e4};
    AdamwOptions options = ADAMW;
    adamw_update(w, m, v, g, 4, &options, 1);
    for (int i = 0; i < 4; i++)
        assert_near(w[i], g[i] > 0 ? -3e-3 : 3e-3, 1e-5);
}

/* ---- Muon --------------------------------------------------------------------------- */

enum { LARGEST = 96 };

/* Eigenvalues of the symmetric a (k, k) by Jacobi rotations, into values. */
static void eigenvalues(double *values, double *a, int k)
{
    for (int sweep = 0; sweep < 30; sweep++) {
        for (int p = 0; p < k; p++) {
            for (int q = p + 1; q < k; q++) {
                double apq = a[p * k + q];
                if (fabs(apq) < 1e-15)
                    continue;
                double theta = (a[q * k + q] - a[p * k + p]) / (2 * apq);
                double t =
                    (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int i = 0; i < k; i++) {
                    double x = a[i * k + p], y = a[i * k + q];
                    a[i * k + p] = c * x - s * y;
                    a[i * k + q] = s * x + c * y;
                }
                for (int i = 0; i < k; i++) {
                    double x = a[p * k + i], y = a[q * k + i];
                    a[p * k + i] = c * x - s * y;
                    a[q * k + i] = s * x + c * y;
                }
            }
        }
    }
    for (int i = 0; i < k; i++)
        values[i] = a[i * k + i];
}

/* The singular values of x (rows, cols): roots of the eigenvalues of its smaller Gram
 * matrix. Returns how many there are. */
static int singular_values(double *values, const real *x, int rows, int cols)
{
    static double gram[LARGEST * LARGEST];
    int k = rows < cols ? rows : cols;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++) {
            double sum = 0;
            for (int n = 0; n < (rows < cols ? cols : rows); n++)
                sum += rows < cols ? (double)x[i * cols + n] * (double)x[j * cols + n]
                                   : (double)x[n * cols + i] * (double)x[n * cols + j];
            gram[i * k + j] = sum;
        }
    }
    eigenvalues(values, gram, k);
    for (int i = 0; i < k; i++)
        values[i] = sqrt(fmax(values[i], 0));
    return k;
}

static real matrix[LARGEST * LARGEST];
static real scratch[4 * LARGEST * LARGEST];

static void singular_values_become_about_one(void **state)
{
    (void)state;
    static const int SHAPES[][2] = {{1, 1},   {1, 40},  {40, 1},  {16, 16},
                                    {12, 36}, {24, 96}, {96, 24}, {48, 20}};
    /* A gradient's size must not matter, as long as its square is a float. */
    static const double SCALES[] = {1, 1e-4, 1e6};
    for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++) {
        for (size_t i = 0; i < sizeof SCALES / sizeof *SCALES; i++) {
            int rows = SHAPES[s][0], cols = SHAPES[s][1];
            assert_true(muon_scratch(rows, cols) <= 4 * LARGEST * LARGEST);
            fill(matrix, rows * cols, SCALES[i], (uint64_t)s);
            double before[LARGEST], after[LARGEST];
            int k = singular_values(before, matrix, rows, cols);
            double largest = 0;
            for (int j = 0; j < k; j++)
                largest = fmax(largest, before[j]);
            muon_orthogonalise(matrix, rows, cols, scratch);
            singular_values(after, matrix, rows, cols);
            double least = 9, most = 0, smallest_before = largest;
            for (int j = 0; j < k; j++) {
                least = fmin(least, after[j]);
                most = fmax(most, after[j]);
                smallest_before = fmin(smallest_before, before[j]);
            }
            assert_true(most < 1.3);
            if (smallest_before > 0.05 * largest) /* within reach of five steps */
                assert_true(least > 0.6);
        }
    }
}

/* x = U S V^T keeps its singular vectors: x^T o stays symmetric and positive. */
static void the_orthogonal_factor_belongs_to_the_matrix(void **state)
{
    (void)state;
    enum { N = 24 };
    real before[N * N];
    fill(before, N * N, 1, 3);
    memcpy(matrix, before, sizeof before);
    muon_orthogonalise(matrix, N, N, scratch);
    double trace = 0, asymmetry = 0, size = 0;
    static double product[N * N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int n = 0; n < N; n++)
                sum += (double)before[n * N + i] * (double)matrix[n * N + j];
            product[i * N + j] = sum;
        }
    for (int i = 0; i < N; i++) {
        trace += product[i * N + i];
        for (int j = 0; j < N; j++) {
            asymmetry = fmax(asymmetry, fabs(product[i * N + j] - product[j * N + i]));
            size = fmax(size, fabs(product[i * N + j]));
        }
    }
    assert_true(trace > 0);
    assert_true(asymmetry < 1e-4 * size);
}

static void directions_without_a_gradient_get_no_update(void **state)
{
    (void)state;
    enum { ROWS = 20, COLS = 32, RANK = 3 };
    real left[ROWS * RANK], right[RANK * COLS];
    fill(left, ROWS * RANK, 1, 1);
    fill(right, RANK * COLS, 1, 2);
    matmul(PLAIN, PLAIN, ROWS, COLS, RANK, 1, left, RANK, right, COLS, 0, matrix, COLS);
    muon_orthogonalise(matrix, ROWS, COLS, scratch);
    double values[LARGEST];
    int live = 0;
    singular_values(values, matrix, ROWS, COLS);
    for (int i = 0; i < ROWS; i++) {
        assert_true(values[i] < 1.3);
        assert_true(values[i] > 0.6 || values[i] < 0.05);
        live += values[i] > 0.6;
    }
    assert_int_equal(live, RANK);
}

static void a_zero_matrix_stays_zero(void **state)
{
    (void)state;
    memset(matrix, 0, sizeof matrix);
    muon_orthogonalise(matrix, 32, 16, scratch);
    for (int i = 0; i < 32 * 16; i++)
        assert_true(matrix[i] == 0);
}

/* One update by the formulas of muon.h, on a block of a wider matrix; what is beside the
 * block stays. */
static void an_update_is_its_definition(void **state)
{
    (void)state;
    enum { ROWS = 12, COLS = 20, STRIDE = 50 };
    static real w[ROWS * STRIDE], m[ROWS * STRIDE], g[ROWS * STRIDE];
    static real w0[ROWS * STRIDE], m0[ROWS * STRIDE];
    const MuonOptions options = {.rate = 0.02, .momentum = 0.95, .decay = 0.1};
    fill(w, ROWS * STRIDE, 1, 1);
    fill(m, ROWS * STRIDE, 1, 2);
    fill(g, ROWS * STRIDE, 1, 3);
    memcpy(w0, w, sizeof w);
    memcpy(m0, m, sizeof m);
    MuonShape shape = {
        .rows = ROWS, .stride = STRIDE, .slices = 1, .width = COLS, .step = COLS};
    muon_update(w, m, g, &shape, &options, scratch);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            int at = i * STRIDE + j;
            real momentum = (real)0.95 * m0[at] + g[at];
            assert_near(m[at], momentum, 1e-6);
            matrix[i * COLS + j] = g[at] + (real)0.95 * momentum;
        }
    muon_orthogonalise(matrix, ROWS, COLS, scratch);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < STRIDE; j++) {
            int at = i * STRIDE + j;
            if (j >= COLS) {
                assert_memory_equal(&w[at], &w0[at], sizeof(real));
                assert_memory_equal(&m[at], &m0[at], sizeof(real));
                continue;
            }
            double larger = sqrt((double)COLS / ROWS);
            assert_near(w[at],
                        (double)w0[at] * (1 - 0.02 * 0.1) -
                            0.02 * larger * (double)matrix[i * COLS + j],
                        1e-6);
        }
}

/* Slices that lie by turns with others are one matrix, as if they stood alone. */
static void slices_are_gathered_into_one_matrix(void **state)
{
    (void)state;
    enum { ROWS = 10, SLICES = 3, WIDTH = 4, STEP = 7, FIRST = 2, STRIDE = 25 };
    enum { COLS = SLICES * WIDTH };
    static real w[ROWS * STRIDE], m[ROWS * STRIDE], g[ROWS * STRIDE], w0[ROWS * STRIDE];
    static real alone[3][ROWS * COLS];
    const MuonOptions options = {.rate = 0.02, .momentum = 0.95, .decay = 0.1};
    real *const whole[] = {w, m, g};
    bool inside[STRIDE] = {false};
    for (int k = 0; k < 3; k++) {
        fill(whole[k], ROWS * STRIDE, 1, (uint64_t)(20 + k));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++) {
                int at = FIRST + j / WIDTH * STEP + j % WIDTH;
                inside[at] = true;
                alone[k][i * COLS + j] = whole[k][i * STRIDE + at];
            }
    }
    memcpy(w0, w, sizeof w);
    muon_update(w + FIRST, m + FIRST, g + FIRST,
                &(MuonShape){.rows = ROWS,
                             .stride = STRIDE,
                             .slices = SLICES,
                             .width = WIDTH,
                             .step = STEP},
                &options, scratch);
    muon_update(
        alone[0], alone[1], alone[2],
        &(MuonShape){
            .rows = ROWS, .stride = COLS, .slices = 1, .width = COLS, .step = COLS},
        &options, scratch);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            int at = i * STRIDE + FIRST + j / WIDTH * STEP + j % WIDTH;
            assert_true(w[at] == alone[0][i * COLS + j]);
            assert_true(m[at] == alone[1][i * COLS + j]);
        }
        for (int j = 0; j < STRIDE; j++)
            assert_true(inside[j] != (w[i * STRIDE + j] == w0[i * STRIDE + j]));
    }
}

/* ---- who gets which ----------------------------------------------------------------- */

static const OptimizerOptions OPTIONS = {.kind = OPTIMIZER_MUON,
                                         .rate = 3e-3,
                                         .beta1 = 0.9,
                                         .beta2 = 0.95,
                                         .eps = 1e-8,
                                         .decay = 0.1,
                                         .muon_rate = 0.02,
                                         .muon_momentum = 0.95,
                                         .muon_decay = 0.2};

/* A tiny model after `updates` updates by random gradients; scale multiplies columns
 * first .. last-1 of layer 0's QKV gradient. */
static void train_blindly(Gpt *gpt, const OptimizerOptions *options, int updates,
                          real scale, int64_t first, int64_t last)
{
    tiny_model(gpt, 1);
    Optimizer optimizer;
    TINY_MUST(optimizer_create(&optimizer, gpt, options, err));
    real *grads;
    TINY_MUST(memory_allocate(&grads, gpt->table.total, sizeof *grads, "a test", err));
    const ParamInfo *qkv =
        param_table_find(&gpt->table, "transformer.h.0.attn.c_attn.weight");
    for (int u = 0; u < updates; u++) {
        for (int64_t i = 0; i < gpt->table.count; i++) {
            const ParamInfo *info = &gpt->table.items[i];
            fill(grads + info->offset, info->rows * info->cols, 0.1,
                 (uint64_t)(100 * u + i));
        }
        for (int64_t i = 0; i < qkv->rows; i++)
            for (int64_t j = first; j < last; j++)
                grads[qkv->offset + (size_t)(i * qkv->cols + j)] *= scale;
        optimizer_update(&optimizer, gpt, grads, 0.5);
    }
    assert_int_equal(optimizer.updates, updates);
    memory_free(grads);
    optimizer_destroy(&optimizer);
}

static void queries_keys_and_values_are_three_matrices(void **state)
{
    (void)state;
    Gpt plain, changed;
    int64_t C = tiny_config().width;
    train_blindly(&plain, &OPTIONS, 1, 1, 0, 0);
    train_blindly(&changed, &OPTIONS, 1, -2, C, 2 * C); /* W_K's gradient */
    const ParamInfo *qkv =
        param_table_find(&plain.table, "transformer.h.0.attn.c_attn.weight");
    bool keys_differ = false;
    for (int64_t i = 0; i < qkv->rows; i++)
        for (int64_t j = 0; j < qkv->cols; j++) {
            size_t at = qkv->offset + (size_t)(i * qkv->cols + j);
            bool same = plain.values[at] == changed.values[at];
            if (j / C != 1)
                assert_true(same);
            keys_differ = keys_differ || !same;
        }
    assert_true(keys_differ);
    gpt_destroy(&changed);
    gpt_destroy(&plain);
}

/* MLA's keys and values lie by turns in W_UKV, latent and shared key side by side in W_DKV:
 * the gradient of one part changes no other. */
static void parts_of_other_models_are_matrices_too(void **state)
{
    (void)state;
    GptConfig config = gpt_config_open(FAMILY_DEEPSEEK);
    config.vocab_size = 9;
    config.context = 8;
    config.width = 16;
    config.layers = 1;
    config.heads = 2;
    gpt_config_fill(&config);
    for (int64_t t = 0; t < 20; t++) {
        Gpt gpt[2];
        const ParamInfo *info = NULL;
        int part = (int)(t % 2);
        for (int k = 0; k < 2; k++) {
            Optimizer optimizer;
            real *grads;
            TINY_MUST(gpt_create(&gpt[k], &config, err));
            TINY_MUST(optimizer_create(&optimizer, &gpt[k], &OPTIONS, err));
            TINY_MUST(memory_allocate(&grads, gpt[k].table.total, sizeof *grads,
                                      "a test", err));
            fill(grads, (int64_t)gpt[k].table.total, 0.1, 5);
            if (t / 2 < gpt[k].table.count)
                info = &gpt[k].table.items[t / 2];
            if (info != NULL && part < info->parts && k == 1)
                grads[info->offset + (size_t)info->part[part].first] += 1;
            optimizer_update(&optimizer, &gpt[k], grads, 1);
            memory_free(grads);
            optimizer_destroy(&optimizer);
        }
        for (int64_t j = 0; info != NULL && info->kind == PARAM_HEADS &&
                            part < info->parts && j < info->cols;
             j++) {
            const ParamPart *at = &info->part[part];
            bool own = j >= at->first && (j - at->first) % at->step < at->width &&
                       (j - at->first) / at->step < at->heads;
            size_t place = info->offset + (size_t)j;
            assert_true(own != (gpt[0].values[place] == gpt[1].values[place]));
        }
        gpt_destroy(&gpt[1]);
        gpt_destroy(&gpt[0]);
    }
}

/* With a zero gradient only decay moves a weight: matrices by Muon's, embeddings by AdamW's,
 * gains and biases not at all. */
static void each_tensor_has_its_own_decay(void **state)
{
    (void)state;
    for (int kind = OPTIMIZER_MUON; kind <= OPTIMIZER_ADAMW; kind++) {
        Gpt gpt, before;
        OptimizerOptions options = OPTIONS;
        options.kind = (OptimizerKind)kind;
        tiny_model(&gpt, 1);
        tiny_model(&before, 1);
        Optimizer optimizer;
        TINY_MUST(optimizer_create(&optimizer, &gpt, &options, err));
        real *zero;
        TINY_MUST(memory_allocate(&zero, gpt.table.total, sizeof *zero, "a test", err));
        optimizer_update(&optimizer, &gpt, zero, 0.5);
        for (int64_t t = 0; t < gpt.table.count; t++) {
            const ParamInfo *info = &gpt.table.items[t];
            bool muon = kind == OPTIMIZER_MUON && !info->is_vector &&
                        info->kind != PARAM_EMBEDDING;
            double keep = info->is_vector ? 1
                          : muon          ? 1 - 0.5 * 0.02 * 0.2
                                          : 1 - 0.5 * 3e-3 * 0.1;
            for (int64_t i = 0; i < info->rows * info->cols; i++) {
                size_t at = info->offset + (size_t)i;
                if (info->is_vector)
                    assert_true(gpt.values[at] == before.values[at]);
                else
                    assert_near(gpt.values[at], (double)before.values[at] * keep,
                                2e-7 * fabs((double)before.values[at]) + 1e-12);
            }
        }
        memory_free(zero);
        optimizer_destroy(&optimizer);
        gpt_destroy(&before);
        gpt_destroy(&gpt);
    }
}

static void updates_give_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    for (int kind = OPTIMIZER_MUON; kind <= OPTIMIZER_ADAMW; kind++) {
        OptimizerOptions options = OPTIONS;
        options.kind = (OptimizerKind)kind;
        Gpt one;
        omp_set_num_threads(1);
        train_blindly(&one, &options, 3, 1, 0, 0);
        for (int threads = 2; threads <= 3; threads++) {
            Gpt more;
            omp_set_num_threads(threads);
            train_blindly(&more, &options, 3, 1, 0, 0);
            assert_memory_equal(more.values, one.values,
                                one.table.total * sizeof(real));
            gpt_destroy(&more);
        }
        gpt_destroy(&one);
    }
}

int main(void)
{
    blas_single_thread();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_rises_to_its_peak_and_falls_to_its_end),
        cmocka_unit_test(a_schedule_at_its_edges_is_finite),
        cmocka_unit_test(a_long_gradient_is_scaled_to_the_limit),
        cmocka_unit_test(a_short_gradient_stays_as_it_is),
        cmocka_unit_test(a_gradient_that_is_not_finite_is_told_and_left_alone),
        cmocka_unit_test(large_gradients_do_not_overflow_the_norm),
        cmocka_unit_test(clipping_gives_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(adamw_is_its_definition),
        cmocka_unit_test(decay_is_decoupled_from_the_gradient),
        cmocka_unit_test(the_first_step_does_not_depend_on_the_gradients_size),
        cmocka_unit_test(singular_values_become_about_one),
        cmocka_unit_test(the_orthogonal_factor_belongs_to_the_matrix),
        cmocka_unit_test(directions_without_a_gradient_get_no_update),
        cmocka_unit_test(a_zero_matrix_stays_zero),
        cmocka_unit_test(an_update_is_its_definition),
        cmocka_unit_test(slices_are_gathered_into_one_matrix),
        cmocka_unit_test(queries_keys_and_values_are_three_matrices),
        cmocka_unit_test(parts_of_other_models_are_matrices_too),
        cmocka_unit_test(each_tensor_has_its_own_decay),
        cmocka_unit_test(updates_give_the_same_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests_name("optimizer", tests, NULL, NULL);
}
