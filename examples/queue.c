/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many senders, one receiver: every rank throws two dice again and again and appends the sums to a
 * queue of rank 0, which draws a histogram. The queue is short: senders that are too fast wait.
 *
 *     rhinet run -n 4 queue
 */
#include "check.h"

#include <rhinet/rma.h>

enum { QUEUE = 1, THROWS = 5000, SUM_MAX = 12, BAR_MAX = 50 }; /* SID; throws of each rank; ... */

struct message {
    uint32_t number; /* counted by each sender: arrives in order */
    uint32_t sum;
};

static struct message throw_dice(int rank, uint32_t number)
{
    uint32_t x = (uint32_t)rank * THROWS + number;
    x = (x ^ x >> 16) * 0x7feb352d; /* well mixed, and the same in every run */
    x = (x ^ x >> 15) * 0x846ca68b;
    return (struct message){number, (x >> 8) % 6 + (x >> 20) % 6 + 2};
}

static void receive_all(struct rh_job *job, struct rh_queue *queue, unsigned *counts)
{
    uint32_t *expected = calloc((size_t)rh_size(job), sizeof(*expected)), own = 0;
    for (int left = rh_size(job) * THROWS; left > 0; left--) {
        struct message message = throw_dice(0, own);
        /* Rank 0 throws, too, but must not wait for itself: it appends while there is room. */
        while (own < THROWS && !rh_append_try(job, 0, QUEUE, &message, sizeof(message)))
            message = throw_dice(0, ++own);
        struct rh_arrival arrival; /* the message stays in the queue until it is released */
        check(rh_queue_next(queue, &arrival, RH_TIMEOUT_DEFAULT));
        const struct message *arrived = arrival.data;
        if (!expected || arrived->number != expected[arrival.source]++ || arrived->sum > SUM_MAX) {
            fprintf(stderr, "message %u of rank %d is wrong\n", arrived->number, arrival.source);
            exit(1);
        }
        counts[arrived->sum]++;
        rh_queue_release(queue);
    }
    free(expected);
}

static void draw(const unsigned *counts)
{
    unsigned most = 1;
    for (int sum = 2; sum <= SUM_MAX; sum++)
        most = counts[sum] > most ? counts[sum] : most;
    for (int sum = 2; sum <= SUM_MAX; sum++)
        printf("%3d %6u %.*s\n", sum, counts[sum], (int)(counts[sum] * BAR_MAX / most),
               "##################################################");
}

int main(void)
{
    struct rh_job *job;
    struct rh_queue *queue;
    check(rh_join(&job, NULL));
    if (rh_rank(job) == 0) {
        struct rh_queue_shape shape = {.slot_count = 64, .slot_length = sizeof(struct message)};
        unsigned counts[SUM_MAX + 1] = {0};
        check(rh_queue_create(job, QUEUE, shape, &queue));
        receive_all(job, queue, counts);
        draw(counts);
        check(rh_queue_destroy(queue));
        return rh_leave(job) < 0;
    }
    check(rh_segment_wait(job, 0, QUEUE, RH_TIMEOUT_DEFAULT));
    for (uint32_t number = 0; number < THROWS; number++) {
        struct message message = throw_dice(rh_rank(job), number);
        check(rh_append(job, 0, QUEUE, &message, sizeof(message)));
    }
    return rh_leave(job) < 0;
}
