/* A study of a model's heads: texts go in, figures for every head and layer come out.
 *
 *     TRY(study_create(&study, &gpt, longest, seed, err));
 *     study_add(&study, &text);                        every poem of the probe set
 *     study_add_repeats(&study, &text);                random sequences said twice
 *     TRY(study_finish(&figures, &study, err));
 *     study_destroy(&study);
 *     ...
 *     study_figures_free(&figures);
 *
 * Every row of every text counts the same. The same texts in the same order with the same
 * seed give the same bits. */
#ifndef JUEJU_MODEL_HEADS_STUDY_H
#define JUEJU_MODEL_HEADS_STUDY_H

#include "model/heads/collapse.h"
#include "model/heads/roles.h"
#include "model/heads/scores.h"
#include "model/heads/subspace.h"
#include "model/heads/view.h"

typedef struct {
    double entropy; /* sum over profile.rows */
    ProfileSum profile;
    ScoreSum patterns[PATTERN_COUNT];
    ScoreSum repeats;
} HeadSums;

typedef struct {
    HeadsView view;
    int64_t layers, heads; /* L, and the largest H of a layer */
    HeadSums *sums;        /* (L, H), owned, with all below */
    CollapseSums *layer_sums;
    real *maps, *outputs;        /* (H, n, n), (H, n, D) of one layer */
    uint8_t *masks;              /* of all patterns, then of the text dealt anew */
    int32_t *dealt_ids, *rarity; /* (longest) */
    uint8_t *dealt_kinds;
    Rng rng; /* of the deals */
    int64_t texts, tokens;
} Study;

/* For texts of up to `longest` tokens, 1 <= longest <= the context. */
Status study_create(Study *study, const Gpt *gpt, int64_t longest, uint64_t seed,
                    Error *err);
void study_destroy(Study *study);

void study_add(Study *study, const HeadText *text);

/* Only the induction score of a text is taken (role induction). */
void study_add_repeats(Study *study, const HeadText *text);

typedef struct {
    int64_t number;             /* view_head_number: what the head is called */
    double entropy, saturation; /* 1 and 0 when no text had two tokens */
    double offsets[OFFSETS], offset_uniform[OFFSETS];
    Score scores[PATTERN_COUNT];
    Score repeats; /* induction on random repeats */
    HeadRole role;
    double norms[HEAD_MATRICES]; /* Frobenius, of the slices of W_Q, W_K, W_V, W_O */
    double stable_rank;          /* of W_Q W_K^T */
    int64_t score_rank;          /* D, what its rank can be at most */
} HeadFigures;

typedef struct {
    int64_t heads;              /* H of this layer */
    double entropy, saturation; /* means over the heads */
    CollapseFigures collapse;
    double *q_overlap, *k_overlap; /* (H, H) of model/heads/subspace.h, owned as one */
    double *q_angle, *k_angle;     /* (H, H) smallest principal angle in radians */
    double random_overlap;         /* D/C: of two random subspaces */
    unsigned signs;                /* collapse_signs */
} LayerFigures;

typedef struct {
    int64_t layers, heads;     /* L, and the largest H of a layer */
    HeadFigures *head_items;   /* (L, H), owned: head h of layer l at l H + h */
    LayerFigures *layer_items; /* (L), owned */
    int64_t texts, tokens;
} StudyFigures;

/* At least one text must have been added. STATUS_NUMERIC: weights or maps that are not
 * finite. On failure *figures is empty. */
Status study_finish(StudyFigures *figures, const Study *study, Error *err);
void study_figures_free(StudyFigures *figures);

#endif
