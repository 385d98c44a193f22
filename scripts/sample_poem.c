#include "scripts/sample_poem.h"

#include <string.h>

#include "model/base/memory.h"

/* ---- the plan ---------------------------------------------------------------------- */

static void add_field(SamplePlan *plan, int32_t marker, const PromptText *text)
{
    if (text->count == 0)
        return;
    plan->prefix[plan->prefix_count++] = marker;
    memcpy(plan->prefix + plan->prefix_count, text->ids,
           text->count * sizeof *text->ids);
    plan->prefix_count += text->count;
}

/* Running text without a prompt begins behind a line break, or where that is unknown
 * behind the most frequent character. */
static int32_t stream_start(const Tokenizer *tokenizer)
{
    int32_t id = tokenizer_id(tokenizer, '\n');
    return id != TOKEN_UNK ? id : (int32_t)TOKEN_SPECIALS;
}

/* Of a long prompt of running text only the end is read, so that there is room to go on
 * before the window must move. */
static void set_stream_prefix(SamplePlan *plan)
{
    size_t room = (size_t)(plan->checkpoint->gpt.config.context + 1) / 2;
    const PromptText *prompt = &plan->prompt;
    if (prompt->count == 0) {
        plan->prefix[plan->prefix_count++] = stream_start(&plan->checkpoint->tokenizer);
        return;
    }
    plan->prefix_count = prompt->count < room ? prompt->count : room;
    memcpy(plan->prefix, prompt->ids + prompt->count - plan->prefix_count,
           plan->prefix_count * sizeof *plan->prefix);
}

static Status set_poem_prefix(SamplePlan *plan, Error *err)
{
    add_field(plan, TOKEN_FORM, &plan->form);
    add_field(plan, TOKEN_TITLE, &plan->title);
    add_field(plan, TOKEN_AUTHOR, &plan->author);
    size_t fields = plan->prefix_count;
    plan->prefix[plan->prefix_count++] = TOKEN_BOS;
    if (plan->prompt.count > 0)
        memcpy(plan->prefix + plan->prefix_count, plan->prompt.ids,
               plan->prompt.count * sizeof *plan->prefix);
    plan->prefix_count += plan->prompt.count;
    long long T = plan->checkpoint->gpt.config.context;
    if (plan->prefix_count > (size_t)T)
        return error_set(
            err, STATUS_USAGE,
            "the prompt of %zu characters with %zu tokens of fields before "
            "it and the beginning of the poem makes %zu tokens, but the "
            "model's context holds %lld",
            plan->prompt.count, fields, plan->prefix_count, T);
    return STATUS_OK;
}

static Status check_acrostic(const SamplePlan *plan, Error *err)
{
    if (plan->acrostic.count > 0 && plan->prompt.count > 0)
        return error_set(
            err, STATUS_USAGE,
            "--acrostic gives the first character of every line, so there is "
            "no place for --prompt: leave one of them out");
    for (size_t i = 0; i < plan->acrostic.count; i++) {
        uint32_t point = plan->acrostic.points[i];
        if (prompt_ends_clause(point) || point == U'、')
            return error_set(err, STATUS_USAGE,
                             "--acrostic: expected the first characters of lines, but "
                             "character %zu is punctuation",
                             i + 1);
    }
    return STATUS_OK;
}

static Status check_stream(const SamplePlan *plan, Error *err)
{
    const struct {
        const PromptText *text;
        const char *option;
    } FIELDS[] = {{&plan->title, "--title"},
                  {&plan->author, "--author"},
                  {&plan->form, "--form"},
                  {&plan->acrostic, "--acrostic"}};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        if (FIELDS[i].text->count > 0)
            return error_set(
                err, STATUS_USAGE,
                "%s is for models of poems, but %s was trained on running text",
                FIELDS[i].option, plan->checkpoint->folder);
    }
    return STATUS_OK;
}

Status sample_plan_finish(SamplePlan *plan, int64_t max_tokens, Error *err)
{
    const Checkpoint *checkpoint = plan->checkpoint;
    TRY(sampler_settings_check(&plan->settings, checkpoint->gpt.config.vocab_size,
                               err));
    if (checkpoint->stream)
        TRY(check_stream(plan, err));
    TRY(check_acrostic(plan, err));
    enum { MARKERS = 4 };
    size_t most = plan->prompt.count + plan->title.count + plan->author.count +
                  plan->form.count + MARKERS;
    TRY(memory_allocate(&plan->prefix, most, sizeof *plan->prefix, "the prompt", err));
    if (checkpoint->stream) {
        set_stream_prefix(plan);
        plan->limit = max_tokens > 0 ? max_tokens : (int64_t)SAMPLE_STREAM_TOKENS;
        return STATUS_OK;
    }
    TRY(set_poem_prefix(plan, err));
    /* The last token is drawn from the context's last place and never read. */
    int64_t room = checkpoint->gpt.config.context - (int64_t)plan->prefix_count + 1;
    plan->limit = max_tokens > 0 && max_tokens < room ? max_tokens : room;
    return STATUS_OK;
}

void sample_plan_free(SamplePlan *plan)
{
    prompt_text_free(&plan->prompt);
    prompt_text_free(&plan->title);
    prompt_text_free(&plan->author);
    prompt_text_free(&plan->form);
    prompt_text_free(&plan->acrostic);
    memory_free(plan->prefix);
    plan->prefix = NULL;
    plan->prefix_count = 0;
}

/* ---- a poem ------------------------------------------------------------------------ */

/* Punctuation has to come back in every line, so it is not held against a poem. */
static bool may_be_penalised(uint32_t point)
{
    return !prompt_ends_clause(point) && point != U'、' && point != '\n' &&
           point != ' ';
}

static Status append(Poem *poem, int32_t id, uint32_t point, Error *err)
{
    TRY(memory_reserve(&poem->points, &poem->points_capacity, poem->count + 1,
                       sizeof *poem->points, "a poem", err));
    TRY(memory_reserve(&poem->ids, &poem->ids_capacity, poem->count + 1,
                       sizeof *poem->ids, "a poem", err));
    if (may_be_penalised(point)) {
        TRY(memory_reserve(&poem->repeated, &poem->repeated_capacity,
                           poem->repeated_count + 1, sizeof *poem->repeated, "a poem",
                           err));
        poem->repeated[poem->repeated_count++] = id;
    }
    poem->points[poem->count] = point;
    poem->ids[poem->count] = id;
    poem->count++;
    return STATUS_OK;
}

Status poem_start(Poem *poem, const SamplePlan *plan, uint64_t seed, Error *err)
{
    poem->seed = seed;
    poem->rng = rng_stream(seed, 0);
    poem->ended = ENDED_NOT;
    poem->inside_line = false;
    poem->count = 0;
    poem->repeated_count = 0;
    poem->tokens = 0;
    poem->drawn = 0;
    poem->nats = 0;
    poem->line.count = 0;
    poem->acrostic_next = 0;
    for (size_t i = 0; i < plan->prompt.count; i++)
        TRY(append(poem, plan->prompt.ids[i], plan->prompt.points[i], err));
    return STATUS_OK;
}

void poem_free(Poem *poem)
{
    memory_free(poem->points);
    memory_free(poem->ids);
    memory_free(poem->repeated);
    *poem = (Poem){0};
}

static bool is_in_acrostic(const SamplePlan *plan)
{
    return plan->acrostic.count > 0;
}

bool poem_forced(const Poem *poem, const SamplePlan *plan, PoemToken *next)
{
    size_t place = poem->acrostic_next;
    bool begins = poem->count == 0 || prompt_ends_clause(poem->points[poem->count - 1]);
    if (!begins || place >= plan->acrostic.count)
        return false;
    *next = (PoemToken){
        .id = plan->acrostic.ids[place],
        .point = plan->acrostic.points[place],
        .given = true,
    };
    return true;
}

SamplerLimits poem_limits(const Poem *poem, const SamplePlan *plan)
{
    /* <eos> last, so that it can be left out. */
    static const int32_t BANNED[] = {TOKEN_UNK,    TOKEN_BOS,  TOKEN_TITLE,
                                     TOKEN_AUTHOR, TOKEN_FORM, TOKEN_EOS};
    bool may_end =
        !plan->checkpoint->stream && poem->count > 0 && !is_in_acrostic(plan);
    return (SamplerLimits){
        .banned = BANNED,
        .banned_count = TOKEN_SPECIALS - (may_end ? 1 : 0),
        .repeated = poem->repeated,
        .repeated_count = (int64_t)poem->repeated_count,
    };
}

/* At the limit. Running text stays as it is. */
static void end_at_limit(Poem *poem, const SamplePlan *plan)
{
    poem->ended = ENDED_LENGTH;
    if (plan->checkpoint->stream)
        return;
    if (poem->line.count == 0) {
        poem->inside_line = true;
        return;
    }
    poem->count = poem->line.count;
    poem->drawn = poem->line.drawn;
    poem->nats = poem->line.nats;
}

Status poem_take(Poem *poem, const SamplePlan *plan, const PoemToken *token, Error *err)
{
    poem->tokens++;
    if (token->given) {
        poem->acrostic_next++;
    } else {
        poem->drawn++;
        poem->nats += token->nats;
    }
    if (token->id == TOKEN_EOS) {
        poem->ended = ENDED_EOS;
        return STATUS_OK;
    }
    TRY(append(poem, token->id, token->point, err));
    if (prompt_ends_line(token->point)) {
        poem->line.count = poem->count;
        poem->line.drawn = poem->drawn;
        poem->line.nats = poem->nats;
        if (is_in_acrostic(plan) && poem->acrostic_next == plan->acrostic.count)
            poem->ended = ENDED_EOS;
    }
    if (poem->ended == ENDED_NOT && poem->tokens >= plan->limit)
        end_at_limit(poem, plan);
    return STATUS_OK;
}

double poem_mean_nats(const Poem *poem)
{
    return poem->drawn > 0 ? poem->nats / (double)poem->drawn : 0;
}
