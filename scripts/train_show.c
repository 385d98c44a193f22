#include "scripts/train_show.h"

#include <stdio.h>

#include "scripts/console.h"
#include "scripts/model_options.h"

void train_show_step(void *context, const TrainRecord *record)
{
    Progress *progress = context;
    if (!progress->terminal)
        return; /* the records are enough of a log */
    char note[64];
    snprintf(note, sizeof note, "step %lld/%lld  loss %.3f", (long long)record->step,
             (long long)record->steps, record->loss);
    progress_update(progress, (double)record->step / (double)record->steps, note);
}

static void show_layers(const TrainRecord *record)
{
    fprintf(stderr, "  heads: entropy");
    for (int64_t l = 0; l < record->layer_count; l++)
        fprintf(stderr, " %.2f", record->layers[l].entropy);
    fprintf(stderr, " · smallest distance");
    for (int64_t l = 0; l < record->layer_count; l++)
        fprintf(stderr, " %.2f", record->layers[l].min_distance);
    fputc('\n', stderr);
}

void train_show_record(void *context, const TrainRecord *record)
{
    progress_clear(context);
    char left[32];
    console_time(left, record->seconds_left);
    fprintf(stderr,
            "step %lld/%lld · epoch %.2f · %.2fM tokens · loss %.4f · rate %.2e · norm "
            "%.2f · %.0f tokens/s · %s left\n",
            (long long)record->step, (long long)record->steps, record->epochs,
            (double)record->tokens / 1e6, record->loss, record->rate,
            record->gradient_norm, record->tokens_per_second, left);
    if (!record->evaluated)
        return;
    fprintf(stderr, "  validation %.4f nats a token",
            evaluation_nats(&record->validation));
    if (record->validation.tokens[LOSS_HAN] > 0)
        fprintf(stderr, " (Han %.4f)",
                evaluation_class_nats(&record->validation, LOSS_HAN));
    fputs(record->best ? ", the best so far\n" : "\n", stderr);
    show_layers(record);
}

/* Poems whose body with <bos> and <eos> does not fit into one row. Fields come off first. */
static int64_t count_long_poems(const PoemSet *poems, int64_t context)
{
    int64_t count = 0;
    for (int64_t i = 0; i < poems->poems; i++) {
        uint64_t first = poems->offsets[i];
        while (poems->ids[first] != TOKEN_BOS)
            first++;
        count += (int64_t)(poems->offsets[i + 1] - first) - 1 > context;
    }
    return count;
}

void train_show_start(const Trainer *trainer, const PreparedSet *set, const char *out,
                      const char *machine)
{
    const Gpt *gpt = trainer_model(trainer);
    const GptConfig *config = &gpt->config;
    char text[1024];
    model_describe(text, sizeof text, config);
    fprintf(stderr, "model: %s, %lld parameters\n", text,
            (long long)gpt->table.parameters);
    if (gpt_config_advice(config, text, sizeof text) != NULL)
        fprintf(stderr, "warning: %s\n", text);
    const PartStats *train = &set->stats.parts[PART_TRAIN];
    fprintf(stderr, "set: %s, %lld poems and %lld body tokens to train on\n", set->path,
            (long long)train->poems, (long long)train->body_tokens);
    if (!set->stream) {
        int64_t cut = count_long_poems(&set->parts[PART_TRAIN], config->context);
        if (cut > 0)
            fprintf(stderr,
                    "note: %lld poems are longer than %lld tokens and are cut after a "
                    "sentence\n",
                    (long long)cut, (long long)config->context);
    }
    fprintf(stderr, "machine: %s\nrun: %s", machine, out);
    if (trainer_step(trainer) > 0)
        fprintf(stderr, ", going on after step %lld", (long long)trainer_step(trainer));
    fputc('\n', stderr);
}
