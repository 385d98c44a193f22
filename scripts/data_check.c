#include "scripts/data_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "data/pair_twins.h"
#include "data/prepared.h"
#include "data/twins.h"
#include "model/base/files.h"

/* What is counted, and what two of them have in common that must not be. */
typedef struct {
    const char *many, *one, *kinship;
} Words;

static const Words OF_POEMS = {"poems", "poem", "a near-duplicate"};
static const Words OF_PAIRS = {"pairs", "pair", "a line"};

Status print_json(const json_t *value, Error *err)
{
    if (json_dumpf(value, stdout, JSON_INDENT(2)) != 0)
        return error_set(err, STATUS_IO, "the JSON could not be written to stdout");
    putchar('\n');
    return STATUS_OK;
}

static Status print_report(const TwinReport *report, const char *path, bool json,
                           const Words *words, Error *err)
{
    if (!json) {
        printf("%" PRId64 " of %" PRId64 " held-out %s have %s in training\n",
               report->in_train, report->held_out, words->many, words->kinship);
        printf("%" PRId64 " of %" PRId64 " test %s have one in validation\n",
               report->in_validation, report->test, words->many);
        if (report->in_train > 0)
            printf("the first: %s %" PRId64 " of %s and %s %" PRId64 " of train\n",
                   words->one, report->example, part_name(report->example_part),
                   words->one, report->example_partner);
        return STATUS_OK;
    }
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I}", "set", path, "of", words->many, "held_out",
        (json_int_t)report->held_out, "in_train", (json_int_t)report->in_train, "test",
        (json_int_t)report->test, "in_validation", (json_int_t)report->in_validation);
    Status status = object != NULL
                        ? print_json(object, err)
                        : error_set(err, STATUS_MEMORY, "the JSON could not be made");
    json_decref(object);
    return status;
}

static Status find_twins(TwinReport *report, const char *path, bool pairs, Error *err)
{
    PreparedSet set;
    TRY(pairs ? prepared_open_pairs(&set, path, err) : prepared_open(&set, path, err));
    Status status =
        pairs ? pair_twins_find(report, &set, err) : twins_find(report, &set, err);
    prepared_close(&set);
    return status;
}

Status check_split(const char *path, bool json, Error *err)
{
    bool pairs;
    Status known = prepared_has_pairs(&pairs, path, err);
    if (known != STATUS_OK && !file_exists(path))
        return error_set(err, STATUS_INPUT,
                         "--check-split: no prepared set %s; `jueju data` makes one",
                         path);
    TRY(known);
    const Words *words = pairs ? &OF_PAIRS : &OF_POEMS;
    TwinReport report;
    TRY(find_twins(&report, path, pairs, err));
    TRY(print_report(&report, path, json, words, err));
    /* Exit code 1, as for any other measured number that is not what it must be. */
    if (report.in_train + report.in_validation > 0)
        return error_set(err, STATUS_NUMERIC,
                         "%s: the split leaks: %" PRId64 " of %" PRId64
                         " held-out %s have %s in training",
                         path, report.in_train, report.held_out, words->many,
                         words->kinship);
    return STATUS_OK;
}
