/* What model/heads sees of a model: the one place that knows how attention is kept.
 *
 *     TRY(view_create(&view, &gpt, longest, err));
 *     view_read(&view, ids, n);                     one text through the model
 *     view_map(&view, layer, head, map, output);    as often as wanted
 *     view_destroy(&view);
 *
 * Layers and heads count from 0. A head is a query head that is left in its layer; where
 * several share keys and values (GQA, MQA), its matrices K and V are those of its group.
 *
 * Of latent attention (model/attention/mla.h) a head's matrices are what its latents come
 * to, with the gains of their norms, but without the norms' scales, which differ between
 * tokens:
 *   Q = W_DQ diag(g_q) W_UQ,h   (C, P+O)
 *   K = [W_DKV diag(g_kv) W_UK,h | the shared rope part of W_DKV]   (C, P+O)
 *   V = W_DKV diag(g_kv) W_UV,h   (C, E) */
#ifndef JUEJU_MODEL_HEADS_VIEW_H
#define JUEJU_MODEL_HEADS_VIEW_H

#include "model/gpt/gpt.h"

typedef struct {
    const Gpt *gpt; /* kept by pointer */
    GptWork *work;  /* owned */
    int64_t longest;
    int32_t *ids, *targets, *positions; /* (longest), owned: the text read last */
    int64_t starts[2];
} HeadsView;

/* For texts of up to `longest` tokens (at most the context). */
Status view_create(HeadsView *view, const Gpt *gpt, int64_t longest, Error *err);
void view_destroy(HeadsView *view);

int64_t view_layers(const Gpt *gpt);
int64_t view_width(const Gpt *gpt);                /* C, of the residual stream */
int64_t view_heads(const Gpt *gpt, int64_t layer); /* H, of those that are left */
int64_t view_most_heads(const Gpt *gpt);           /* the largest H of all layers */
int64_t view_output_size(const Gpt *gpt); /* of one head's output: D, with MLA E */

/* What the layer's head-th head is called: its number before heads were cut. */
int64_t view_head_number(const Gpt *gpt, int64_t layer, int64_t head);

/* Runs one text, 1 <= n <= longest tokens of the vocabulary, through the model. */
void view_read(HeadsView *view, const int32_t *ids, int64_t n);

/* Of the text read last: the head's causal map (n, n), rows sum to 1, and its output
 * (n, D), which is before W_O. */
void view_map(const HeadsView *view, int64_t layer, int64_t head, real *map,
              real *output);

/* The residual stream (n, C) of the text read last, before layer `layer`; layer L: behind
 * the last one. Holds until the next view_read. */
const real *view_stream(const HeadsView *view, int64_t layer);

typedef enum { HEAD_Q, HEAD_K, HEAD_V, HEAD_O, HEAD_MATRICES } HeadMatrix;

/* Columns of a head's matrix between the residual stream and the head: D; with MLA P+O for
 * Q and K, E for V and O. */
int64_t view_matrix_columns(const Gpt *gpt, HeadMatrix kind);

/* The head's slice of W_Q, W_K or W_V (C, D), or of W_O transposed (C, D), column-major as
 * model/math/svd.h wants it: column d begins at out + d C. Biases are left out. */
void view_matrix(double *out, const Gpt *gpt, int64_t layer, int64_t head,
                 HeadMatrix kind);

#endif
