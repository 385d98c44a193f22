/* Clusters of near-duplicates among folded texts, by the definition in data/split.h. */
#ifndef JUEJU_DATA_CLUSTER_H
#define JUEJU_DATA_CLUSTER_H

#include <stdint.h>

#include "data/fold.h"
#include "model/base/error.h"

/* Different texts are numbered 0 .. texts-1 in their order (folded_compare), so the root
 * of a cluster is its smallest text. A text without any character is equal to no other. */
typedef struct {
    uint32_t texts;
    uint32_t *text_of; /* (poems) text of a poem */
    uint32_t *first;   /* (texts) the first poem that has it */
    uint32_t *roots;   /* (texts) smallest text of the cluster */
    int64_t steps;     /* places of lists that were looked at: what the search cost */
} Clusters;

/* At most 2^32-2 characters and poems (the caller's promise). */
Status clusters_find(Clusters *clusters, const Folded *folded, Error *err);
void clusters_free(Clusters *clusters);

#endif
