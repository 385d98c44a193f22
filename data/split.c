#include "data/split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <xxhash.h>

#include "data/cluster.h"
#include "data/fold.h"
#include "data/utf8.h"
#include "model/base/memory.h"

static const double VALIDATION_BELOW = 0.025;
static const double TEST_BELOW = 0.05;

const char *part_name(Part part)
{
    static const char *const NAMES[PART_COUNT] = {"train", "val", "test"};
    return NAMES[part];
}

typedef struct {
    double draw; /* in [0, 1) */
    uint32_t root;
    uint8_t part;
} Cluster;

static int compare_clusters(const void *first, const void *second)
{
    const Cluster *a = first;
    const Cluster *b = second;
    if (a->draw != b->draw)
        return a->draw < b->draw ? -1 : 1;
    return (a->root > b->root) - (a->root < b->root);
}

/* Uniform in [0, 1) from the text as UTF-8. */
static Status draw_cluster(double *draw, const uint32_t *points, size_t length,
                           uint64_t seed, Error *err)
{
    char *bytes;
    TRY(memory_allocate(&bytes, length, UTF8_MAXIMUM, "the hash of a poem", err));
    size_t size = utf8_write(bytes, points, length);
    *draw = (double)(XXH3_64bits_withSeed(bytes, size, seed) >> 11) * 0x1.0p-53;
    memory_free(bytes);
    return STATUS_OK;
}

/* Clusters come by rising draw. An empty part takes the nearest cluster of a part that has
 * more than one: from the low end for validation and test, from the high end for train. */
static void fill_empty_parts(Cluster *clusters, size_t count)
{
    size_t sizes[PART_COUNT] = {0};
    for (size_t i = 0; i < count; i++)
        sizes[clusters[i].part]++;
    if (count < PART_COUNT) {
        for (size_t i = 0; i < count; i++)
            clusters[i].part = PART_TRAIN;
        return;
    }
    static const Part ORDER[PART_COUNT] = {PART_TRAIN, PART_VALIDATION, PART_TEST};
    for (int k = 0; k < PART_COUNT; k++) {
        Part part = ORDER[k];
        for (size_t i = 0; i < count && sizes[part] == 0; i++) {
            Cluster *cluster = &clusters[part == PART_TRAIN ? count - 1 - i : i];
            if (sizes[cluster->part] > 1) {
                sizes[cluster->part]--;
                cluster->part = (uint8_t)part;
                sizes[part]++;
            }
        }
    }
}

static Status draw_parts(uint8_t *part_of_root, const Folded *folded,
                         const Clusters *found, uint64_t seed, Error *err)
{
    Cluster *clusters;
    TRY(memory_allocate(&clusters, found->texts, sizeof *clusters, "the clusters",
                        err));
    size_t count = 0;
    Status status = STATUS_OK;
    for (uint32_t root = 0; root < found->texts && status == STATUS_OK; root++) {
        if (found->roots[root] != root)
            continue;
        Text text = folded->texts[found->first[root]];
        double draw = 0;
        status =
            draw_cluster(&draw, folded->points + text.start, text.length, seed, err);
        Part part = draw < VALIDATION_BELOW ? PART_VALIDATION
                    : draw < TEST_BELOW     ? PART_TEST
                                            : PART_TRAIN;
        clusters[count++] =
            (Cluster){.draw = draw, .root = root, .part = (uint8_t)part};
    }
    if (status == STATUS_OK) {
        qsort(clusters, count, sizeof *clusters, compare_clusters);
        fill_empty_parts(clusters, count);
        for (size_t i = 0; i < count; i++)
            part_of_root[clusters[i].root] = clusters[i].part;
    }
    memory_free(clusters);
    return status;
}

static Status assign_parts(Split *split, const Folded *folded, const Clusters *found,
                           uint64_t seed, Error *err)
{
    uint8_t *part_of_root;
    uint32_t *sizes = NULL; /* (texts) poems of a root's cluster */
    TRY(memory_allocate(&part_of_root, found->texts, 1, "the parts", err));
    Status status = draw_parts(part_of_root, folded, found, seed, err);
    if (status == STATUS_OK)
        status =
            memory_allocate(&sizes, found->texts, sizeof *sizes, "the clusters", err);
    for (size_t poem = 0; status == STATUS_OK && poem < folded->count; poem++) {
        uint32_t text = found->text_of[poem];
        uint32_t root = found->roots[text];
        Part part =
            found->first[text] == poem ? (Part)part_of_root[root] : PART_DUPLICATE;
        split->parts[poem] = (uint8_t)part;
        split->poems[part]++;
        sizes[root]++;
    }
    for (uint32_t text = 0; status == STATUS_OK && text < found->texts; text++) {
        if (sizes[text] >= 2) {
            split->clusters++;
            split->clustered += sizes[text];
        }
    }
    split->steps = found->steps;
    memory_free(sizes);
    memory_free(part_of_root);
    return status;
}

static Status fold_bodies(Folded *folded, const PoemList *poems, Error *err)
{
    if (poems->points_used >= UINT32_MAX || poems->count >= UINT32_MAX)
        return error_set(err, STATUS_INPUT, "%zu characters are too many for one set",
                         poems->points_used);
    Text *bodies;
    TRY(memory_allocate(&bodies, poems->count, sizeof *bodies, "the bodies", err));
    for (size_t i = 0; i < poems->count; i++)
        bodies[i] = poems->items[i].body;
    Status status = folded_build(folded, poems->points, bodies, poems->count, err);
    memory_free(bodies);
    return status;
}

Status split_poems(Split *split, const PoemList *poems, uint64_t seed, Error *err)
{
    *split = (Split){0};
    Folded folded;
    TRY(fold_bodies(&folded, poems, err));
    Clusters found = {0};
    Status status = memory_allocate(&split->parts, poems->count, sizeof *split->parts,
                                    "the parts", err);
    if (status == STATUS_OK)
        status = clusters_find(&found, &folded, err);
    if (status == STATUS_OK)
        status = assign_parts(split, &folded, &found, seed, err);
    clusters_free(&found);
    folded_free(&folded);
    if (status != STATUS_OK)
        split_free(split);
    return status;
}

void split_free(Split *split)
{
    memory_free(split->parts);
    *split = (Split){0};
}
