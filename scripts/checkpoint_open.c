#include "scripts/checkpoint_open.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "model/gpt/weights.h"

static const char CONFIG[] = "config.json";
static const char WEIGHTS[] = "model.safetensors";
static const char TOKENIZER[] = "tokenizer.json";
static const char VARIANTS[] = "variants.json";

/* ---- finding ----------------------------------------------------------------------- */

/* Whether path, or what stands for it while it is replaced, is a checkpoint. */
static bool is_checkpoint(char found[PATH_SIZE], const char *path)
{
    char config[PATH_SIZE];
    return folder_resolve(found, path, NULL) == STATUS_OK &&
           path_join(config, found, CONFIG, NULL) == STATUS_OK && file_exists(config);
}

static bool is_checkpoint_in(char found[PATH_SIZE], const char *folder,
                             const char *name)
{
    char path[PATH_SIZE];
    return path_join(path, folder, name, NULL) == STATUS_OK &&
           is_checkpoint(found, path);
}

Status checkpoint_locate(char found[PATH_SIZE], const char *path, Error *err)
{
    if (is_checkpoint(found, path))
        return STATUS_OK;
    char folder[PATH_SIZE];
    TRY(folder_resolve(folder, path, err));
    if (is_checkpoint_in(found, folder, "best") ||
        is_checkpoint_in(found, folder, "last"))
        return STATUS_OK;
    return error_set(
        err, STATUS_INPUT,
        "%s: expected a checkpoint (a folder with %s) or a run with one in "
        "best or last, found neither",
        folder, CONFIG);
}

/* What is looked for, and the newest so far. */
typedef struct {
    bool any;            /* of whichever kind */
    CheckpointKind kind; /* else only these */
    bool known;
    struct timespec time;
    char name[PATH_SIZE]; /* decides between equal times */
    char folder[PATH_SIZE];
} Newest;

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* When the weights of a checkpoint were written; false when it has none. */
static bool written_at(struct timespec *time, const char *checkpoint)
{
    char path[PATH_SIZE];
    struct stat info;
    if (path_join(path, checkpoint, WEIGHTS, NULL) != STATUS_OK ||
        stat(path, &info) != 0)
        return false;
    *time = info.st_mtim;
    return true;
}

static bool is_wanted(const Newest *newest, const char *checkpoint)
{
    GptConfig config;
    ModelTokens tokens;
    if (newest->any)
        return true;
    bool couplets = newest->kind == CHECKPOINT_COUPLETS;
    return config_file_load(&config, &tokens, checkpoint, NULL) == STATUS_OK &&
           (config.encoder_layers > 0) == couplets;
}

/* A run is as new as the newer of its two checkpoints, though its best is what is used. */
static void consider(Newest *newest, const char *root, const char *name)
{
    char folder[PATH_SIZE];
    char found[PATH_SIZE];
    char other[PATH_SIZE];
    struct timespec time, last;
    if (path_join(folder, root, name, NULL) != STATUS_OK ||
        checkpoint_locate(found, folder, NULL) != STATUS_OK ||
        !written_at(&time, found) || !is_wanted(newest, found))
        return;
    if (is_checkpoint_in(other, folder, "last") && written_at(&last, other) &&
        is_later(&last, &time))
        time = last;
    bool first = !newest->known || is_later(&time, &newest->time) ||
                 (!is_later(&newest->time, &time) && strcmp(name, newest->name) < 0);
    if (!first)
        return;
    newest->known = true;
    newest->time = time;
    memcpy(newest->folder, found, sizeof found);
    strcpy(newest->name, name);
}

/* Names of folders that are being written or replaced. */
static bool is_passing(const char *name)
{
    size_t length = strlen(name);
    return name[0] == '.' || strstr(name, ".tmp.") != NULL ||
           (length > 4 && strcmp(name + length - 4, ".old") == 0);
}

static Status look_through(Newest *newest, const char *root, Error *err)
{
    DIR *folder = opendir(root);
    if (folder == NULL && errno != ENOENT)
        return error_errno(err, "%s", root);
    if (folder != NULL) {
        const struct dirent *entry;
        while ((entry = readdir(folder)) != NULL) {
            if (!is_passing(entry->d_name))
                consider(newest, root, entry->d_name);
        }
        closedir(folder);
    }
    return STATUS_OK;
}

Status checkpoint_newest(char found[PATH_SIZE], const char *root, Error *err)
{
    Newest newest = {.any = true};
    TRY(look_through(&newest, root, err));
    if (!newest.known)
        return error_set(
            err, STATUS_INPUT,
            "%s: no checkpoint there yet: make train makes one, or name the "
            "folder of another",
            root);
    memcpy(found, newest.folder, PATH_SIZE);
    return STATUS_OK;
}

Status checkpoint_newest_of(char found[PATH_SIZE], const char *root,
                            CheckpointKind kind, Error *err)
{
    Newest newest = {.kind = kind};
    TRY(look_through(&newest, root, err));
    if (!newest.known)
        return error_set(err, STATUS_INPUT,
                         kind == CHECKPOINT_COUPLETS
                             ? "%s: no checkpoint of couplets there yet: `jueju train "
                               "--family couplet` makes one, or name its folder"
                             : "%s: no checkpoint of poems there yet: make train makes "
                               "one, or name the folder of another",
                         root);
    memcpy(found, newest.folder, PATH_SIZE);
    return STATUS_OK;
}

/* ---- reading ----------------------------------------------------------------------- */

static Status load(Checkpoint *checkpoint, Error *err)
{
    const char *folder = checkpoint->folder;
    char path[PATH_SIZE];
    ModelTokens tokens;
    TRY(weights_load(&checkpoint->gpt, &tokens, folder, err));
    TRY(path_join(path, folder, TOKENIZER, err));
    TRY(tokenizer_load(&checkpoint->tokenizer, path, err));
    int64_t V = checkpoint->gpt.config.vocab_size;
    if (checkpoint->tokenizer.size != V)
        return error_set(
            err, STATUS_INPUT,
            "%s: %d tokens, but the model in %s has %lld: the files are not "
            "of one checkpoint",
            path, (int)checkpoint->tokenizer.size, CONFIG, (long long)V);
    if (V <= TOKEN_SPECIALS)
        return error_set(
            err, STATUS_INPUT,
            "%s: expected characters besides the %d special tokens, found none", path,
            TOKEN_SPECIALS);
    checkpoint->stream = tokens.bos < 0;
    if (!checkpoint->stream && (tokens.bos != TOKEN_BOS || tokens.eos != TOKEN_EOS))
        return error_set(
            err, STATUS_INPUT,
            "%s/%s: expected bos_token_id %d and eos_token_id %d as in %s, "
            "found %lld and %lld",
            folder, CONFIG, TOKEN_BOS, TOKEN_EOS, TOKENIZER, (long long)tokens.bos,
            (long long)tokens.eos);
    TRY(path_join(path, folder, VARIANTS, err));
    if (file_exists(path))
        TRY(variants_load(&checkpoint->variants, path, err));
    return STATUS_OK;
}

Status checkpoint_open(Checkpoint *checkpoint, const char *path, Error *err)
{
    memset(checkpoint, 0, sizeof *checkpoint);
    char found[PATH_SIZE];
    TRY(checkpoint_locate(found, path, err));
    memcpy(checkpoint->folder, found, sizeof found);
    Status status = load(checkpoint, err);
    if (status != STATUS_OK)
        checkpoint_close(checkpoint);
    return status;
}

Status checkpoint_expect_decoder(const Checkpoint *checkpoint, Error *err)
{
    if (checkpoint->gpt.config.encoder_layers == 0)
        return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "%s is a model of couplets, and this command knows models without "
                     "an encoder only",
                     checkpoint->folder);
}

void checkpoint_close(Checkpoint *checkpoint)
{
    if (checkpoint->gpt.values != NULL)
        gpt_destroy(&checkpoint->gpt);
    tokenizer_free(&checkpoint->tokenizer);
    variants_free(&checkpoint->variants);
    memset(checkpoint, 0, sizeof *checkpoint);
}
