#include "scripts/train_model.h"

#include "model/gpt/config_file.h"
#include "scripts/checkpoint_open.h"

static Status read_config(GptConfig *config, const char *folder, Error *err)
{
    char found[PATH_SIZE];
    ModelTokens tokens;
    TRY(checkpoint_locate(found, folder, err));
    return config_file_load(config, &tokens, found, err);
}

Status train_model_config(GptConfig *config, const ModelOptions *options,
                          const char *folder, Dist *dist, Error *err)
{
    if (folder == NULL)
        return model_options_config(config, options, err);
    Status status = dist->rank == 0 ? read_config(config, folder, err) : STATUS_OK;
    TRY(dist_agree(dist, status, err));
    dist_broadcast(dist, config, sizeof *config, 0);
    config->dropout = options->config.dropout;
    return STATUS_OK;
}

Status train_model_start(Trainer *trainer, const char *checkpoint, Dist *dist,
                         Error *err)
{
    char found[PATH_SIZE] = "";
    Status status =
        dist->rank == 0 ? checkpoint_locate(found, checkpoint, err) : STATUS_OK;
    TRY(dist_agree(dist, status, err));
    return trainer_start_from(trainer, found, err);
}

Status train_model_check(const CommandInfo *info, int argc, char **argv, Error *err)
{
    for (size_t i = 0; MODEL_OPTION_NAMES[i] != NULL; i++) {
        if (options_given(info, argc, argv, MODEL_OPTION_NAMES[i]))
            return error_set(err, STATUS_USAGE,
                             "--%s: with --resume-from the model is the checkpoint's",
                             MODEL_OPTION_NAMES[i]);
    }
    if (options_given(info, argc, argv, "init"))
        return error_set(err, STATUS_USAGE,
                         "--init: with --resume-from the weights are the checkpoint's");
    return STATUS_OK;
}
