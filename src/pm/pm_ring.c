/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pm-ring (PM/RHiNET): every rank has a ring of 128 KB for each sender, in slots of 2 KB, and goes
 * round them to find the next message. So each pair has its own way and the lowest latency, but
 * memory and the cost of finding nothing grow with the number of ranks.
 *
 * One segment: the published words of all rings, then the rings.
 */
#include "pm/ring.h"

#include <stdlib.h>

#define SLOT_LENGTH 2048
#define SLOT_COUNT  64
#define PAGE        4096
#define RING_STRIDE (SLOT_LENGTH * SLOT_COUNT + PAGE) /* pages, of which RING_SLACK needs one */
#define MESSAGE_MAX 8184

static const struct ring_shape shape = {.unit_length = SLOT_LENGTH, .unit_count = SLOT_COUNT};

struct peer {
    struct ring_out out; /* our ring there */
    struct ring_in in;   /* its ring here */
    bool is_reached;
};

struct rings_state {
    int rank_count;
    int next; /* whose ring to look at first */
    int out;  /* whose message is out */
    struct peer peer[];
};

static uint64_t rings_at(int rank_count)
{
    uint64_t words = (uint64_t)rank_count * sizeof(struct ring_words);
    return (words + PAGE - 1) / PAGE * PAGE;
}

static void set_peer(struct rings_state *state, int self, int rank, char *base)
{
    uint64_t at = rings_at(state->rank_count);
    struct peer *peer = &state->peer[rank];
    peer->out = (struct ring_out){
        .ring = rh_at(rank, PM_SID_RINGS, at + (uint64_t)self * RING_STRIDE),
        .words = rh_at(rank, PM_SID_RINGS, (uint64_t)self * sizeof(struct ring_words)),
        .shape = shape};
    if (base)
        peer->in = (struct ring_in){.base = base + at + (uint64_t)rank * RING_STRIDE,
                                    .words = (struct ring_words *)(void *)base + rank,
                                    .shape = shape};
}

static int rings_open(struct pm_context *pm)
{
    int rank_count = rh_size(pm->job);
    size_t state_length = sizeof(struct rings_state) + (size_t)rank_count * sizeof(struct peer);
    struct rings_state *state = calloc(1, state_length);
    if (!state)
        return pm_fail(RH_ENOSPACE, "no memory for %d ranks", rank_count);
    state->rank_count = rank_count;
    void *base = NULL;
    pm->info.memory = state_length;
    pm->info.memory_per_rank = sizeof(struct peer);
    if (!(pm->flags & PM_SEND_ONLY)) {
        uint64_t length = rings_at(rank_count) + (uint64_t)rank_count * RING_STRIDE;
        int result = pm_pass(rh_segment_alloc(pm->job, PM_SID_RINGS, length, &base));
        if (result < 0) {
            free(state);
            return result;
        }
        pm->info.memory += length;
        pm->info.memory_per_rank += sizeof(struct ring_words) + RING_STRIDE;
    }
    for (int rank = 0; rank < rank_count; rank++)
        set_peer(state, rh_rank(pm->job), rank, base);
    pm->state = state;
    return 0;
}

static int rings_close(struct pm_context *pm)
{
    free(pm->state);
    return pm->flags & PM_SEND_ONLY ? 0 : pm_pass(rh_segment_detach(pm->job, PM_SID_RINGS));
}

static int reach_slow(struct pm_context *pm, struct peer *peer)
{
    int result = pm_peer_reach(pm, pm->send_rank, PM_SID_RINGS);
    if (result == 0)
        peer->is_reached = true;
    return result;
}

static int rings_send(struct pm_context *pm)
{
    struct rings_state *state = pm->state;
    struct peer *peer = &state->peer[pm->send_rank];
    if (unlikely(!peer->is_reached)) {
        int result = reach_slow(pm, peer);
        if (result < 0)
            return result;
    }
    return ring_send(pm, &peer->out);
}

static int rings_send_wait(struct pm_context *pm, int64_t timeout_ns)
{
    struct rings_state *state = pm->state;
    struct peer *peer = &state->peer[pm->send_rank];
    if (peer->is_reached)
        ring_send_announce(pm, &peer->out);
    return pm_send_wait(pm, timeout_ns);
}

static int rings_look(struct pm_context *pm, struct pm_message *message)
{
    struct rings_state *state = pm->state;
    if (unlikely(pm->flags & PM_SEND_ONLY))
        return RH_EAGAIN;
    int rank = state->next;
    for (int left = state->rank_count; left > 0; left--) {
        int result = ring_look(&state->peer[rank].in, rank, message);
        int following = rank + 1 < state->rank_count ? rank + 1 : 0;
        if (result != RH_EAGAIN) {
            state->out = rank;
            state->next = following; /* nobody starves */
            return result;
        }
        rank = following;
    }
    return RH_EAGAIN;
}

static void rings_release(struct pm_context *pm)
{
    struct rings_state *state = pm->state;
    ring_release(pm, &state->peer[state->out].in, state->out);
}

/* A header in each ring, wherever it is by now. */
static void rings_places(struct pm_context *pm, struct rh_until *until)
{
    const struct rings_state *state = pm->state;
    until->watched = pm->flags & PM_SEND_ONLY ? NULL : state->peer[0].in.base;
    until->watched_stride = RING_STRIDE;
    until->watched_count = (unsigned)state->rank_count;
}

const struct pm_ops pm_ring_ops = {
    .name = "pm-ring",
    .message_max = MESSAGE_MAX,
    .splits_pushes = true,
    .open = rings_open,
    .close = rings_close,
    .send = rings_send,
    .send_wait = rings_send_wait,
    .look = rings_look,
    .look_wait = pm_look_wait,
    .release = rings_release,
    .places = rings_places,
};
