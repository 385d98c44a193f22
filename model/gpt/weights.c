#include "model/gpt/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/base/safetensors.h"
#include "model/gpt/param_names.h"

static const char WEIGHTS[] = "model.safetensors";
static const char HEAD[] = "lm_head.weight";

/* ---- what the file holds ------------------------------------------------------------ */

/* A tensor of the file: columns of a parameter. */
typedef struct {
    const ParamInfo *info;
    SavedPiece piece;
} Saved;

typedef struct {
    Saved *items; /* owned; point into a parameter table */
    int64_t count;
    const char *prefix; /* what names may lack */
    const char *tokens; /* the embedding's name, of a tied model; else NULL */
} SavedList;

static Status list_create(SavedList *list, const ParamTable *table,
                          const GptConfig *config, Error *err)
{
    *list = (SavedList){.prefix = param_prefix(config->family)};
    TRY(memory_allocate(&list->items, (size_t)table->count * PARAM_PARTS,
                        sizeof *list->items, "the list of tensors", err));
    for (int64_t i = 0; i < table->count; i++) {
        SavedPiece pieces[PARAM_PARTS];
        int count = param_pieces(pieces, &table->items[i], config);
        for (int p = 0; p < count; p++)
            list->items[list->count++] =
                (Saved){.info = &table->items[i], .piece = pieces[p]};
    }
    if (config->tied)
        list->tokens = list->items[0].piece.name; /* the table begins with it */
    return STATUS_OK;
}

static void list_destroy(SavedList *list)
{
    memory_free(list->items);
    *list = (SavedList){0};
}

/* The shape under which it is saved; returns its rank. */
static int saved_shape(int64_t shape[2], const Saved *saved)
{
    int64_t rows = saved->info->rows;
    int64_t cols = saved->piece.cols;
    bool turned = saved->info->is_vector || saved->piece.transposed;
    shape[0] = turned ? cols : rows;
    shape[1] = turned ? rows : cols;
    return saved->info->is_vector ? 1 : 2;
}

/* Whether it is in the file as it is in memory. */
static bool is_whole(const Saved *saved)
{
    return !saved->piece.transposed && saved->piece.cols == saved->info->cols;
}

/* Number i of the file's tensor, as it lies in the parameter's values. */
static size_t place(const Saved *saved, int64_t i)
{
    int64_t rows = saved->info->rows;
    int64_t cols = saved->piece.cols;
    int64_t row = saved->piece.transposed ? i % rows : i / cols;
    int64_t col = saved->piece.transposed ? i / rows : i % cols;
    return (size_t)(row * saved->info->cols + saved->piece.first + col);
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

/* The list as tensors to write; those that are not whole are put together in room. */
static void fill_tensors(Tensor *tensors, real *room, const SavedList *list,
                         const Gpt *gpt)
{
    for (int64_t i = 0; i < list->count; i++) {
        const Saved *saved = &list->items[i];
        const real *values = gpt->values + saved->info->offset;
        int64_t count = saved->info->rows * saved->piece.cols;
        int64_t shape[2];
        int rank = saved_shape(shape, saved);
        const real *data = values;
        if (!is_whole(saved)) {
            for (int64_t j = 0; j < count; j++)
                room[j] = values[place(saved, j)];
            data = room;
            room += count;
        }
        tensors[i] = tensor_of_reals(saved->piece.name, data, rank, shape);
    }
}

static Status write_list(const SavedList *list, const Gpt *gpt, const char *path,
                         Error *err)
{
    const Metadata metadata = {"format", "pt"}; /* transformers refuses files without */
    size_t numbers = 0;
    for (int64_t i = 0; i < list->count; i++) {
        const Saved *saved = &list->items[i];
        if (!is_whole(saved))
            numbers += (size_t)(saved->info->rows * saved->piece.cols);
    }
    size_t count = (size_t)list->count;
    Tensor *tensors;
    real *room = NULL;
    TRY(memory_allocate(&tensors, count, sizeof *tensors, "the list of tensors", err));
    Status status =
        memory_allocate(&room, numbers, sizeof *room, "the tensors to save", err);
    if (status == STATUS_OK) {
        fill_tensors(tensors, room, list, gpt);
        status = safetensors_write(path, tensors, count, &metadata, 1, err);
    }
    memory_free(room);
    memory_free(tensors);
    return status;
}

Status weights_save(const Gpt *gpt, const ModelTokens *tokens, const char *folder,
                    Error *err)
{
    char path[PATH_SIZE];
    SavedList list;
    TRY(path_join(path, folder, WEIGHTS, err));
    TRY(check_finite(gpt, err));
    TRY(list_create(&list, &gpt->table, &gpt->config, err));
    Status status = write_list(&list, gpt, path, err);
    list_destroy(&list);
    TRY(status);
    return config_file_save(&gpt->config, tokens, folder, err);
}

/* ---- loading ------------------------------------------------------------------------ */

/* "h.0.ln_1.weight" of "transformer.h.0.ln_1.weight"; lm_head.weight as it is. */
static const char *without_prefix(const SavedList *list, const char *name)
{
    size_t length = strlen(list->prefix);
    return strncmp(name, list->prefix, length) == 0 ? name + length : name;
}

/* The tensor, with or without the prefix; the name under which it stands, the full one when
 * it does not. */
static const Tensor *find_saved(const char **name, const SavedList *list,
                                const SafeTensors *file, const char *full)
{
    *name = full;
    const Tensor *tensor = safetensors_find(file, full);
    if (tensor != NULL)
        return tensor;
    const char *plain = without_prefix(list, full);
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

/* Constants that PyTorch's modules carry along: the causal mask and its fill value, and
 * the frequencies of RoPE. */
static bool is_buffer(const char *name)
{
    return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias") ||
           ends_with(name, ".rotary_emb.inv_freq");
}

/* Whether a tensor stands under this name, and not under the full one besides. */
static bool is_expected(const SavedList *list, const SafeTensors *file,
                        const char *name)
{
    for (int64_t i = 0; i < list->count; i++) {
        const char *full = list->items[i].piece.name;
        if (strcmp(full, name) == 0)
            return true;
        if (strcmp(without_prefix(list, full), name) == 0)
            return safetensors_find(file, full) == NULL;
    }
    return false;
}

/* Everything in the file must be a parameter, a buffer or the tied head: one layer more
 * than the config says is a mistake, not a matter of taste. */
static Status check_no_others(const SavedList *list, const SafeTensors *file,
                              Error *err)
{
    for (size_t i = 0; i < file->count; i++) {
        const char *name = file->tensors[i].name;
        bool tied_head = list->tokens != NULL && strcmp(name, HEAD) == 0;
        if (!is_buffer(name) && !tied_head && !is_expected(list, file, name))
            return error_set(err, STATUS_INPUT,
                             "%s: tensor \"%.200s\" has no place in the model that "
                             "config.json describes",
                             file->path, name);
    }
    return STATUS_OK;
}

/* All tensors there, of the right shape, before the model takes its memory. */
static Status check_shapes(const SavedList *list, const SafeTensors *file, Error *err)
{
    for (int64_t i = 0; i < list->count; i++) {
        const char *name;
        int64_t shape[2];
        int rank = saved_shape(shape, &list->items[i]);
        find_saved(&name, list, file, list->items[i].piece.name);
        TRY(safetensors_expect_real(file, name, rank, shape, err));
    }
    return check_no_others(list, file, err);
}

static Status check_tied_head(const SavedList *list, const SafeTensors *file,
                              Error *err)
{
    const Tensor *head = safetensors_find(file, HEAD);
    if (head == NULL || list->tokens == NULL)
        return STATUS_OK;
    const char *name;
    const Tensor *tokens = find_saved(&name, list, file, list->tokens);
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

/* room has as many numbers as the largest tensor that is not whole. */
static Status read_values(Gpt *gpt, real *room, const SavedList *list,
                          const SafeTensors *file, Error *err)
{
    for (int64_t i = 0; i < list->count; i++) {
        const Saved *saved = &list->items[i];
        real *values = gpt->values + saved->info->offset;
        const char *name;
        int64_t shape[2];
        int rank = saved_shape(shape, saved);
        find_saved(&name, list, file, saved->piece.name);
        bool whole = is_whole(saved);
        TRY(safetensors_read_real(whole ? values : room, file, name, rank, shape, true,
                                  err));
        for (int64_t j = 0; !whole && j < saved->info->rows * saved->piece.cols; j++)
            values[place(saved, j)] = room[j];
    }
    return STATUS_OK;
}

static Status read_model(Gpt *gpt, const SafeTensors *file, Error *err)
{
    SavedList list;
    real *room;
    int64_t largest = 0;
    TRY(list_create(&list, &gpt->table, &gpt->config, err));
    for (int64_t i = 0; i < list.count; i++) {
        int64_t count = list.items[i].info->rows * list.items[i].piece.cols;
        if (!is_whole(&list.items[i]) && count > largest)
            largest = count;
    }
    Status status =
        memory_allocate(&room, (size_t)largest, sizeof *room, "a tensor to load", err);
    if (status == STATUS_OK) {
        status = read_values(gpt, room, &list, file, err);
        memory_free(room);
    }
    list_destroy(&list);
    return status;
}

static Status check_file(const GptConfig *config, const SafeTensors *file, Error *err)
{
    ParamTable table;
    SavedList list;
    TRY(param_table_create(&table, config, err));
    Status status = list_create(&list, &table, config, err);
    if (status == STATUS_OK) {
        status = check_shapes(&list, file, err);
        if (status == STATUS_OK)
            status = check_tied_head(&list, file, err);
        list_destroy(&list);
    }
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
        status = read_model(gpt, &file, err);
        if (status != STATUS_OK)
            gpt_destroy(gpt);
    }
    safetensors_close(&file);
    return status;
}
