#include "model/gpt/weights.h"

#include <math.h>
#include <string.h>

#include "model/base/safetensors.h"

static const char WEIGHTS[] = "model.safetensors";
static const char PREFIX[] = "transformer.";
static const char HEAD[] = "lm_head.weight";
static const char EMBEDDING[] = "transformer.wte.weight";

/* The shape under which a parameter is saved; returns its rank. */
static int saved_shape(int64_t shape[2], const ParamInfo *info)
{
    shape[0] = info->is_vector ? info->cols : info->rows;
    shape[1] = info->cols;
    return info->is_vector ? 1 : 2;
}

/* ---- saving ------------------------------------------------------------------------- */

static Status check_finite(const Gpt *gpt, Error *err)
{
    for (int64_t i = 0; i < gpt->table.count; i++) {
        const ParamInfo *info = &gpt->table.items[i];
        const real *values = gpt->values + info->offset;
        for (int64_t j = 0; j < info->rows * info->cols; j++)
            if (!isfinite(values[j]))
                return error_set(
                    err, STATUS_NUMERIC,
                    "tensor \"%s\": value %lld is %f, not finite; the model "
                    "is not saved",
                    info->name, (long long)j, (double)values[j]);
    }
    return STATUS_OK;
}

Status weights_save(const Gpt *gpt, const ModelTokens *tokens, const char *folder,
                    Error *err)
{
    char path[PATH_SIZE];
    TRY(path_join(path, folder, WEIGHTS, err));
    TRY(check_finite(gpt, err));

    const Metadata metadata = {"format", "pt"}; /* transformers refuses files without */
    Tensor *tensors;
    size_t count = (size_t)gpt->table.count;
    TRY(memory_allocate(&tensors, count, sizeof *tensors, "the list of tensors", err));
    for (size_t i = 0; i < count; i++) {
        const ParamInfo *info = &gpt->table.items[i];
        int64_t shape[2];
        int rank = saved_shape(shape, info);
        tensors[i] =
            tensor_of_reals(info->name, gpt->values + info->offset, rank, shape);
    }
    Status status = safetensors_write(path, tensors, count, &metadata, 1, err);
    memory_free(tensors);
    TRY(status);
    return config_file_save(&gpt->config, tokens, folder, err);
}

/* ---- loading ------------------------------------------------------------------------ */

/* The tensor of a parameter, with or without the prefix; the name under which it stands,
 * the full one when it does not. */
static const Tensor *find_param(const char **name, const SafeTensors *file,
                                const ParamInfo *info)
{
    *name = info->name;
    const Tensor *tensor = safetensors_find(file, info->name);
    if (tensor != NULL)
        return tensor;
    const char *plain = info->name + sizeof PREFIX - 1;
    tensor = safetensors_find(file, plain);
    if (tensor != NULL)
        *name = plain;
    return tensor;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Constants that PyTorch's modules carry along: the causal mask and its fill value. */
static bool is_buffer(const char *name)
{
    return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias");
}

/* Whether a parameter stands under this name, and not under the full one besides. */
static bool is_param(const ParamTable *table, const SafeTensors *file, const char *name)
{
    if (param_table_find(table, name) != NULL)
        return true;
    char full[sizeof PREFIX + sizeof table->items->name];
    int length = snprintf(full, sizeof full, "%s%s", PREFIX, name);
    return length < (int)sizeof full && param_table_find(table, full) != NULL &&
           safetensors_find(file, full) == NULL;
}

/* Everything in the file must be a parameter, a buffer or the tied head: one layer more
 * than the config says is a mistake, not a matter of taste. */
static Status check_no_others(const ParamTable *table, const SafeTensors *file,
                              Error *err)
{
    for (size_t i = 0; i < file->count; i++) {
        const char *name = file->tensors[i].name;
        if (!is_buffer(name) && strcmp(name, HEAD) != 0 && !is_param(table, file, name))
            return error_set(err, STATUS_INPUT,
                             "%s: tensor \"%.200s\" has no place in the model that "
                             "config.json describes",
                             file->path, name);
    }
    return STATUS_OK;
}

/* All tensors there, of the right shape, before the model takes its memory. */
static Status check_shapes(const ParamTable *table, const SafeTensors *file, Error *err)
{
    for (int64_t i = 0; i < table->count; i++) {
        const char *name;
        int64_t shape[2];
        int rank = saved_shape(shape, &table->items[i]);
        find_param(&name, file, &table->items[i]);
        TRY(safetensors_expect_real(file, name, rank, shape, err));
    }
    return check_no_others(table, file, err);
}

static Status check_tied_head(const ParamTable *table, const SafeTensors *file,
                              Error *err)
{
    const Tensor *head = safetensors_find(file, HEAD);
    if (head == NULL)
        return STATUS_OK;
    const char *name;
    const Tensor *tokens = find_param(&name, file, param_table_find(table, EMBEDDING));
    size_t head_bytes = 0;
    size_t bytes = 0;
    tensor_bytes(&head_bytes, head);
    tensor_bytes(&bytes, tokens);
    if (head->dtype != tokens->dtype || head->rank != 2 ||
        head->shape[0] != tokens->shape[0] || head->shape[1] != tokens->shape[1] ||
        head_bytes != bytes || memcmp(head->data, tokens->data, bytes) != 0)
        return error_set(err, STATUS_INPUT,
                         "%s: tensor \"%s\" differs from \"%s\", but this model's head "
                         "is tied to its embedding",
                         file->path, HEAD, name);
    return STATUS_OK;
}

static Status read_values(Gpt *gpt, const SafeTensors *file, Error *err)
{
    for (int64_t i = 0; i < gpt->table.count; i++) {
        const ParamInfo *info = &gpt->table.items[i];
        const char *name;
        int64_t shape[2];
        int rank = saved_shape(shape, info);
        find_param(&name, file, info);
        TRY(safetensors_read_real(gpt->values + info->offset, file, name, rank, shape,
                                  true, err));
    }
    return STATUS_OK;
}

static Status check_file(const GptConfig *config, const SafeTensors *file, Error *err)
{
    ParamTable table;
    TRY(param_table_create(&table, config, err));
    Status status = check_shapes(&table, file, err);
    if (status == STATUS_OK)
        status = check_tied_head(&table, file, err);
    param_table_destroy(&table);
    return status;
}

Status weights_load(Gpt *gpt, ModelTokens *tokens, const char *folder, Error *err)
{
    *gpt = (Gpt){0};
    GptConfig config;
    char path[PATH_SIZE];
    SafeTensors file;
    TRY(config_file_load(&config, tokens, folder, err));
    TRY(path_join(path, folder, WEIGHTS, err));
    TRY(safetensors_open(&file, path, err));
    Status status = check_file(&config, &file, err);
    if (status == STATUS_OK)
        status = gpt_create(gpt, &config, err);
    if (status == STATUS_OK) {
        status = read_values(gpt, &file, err);
        if (status != STATUS_OK)
            gpt_destroy(gpt);
    }
    safetensors_close(&file);
    return status;
}
