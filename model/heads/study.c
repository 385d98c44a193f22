#include "model/heads/study.h"

#include <assert.h>
#include <string.h>

#include "model/heads/entropy.h"

/* Deals of a text, each with a mask for every pattern that reads it. */
enum { DEALS = 8, MASKS = PATTERN_COUNT * (1 + DEALS) };

static Status create_layers(Study *study, Error *err)
{
    int64_t D = view_output_size(study->view.gpt);
    for (int64_t l = 0; l < study->layers; l++)
        TRY(collapse_create(&study->layer_sums[l], view_heads(study->view.gpt, l), D,
                            err));
    return STATUS_OK;
}

static Status create(Study *study, int64_t longest, Error *err)
{
    size_t L = (size_t)study->layers;
    size_t H = (size_t)study->heads;
    size_t n = (size_t)longest;
    size_t D = (size_t)view_output_size(study->view.gpt);
    static const char WHAT[] = "attention maps";
    TRY(memory_allocate(&study->sums, L * H, sizeof *study->sums, WHAT, err));
    TRY(memory_allocate(&study->layer_sums, L, sizeof *study->layer_sums, WHAT, err));
    TRY(memory_allocate(&study->maps, H * n * n, sizeof *study->maps, WHAT, err));
    TRY(memory_allocate(&study->outputs, H * n * D, sizeof *study->outputs, WHAT, err));
    TRY(memory_allocate(&study->masks, MASKS * n * n, 1, "patterns", err));
    TRY(memory_allocate(&study->dealt_ids, n * 2, sizeof *study->dealt_ids, WHAT, err));
    TRY(memory_allocate(&study->dealt_kinds, n, 1, WHAT, err));
    study->rarity = study->dealt_ids + n;
    return create_layers(study, err);
}

Status study_create(Study *study, const Gpt *gpt, int64_t longest, uint64_t seed,
                    Error *err)
{
    *study = (Study){.layers = view_layers(gpt),
                     .heads = view_most_heads(gpt),
                     .rng = rng_stream(seed, 0x6465616C)}; /* "deal" */
    TRY(view_create(&study->view, gpt, longest, err));
    Status status = create(study, longest, err);
    if (status != STATUS_OK)
        study_destroy(study);
    return status;
}

void study_destroy(Study *study)
{
    for (int64_t l = 0; study->layer_sums != NULL && l < study->layers; l++)
        collapse_destroy(&study->layer_sums[l]);
    memory_free(study->layer_sums);
    memory_free(study->sums);
    memory_free(study->maps);
    memory_free(study->outputs);
    memory_free(study->masks);
    memory_free(study->dealt_ids);
    memory_free(study->dealt_kinds);
    view_destroy(&study->view);
    *study = (Study){0};
}

/* ---- one text ------------------------------------------------------------------------ */

static uint8_t *mask_at(const Study *study, int64_t deal, Pattern pattern, int64_t n)
{
    return study->masks + (deal * PATTERN_COUNT + (int64_t)pattern) * n * n;
}

/* Deal 0 is the text as it stands. */
static void fill_masks(Study *study, const HeadText *text)
{
    int64_t n = text->n;
    const HeadText dealt = {.n = n,
                            .ids = study->dealt_ids,
                            .kinds = study->dealt_kinds,
                            .rarity = study->rarity};
    for (int pattern = 0; pattern < PATTERN_COUNT; pattern++)
        pattern_mask(mask_at(study, 0, (Pattern)pattern, n), (Pattern)pattern, text);
    for (int64_t deal = 1; deal <= DEALS; deal++) {
        head_text_shuffle(study->dealt_ids, study->dealt_kinds, study->rarity, text,
                          &study->rng);
        for (int pattern = 0; pattern < PATTERN_COUNT; pattern++) {
            if (pattern_reads_text((Pattern)pattern))
                pattern_mask(mask_at(study, deal, (Pattern)pattern, n),
                             (Pattern)pattern, &dealt);
        }
    }
}

static void add_pattern(ScoreSum *sum, const Study *study, const real *map,
                        Pattern pattern, int64_t n)
{
    score_add(sum, map, mask_at(study, 0, pattern, n), n);
    for (int64_t deal = 1; deal <= DEALS && pattern_reads_text(pattern); deal++)
        score_add_shuffled(sum, map, mask_at(study, deal, pattern, n), n);
}

static void add_head(HeadSums *sums, const Study *study, const real *map, int64_t n)
{
    int64_t unused = 0;
    sums->entropy += entropy_sum(map, n, &unused);
    profile_add(&sums->profile, map, n);
    for (int pattern = 0; pattern < PATTERN_COUNT; pattern++)
        add_pattern(&sums->patterns[pattern], study, map, (Pattern)pattern, n);
}

/* Maps and outputs of all heads of a layer. */
static void capture(const Study *study, int64_t layer, int64_t n)
{
    int64_t D = view_output_size(study->view.gpt);
    for (int64_t h = 0; h < view_heads(study->view.gpt, layer); h++)
        view_map(&study->view, layer, h, study->maps + h * n * n,
                 study->outputs + h * n * D);
}

void study_add(Study *study, const HeadText *text)
{
    int64_t n = text->n;
    int64_t H = study->heads;
    view_read(&study->view, text->ids, n);
    fill_masks(study, text);
    for (int64_t l = 0; l < study->layers; l++) {
        capture(study, l, n);
        for (int64_t h = 0; h < view_heads(study->view.gpt, l); h++)
            add_head(&study->sums[l * H + h], study, study->maps + h * n * n, n);
        collapse_add(&study->layer_sums[l], study->maps, study->outputs,
                     view_stream(&study->view, l + 1), n, view_width(study->view.gpt));
    }
    study->texts++;
    study->tokens += n;
}

void study_add_repeats(Study *study, const HeadText *text)
{
    int64_t n = text->n;
    int64_t H = study->heads;
    view_read(&study->view, text->ids, n);
    fill_masks(study, text);
    for (int64_t l = 0; l < study->layers; l++) {
        capture(study, l, n);
        for (int64_t h = 0; h < view_heads(study->view.gpt, l); h++)
            add_pattern(&study->sums[l * H + h].repeats, study, study->maps + h * n * n,
                        PATTERN_INDUCTION, n);
    }
}

/* ---- all texts ----------------------------------------------------------------------- */

static void finish_head(HeadFigures *figures, const HeadSums *sums)
{
    const ProfileSum *profile = &sums->profile;
    figures->entropy = 1;
    if (profile->rows > 0) {
        figures->entropy = sums->entropy / (double)profile->rows;
        figures->saturation = (double)profile->saturated / (double)profile->rows;
    }
    for (int o = 0; o < OFFSETS; o++) {
        double rows = (double)profile->offset_rows[o];
        if (rows > 0) {
            figures->offsets[o] = profile->offsets[o] / rows;
            figures->offset_uniform[o] = profile->uniform[o] / rows;
        }
    }
    for (int pattern = 0; pattern < PATTERN_COUNT; pattern++)
        figures->scores[pattern] =
            score_finish(&sums->patterns[pattern], (Pattern)pattern);
    figures->repeats = score_finish(&sums->repeats, PATTERN_INDUCTION);
    figures->role = role_of(figures->scores, &figures->repeats);
}

/* ---- the weights --------------------------------------------------------------------- */

static Status open_space(Subspace *space, const Gpt *gpt, int64_t layer, int64_t head,
                         HeadMatrix kind, double *scratch, Error *err)
{
    view_matrix(scratch, gpt, layer, head, kind);
    Status status = subspace_create(space, scratch, view_width(gpt),
                                    view_matrix_columns(gpt, kind), err);
    if (status != STATUS_OK)
        return error_context(err, "layer %lld, head %lld", (long long)layer,
                             (long long)head);
    return STATUS_OK;
}

/* spaces (H, HEAD_MATRICES) of a layer. */
static Status fill_heads(HeadFigures *heads, const Subspace *spaces, int64_t H,
                         Error *err)
{
    for (int64_t h = 0; h < H; h++) {
        const Subspace *own = spaces + h * HEAD_MATRICES;
        for (int kind = 0; kind < HEAD_MATRICES; kind++)
            heads[h].norms[kind] = subspace_norm(&own[kind]);
        heads[h].score_rank = own[HEAD_Q].columns;
        TRY(subspace_stable_rank(&heads[h].stable_rank, &own[HEAD_Q], &own[HEAD_K],
                                 err));
    }
    return STATUS_OK;
}

static Status fill_angles(double *overlap, double *angle, const Subspace *spaces,
                          HeadMatrix kind, int64_t H, Error *err)
{
    for (int64_t h = 0; h < H; h++) {
        for (int64_t g = 0; g <= h; g++) {
            SubspaceAngles angles;
            TRY(subspace_angles(&angles, &spaces[g * HEAD_MATRICES + kind],
                                &spaces[h * HEAD_MATRICES + kind], err));
            overlap[h * H + g] = overlap[g * H + h] = angles.overlap;
            angle[h * H + g] = angle[g * H + h] = angles.smallest;
        }
    }
    return STATUS_OK;
}

static Status study_weights(LayerFigures *layer, HeadFigures *heads, const Gpt *gpt,
                            int64_t l, Subspace *spaces, double *scratch, Error *err)
{
    int64_t H = view_heads(gpt, l);
    TRY(memory_allocate(&layer->q_overlap, (size_t)(4 * H * H),
                        sizeof *layer->q_overlap, "principal angles", err));
    layer->k_overlap = layer->q_overlap + H * H;
    layer->q_angle = layer->k_overlap + H * H;
    layer->k_angle = layer->q_angle + H * H;
    layer->random_overlap =
        (double)view_matrix_columns(gpt, HEAD_Q) / (double)view_width(gpt);
    for (int64_t h = 0; h < H; h++) {
        for (int kind = 0; kind < HEAD_MATRICES; kind++)
            TRY(open_space(&spaces[h * HEAD_MATRICES + kind], gpt, l, h,
                           (HeadMatrix)kind, scratch, err));
    }
    TRY(fill_heads(heads, spaces, H, err));
    TRY(fill_angles(layer->q_overlap, layer->q_angle, spaces, HEAD_Q, H, err));
    return fill_angles(layer->k_overlap, layer->k_angle, spaces, HEAD_K, H, err);
}

static Status finish_weights(LayerFigures *layer, HeadFigures *heads, const Gpt *gpt,
                             int64_t l, Error *err)
{
    int64_t H = view_heads(gpt, l);
    int64_t widest = 0;
    for (int kind = 0; kind < HEAD_MATRICES; kind++) {
        int64_t columns = view_matrix_columns(gpt, (HeadMatrix)kind);
        widest = columns > widest ? columns : widest;
    }
    double *scratch;
    Subspace *spaces = NULL;
    TRY(memory_allocate(&scratch, (size_t)(view_width(gpt) * widest), sizeof *scratch,
                        "a head's matrix", err));
    Status status = memory_allocate(&spaces, (size_t)(H * HEAD_MATRICES),
                                    sizeof *spaces, "the heads' subspaces", err);
    if (status == STATUS_OK)
        status = study_weights(layer, heads, gpt, l, spaces, scratch, err);
    for (int64_t i = 0; spaces != NULL && i < H * HEAD_MATRICES; i++)
        subspace_destroy(&spaces[i]);
    memory_free(spaces);
    memory_free(scratch);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------- */

static Status finish_layer(LayerFigures *layer, HeadFigures *heads, const Study *study,
                           int64_t l, Error *err)
{
    int64_t H = view_heads(study->view.gpt, l);
    layer->heads = H;
    layer->entropy = H == 0; /* no head is no collapse */
    for (int64_t h = 0; h < H; h++) {
        heads[h].number = view_head_number(study->view.gpt, l, h);
        finish_head(&heads[h], &study->sums[l * study->heads + h]);
        layer->entropy += heads[h].entropy / (double)H;
        layer->saturation += heads[h].saturation / (double)H;
    }
    TRY(finish_weights(layer, heads, study->view.gpt, l, err));
    Status status = collapse_finish(&layer->collapse, &study->layer_sums[l], err);
    if (status != STATUS_OK)
        return error_context(err, "layer %lld", (long long)l);
    layer->signs = collapse_signs(&layer->collapse, layer->entropy, layer->saturation);
    return STATUS_OK;
}

Status study_finish(StudyFigures *figures, const Study *study, Error *err)
{
    assert(study->texts > 0);
    *figures = (StudyFigures){.layers = study->layers,
                              .heads = study->heads,
                              .texts = study->texts,
                              .tokens = study->tokens};
    Status status =
        memory_allocate(&figures->head_items, (size_t)(study->layers * study->heads),
                        sizeof *figures->head_items, "the heads' figures", err);
    if (status == STATUS_OK)
        status =
            memory_allocate(&figures->layer_items, (size_t)study->layers,
                            sizeof *figures->layer_items, "the layers' figures", err);
    for (int64_t l = 0; l < study->layers && status == STATUS_OK; l++)
        status = finish_layer(&figures->layer_items[l],
                              &figures->head_items[l * study->heads], study, l, err);
    if (status != STATUS_OK)
        study_figures_free(figures);
    return status;
}

void study_figures_free(StudyFigures *figures)
{
    for (int64_t l = 0; figures->layer_items != NULL && l < figures->layers; l++) {
        collapse_figures_free(&figures->layer_items[l].collapse);
        memory_free(figures->layer_items[l].q_overlap);
    }
    memory_free(figures->layer_items);
    memory_free(figures->head_items);
    *figures = (StudyFigures){0};
}
