/* One poem while it is written: what is fixed for all poems of a call, and the state of one.
 *
 *     poem_start(&poem, &plan, seed)
 *     while (poem.ended == ENDED_NOT) {
 *         if (!poem_forced(&poem, &plan, &next))      the first character of a line of an
 *             next = a draw without poem_limits       acrostic is given, not drawn
 *         poem_take(&poem, &plan, &next)
 *     }
 *
 * What the model reads is  [<form>F][<title>T][<author>A]<bos>prompt poem...  as in
 * training (data/pack.h); of running text only the prompt and what follows. */
#ifndef JUEJU_SCRIPTS_SAMPLE_POEM_H
#define JUEJU_SCRIPTS_SAMPLE_POEM_H

#include "model/generate/sampler.h"
#include "scripts/sample_prompt.h"

typedef struct {
    const Checkpoint *checkpoint;
    SamplerSettings settings;
    PromptText prompt, title, author, form, acrostic;
    int32_t
        *prefix; /* what the model reads before the first draw; at least one token */
    size_t prefix_count;
    int64_t limit; /* tokens after the prefix, at least 1 */
} SamplePlan;

/* Builds prefix and limit from the rest. max_tokens 0: as many as fit the context (of
 * running text SAMPLE_STREAM_TOKENS). STATUS_USAGE: the prefix does not fit the context, or
 * something that a model of running text does not have. */
enum { SAMPLE_STREAM_TOKENS = 500 };
Status sample_plan_finish(SamplePlan *plan, int64_t max_tokens, Error *err);
void sample_plan_free(SamplePlan *plan);

typedef enum {
    ENDED_NOT,
    ENDED_EOS,    /* by <eos>; an acrostic: with the sentence of its last line */
    ENDED_LENGTH, /* at the limit: cut back to the last whole line, if there is one */
} Ended;

typedef struct {
    uint64_t seed;
    Rng rng;
    Ended ended;
    bool inside_line; /* ended at the limit before any line did: nothing was cut */

    uint32_t *points; /* (count) the body, the prompt included */
    int32_t *ids;     /* (count) the same for the model */
    size_t count, points_capacity, ids_capacity;
    int32_t *repeated; /* (repeated_count) what the repetition penalty is for */
    size_t repeated_count, repeated_capacity;

    int64_t tokens; /* after the prefix: drawn or given, <eos> included */
    int64_t drawn;  /* of them drawn */
    double nats;    /* sum over the drawn ones of -log p, by the model alone */
    struct {
        size_t count;
        int64_t drawn;
        double nats;
    } line; /* state after the last whole line behind the prompt; count 0: none */
    size_t acrostic_next;
} Poem;

typedef struct {
    int32_t id;
    uint32_t point; /* 0 for <eos> */
    double nats;    /* of a drawn token */
    bool given;
} PoemToken;

/* Begins with the prompt as body. The poem may have been used before: memory is kept. */
Status poem_start(Poem *poem, const SamplePlan *plan, uint64_t seed, Error *err);
void poem_free(Poem *poem);

/* Whether the next token is given; then it is *next. */
bool poem_forced(const Poem *poem, const SamplePlan *plan, PoemToken *next);

/* What may not be drawn next: special tokens, and <eos> before the first character and
 * inside an acrostic. Borrowed from the poem. */
SamplerLimits poem_limits(const Poem *poem, const SamplePlan *plan);

/* Appends a token and sets poem->ended when that ends the poem. STATUS_MEMORY. */
Status poem_take(Poem *poem, const SamplePlan *plan, const PoemToken *token,
                 Error *err);

/* Mean over the drawn tokens, 0 when there are none. */
double poem_mean_nats(const Poem *poem);

#endif
