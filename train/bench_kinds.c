#include "train/bench_kinds.h"

#include <math.h>
#include <string.h>

#include "model/attention/core.h"
#include "model/layers/crossentropy.h"
#include "model/layers/embedding.h"
#include "model/layers/gelu.h"
#include "model/layers/rope.h"
#include "model/math/vec.h"

static const GptConfig *config_of(const PhaseWork *w)
{
    return &w->gpt->config;
}

static const BlockParams *first_block(const PhaseWork *w)
{
    return &w->params->blocks[0];
}

static const BlockParams *first_grads(const PhaseWork *w)
{
    return &w->grads.blocks[0];
}

static void embed(PhaseWork *w)
{
    embedding_forward(w->narrow, w->params->tokens, gpt_positions(w->gpt), w->ids,
                      w->places, w->N, w->C);
    embedding_backward(w->grads.tokens, w->grads.positions, w->narrow, w->ids,
                       w->places, w->N, w->C);
}

static void norm(PhaseWork *w)
{
    NormKind kind = config_of(w)->norm;
    const NormParams *params = &first_block(w)->norm1;
    norm_forward(kind, w->narrow2, &w->norm, w->narrow, params, 1e-5, w->N, w->C);
    norm_backward_add(kind, w->narrow3, &first_grads(w)->norm1, w->narrow2, &w->norm,
                      w->narrow, params, w->N, w->C);
}

/* ---- attention ---------------------------------------------------------------------- */

/* The products that make queries, keys and values of x: one, or MLA's three or four. */
typedef struct {
    const LinearParams *params, *grads;
    int64_t in, out;
} Product;

enum { MOST_PRODUCTS = 4 };

static int input_products(Product products[MOST_PRODUCTS], const PhaseWork *w)
{
    const GptConfig *config = config_of(w);
    const BlockParams *params = first_block(w), *grads = first_grads(w);
    int64_t H = config->heads, Rq = config->q_rank, R = config->kv_rank;
    int64_t P = config->nope_size, O = config->rope_size, E = config->value_size;
    const MlaParams *mla = &params->mla, *dmla = &grads->mla;
    int count = 0;
    if (config->attention == ATTENTION_HEADS) {
        products[0] = (Product){&params->attention.qkv, &grads->attention.qkv, w->C,
                                w->heads.packed};
        return 1;
    }
    if (Rq > 0)
        products[count++] = (Product){&mla->q_down, &dmla->q_down, w->C, Rq};
    products[count++] =
        (Product){&mla->q_up, &dmla->q_up, Rq > 0 ? Rq : w->C, H * (P + O)};
    products[count++] = (Product){&mla->kv_down, &dmla->kv_down, w->C, R + O};
    products[count++] = (Product){&mla->kv_up, &dmla->kv_up, R, H * (P + E)};
    return count;
}

static void qkv_forward(PhaseWork *w)
{
    Product products[MOST_PRODUCTS];
    int count = input_products(products, w);
    for (int i = 0; i < count; i++)
        linear_forward(w->wide, w->wide2, products[i].params, w->N, products[i].in,
                       products[i].out);
}

static void qkv_backward(PhaseWork *w)
{
    Product products[MOST_PRODUCTS];
    int count = input_products(products, w);
    for (int i = 0; i < count; i++)
        linear_backward(w->wide3, products[i].grads, w->wide, w->wide2,
                        products[i].params, w->N, products[i].in, products[i].out);
}

static AttentionShape head_shape(const PhaseWork *w, int64_t n, int64_t layer)
{
    const HeadSizes *sizes = &w->heads;
    return (AttentionShape){.n = n,
                            .m = n,
                            .D = sizes->D,
                            .E = sizes->E,
                            .stride_q = sizes->packed,
                            .stride_k = sizes->packed,
                            .stride_v = sizes->packed,
                            .stride_z = sizes->H * sizes->E,
                            .scale = (real)(1 / sqrt((double)sizes->D)),
                            .causal = true,
                            .window = gpt_layer_window(config_of(w), layer)};
}

static void turn(const PhaseWork *w, real *rows, RopeDirection direction)
{
    const HeadSizes *sizes = &w->heads;
    bool mla = config_of(w)->attention == ATTENTION_MLA;
    const real *table = w->gpt->tables.rope;
    if (table == NULL)
        return;
    int64_t turned = mla ? config_of(w)->rope_size : sizes->D;
    int64_t heads = mla ? sizes->H + 1 : sizes->H + sizes->G; /* MLA shares one key */
    rope_apply(rows, sizes->packed, heads, sizes->D, w->places, table,
               mla ? ROPE_PAIRS : ROPE_HALVES, direction, w->N, turned);
}

/* The heads' part alone, of all layers: without the products around it. */
static void attention_both(PhaseWork *w, bool backward, int64_t layer)
{
    const HeadSizes *sizes = &w->heads;
    int64_t packed = sizes->packed;
    int64_t k = sizes->H * sizes->D, v = k + sizes->G * sizes->D;
    for (int64_t s = 0; s < w->batch.segments; s++) {
        int64_t start = w->starts[s];
        AttentionShape shape = head_shape(w, w->starts[s + 1] - start, layer);
        const real *rows = w->wide + start * packed;
        real *drows = w->wide2 + start * packed;
        for (int64_t h = 0; h < sizes->H; h++) {
            int64_t g = h / (sizes->H / sizes->G);
            int64_t q_at = h * sizes->D;
            int64_t k_at = k + g * sizes->D, v_at = v + g * sizes->E;
            real *z = w->narrow + start * shape.stride_z + h * sizes->E;
            real *logsum = w->logsum + h * w->N + start;
            if (backward)
                attention_backward(drows + q_at, drows + k_at, drows + v_at, KEYS_ADD,
                                   z, z, logsum, rows + q_at, rows + k_at, rows + v_at,
                                   w->scratch, &shape);
            else
                attention_forward(z, logsum, rows + q_at, rows + k_at, rows + v_at,
                                  w->scratch, &shape);
        }
    }
}

static void attention_ahead(PhaseWork *w)
{
    for (int64_t l = 0; l < config_of(w)->layers; l++) {
        turn(w, w->wide, ROPE_FORWARD);
        attention_both(w, false, l);
    }
}

static void attention_back(PhaseWork *w)
{
    for (int64_t l = 0; l < config_of(w)->layers; l++) {
        for (int64_t n = 0; n < w->N; n++)
            memset(w->wide2 + n * w->heads.packed + w->heads.H * w->heads.D, 0,
                   (size_t)(w->heads.G * (w->heads.D + w->heads.E)) * sizeof(real));
        attention_both(w, true, l);
        turn(w, w->wide2, ROPE_BACKWARD);
    }
}

static const LinearParams *out_of(const BlockParams *block, const PhaseWork *w)
{
    return config_of(w)->attention == ATTENTION_MLA ? &block->mla.out
                                                    : &block->attention.out;
}

static void out_forward(PhaseWork *w)
{
    linear_forward(w->narrow2, w->narrow, out_of(first_block(w), w), w->N,
                   w->heads.H * w->heads.E, w->C);
}

static void out_backward(PhaseWork *w)
{
    linear_backward(w->narrow3, out_of(first_grads(w), w), w->narrow2, w->narrow,
                    out_of(first_block(w), w), w->N, w->heads.H * w->heads.E, w->C);
}

/* ---- the MLP ------------------------------------------------------------------------ */

static bool is_gated(const PhaseWork *w)
{
    return config_of(w)->mlp == MLP_SWIGLU;
}

static void up_forward(PhaseWork *w)
{
    const BlockParams *block = first_block(w);
    if (is_gated(w))
        linear_forward(w->wide2, w->narrow, &block->swiglu.gate, w->N, w->C, w->F);
    linear_forward(w->wide, w->narrow, is_gated(w) ? &block->swiglu.up : &block->mlp.up,
                   w->N, w->C, w->F);
}

static void up_backward(PhaseWork *w)
{
    const BlockParams *block = first_block(w), *grads = first_grads(w);
    if (!is_gated(w)) {
        linear_backward(w->narrow2, &grads->mlp.up, w->wide, w->narrow, &block->mlp.up,
                        w->N, w->C, w->F);
        return;
    }
    linear_backward(w->narrow2, &grads->swiglu.up, w->wide, w->narrow,
                    &block->swiglu.up, w->N, w->C, w->F);
    linear_backward_add(w->narrow2, &grads->swiglu.gate, w->wide2, w->narrow,
                        &block->swiglu.gate, w->N, w->C, w->F);
}

static const LinearParams *down_of(const BlockParams *block, const PhaseWork *w)
{
    return is_gated(w) ? &block->swiglu.down : &block->mlp.down;
}

static void down_forward(PhaseWork *w)
{
    linear_forward(w->narrow, w->wide, down_of(first_block(w), w), w->N, w->F, w->C);
}

static void down_backward(PhaseWork *w)
{
    linear_backward(w->wide2, down_of(first_grads(w), w), w->narrow, w->wide,
                    down_of(first_block(w), w), w->N, w->F, w->C);
}

static void activation(PhaseWork *w)
{
    int64_t count = w->N * w->F;
    if (is_gated(w)) {
        swiglu_gate_forward(w->wide3, w->wide, w->wide2, count);
        swiglu_gate_backward(w->wide3, w->wide4, w->wide, w->wide2, count);
        return;
    }
    gelu_forward_slope(w->wide2, w->wide, count);
    vec_multiply(w->wide3, w->wide, count);
}

static void head(PhaseWork *w)
{
    crossentropy_head(w->narrow2, w->grads.head, NULL, w->narrow, w->params->head,
                      w->targets, (real)1e-4, w->logits, w->N, w->C, w->V);
}

/* ---- the table ---------------------------------------------------------------------- */

const PhaseKind PHASES[PHASE_KINDS] = {
    {"embedding", embed, false, 0, 0},
    {"layernorm", norm, true, 0, 0},
    {"qkv forward", qkv_forward, true, WORK_QKV, 1},
    {"qkv backward", qkv_backward, true, WORK_QKV, 2},
    {"attention forward", attention_ahead, false, WORK_SCORES, 1},
    {"attention backward", attention_back, false, WORK_SCORES, 2},
    {"out forward", out_forward, true, WORK_OUT, 1},
    {"out backward", out_backward, true, WORK_OUT, 2},
    {"mlp up forward", up_forward, true, WORK_UP, 1},
    {"mlp up backward", up_backward, true, WORK_UP, 2},
    {"gelu", activation, true, 0, 0},
    {"mlp down forward", down_forward, true, WORK_DOWN, 1},
    {"mlp down backward", down_backward, true, WORK_DOWN, 2},
    {"head and loss", head, false, WORK_HEAD, 3},
};
