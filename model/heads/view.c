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
    (void)layer;
    return gpt->config.heads;
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
    return gpt_head_size(&gpt->config);
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

int64_t view_matrix_columns(const Gpt *gpt, HeadMatrix kind)
{
    (void)kind;
    return gpt_head_size(&gpt->config);
}

void view_matrix(double *out, const Gpt *gpt, int64_t layer, int64_t head,
                 HeadMatrix kind)
{
    const HeadsParams *params = &gpt->params.blocks[layer].attention;
    int64_t C = gpt->config.width;
    int64_t D = gpt_head_size(&gpt->config);
    for (int64_t d = 0; d < D; d++) {
        for (int64_t c = 0; c < C; c++) {
            int64_t column = head * D + d;
            out[d * C + c] =
                kind == HEAD_O
                    ? (double)params->out.weight[column * C + c]
                    : (double)
                          params->qkv.weight[c * 3 * C + (int64_t)kind * C + column];
        }
    }
}
