#include "scripts/nearest.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Edits that turn a into b: the optimal string alignment distance, row by row.
 *
 *   cost[i][j] = min(cost[i-1][j] + 1, cost[i][j-1] + 1, cost[i-1][j-1] + (a_i != b_j),
 *                    cost[i-2][j-2] + 1  if a_i a_(i-1) = b_(j-1) b_j)
 *
 * Only the last three rows are kept. Both lengths are at most LONGEST. */
static int edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int rows[3][LONGEST + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int cost = last[j - 1] + (a[i - 1] != b[j - 1]);
            cost = smaller(cost, last[j] + 1);
            cost = smaller(cost, row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = smaller(cost, before[j - 2] + 1);
            row[j] = cost;
        }
        int *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

Nearest nearest_start(const char *word)
{
    return (Nearest){.word = word, .name = NULL, .distance = INT_MAX};
}

void nearest_try(Nearest *nearest, const char *name)
{
    size_t word_length = strlen(nearest->word), name_length = strlen(name);
    if (word_length > LONGEST || name_length > LONGEST)
        return;
    int distance = edits(nearest->word, word_length, name, name_length);
    size_t longer = word_length > name_length ? word_length : name_length;
    bool begins = word_length >= 3 && strncmp(nearest->word, name, word_length) == 0;
    if (begins)
        distance = smaller(distance, 1);
    if (distance * 3 <= (int)longer && distance < nearest->distance) {
        nearest->name = name;
        nearest->distance = distance;
    }
}
