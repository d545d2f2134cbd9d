/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many senders, one receiver: every rank throws dice and appends the sums to a queue of rank 0,
 * which draws a histogram. The queue is short, so senders that are too fast wait for space.
 *
 *     rhinet run -n 4 queue
 */
#include <rhinet/rma.h>
#include <stdio.h>
#include <stdlib.h>

#define QUEUE          1
#define THROWS         5000 /* by each rank */
#define DICE           2
#define LONGEST_COLUMN 50

struct throw {
    uint32_t number; /* counted from 0 by each sender: arrives in order */
    uint32_t sum;
};

static void check(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "queue: %s\n", rh_error_text());
    exit(1);
}

static struct throw throw_dice(struct rh_job *job, uint32_t number)
{
    static unsigned seed;
    struct throw thrown = {.number = number};
    seed = number == 0 ? (unsigned)rh_rank(job) + 1 : seed;
    for (int i = 0; i < DICE; i++)
        thrown.sum += (uint32_t)rand_r(&seed) / 64 % 6 + 1;
    return thrown;
}

static void receive(struct rh_job *job, struct rh_queue *queue, unsigned *sums)
{
    uint32_t *expected = calloc((size_t)rh_size(job), sizeof(*expected));
    for (uint32_t left = (uint32_t)rh_size(job) * THROWS, own = 0; left > 0; left--) {
        struct rh_arrival arrival;
        struct throw thrown = throw_dice(job, own); /* rank 0 must not wait for itself: only try */
        while (own < THROWS && rh_append_try(job, 0, QUEUE, &thrown, sizeof(thrown)) == 0)
            thrown = throw_dice(job, ++own);
        check(rh_queue_next(queue, &arrival, RH_TIMEOUT_DEFAULT));
        const struct throw *arrived = arrival.data; /* in place, until released */
        if (!expected || arrived->number != expected[arrival.source]++) {
            fprintf(stderr, "queue: message %u of rank %d is out of turn\n", arrived->number,
                    arrival.source);
            exit(1);
        }
        sums[arrived->sum]++;
        rh_queue_release(queue);
    }
    free(expected);
}

int main(void)
{
    struct rh_job *job;
    struct rh_queue *queue;
    unsigned sums[6 * DICE + 1] = {0}, most = 1;
    check(rh_join(&job, NULL));
    if (rh_rank(job) == 0) {
        struct rh_queue_shape shape = {.slot_count = 64, .slot_length = sizeof(struct throw)};
        check(rh_queue_create(job, QUEUE, shape, &queue));
        receive(job, queue, sums);
        for (int sum = DICE; sum <= 6 * DICE; sum++)
            most = sums[sum] > most ? sums[sum] : most;
        for (int sum = DICE; sum <= 6 * DICE; sum++)
            printf("%3d %6u %.*s\n", sum, sums[sum], (int)(sums[sum] * LONGEST_COLUMN / most),
                   "##################################################");
        check(rh_queue_destroy(queue));
    } else {
        check(rh_segment_wait(job, 0, QUEUE, RH_TIMEOUT_DEFAULT));
        for (uint32_t number = 0; number < THROWS; number++) {
            struct throw thrown = throw_dice(job, number);
            check(rh_append(job, 0, QUEUE, &thrown, sizeof(thrown)));
        }
    }
    return rh_leave(job) < 0;
}
