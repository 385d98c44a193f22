/* The known name that a mistyped one most likely meant. */
#ifndef JUEJU_SCRIPTS_NEAREST_H
#define JUEJU_SCRIPTS_NEAREST_H

/* Use:
 *     Nearest nearest = nearest_start(typed);
 *     for each known name: nearest_try(&nearest, name);
 *     nearest.name is the best one, or NULL when none is near enough. */
typedef struct {
    const char *word;
    const char *name;
    int distance;
} Nearest;

/* Keeps `word`, and later the names, by pointer. */
Nearest nearest_start(const char *word);

/* Near enough: at most a third of the longer word's letters must change (a letter added,
 * dropped, exchanged or swapped with its neighbour counts one), or `word`, of three or
 * more letters, is how the name begins. The first of several equally near names stays. */
void nearest_try(Nearest *nearest, const char *name);

#endif
