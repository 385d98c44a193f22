#include "model/gpt/config.h"

#include <math.h>

GptConfig gpt_config_default(void)
{
    return (GptConfig){
        .context = 128,
        .width = 128,
        .layers = 4,
        .heads = 4,
        .mlp_width = 512,
        .norm_eps = 1e-5,
    };
}

int64_t gpt_head_size(const GptConfig *config)
{
    return config->width / config->heads;
}

static Status check_range(const char *name, int64_t value, int64_t maximum, Error *err)
{
    if (value < 1 || value > maximum)
        return error_set(err, STATUS_USAGE, "%s must be 1 .. %lld, but it is %lld",
                         name, (long long)maximum, (long long)value);
    return STATUS_OK;
}

Status gpt_config_check(const GptConfig *config, Error *err)
{
    /* The limits keep V C, T C, 4 C F L and N F below 2^62 whatever is combined. */
    TRY(check_range("the vocabulary (vocab_size)", config->vocab_size, 1 << 24, err));
    TRY(check_range("the context (n_positions)", config->context, 1 << 20, err));
    TRY(check_range("the width (n_embd)", config->width, 1 << 16, err));
    TRY(check_range("the number of layers (n_layer)", config->layers, 1024, err));
    TRY(check_range("the number of heads (n_head)", config->heads, 1024, err));
    TRY(check_range("the width of the MLP (n_inner)", config->mlp_width, 1 << 18, err));
    if (config->width % config->heads != 0)
        return error_set(err, STATUS_USAGE,
                         "the width (%lld) must be a multiple of the number of heads "
                         "(%lld)",
                         (long long)config->width, (long long)config->heads);
    if (!(config->norm_eps > 0 && config->norm_eps <= 1))
        return error_set(
            err, STATUS_USAGE,
            "layer_norm_epsilon must be over 0 and at most 1, but it is %g",
            config->norm_eps);
    if (!(config->dropout >= 0 && config->dropout < 1))
        return error_set(err, STATUS_USAGE,
                         "dropout must be at least 0 and under 1, but it is %g",
                         config->dropout);
    return STATUS_OK;
}
