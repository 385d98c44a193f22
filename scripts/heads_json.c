/* jueju heads --json: all figures with their baselines. model/heads/README.md defines them. */
#include "model/base/json.h"
#include "scripts/heads_report.h"

static const char *const MATRIX_NAMES[HEAD_MATRICES] = {"q", "k", "v", "o"};

/* jansson takes any NULL for a failure before it and stays NULL; one check at the end. */
static json_t *numbers(const double *values, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++) {
        if (json_array_append_new(array, json_real(values[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *matrix(const double *values, int64_t n)
{
    json_t *rows = json_array();
    for (int64_t i = 0; i < n; i++) {
        if (json_array_append_new(rows, numbers(values + i * n, n)) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

static json_t *score_json(const Score *score)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:I}", "score", score->value, "uniform",
                     score->uniform, "shuffled", score->shuffled, "excess",
                     score->excess, "rows", (json_int_t)score->rows);
}

static json_t *scores_json(const HeadFigures *head)
{
    json_t *scores = json_object();
    int failed = 0;
    for (int pattern = 0; pattern < PATTERN_COUNT; pattern++)
        failed |= json_object_set_new(scores, PATTERN_NAMES[pattern],
                                      score_json(&head->scores[pattern]));
    failed |=
        json_object_set_new(scores, "induction_random", score_json(&head->repeats));
    if (failed) {
        json_decref(scores);
        return NULL;
    }
    return scores;
}

static json_t *norms_json(const HeadFigures *head)
{
    json_t *norms = json_object();
    int failed = 0;
    for (int kind = 0; kind < HEAD_MATRICES; kind++)
        failed |= json_object_set_new(norms, MATRIX_NAMES[kind],
                                      json_real(head->norms[kind]));
    if (failed) {
        json_decref(norms);
        return NULL;
    }
    return norms;
}

static json_t *head_json(const HeadFigures *head)
{
    const Score *scores = head->scores;
    return json_pack(
        "{s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
        "s:o, "
        "s:o, s:o, s:o, s:f, s:I}",
        "head", (json_int_t)head->number, "role", HEAD_ROLE_NAMES[head->role],
        "entropy", head->entropy, "saturation", head->saturation, "sink",
        scores[PATTERN_SINK].value, "start", scores[PATTERN_START].value, "marks",
        scores[PATTERN_MARKS].value, "previous", scores[PATTERN_PREVIOUS].value, "near",
        scores[PATTERN_NEAR].value, "line", scores[PATTERN_LINE].value, "line_next",
        scores[PATTERN_LINE_NEXT].value, "duplicate", scores[PATTERN_DUPLICATE].value,
        "induction", scores[PATTERN_INDUCTION].value, "induction_random",
        head->repeats.value, "rare", scores[PATTERN_RARE].value, "offsets",
        numbers(head->offsets, OFFSETS), "offsets_uniform",
        numbers(head->offset_uniform, OFFSETS), "scores", scores_json(head), "norms",
        norms_json(head), "stable_rank", head->stable_rank, "score_rank",
        (json_int_t)head->score_rank);
}

static json_t *heads_of_layer(const StudyFigures *figures, int64_t l)
{
    json_t *heads = json_array();
    for (int64_t h = 0; h < figures->layer_items[l].heads; h++) {
        const HeadFigures *head = &figures->head_items[l * figures->heads + h];
        if (json_array_append_new(heads, head_json(head)) != 0) {
            json_decref(heads);
            return NULL;
        }
    }
    return heads;
}

static json_t *layer_json(const StudyFigures *figures, int64_t l)
{
    const LayerFigures *layer = &figures->layer_items[l];
    const HeadFigures *heads = &figures->head_items[l * figures->heads];
    const CollapseFigures *collapse = &layer->collapse;
    int64_t H = layer->heads;
    char verdict[VERDICT_SIZE];
    collapse_verdict(verdict, layer->signs);
    json_t *closest =
        collapse->closest[0] < 0
            ? json_null()
            : json_pack("[I, I]", (json_int_t)heads[collapse->closest[0]].number,
                        (json_int_t)heads[collapse->closest[1]].number);
    return json_pack(
        "{s:o, s:f, s:f, s:f, s:o, s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:f}",
        "heads", heads_of_layer(figures, l), "effective_heads",
        collapse->effective_heads, "effective_maps", collapse->effective_maps,
        "min_pair_distance", collapse->min_pair_distance, "closest_pair", closest,
        "verdict", verdict, "entropy", layer->entropy, "saturation", layer->saturation,
        "rank_residual", collapse->residual, "distance", matrix(collapse->distance, H),
        "cosine", matrix(collapse->cosine, H), "cka", matrix(collapse->cka, H),
        "query_overlap", matrix(layer->q_overlap, H), "key_overlap",
        matrix(layer->k_overlap, H), "query_angle", matrix(layer->q_angle, H),
        "key_angle", matrix(layer->k_angle, H), "random_overlap",
        layer->random_overlap);
}

static json_t *layers_json(const StudyFigures *figures)
{
    json_t *layers = json_array();
    for (int64_t l = 0; l < figures->layers; l++) {
        if (json_array_append_new(layers, layer_json(figures, l)) != 0) {
            json_decref(layers);
            return NULL;
        }
    }
    return layers;
}

static json_t *tokens_json(const HeadsReport *report)
{
    json_t *tokens = json_array();
    for (int64_t i = 0; i < report->shown->text.n; i++) {
        char text[TOKEN_TEXT_SIZE];
        heads_token_text(text, report, i);
        if (json_array_append_new(tokens, json_string(text)) != 0) {
            json_decref(tokens);
            return NULL;
        }
    }
    return tokens;
}

static json_t *thresholds_json(void)
{
    json_t *roles = json_object();
    int failed = 0;
    for (int role = HEAD_ROLE_UNCLEAR + 1; role < HEAD_ROLE_COUNT; role++)
        failed |= json_object_set_new(roles, HEAD_ROLE_NAMES[role],
                                      json_real(role_threshold((HeadRole)role)));
    if (failed) {
        json_decref(roles);
        roles = NULL;
    }
    return json_pack("{s:o, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "role_excess", roles,
                     "role_rows", (int)HEAD_ROLE_ROWS, "all_alike", ALL_ALIKE_SHARE,
                     "alike_distance", ALIKE_DISTANCE, "alike_cka", ALIKE_CKA,
                     "entropy", ENTROPY_LEAST, "saturation", SATURATION_MOST,
                     "rank_residual", RESIDUAL_LEAST);
}

Status heads_json(json_t **out, const HeadsReport *report, Error *err)
{
    const StudyFigures *figures = report->figures;
    const ProbeInfo *probe = report->probe;
    json_t *set = probe->set != NULL ? json_string(probe->set) : json_null();
    *out = json_pack("{s:s, s:o, s:o, s:{s:o, s:I, s:I, s:I}, s:o}", "checkpoint",
                     report->checkpoint->folder, "tokens", tokens_json(report),
                     "layers", layers_json(figures), "probe", "set", set, "texts",
                     (json_int_t)figures->texts, "tokens", (json_int_t)figures->tokens,
                     "random_repeats", (json_int_t)probe->repeats, "thresholds",
                     thresholds_json());
    if (*out == NULL)
        return error_set(err, STATUS_MEMORY, "heads: no memory for JSON");
    return STATUS_OK;
}
