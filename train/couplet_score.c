#include "train/couplet_score.h"

#include <omp.h>
#include <string.h>

#include "model/base/memory.h"

/* The lines of a pair as the model reads them. */
typedef struct {
    int32_t upper[PAIR_LONGEST], lower[PAIR_LONGEST];
    int64_t length;
} Lines;

static Lines lines_of(const PairSet *set, int64_t pair)
{
    PairLines stored = pair_lines(set, pair);
    Lines lines = {.length = stored.length};
    for (int64_t i = 0; i < stored.length; i++) {
        lines.upper[i] = stored.upper[i];
        lines.lower[i] = stored.lower[i];
    }
    return lines;
}

static bool has(const int32_t *line, int64_t length, int32_t id)
{
    for (int64_t i = 0; i < length; i++) {
        if (line[i] == id)
            return true;
    }
    return false;
}

/* Whether a character of one line is in the other; two unknown ones may be any. */
static bool shares(const int32_t *a, const int32_t *b, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        if (a[i] != TOKEN_UNK && has(b, length, a[i]))
            return true;
    }
    return false;
}

void couplet_score_add(CoupletScore *score, const Tokenizer *tokenizer,
                       const int32_t *upper, const int32_t *lower, const int32_t *truth,
                       int64_t length)
{
    uint32_t points[2][PAIR_LONGEST] = {{0}};
    for (int64_t i = 0; i < length; i++) {
        points[0][i] = tokenizer_code_point(tokenizer, upper[i]);
        points[1][i] = tokenizer_code_point(tokenizer, lower[i]);
    }
    tone_tally_add(&score->tones, points[0], points[1], (size_t)length);
    score->repeating += shares(upper, lower, length);
    score->exact += memcmp(lower, truth, (size_t)length * sizeof *lower) == 0;
}

CoupletScore couplet_score_truth(const Tokenizer *tokenizer, const PairSet *set)
{
    CoupletScore score = {0};
    for (int64_t pair = 0; pair < set->pairs; pair++) {
        Lines lines = lines_of(set, pair);
        couplet_score_add(&score, tokenizer, lines.upper, lines.lower, lines.lower,
                          lines.length);
    }
    return score;
}

/* ---- of a model --------------------------------------------------------------------- */

/* What the threads share. */
typedef struct {
    const PairSet *set;
    const CoupletSettings *settings;
    uint64_t seed;
    int threads;
    CoupletWriter **writers;        /* (threads) */
    int32_t (*lower)[PAIR_LONGEST]; /* (pairs) what was written */
    Error *errors;                  /* (threads) the first of each */
} Session;

static Status session_create(Session *session, const Gpt *gpt,
                             const Tokenizer *tokenizer, Error *err)
{
    static const char WHAT[] = "the second lines";
    size_t threads = (size_t)session->threads;
    TRY(memory_allocate(&session->writers, threads, sizeof *session->writers, WHAT,
                        err));
    TRY(memory_allocate(&session->errors, threads, sizeof *session->errors, WHAT, err));
    TRY(memory_allocate(&session->lower, (size_t)session->set->pairs,
                        sizeof *session->lower, WHAT, err));
    for (int t = 0; t < session->threads; t++)
        TRY(couplet_writer_create(&session->writers[t], gpt, tokenizer, err));
    return STATUS_OK;
}

static void session_destroy(Session *session)
{
    for (int t = 0; session->writers != NULL && t < session->threads; t++)
        couplet_writer_destroy(session->writers[t]);
    memory_free(session->lower);
    memory_free(session->errors);
    memory_free(session->writers);
}

static void write_one(Session *session, int64_t pair)
{
    int thread = omp_get_thread_num();
    Lines lines = lines_of(session->set, pair);
    Rng rng = rng_stream(session->seed, (uint64_t)pair);
    Error *err = &session->errors[thread];
    double nats;
    if (err->status == STATUS_OK)
        couplet_write(session->writers[thread], session->lower[pair], &nats,
                      lines.upper, lines.length, session->settings, &rng, err);
}

static Status run(Session *session, CoupletScore *score, const Gpt *gpt,
                  const Tokenizer *tokenizer, Error *err)
{
    TRY(session_create(session, gpt, tokenizer, err));
#pragma omp parallel for num_threads(session->threads) schedule(dynamic, 8)
    for (int64_t pair = 0; pair < session->set->pairs; pair++)
        write_one(session, pair);
    for (int t = 0; t < session->threads; t++) {
        if (session->errors[t].status != STATUS_OK)
            return error_set(err, session->errors[t].status, "%s",
                             session->errors[t].message);
    }
    for (int64_t pair = 0; pair < session->set->pairs; pair++) {
        Lines lines = lines_of(session->set, pair);
        couplet_score_add(score, tokenizer, lines.upper, session->lower[pair],
                          lines.lower, lines.length);
    }
    return STATUS_OK;
}

Status couplet_score_model(CoupletScore *score, const Gpt *gpt,
                           const Tokenizer *tokenizer, const PairSet *set,
                           const CoupletSettings *settings, uint64_t seed, Error *err)
{
    Session session = {.set = set,
                       .settings = settings,
                       .seed = seed,
                       .threads = omp_get_max_threads()};
    *score = (CoupletScore){0};
    Status status = run(&session, score, gpt, tokenizer, err);
    session_destroy(&session);
    return status;
}
