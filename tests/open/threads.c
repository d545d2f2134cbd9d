/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of one process that join an open job each for itself, meet, talk and leave, again and
 * again: for ThreadSanitizer, and because nothing in a process is a job's alone.
 */
#include <rhinet/msg.h>
#include <rhinet/rma.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS  10

struct place {
    pthread_t thread;
    int index;
    unsigned char address[RH_ADDRESS_MAX];
    size_t size;
};

static struct place places[THREADS];
static pthread_barrier_t meeting;

static void check(int result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, rh_error_text());
    _exit(1);
}

static void talk(struct rh_job *job, const struct place *own)
{
    const struct place *next = &places[(own->index + 1) % THREADS];
    const struct place *last = &places[(own->index + THREADS - 1) % THREADS];
    struct rh_msg *msg;
    int to, from;
    uint64_t value = 0, sent = (uint64_t)own->index;
    uint64_t *word;
    check(rh_segment_alloc(job, 1, 4096, (void **)&word), "memory");
    check(rh_msg_open(&msg, job), "mailbox");
    check(rh_peer(job, next->address, next->size, &to), "next");
    check(rh_peer(job, last->address, last->size, &from), "last");
    check(rh_segment_wait(job, to, 1, RH_TIMEOUT_DEFAULT), "segment");
    check(rh_push(job, rh_at(to, 1, 64), &sent, sizeof(sent)), "push");
    check(rh_send(msg, to, 1, &sent, sizeof(sent)), "send");
    check(rh_recv(msg, from, 1, &value, sizeof(value), NULL), "receive");
    if (value != (uint64_t)last->index || word[8] != value) {
        fprintf(stderr, "thread %d got %llu, and has %llu\n", own->index, (unsigned long long)value,
                (unsigned long long)word[8]);
        _exit(1);
    }
    pthread_barrier_wait(&meeting); /* nobody needs anybody's memory any more */
    check(rh_msg_close(msg), "close");
}

static void *run(void *argument)
{
    struct place *own = argument;
    struct rh_join_options options = {.struct_size = sizeof(options),
                                      .unstarted = RH_UNSTARTED_OPEN};
    for (int round = 0; round < ROUNDS; round++) {
        struct rh_job *job;
        check(rh_join(&job, &options), "join");
        own->size = sizeof(own->address);
        check(rh_address(job, own->address, &own->size), "address");
        pthread_barrier_wait(&meeting);
        talk(job, own);
        check(rh_leave(job), "leave");
    }
    return NULL;
}

int main(void)
{
    char name[40];
    snprintf(name, sizeof(name), "threads-%d", (int)getpid());
    setenv("RHINET_OPEN_JOB", name, 1);
    pthread_barrier_init(&meeting, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        places[i].index = i;
        if (pthread_create(&places[i].thread, NULL, run, &places[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(places[i].thread, NULL);
    pthread_barrier_destroy(&meeting);
    return 0;
}
