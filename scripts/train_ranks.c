#include "scripts/train_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/console.h"

static Status no_memory(Error *err)
{
    return error_set(err, STATUS_MEMORY, "no memory for the options");
}

/* *copy = rank 0's text on every rank, owned by the caller (memory_free). text is NULL on
 * the others; on rank 0 that is lack of memory. */
static Status share_text(char **copy, const char *text, Dist *dist, Error *err)
{
    uint64_t size = dist->rank == 0 && text != NULL ? strlen(text) + 1 : 0;
    *copy = NULL;
    dist_broadcast(dist, &size, sizeof size, 0);
    Status status = size > 0
                        ? memory_allocate(copy, (size_t)size, 1, "the options", err)
                        : no_memory(err);
    if (*copy != NULL && text != NULL)
        memcpy(*copy, text, (size_t)size);
    TRY(dist_agree(dist, status, err));
    dist_broadcast(dist, *copy, (size_t)size, 0);
    return STATUS_OK;
}

static Status share_json(json_t **shared, const json_t *mine, Dist *dist, Error *err)
{
    char *text = NULL;
    char *copy;
    if (dist->rank == 0)
        text = json_dumps(mine, JSON_COMPACT | JSON_REAL_PRECISION(17));
    Status status = share_text(&copy, text, dist, err);
    free(text);
    *shared = status == STATUS_OK ? json_loads(copy, 0, NULL) : NULL;
    memory_free(copy);
    TRY(status);
    return *shared != NULL ? STATUS_OK : no_memory(err);
}

/* The first option of mine whose value is not rank 0's. */
static Status compare(const json_t *mine, json_t *shared, Error *err)
{
    const char *name;
    json_t *expected;
    json_object_foreach(shared, name, expected)
    {
        json_t *found = json_object_get(mine, name);
        if (json_equal(expected, found))
            continue;
        char *texts[2] = {json_dumps(expected, JSON_ENCODE_ANY),
                          found != NULL ? json_dumps(found, JSON_ENCODE_ANY) : NULL};
        error_set(err, STATUS_USAGE,
                  "--%s must be the same on all ranks: expected %s as on rank 0, found "
                  "%s",
                  name, texts[0] != NULL ? texts[0] : "?",
                  texts[1] != NULL ? texts[1] : "none");
        free(texts[0]);
        free(texts[1]);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

Status train_ranks_share(json_t **shared, const json_t *mine, Dist *dist, Error *err)
{
    *shared = NULL;
    if (dist->ranks == 1) {
        *shared = json_deep_copy(mine);
        return *shared != NULL ? STATUS_OK : no_memory(err);
    }
    Status status = dist_agree(dist, share_json(shared, mine, dist, err), err);
    if (status == STATUS_OK) {
        if (mine != NULL)
            status = compare(mine, *shared, err);
        status = dist_agree(dist, status, err);
    }
    if (status != STATUS_OK) {
        json_decref(*shared);
        *shared = NULL;
    }
    return status;
}

Status train_ranks_end(Dist *dist, Status status, const Error *err)
{
    if (status != STATUS_OK && dist->ranks > 1 && !dist->agreed) {
        fprintf(stderr, "jueju: rank %d of %d on %s: ", dist->rank, dist->ranks,
                dist->host);
        console_print_safe(err->message, stderr);
        fputc('\n', stderr);
        dist_abort(dist, EXIT_FAILURE);
    }
    bool first = dist->rank == 0;
    dist_close(dist);
    return first ? status : STATUS_OK;
}
