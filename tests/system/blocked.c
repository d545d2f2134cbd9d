/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank but 0 sleeps in another kind of call that only rank 0 could end; then the test kills
 * rank 0. Every call must return RH_EDEAD and name rank 0, and the survivors must be able to go on.
 */
#include <rhinet/rma.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SID_MEMORY = 1, SID_QUEUE = 2, SID_NEVER = 3 };

#define LONG_NS RH_MILLISECONDS(100000)

struct place {
    struct rh_job *job;
    uint64_t *memory;
    struct rh_queue *queue;
};

static int wait_for_word(struct place *place, int from)
{
    struct rh_wait wait = {
        .word = &place->memory[1], .value = 1, .from = from, .timeout_ns = LONG_NS};
    return rh_wait_word(place->job, &wait);
}

/* Nobody receives from rank 0's queue, so it fills up. */
static int append_until_full(struct place *place)
{
    char message[8] = "message";
    int result;
    do {
        result = rh_append(place->job, 0, SID_QUEUE, message, sizeof(message));
    } while (result == 0);
    return result;
}

static int push_for_ever(struct place *place)
{
    char block[512] = "";
    int result;
    do {
        result = rh_push(place->job, rh_at(0, SID_MEMORY, 1024), block, sizeof(block));
    } while (result == 0);
    return result;
}

static int block(struct place *place)
{
    struct rh_arrival arrival;
    switch (rh_rank(place->job)) {
    case 1:
        return wait_for_word(place, 0);
    case 2:
        return wait_for_word(place, RH_ANY_RANK);
    case 3:
        return append_until_full(place);
    case 4:
        return rh_queue_next(place->queue, &arrival, LONG_NS);
    case 5:
        return rh_segment_wait(place->job, 0, SID_NEVER, LONG_NS);
    default:
        return push_for_ever(place);
    }
}

/* Survivors, in a ring that leaves rank 0 out. */
static int go_on(struct place *place)
{
    int rank = rh_rank(place->job);
    int size = rh_size(place->job);
    int next = rank + 1 < size ? rank + 1 : 1;
    int previous = rank > 1 ? rank - 1 : size - 1;
    rh_deaths_acknowledge(place->job);
    for (uint64_t round = 1; round <= 100; round++) {
        struct rh_notice notice = {.word = rh_at(next, SID_MEMORY, 64), .value = round};
        int result = rh_push_notify(place->job, rh_at(next, SID_MEMORY, 128), &round, sizeof(round),
                                    &notice);
        struct rh_wait wait = {.word = &place->memory[8],
                               .when = RH_AT_LEAST,
                               .value = round,
                               .from = previous,
                               .timeout_ns = LONG_NS};
        if (result == 0)
            result = rh_wait_word(place->job, &wait);
        /* A neighbour that is through may have left; its last word has arrived before that. */
        if (result < 0)
            return round == 100 && result == RH_EDEAD ? 0 : result;
    }
    return 0;
}

static int open_memory(struct place *place)
{
    struct rh_queue_shape shape = {.slot_count = 64, .slot_length = 64};
    void *base;
    int result = rh_segment_alloc(place->job, SID_MEMORY, 8192, &base);
    if (result == 0)
        result = rh_queue_create(place->job, SID_QUEUE, shape, &place->queue);
    for (int rank = 0; rank < rh_size(place->job) && result == 0; rank++) {
        result = rh_segment_wait(place->job, rank, SID_MEMORY, LONG_NS);
        if (result == 0)
            result = rh_segment_wait(place->job, rank, SID_QUEUE, LONG_NS);
    }
    if (result == 0)
        place->memory = base;
    return result;
}

static int fail(const char *what, int code)
{
    fprintf(stderr, "%s: %s (%s)\n", what, rh_error_name(code), rh_error_text());
    return 1;
}

int main(void)
{
    struct place place = {0};
    int result = rh_join(&place.job, NULL);
    if (result == 0)
        result = open_memory(&place);
    if (result < 0)
        return fail("start", result);
    printf("ready %d %d\n", rh_rank(place.job), (int)getpid());
    fflush(stdout);
    if (rh_rank(place.job) == 0)
        return pause();
    result = block(&place);
    if (result != RH_EDEAD || rh_error_rank() != 0)
        return fail("the call was to end because rank 0 died", result);
    printf("dead %d by %d\n", rh_error_rank(), rh_rank(place.job));
    fflush(stdout);
    result = go_on(&place);
    if (result < 0)
        return fail("going on without rank 0", result);
    rh_leave(place.job);
    return 0;
}
