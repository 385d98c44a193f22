#include "model/heads/view.h"

#include <assert.h>
#include <string.h>

Status view_create(HeadsView *view, const Gpt *gpt, int64_t longest, Error *err)
{
    *view = (HeadsView){.gpt = gpt, .longest = longest};
    Status status = memory_allocate(&view->ids, (size_t)longest * 3, sizeof *view->ids,
                                    "a text", err);
    if (status == STATUS_OK)
        status = gpt_work_create(&view->work, &gpt->config, longest, err);
    if (status != STATUS_OK) {
        view_destroy(view);
        return status;
    }
    view->targets = view->ids + longest;
    view->positions = view->targets + longest;
    for (int64_t i = 0; i < longest; i++) {
        view->targets[i] = TARGET_NONE;
        view->positions[i] = (int32_t)i;
    }
    return STATUS_OK;
}

void view_destroy(HeadsView *view)
{
    gpt_work_destroy(view->work);
    memory_free(view->ids);
    *view = (HeadsView){0};
}

int64_t view_layers(const Gpt *gpt)
{
    return gpt->config.layers;
}

int64_t view_width(const Gpt *gpt)
{
    return gpt->config.width;
}

int64_t view_heads(const Gpt *gpt, int64_t layer)
{
    return gpt_layer_heads(&gpt->config, layer);
}

int64_t view_head_number(const Gpt *gpt, int64_t layer, int64_t head)
{
    return gpt_layer_head(&gpt->config, layer, head);
}

int64_t view_most_heads(const Gpt *gpt)
{
    int64_t most = 0;
    for (int64_t l = 0; l < view_layers(gpt); l++)
        most = view_heads(gpt, l) > most ? view_heads(gpt, l) : most;
    return most;
}

int64_t view_output_size(const Gpt *gpt)
{
    return gpt_value_size(&gpt->config);
}

static TokenBatch batch_of(const HeadsView *view)
{
    return (TokenBatch){.tokens = view->starts[1],
                        .segments = 1,
                        .ids = view->ids,
                        .targets = view->targets,
                        .positions = view->positions,
                        .starts = view->starts};
}

void view_read(HeadsView *view, const int32_t *ids, int64_t n)
{
    assert(n >= 1 && n <= view->longest);
    memcpy(view->ids, ids, (size_t)n * sizeof *ids);
    view->starts[1] = n;
    TokenBatch batch = batch_of(view);
    gpt_loss(view->gpt, view->work, &batch, NULL);
}

void view_map(const HeadsView *view, int64_t layer, int64_t head, real *map,
              real *output)
{
    TokenBatch batch = batch_of(view);
    gpt_attention_map(view->gpt, view->work, &batch, layer, head, 0, map, output);
}

const real *view_stream(const HeadsView *view, int64_t layer)
{
    return gpt_stream(view->work, layer);
}

/* ---- weights ------------------------------------------------------------------------- */

int64_t view_matrix_columns(const Gpt *gpt, HeadMatrix kind)
{
    return kind == HEAD_Q || kind == HEAD_K ? gpt_score_size(&gpt->config)
                                            : gpt_value_size(&gpt->config);
}

/* out (C, count) = columns first .. of w (C, width). */
static void take_columns(double *out, const real *w, int64_t C, int64_t width,
                         int64_t first, int64_t count)
{
    for (int64_t d = 0; d < count; d++) {
        for (int64_t c = 0; c < C; c++)
            out[d * C + c] = (double)w[c * width + first + d];
    }
}

/* out (C, count) = rows first .. of w (.., C), transposed. */
static void take_rows(double *out, const real *w, int64_t C, int64_t first,
                      int64_t count)
{
    for (int64_t d = 0; d < count; d++) {
        for (int64_t c = 0; c < C; c++)
            out[d * C + c] = (double)w[(first + d) * C + c];
    }
}

static void heads_matrix(double *out, const Gpt *gpt, int64_t layer, int64_t head,
                         HeadMatrix kind)
{
    const HeadsShape shape = gpt_heads_shape(&gpt->config, &gpt->tables, layer);
    const HeadsParams *params = &gpt->params.blocks[layer].attention;
    int64_t D = shape.D;
    int64_t group = heads_group(&shape, head);
    const int64_t column[] = {[HEAD_Q] = head,
                              [HEAD_K] = shape.H + group,
                              [HEAD_V] = shape.H + shape.G + group};
    if (kind == HEAD_O)
        take_rows(out, params->out.weight, shape.C, head * D, D);
    else
        take_columns(out, params->qkv.weight, shape.C, heads_qkv_width(&shape),
                     column[kind] * D, D);
}

/* out (C, count) = down[:, :rank] diag(gain) up[:, first ..]; down (C, down_width), up
 * (rank, up_width). */
static void through_latent(double *out, const real *down, int64_t down_width,
                           const real *gain, int64_t rank, const real *up,
                           int64_t up_width, int64_t first, int64_t count, int64_t C)
{
    for (int64_t d = 0; d < count; d++) {
        for (int64_t c = 0; c < C; c++) {
            double sum = 0;
            for (int64_t r = 0; r < rank; r++)
                sum += (double)down[c * down_width + r] * (double)gain[r] *
                       (double)up[r * up_width + first + d];
            out[d * C + c] = sum;
        }
    }
}

static void mla_matrix(double *out, const Gpt *gpt, int64_t layer, int64_t head,
                       HeadMatrix kind)
{
    const MlaShape s = gpt_mla_shape(&gpt->config, &gpt->tables, layer);
    const MlaParams *params = &gpt->params.blocks[layer].mla;
    int64_t C = s.C;
    int64_t down = s.R + s.O;
    int64_t up = s.H * (s.P + s.E);
    switch (kind) {
    case HEAD_Q:
        if (s.Rq == 0)
            take_columns(out, params->q_up.weight, C, s.H * (s.P + s.O),
                         head * (s.P + s.O), s.P + s.O);
        else
            through_latent(out, params->q_down.weight, s.Rq, params->q_norm, s.Rq,
                           params->q_up.weight, s.H * (s.P + s.O), head * (s.P + s.O),
                           s.P + s.O, C);
        break;
    case HEAD_K:
        through_latent(out, params->kv_down.weight, down, params->kv_norm, s.R,
                       params->kv_up.weight, up, head * (s.P + s.E), s.P, C);
        take_columns(out + s.P * C, params->kv_down.weight, C, down, s.R, s.O);
        break;
    case HEAD_V:
        through_latent(out, params->kv_down.weight, down, params->kv_norm, s.R,
                       params->kv_up.weight, up, head * (s.P + s.E) + s.P, s.E, C);
        break;
    case HEAD_O:
        take_rows(out, params->out.weight, C, head * s.E, s.E);
        break;
    case HEAD_MATRICES:
        break;
    }
}

void view_matrix(double *out, const Gpt *gpt, int64_t layer, int64_t head,
                 HeadMatrix kind)
{
    if (gpt->config.attention == ATTENTION_MLA)
        mla_matrix(out, gpt, layer, head, kind);
    else
        heads_matrix(out, gpt, layer, head, kind);
}
