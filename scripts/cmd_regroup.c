/* jueju regroup: a checkpoint with fewer key/value heads, to train on. */
#include <stdio.h>
#include <string.h>

#include "model/gpt/regroup.h"
#include "model/gpt/weights.h"
#include "scripts/checkpoint_open.h"
#include "scripts/checkpoint_write.h"
#include "scripts/commands.h"
#include "scripts/startup.h"

typedef struct {
    CommonOptions common;
    int64_t kv_heads;
    const char *out;
    bool overwrite;
} RegroupValues;

#define AT(member) offsetof(RegroupValues, member)

static const Option OPTIONS[] = {
    {"kv-heads", 'G', OPTION_INT, AT(kv_heads), "G",
     "key/value heads of the new model: a divisor of the old one's", 1, 1024, NULL},
    {"out", 'o', OPTION_TEXT, AT(out), "DIR",
     "folder of the new checkpoint; by default checkpoints/NAME-kvG", 0, 0, NULL},
    {"overwrite", 0, OPTION_FLAG, AT(overwrite), NULL,
     "replace a checkpoint that is there", 0, 0, NULL},
    COMMON_OPTIONS(RegroupValues),
    {0}};

static const CommandInfo INFO = {
    .name = "regroup",
    .arguments = "CHECKPOINT",
    .summary = "turn multi-head into grouped-query attention by averaging",
    .details =
        "The K and V heads of each new group are averaged; queries and everything "
        "else\n"
        "stay. Then go on training, with some 5% of the original steps:\n"
        "  jueju regroup checkpoints/tang --kv-heads 2\n"
        "  jueju train --resume-from checkpoints/tang-kv2 --steps 180",
    .options = OPTIONS,
    .minimum_arguments = 1,
    .maximum_arguments = 1,
};

static Status regroup(const Checkpoint *checkpoint, const RegroupValues *values,
                      const char *given, Error *err)
{
    char folder[PATH_SIZE];
    char suffix[32];
    snprintf(suffix, sizeof suffix, "-kv%lld", (long long)values->kv_heads);
    TRY(checkpoint_write_target(folder, values->out, given, suffix, values->overwrite,
                                err));
    Gpt gpt;
    TRY(gpt_regroup(&gpt, &checkpoint->gpt, values->kv_heads, err));
    char how[64];
    snprintf(how, sizeof how, "regroup --kv-heads %lld", (long long)values->kv_heads);
    Status status = checkpoint_write(&gpt, checkpoint, folder, how, err);
    if (status == STATUS_OK)
        printf("%s: %lld of %lld key/value heads, %lld of %lld parameters\n", folder,
               (long long)values->kv_heads, (long long)checkpoint->gpt.config.kv_heads,
               (long long)gpt.table.parameters,
               (long long)checkpoint->gpt.table.parameters);
    gpt_destroy(&gpt);
    return status;
}

static Status run(int argc, char **argv, Error *err)
{
    RegroupValues values = {0};
    const char *arguments[1] = {NULL};
    int count;
    bool help;
    TRY(options_parse(&INFO, &values, argc, argv, arguments, &count, &help, err));
    if (help) {
        options_help(&INFO, &values, stdout);
        return STATUS_OK;
    }
    if (values.kv_heads == 0)
        return error_set(err, STATUS_USAGE,
                         "--kv-heads is missing: how many key/value "
                         "heads the new model has");
    startup_threads(values.common.threads);
    Checkpoint *checkpoint;
    TRY(memory_allocate(&checkpoint, 1, sizeof *checkpoint, "the checkpoint", err));
    Status status = checkpoint_open(checkpoint, arguments[0], err);
    if (status == STATUS_OK) {
        status = checkpoint_expect_decoder(checkpoint, err);
        if (status == STATUS_OK)
            status = regroup(checkpoint, &values, arguments[0], err);
        checkpoint_close(checkpoint);
    }
    memory_free(checkpoint);
    return status;
}

const Command COMMAND_REGROUP = {&INFO, run};
