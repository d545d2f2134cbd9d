/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pm-queue (PM/RHiNET-VP): every rank has one queue, to which all others append. Neither its memory
 * nor the cost of receiving depends on how many they are. A message is at most 2040 bytes, so that
 * with its description it fits what the network carries in one piece.
 */
#include "pm/context.h"

#include <stdlib.h>

#define SLOT_COUNT  256
#define MESSAGE_MAX 2040

struct queue_state {
    struct rh_queue *queue; /* NULL: this rank only sends */
    bool *is_reached;       /* by rank: its queue is there */
};

static int queue_open(struct pm_context *pm)
{
    size_t rank_count = (size_t)rh_size(pm->job);
    struct queue_state *state = calloc(1, sizeof(*state));
    if (!state)
        return pm_fail(RH_ENOSPACE, "no memory for pm-queue");
    int result = 0;
    state->is_reached = calloc(rank_count, sizeof(*state->is_reached));
    if (!state->is_reached) {
        result = pm_fail(RH_ENOSPACE, "no memory for %zu ranks", rank_count);
        goto free_state;
    }
    pm->info.memory_per_rank = sizeof(*state->is_reached);
    pm->info.memory = sizeof(*state) + rank_count * pm->info.memory_per_rank;
    if (!(pm->flags & PM_SEND_ONLY)) {
        struct rh_queue_shape shape = {.slot_count = SLOT_COUNT, .slot_length = MESSAGE_MAX};
        result = pm_pass(rh_queue_create(pm->job, PM_SID_QUEUE, shape, &state->queue));
        if (result < 0)
            goto free_reached;
        pm->info.memory += pm_queue_memory(shape);
    }
    pm->state = state;
    return 0;
free_reached:
    free(state->is_reached);
free_state:
    free(state);
    return result;
}

static int queue_close(struct pm_context *pm)
{
    struct queue_state *state = pm->state;
    int result = state->queue ? pm_pass(rh_queue_destroy(state->queue)) : 0;
    free(state->is_reached);
    free(state);
    return result;
}

static int reach_slow(struct pm_context *pm, struct queue_state *state)
{
    int result = pm_peer_reach(pm, pm->send_rank, PM_SID_QUEUE);
    if (result == 0)
        state->is_reached[pm->send_rank] = true;
    return result;
}

static int queue_send(struct pm_context *pm)
{
    struct queue_state *state = pm->state;
    if (unlikely(!state->is_reached[pm->send_rank])) {
        int result = reach_slow(pm, state);
        if (result < 0)
            return result;
    }
    return pm_pass(
        rh_append_try(pm->job, pm->send_rank, PM_SID_QUEUE, pm_send_data(pm), pm->send_length));
}

/* Waiting inside of an append, the sender is woken as soon as there is room; but that wait knows
 * the default timeout only. */
static int queue_send_wait(struct pm_context *pm, int64_t timeout_ns)
{
    struct queue_state *state = pm->state;
    if (timeout_ns != RH_TIMEOUT_DEFAULT || !state->is_reached[pm->send_rank])
        return pm_send_wait(pm, timeout_ns);
    return pm_pass(
        rh_append(pm->job, pm->send_rank, PM_SID_QUEUE, pm_send_data(pm), pm->send_length));
}

static inline int take(struct queue_state *state, struct pm_message *message, int64_t timeout_ns)
{
    struct rh_arrival arrival;
    int result = rh_queue_next(state->queue, &arrival, timeout_ns);
    if (unlikely(result < 0))
        return pm_pass(result);
    message->data = arrival.data;
    message->length = arrival.length;
    message->source = arrival.source;
    return 0;
}

static int queue_look(struct pm_context *pm, struct pm_message *message)
{
    struct queue_state *state = pm->state;
    return likely(state->queue) ? take(state, message, RH_TIMEOUT_NONE) : RH_EAGAIN;
}

/* Without a timeout there was a look already: now it is about deaths. */
static int queue_look_wait(struct pm_context *pm, struct pm_message *message, int64_t timeout_ns)
{
    struct queue_state *state = pm->state;
    if (timeout_ns == RH_TIMEOUT_NONE || !state->queue)
        return pm_look_wait(pm, message, timeout_ns);
    return take(state, message, timeout_ns);
}

static void queue_release(struct pm_context *pm)
{
    struct queue_state *state = pm->state;
    rh_queue_release(state->queue);
}

const struct pm_ops pm_queue_ops = {
    .name = "pm-queue",
    .message_max = MESSAGE_MAX,
    .open = queue_open,
    .close = queue_close,
    .send = queue_send,
    .send_wait = queue_send_wait,
    .look = queue_look,
    .look_wait = queue_look_wait,
    .release = queue_release,
};
