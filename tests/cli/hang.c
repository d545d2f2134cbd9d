/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs that hang on purpose, each in another way, and two that only look like it; named by the
 * argument. They end when they are killed, and by themselves after a minute or two.
 */
#include <rhinet/msg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SID_WORDS = 1, SID_QUEUE = 2, SID_NEVER = 3, TAG = 5, SET = 9, LOCK = 7 };

#define LARGE (64u << 20)

struct place {
    struct rh_job *job;
    struct rh_msg *msg;
    struct rh_set *all;
    struct rh_queue *queue;
    uint64_t *words;
    int rank, size;
};

/* Neither computes nor waits for anybody; never awake for a moment, which somebody might see. */
static int doze(void)
{
    for (unsigned left = 100; left > 0;)
        left = sleep(left);
    return 0;
}

static int circle(struct place *place)
{
    char byte;
    return rh_recv(place->msg, (place->rank + 1) % place->size, TAG, &byte, 1, NULL);
}

/* Rank 0 waits for itself, the others wait for rank 0. */
static int self(struct place *place)
{
    char byte;
    return rh_recv(place->msg, 0, TAG, &byte, 1, NULL);
}

/* Everybody waits for anybody. */
static int any(struct place *place)
{
    char byte;
    return rh_recv(place->msg, RH_ANY_RANK, RH_ANY_TAG, &byte, 1, NULL);
}

/* Rank 0 waits for anybody, and the others go home. */
static int left(struct place *place)
{
    return place->rank == 0 ? any(place) : 0;
}

static int lock(struct place *place)
{
    int result = place->rank == 0 ? rh_lock(place->msg, LOCK, RH_TIMEOUT_DEFAULT) : 0;
    if (result >= 0)
        result = rh_barrier(place->all, RH_TIMEOUT_DEFAULT);
    if (place->rank == 0)
        raise(SIGSTOP);
    else if (result == 0)
        result = rh_lock(place->msg, LOCK, RH_TIMEOUT_DEFAULT);
    return result;
}

/* Ranks 0 and 1 take two locks in opposite order. */
static int locks(struct place *place)
{
    uint32_t first = (uint32_t)place->rank % 2;
    int result = place->rank < 2 ? rh_lock(place->msg, first, RH_TIMEOUT_DEFAULT) : 0;
    if (result >= 0)
        result = rh_barrier(place->all, RH_TIMEOUT_DEFAULT);
    return result < 0 ? result : rh_lock(place->msg, 1 - first, RH_TIMEOUT_DEFAULT);
}

static int barrier(struct place *place)
{
    int result = rh_barrier(place->all, RH_TIMEOUT_DEFAULT);
    if (place->rank == 1)
        return doze();
    return result < 0 ? result : rh_barrier(place->all, RH_TIMEOUT_DEFAULT);
}

/* Rank 0 is in a barrier, rank 1 waits for a message of rank 0, the rest is in the barrier, too. */
static int mixed(struct place *place)
{
    char byte;
    return place->rank == 1 ? rh_recv(place->msg, 0, TAG, &byte, 1, NULL)
                            : rh_barrier(place->all, RH_TIMEOUT_DEFAULT);
}

static int deaf(struct place *place)
{
    char message[48] = "";
    int result = 0;
    if (place->rank > 0)
        return doze();
    while (result == 0)
        result = rh_send(place->msg, 1, TAG, message, sizeof(message));
    return result;
}

static int queue(struct place *place)
{
    struct rh_arrival arrival;
    return place->rank > 0 ? doze() : rh_queue_next(place->queue, &arrival, RH_TIMEOUT_DEFAULT);
}

static int append(struct place *place)
{
    int result = 0;
    if (place->rank > 0)
        return doze();
    while (result == 0)
        result = rh_append(place->job, 1, SID_QUEUE, "x", 1);
    return result;
}

static int segment(struct place *place)
{
    return place->rank > 0 ? doze() : rh_segment_wait(place->job, 1, SID_NEVER, RH_TIMEOUT_DEFAULT);
}

static int word(struct place *place)
{
    struct rh_wait wait = {.word = place->words,
                           .when = RH_AT_LEAST,
                           .value = 5,
                           .from = 1,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    return place->rank > 0 ? doze() : rh_wait_word(place->job, &wait);
}

static int die(struct place *place)
{
    if (place->rank == 1)
        raise(SIGKILL);
    return doze();
}

/* All is well: short messages, locks and barriers, as fast as they go. */
static int busy(struct place *place)
{
    int result = 0;
    int next = (place->rank + 1) % place->size;
    int previous = (place->rank + place->size - 1) % place->size;
    for (int i = 0; result >= 0 && i < 1 << 30; i++) {
        char byte = 0;
        result = rh_send(place->msg, next, TAG, &byte, 1);
        if (result >= 0)
            result = rh_recv(place->msg, previous, TAG, &byte, 1, NULL);
        if (result >= 0)
            result = rh_lock(place->msg, LOCK, RH_TIMEOUT_DEFAULT);
        if (result >= 0)
            result = rh_unlock(place->msg, LOCK);
        if (result >= 0 && i % 16 == 0)
            result = rh_barrier(place->all, RH_TIMEOUT_DEFAULT);
    }
    return result;
}

/* All is well: sender and receiver wait for each other, but the message moves. */
static int large(struct place *place)
{
    char *buffer = calloc(1, LARGE);
    int result = buffer ? 0 : RH_ENOSPACE;
    int next = (place->rank + 1) % place->size;
    int previous = (place->rank + place->size - 1) % place->size;
    for (int i = 0; result >= 0 && i < 1 << 30; i++) {
        struct rh_request *request;
        result = rh_isend(place->msg, next, TAG, buffer, LARGE / 2, &request);
        if (result >= 0)
            result = rh_recv(place->msg, previous, TAG, buffer + LARGE / 2, LARGE / 2, NULL);
        if (result >= 0)
            result = rh_wait_request(request, NULL, RH_TIMEOUT_DEFAULT);
    }
    free(buffer);
    return result;
}

static const struct {
    const char *name;
    int (*run)(struct place *place);
} ways[] = {
    {"circle", circle}, {"self", self},   {"any", any},         {"left", left},
    {"lock", lock},     {"locks", locks}, {"barrier", barrier}, {"mixed", mixed},
    {"deaf", deaf},     {"queue", queue}, {"append", append},   {"segment", segment},
    {"word", word},     {"die", die},     {"busy", busy},       {"large", large},
};

static int open_place(struct place *place)
{
    struct rh_queue_shape shape = {.slot_count = 8, .slot_length = 8};
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = SET};
    void *base = NULL;
    int result = rh_join(&place->job, NULL);
    if (result == 0)
        result = rh_msg_open(&place->msg, place->job);
    if (result == 0)
        result = rh_segment_alloc(place->job, SID_WORDS, 4096, &base);
    if (result == 0)
        result = rh_queue_create(place->job, SID_QUEUE, shape, &place->queue);
    if (result == 0)
        result = rh_set_create(place->msg, &spec, &place->all);
    if (result < 0)
        return result;
    place->words = base;
    place->rank = rh_rank(place->job);
    place->size = rh_size(place->job);
    return rh_barrier(place->all, RH_TIMEOUT_DEFAULT);
}

int main(int argc, char **argv)
{
    struct place place = {.job = NULL};
    int result = argc < 2 ? RH_EINVALID : open_place(&place);
    for (size_t i = 0; result == 0 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(argv[1], ways[i].name) == 0) {
            result = ways[i].run(&place);
            if (result == 0) {
                rh_msg_close(place.msg);
                rh_leave(place.job);
                _exit(0); /* the set is left as it is: to destroy it would wait for the others */
            }
            break;
        }
    }
    if (result < 0)
        fprintf(stderr, "hang: %s (%s)\n", rh_error_name(result), rh_error_text());
    return result < 0;
}
