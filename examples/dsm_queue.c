/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A work queue in distributed shared memory: rank 0 puts numbers in, all others take them out, look
 * for their largest prime factor, and add to a shared result. Run it as: rhinet run -n 4 dsm_queue
 */
#include "check.h"

#include <rhinet/dsm.h>
#include <stdio.h>
#include <string.h>

#define QUEUE      0u /* variables */
#define RESULT     1u
#define PLACES     16u
#define FIRST      1000000u
#define TASK_COUNT 200u

struct queue {
    uint64_t put_count, taken_count;
    uint64_t task[PLACES];
};

struct result {
    uint64_t sum;
    uint64_t task_count;
};

struct shared {
    struct rh_dsm *dsm;
    struct queue *queue;
    struct result *result;
};

static uint64_t largest_factor(uint64_t number)
{
    uint64_t largest = 1;
    for (uint64_t factor = 2; factor * factor <= number; factor++) {
        while (number % factor == 0) {
            largest = factor;
            number /= factor;
        }
    }
    return number > 1 ? number : largest;
}

/* The object of that name, bound to the variable of the same number by whoever owns that. */
static void *share(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t length, int rank)
{
    uint64_t offset;
    check(rh_dsm_alloc_named(dsm, variable, length, &offset));
    if (rh_dsm_owner(dsm, variable) == rank) {
        struct rh_dsm_region region = {.offset = offset, .length = length};
        check(rh_dsm_acquire(dsm, variable, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        memset(rh_dsm_ptr(dsm, offset), 0, length);
        check(rh_dsm_bind(dsm, variable, &region, 1));
        check(rh_dsm_release(dsm, variable));
    }
    return rh_dsm_ptr(dsm, offset);
}

static void put(const struct shared *shared, uint64_t task)
{
    struct queue *queue = shared->queue;
    check(rh_dsm_acquire(shared->dsm, QUEUE, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    while (queue->put_count - queue->taken_count == PLACES)
        check(rh_dsm_wait(shared->dsm, QUEUE, RH_TIMEOUT_DEFAULT));
    queue->task[queue->put_count++ % PLACES] = task;
    check(rh_dsm_broadcast(shared->dsm, QUEUE));
    check(rh_dsm_release(shared->dsm, QUEUE));
}

/* The next task, or 0 when there will be none. */
static uint64_t take(const struct shared *shared)
{
    struct queue *queue = shared->queue;
    uint64_t task = 0;
    check(rh_dsm_acquire(shared->dsm, QUEUE, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    while (queue->taken_count == queue->put_count && queue->taken_count < TASK_COUNT)
        check(rh_dsm_wait(shared->dsm, QUEUE, RH_TIMEOUT_DEFAULT));
    if (queue->taken_count < TASK_COUNT) {
        task = queue->task[queue->taken_count++ % PLACES];
        check(rh_dsm_broadcast(shared->dsm, QUEUE));
    }
    check(rh_dsm_release(shared->dsm, QUEUE));
    return task;
}

static void add(const struct shared *shared, uint64_t factor)
{
    check(rh_dsm_acquire(shared->dsm, RESULT, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    shared->result->sum += factor;
    shared->result->task_count++;
    check(rh_dsm_release(shared->dsm, RESULT));
}

static int report(const struct shared *shared, int rank)
{
    uint64_t expected = 0;
    for (unsigned i = 0; i < TASK_COUNT; i++)
        expected += largest_factor(FIRST + i);
    check(rh_dsm_acquire(shared->dsm, RESULT, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    struct result result = *shared->result;
    check(rh_dsm_release(shared->dsm, RESULT));
    if (rank == 0)
        printf("%d tasks, sum %llu\n", (int)result.task_count, (unsigned long long)result.sum);
    return result.sum == expected && result.task_count == TASK_COUNT ? 0 : 1;
}

int main(void)
{
    struct rh_job *job;
    struct shared shared;
    check(rh_join(&job, NULL));
    int rank = rh_rank(job);
    check(rh_dsm_open(&shared.dsm, job, NULL));
    shared.queue = share(shared.dsm, QUEUE, sizeof(struct queue), rank);
    shared.result = share(shared.dsm, RESULT, sizeof(struct result), rank);
    check(rh_dsm_barrier(shared.dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (rank == 0 && rh_size(job) > 1) {
        for (unsigned i = 0; i < TASK_COUNT; i++)
            put(&shared, FIRST + i);
    } else if (rank == 0) { /* nobody else is there to take them */
        for (unsigned i = 0; i < TASK_COUNT; i++) {
            put(&shared, FIRST + i);
            add(&shared, largest_factor(take(&shared)));
        }
    } else {
        for (uint64_t task = take(&shared); task != 0; task = take(&shared))
            add(&shared, largest_factor(task));
    }
    check(rh_dsm_barrier(shared.dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    int status = report(&shared, rank);
    check(rh_dsm_close(shared.dsm));
    check(rh_leave(job));
    return status;
}
