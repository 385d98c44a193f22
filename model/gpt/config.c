#include "model/gpt/config.h"

#include <math.h>
#include <stdio.h>

const char *const FAMILY_NAMES[] = {"gpt2", "llama", "deepseek", NULL};
const char *const NORM_NAMES[] = {"layernorm", "rmsnorm", NULL};
const char *const NORM_PLACE_NAMES[] = {"before", "after", NULL};
const char *const POSITION_NAMES[] = {"learned", "sinusoidal", "rope", "none", NULL};
const char *const MLP_NAMES[] = {"gelu", "swiglu", NULL};
const char *const ATTENTION_NAMES[] = {"heads", "mla", NULL};

/* Heads of fewer channels are advised against. */
enum { ENOUGH_CHANNELS = 32 };

/* ---- families ----------------------------------------------------------------------- */

GptConfig gpt_config_open(Family family)
{
    bool modern = family != FAMILY_GPT2;
    return (GptConfig){
        .family = family,
        .context = 128,
        .width = 128,
        .layers = 4,
        .heads = 4,
        .norm = modern ? NORM_RMS : NORM_LAYER,
        .norm_place = NORM_BEFORE,
        .position = modern ? POSITION_ROPE : POSITION_LEARNED,
        .rope_theta = 10000,
        .mlp = modern ? MLP_SWIGLU : MLP_GELU,
        .attention = family == FAMILY_DEEPSEEK ? ATTENTION_MLA : ATTENTION_HEADS,
        .biases = !modern,
        .tied = true,
        .scaled_scores = true,
        .scaled_residual = true,
        .q_rank = -1,
        .rope_size = -1,
        .norm_eps = modern ? 1e-6 : 1e-5,
    };
}

static void fill(int64_t *size, int64_t usual)
{
    if (*size == 0)
        *size = usual;
}

/* q_rank and rope_size, whose 0 says that there is none. */
static void fill_optional(int64_t *size, int64_t usual)
{
    if (*size == -1)
        *size = usual;
}

static void fill_mla(GptConfig *config, int64_t head_size)
{
    bool turned = config->position == POSITION_ROPE;
    fill(&config->kv_heads, config->heads);
    fill(&config->kv_rank, config->width / 2);
    fill_optional(&config->q_rank, config->width * 3 / 4);
    fill(&config->nope_size, head_size);
    fill_optional(&config->rope_size, turned ? (head_size / 2 + 1) / 2 * 2 : 0);
    fill(&config->value_size, head_size);
}

void gpt_config_fill(GptConfig *config)
{
    int64_t C = config->width;
    int64_t H = config->heads;
    int64_t head_size = H > 0 && C % H == 0 ? C / H : 0;
    fill(&config->mlp_width,
         config->mlp == MLP_SWIGLU ? (8 * C + 3 * 32 - 1) / (3 * 32) * 32 : 4 * C);
    if (config->attention == ATTENTION_MLA) {
        fill_mla(config, head_size);
        return;
    }
    fill(&config->head_size, head_size);
    fill(&config->kv_heads, config->family == FAMILY_LLAMA && H % 2 == 0 ? H / 2 : H);
    fill_optional(&config->q_rank, 0);
    fill_optional(&config->rope_size, 0);
}

GptConfig gpt_config_family(Family family)
{
    GptConfig config = gpt_config_open(family);
    gpt_config_fill(&config);
    return config;
}

GptConfig gpt_config_default(void)
{
    return gpt_config_family(FAMILY_GPT2);
}

/* ---- what is refused ---------------------------------------------------------------- */

static Status check_range(const char *name, int64_t value, int64_t minimum,
                          int64_t maximum, Error *err)
{
    if (value < minimum || value > maximum)
        return error_set(err, STATUS_USAGE, "%s must be %lld .. %lld, but it is %lld",
                         name, (long long)minimum, (long long)maximum,
                         (long long)value);
    return STATUS_OK;
}

/* Sizes of the other kind of attention must not be set: they would do nothing. */
static Status check_absent(const char *name, int64_t value, const char *kind,
                           Error *err)
{
    if (value != 0)
        return error_set(err, STATUS_USAGE,
                         "%s (%lld) means nothing with attention \"%s\"", name,
                         (long long)value, kind);
    return STATUS_OK;
}

static Status check_sizes(const GptConfig *config, Error *err)
{
    /* The limits keep V C, T C, 4 C F L and N F below 2^62 whatever is combined: the widest
     * row, (H + 2 G) D or H (P + E), has under 2^30 numbers. */
    TRY(check_range("the vocabulary (vocab_size)", config->vocab_size, 1, 1 << 24,
                    err));
    TRY(check_range("the context (n_positions, max_position_embeddings)",
                    config->context, 1, 1 << 20, err));
    TRY(check_range("the width (n_embd, hidden_size)", config->width, 1, 1 << 16, err));
    TRY(check_range("the number of layers (n_layer, num_hidden_layers)", config->layers,
                    1, GPT_LAYERS_MAX, err));
    TRY(check_range("the number of heads (n_head, num_attention_heads)", config->heads,
                    1, 1024, err));
    return check_range("the width of the MLP (n_inner, intermediate_size)",
                       config->mlp_width, 1, 1 << 18, err);
}

static Status check_heads(const GptConfig *config, Error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } others[] = {{"the query rank (q_lora_rank)", config->q_rank},
                  {"the key/value rank (kv_lora_rank)", config->kv_rank},
                  {"the size of unturned keys (qk_nope_head_dim)", config->nope_size},
                  {"the size of turned keys (qk_rope_head_dim)", config->rope_size},
                  {"the size of values (v_head_dim)", config->value_size}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        TRY(check_absent(others[i].name, others[i].value, "heads", err));
    if (config->head_size == 0 && config->width % config->heads != 0)
        return error_set(err, STATUS_USAGE,
                         "the width (%lld) must be a multiple of the number of heads "
                         "(%lld), unless the head size is given",
                         (long long)config->width, (long long)config->heads);
    TRY(check_range("the head size (head_dim)", config->head_size, 1, 1 << 16, err));
    TRY(check_range("the number of key/value heads (num_key_value_heads)",
                    config->kv_heads, 1, config->heads, err));
    if (config->heads % config->kv_heads != 0)
        return error_set(err, STATUS_USAGE,
                         "the number of heads (%lld) must be a multiple of the number "
                         "of key/value heads (%lld)",
                         (long long)config->heads, (long long)config->kv_heads);
    if (config->position == POSITION_ROPE && config->head_size % 2 != 0)
        return error_set(err, STATUS_USAGE,
                         "RoPE turns pairs of channels: the head size must be even, "
                         "but it is %lld",
                         (long long)config->head_size);
    return STATUS_OK;
}

static Status check_mla(const GptConfig *config, Error *err)
{
    TRY(check_absent("the head size (head_dim)", config->head_size, "mla", err));
    if (config->kv_heads != config->heads)
        return error_set(err, STATUS_USAGE,
                         "attention \"mla\" has a key and a value for each of its %lld "
                         "heads: num_key_value_heads %lld means nothing there",
                         (long long)config->heads, (long long)config->kv_heads);
    if (config->biases)
        return error_set(
            err, STATUS_USAGE,
            "attention \"mla\" has no biases (attention_bias): switch them off");
    if ((config->nope_size == 0 || config->value_size == 0) &&
        config->width % config->heads != 0)
        return error_set(err, STATUS_USAGE,
                         "the width (%lld) must be a multiple of the number of heads "
                         "(%lld), unless the sizes of keys and values are given",
                         (long long)config->width, (long long)config->heads);
    TRY(check_range("the query rank (q_lora_rank)", config->q_rank, 0, 1 << 16, err));
    TRY(check_range("the key/value rank (kv_lora_rank)", config->kv_rank, 1, 1 << 16,
                    err));
    TRY(check_range("the size of unturned keys (qk_nope_head_dim)", config->nope_size,
                    1, 1 << 16, err));
    TRY(check_range("the size of turned keys (qk_rope_head_dim)", config->rope_size, 0,
                    1 << 16, err));
    TRY(check_range("the size of values (v_head_dim)", config->value_size, 1, 1 << 16,
                    err));
    bool turned = config->position == POSITION_ROPE;
    if (turned && (config->rope_size == 0 || config->rope_size % 2 != 0))
        return error_set(err, STATUS_USAGE,
                         "RoPE turns pairs of channels: the size of turned keys "
                         "(qk_rope_head_dim) must be even and over 0, but it is %lld",
                         (long long)config->rope_size);
    if (!turned && config->rope_size != 0)
        return error_set(err, STATUS_USAGE,
                         "positions \"%s\" turn no keys: qk_rope_head_dim must be 0, "
                         "but it is %lld",
                         POSITION_NAMES[config->position],
                         (long long)config->rope_size);
    return STATUS_OK;
}

static Status check_windows(const GptConfig *config, Error *err)
{
    int64_t sliding = 0;
    for (int64_t l = 0; l < config->layers; l++)
        sliding += config->sliding[l];
    TRY(check_range("the window (sliding_window; 0: none)", config->window, 0, 1 << 30,
                    err));
    if (config->window > 0 && sliding == 0)
        return error_set(err, STATUS_USAGE,
                         "a window of %lld tokens is given, but no layer slides",
                         (long long)config->window);
    if (config->window == 0 && sliding > 0)
        return error_set(err, STATUS_USAGE,
                         "%lld layers slide, but there is no window: expected at least "
                         "1 token",
                         (long long)sliding);
    return STATUS_OK;
}

static Status check_removed(const GptConfig *config, Error *err)
{
    for (int64_t l = 0; l < config->layers; l++) {
        uint64_t removed = config->removed[l];
        if (removed == 0)
            continue;
        if (config->heads > GPT_PRUNED_HEADS_MAX)
            return error_set(err, STATUS_USAGE,
                             "layer %lld: heads can be cut from models of up to %d "
                             "heads, this one has %lld",
                             (long long)l, GPT_PRUNED_HEADS_MAX,
                             (long long)config->heads);
        if (config->heads < 64 && removed >> config->heads != 0)
            return error_set(err, STATUS_USAGE,
                             "layer %lld: a head is cut that the model of %lld heads "
                             "does not have",
                             (long long)l, (long long)config->heads);
    }
    return STATUS_OK;
}

static Status check_numbers(const GptConfig *config, Error *err)
{
    if (!(config->rope_theta > 0 && config->rope_theta <= 1e15))
        return error_set(err, STATUS_USAGE,
                         "rope_theta must be over 0 and at most 1e15, but it is %g",
                         config->rope_theta);
    if (!(config->norm_eps > 0 && config->norm_eps <= 1))
        return error_set(err, STATUS_USAGE,
                         "the norms' epsilon (layer_norm_epsilon, rms_norm_eps) must "
                         "be over 0 and at most 1, but it is %g",
                         config->norm_eps);
    if (!(config->dropout >= 0 && config->dropout < 1))
        return error_set(err, STATUS_USAGE,
                         "dropout must be at least 0 and under 1, but it is %g",
                         config->dropout);
    return STATUS_OK;
}

Status gpt_config_check(const GptConfig *config, Error *err)
{
    TRY(check_sizes(config, err));
    TRY(config->attention == ATTENTION_MLA ? check_mla(config, err)
                                           : check_heads(config, err));
    TRY(check_windows(config, err));
    TRY(check_removed(config, err));
    return check_numbers(config, err);
}

const char *gpt_config_advice(const GptConfig *config, char *text, size_t size)
{
    int64_t channels = gpt_score_size(config);
    if (channels >= ENOUGH_CHANNELS)
        return NULL;
    snprintf(text, size,
             "each head compares queries and keys of %lld channels; under %d that "
             "bounds what a head can tell apart: fewer heads, or a larger head size, "
             "usually learn better",
             (long long)channels, ENOUGH_CHANNELS);
    return text;
}

bool gpt_config_equal(const GptConfig *a, const GptConfig *b)
{
    bool same = a->family == b->family && a->vocab_size == b->vocab_size &&
                a->context == b->context && a->width == b->width &&
                a->layers == b->layers && a->heads == b->heads &&
                a->mlp_width == b->mlp_width && a->kv_heads == b->kv_heads &&
                a->head_size == b->head_size && a->norm == b->norm &&
                a->norm_place == b->norm_place && a->position == b->position &&
                (a->position != POSITION_ROPE || a->rope_theta == b->rope_theta) &&
                a->mlp == b->mlp && a->attention == b->attention &&
                a->biases == b->biases && a->tied == b->tied &&
                a->scaled_scores == b->scaled_scores && a->q_rank == b->q_rank &&
                a->kv_rank == b->kv_rank && a->nope_size == b->nope_size &&
                a->rope_size == b->rope_size && a->value_size == b->value_size &&
                a->window == b->window && a->norm_eps == b->norm_eps;
    for (int64_t l = 0; same && l < a->layers; l++) {
        if (a->sliding[l] != b->sliding[l] || a->removed[l] != b->removed[l])
            return false;
    }
    return same;
}

/* ---- layers with heads cut ---------------------------------------------------------- */

static bool has_head(const GptConfig *config, int64_t layer, int64_t head)
{
    return head >= GPT_PRUNED_HEADS_MAX ||
           (config->removed[layer] >> head & 1) == 0; /* no bit: nothing was cut */
}

/* Whether one of the query heads that read key/value head g is left. */
static bool has_kv_head(const GptConfig *config, int64_t layer, int64_t g)
{
    int64_t readers = config->heads / config->kv_heads;
    for (int64_t h = g * readers; h < (g + 1) * readers; h++) {
        if (has_head(config, layer, h))
            return true;
    }
    return false;
}

/* Heads 0 .. end-1 that are left. */
static int64_t count_heads(const GptConfig *config, int64_t layer, int64_t end)
{
    int64_t count = 0;
    for (int64_t h = 0; h < end; h++)
        count += has_head(config, layer, h);
    return count;
}

static int64_t count_kv_heads(const GptConfig *config, int64_t layer, int64_t end)
{
    int64_t count = 0;
    for (int64_t g = 0; g < end; g++)
        count += has_kv_head(config, layer, g);
    return count;
}

int64_t gpt_layer_heads(const GptConfig *config, int64_t layer)
{
    return count_heads(config, layer, config->heads);
}

int64_t gpt_layer_kv_heads(const GptConfig *config, int64_t layer)
{
    return count_kv_heads(config, layer, config->kv_heads);
}

int64_t gpt_layer_head(const GptConfig *config, int64_t layer, int64_t i)
{
    int64_t h = 0;
    while (!has_head(config, layer, h) || i-- > 0)
        h++;
    return h;
}

int64_t gpt_layer_kv_head(const GptConfig *config, int64_t layer, int64_t i)
{
    int64_t g = 0;
    while (!has_kv_head(config, layer, g) || i-- > 0)
        g++;
    return g;
}

int64_t gpt_layer_group(const GptConfig *config, int64_t layer, int64_t i)
{
    int64_t g = gpt_layer_head(config, layer, i) / (config->heads / config->kv_heads);
    return count_kv_heads(config, layer, g);
}

int64_t gpt_score_size(const GptConfig *config)
{
    return config->attention == ATTENTION_MLA ? config->nope_size + config->rope_size
                                              : config->head_size;
}

int64_t gpt_value_size(const GptConfig *config)
{
    return config->attention == ATTENTION_MLA ? config->value_size : config->head_size;
}

int64_t gpt_layer_window(const GptConfig *config, int64_t layer)
{
    return config->sliding[layer] ? config->window : 0;
}
