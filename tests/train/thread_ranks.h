/* Ranks as threads of one process: a third transport beside dist_none.c and dist_mpi.c, which
 * takes their place when a test includes this (its symbols are found before the archive's).
 * So what ranks do is tested without MPI, under the sanitizers, for any number of ranks.
 *
 * A message waits in the mailbox of its pair until it is taken; a broadcast is a message to
 * each. Include once, after cmocka.h. */
#ifndef JUEJU_TESTS_TRAIN_THREAD_RANKS_H
#define JUEJU_TESTS_TRAIN_THREAD_RANKS_H

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/dist.h"

enum { THREAD_RANKS_MOST = 16 };

typedef struct {
    const void *data; /* NULL: nothing waits */
    size_t bytes;
} Mailbox;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Mailbox boxes[THREAD_RANKS_MOST][THREAD_RANKS_MOST]; /* from, to */
} thread_mail = {.lock = PTHREAD_MUTEX_INITIALIZER,
                 .changed = PTHREAD_COND_INITIALIZER};

bool dist_library(char name[DIST_NAME_SIZE])
{
    snprintf(name, DIST_NAME_SIZE, "threads");
    return true;
}

Status dist_open(Dist *dist, Error *err)
{
    *dist = dist_alone();
    return dist_check_launcher(dist, "no remedy", err);
}

void dist_close(Dist *dist)
{
    *dist = (Dist){0};
}

void dist_abort(const Dist *dist, int code)
{
    (void)dist, (void)code;
    abort();
}

/* Returns when the other rank has taken it. */
void dist_send(const Dist *dist, const void *data, size_t bytes, int to)
{
    Mailbox *box = &thread_mail.boxes[dist->rank][to];
    pthread_mutex_lock(&thread_mail.lock);
    *box = (Mailbox){.data = data, .bytes = bytes};
    pthread_cond_broadcast(&thread_mail.changed);
    while (box->data != NULL)
        pthread_cond_wait(&thread_mail.changed, &thread_mail.lock);
    pthread_mutex_unlock(&thread_mail.lock);
}

void dist_receive(const Dist *dist, void *data, size_t bytes, int from)
{
    Mailbox *box = &thread_mail.boxes[from][dist->rank];
    pthread_mutex_lock(&thread_mail.lock);
    while (box->data == NULL)
        pthread_cond_wait(&thread_mail.changed, &thread_mail.lock);
    assert(box->bytes == bytes);
    memcpy(data, box->data, bytes);
    box->data = NULL;
    pthread_cond_broadcast(&thread_mail.changed);
    pthread_mutex_unlock(&thread_mail.lock);
}

void dist_broadcast(const Dist *dist, void *data, size_t bytes, int from)
{
    if (dist->rank != from) {
        dist_receive(dist, data, bytes, from);
        return;
    }
    for (int to = 0; to < dist->ranks; to++) {
        if (to != from)
            dist_send(dist, data, bytes, to);
    }
}

int64_t dist_largest(const Dist *dist, int64_t value)
{
    int64_t largest = value;
    for (int rank = 0; rank < dist->ranks; rank++) {
        int64_t other = value;
        dist_broadcast(dist, &other, sizeof other, rank);
        largest = other > largest ? other : largest;
    }
    return largest;
}

/* ---- running them ------------------------------------------------------------------- */

typedef struct {
    Dist dist;
    void *context;
    void (*work)(Dist *dist, void *context);
} ThreadRank;

static void *thread_rank_run(void *argument)
{
    ThreadRank *rank = argument;
    rank->work(&rank->dist, rank->context);
    return NULL;
}

/* work(dist, context) on each of so many ranks, two a host, until all have ended. */
static inline void thread_ranks_run(int ranks, void (*work)(Dist *dist, void *context),
                                    void *context)
{
    pthread_t threads[THREAD_RANKS_MOST];
    ThreadRank made[THREAD_RANKS_MOST];
    assert(ranks <= THREAD_RANKS_MOST);
    for (int r = 0; r < ranks; r++) {
        made[r] = (ThreadRank){
            .dist = {.rank = r, .ranks = ranks, .host_first = r / 2 * 2},
            .context = context,
            .work = work,
        };
        snprintf(made[r].dist.host, DIST_NAME_SIZE, "host%d", r / 2);
        pthread_create(&threads[r], NULL, thread_rank_run, &made[r]);
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(threads[r], NULL);
}

#endif
