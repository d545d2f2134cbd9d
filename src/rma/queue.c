/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append queues for programs.
 */
#include "rma/rma.h"

#include <stdlib.h>

struct rh_queue {
    struct rh_job *job;
    void *memory; /* the NIC's */
    rh_sid sid;
};

/* What 0 in a shape stands for. */
#define SLOT_COUNT_USUAL  64
#define SLOT_LENGTH_USUAL 64

int rh_queue_create(struct rh_job *job, rh_sid sid, struct rh_queue_shape shape,
                    struct rh_queue **queue)
{
    shape.slot_count = shape.slot_count ? shape.slot_count : SLOT_COUNT_USUAL;
    shape.slot_length = shape.slot_length ? shape.slot_length : SLOT_LENGTH_USUAL;
    struct rh_queue *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("queue %u", sid);
    struct nic_segment request = {
        .sid = sid, .kind = NIC_SEGMENT_QUEUE, .rights = RH_WRITE, .shape = shape};
    int result = job->nic->ops->segment_add(job->nic, &request);
    if (result < 0) {
        free(made);
        return result;
    }
    ASSERT(request.base);
    *made = (struct rh_queue){.job = job, .memory = request.base, .sid = sid};
    *queue = made;
    return 0;
}

int rh_queue_destroy(struct rh_queue *queue)
{
    struct rh_job *job = queue->job;
    int result = job->nic->ops->segment_remove(job->nic, queue->sid, job->timeout_ns);
    free(queue);
    return result;
}

static inline int append(struct rh_job *job, struct rh_remote queue, const void *data,
                         size_t length, int64_t timeout_ns)
{
    if (unlikely(!rma_rank_is_valid(job, queue.rank)))
        return rma_refuse_rank(job, queue.rank);
    int result = job->nic->ops->append(job->nic, queue, data, length, timeout_ns);
    if (unlikely(result < 0))
        return result;
    counter_add(job->counters, COUNTER_APPEND, 1);
    return 0;
}

int rh_append(struct rh_job *job, int rank, rh_sid sid, const void *data, size_t length)
{
    return append(job, rh_at(rank, sid, 0), data, length, job->timeout_ns);
}

int rh_append_try(struct rh_job *job, int rank, rh_sid sid, const void *data, size_t length)
{
    return append(job, rh_at(rank, sid, 0), data, length, 0);
}

int rma_append_try(struct rh_job *job, struct rh_remote queue, const void *data, size_t length,
                   struct nic_ticket *ticket)
{
    ASSERT(rma_rank_is_valid(job, queue.rank));
    ASSERT(ticket);
    int result = job->nic->ops->append_try(job->nic, queue, data, length, ticket);
    if (result == 0)
        counter_add(job->counters, COUNTER_APPEND, 1);
    return result;
}

static void describe(void *context, struct wait_note *note)
{
    const struct rh_queue *queue = context;
    note->number = queue->sid;
}

int rh_queue_next(struct rh_queue *queue, struct rh_arrival *arrival, int64_t timeout_ns)
{
    struct rh_job *job = queue->job;
    int result = job->nic->ops->queue_peek(job->nic, queue->memory, arrival);
    if (result != RH_EAGAIN || timeout_ns == 0)
        return result;
    struct nic_wait request = {.queue = queue->memory,
                               .describe = describe,
                               .context = queue,
                               .from = RH_ANY_RANK,
                               .timeout_ns = rma_timeout_ns(job, timeout_ns)};
    counter_add(job->counters, COUNTER_WAIT, 1);
    result = job->nic->ops->wait(job->nic, &request);
    if (result < 0)
        return result;
    return job->nic->ops->queue_peek(job->nic, queue->memory, arrival);
}

void rh_queue_release(struct rh_queue *queue)
{
    struct rh_job *job = queue->job;
    job->nic->ops->queue_release(job->nic, queue->memory);
    counter_add(job->counters, COUNTER_RECEIVE, 1);
}
