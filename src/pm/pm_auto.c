/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pm-auto: one queue for all senders, and a few lanes, which are rings for one busy sender each.
 * The receiver looks at the queue and the lanes, however many senders there are, and a busy pair
 * has the latency of pm-ring.
 *
 * A sender that has sent HOT_AFTER messages to a rank tries to take a free lane there, by a
 * compare-and-swap on the lane's owner word, and keeps it. Its messages must not overtake those it
 * has appended before: so it writes how many those were into the lane, and the receiver opens the
 * lane when it has received that many from the queue. Lanes are units of one cache line, so that
 * short messages stand line by line and stay in the cache.
 *
 * One segment: struct lane_words of all lanes, then their rings.
 */
#include "pm/ring.h"

#include <stddef.h>
#include <stdlib.h>

#define QUEUE_SLOTS 256
#define LANE_COUNT  4
#define LANE_UNITS  2048
#define LANE_STRIDE (LANE_UNITS * PM_CACHE_LINE + PM_CACHE_LINE) /* RING_SLACK included */
#define LANES_AT    ((uint64_t)LANE_COUNT * sizeof(struct lane_words))
#define HOT_AFTER   32
#define MESSAGE_MAX 8184
#define STAY_MAX    15
#define FROM_QUEUE  LANE_COUNT /* in place of a lane: where the message that is out came from */

static const struct ring_shape shape = {.unit_length = PM_CACHE_LINE, .unit_count = LANE_UNITS};

/* What a lane's sender and receiver tell each other, besides the messages. */
struct lane_words {
    struct ring_words ring;
    _Alignas(PM_CACHE_LINE) uint64_t owner; /* its rank + 1; 0: free */
    uint64_t appended; /* by the owner to the queue before, + 1; 0: it has not said yet */
};

/* How this rank sends to another. */
struct way {
    struct ring_out *lane; /* ours there, or NULL: the queue */
    uint32_t appended;     /* to the queue, as long as there is no lane */
    bool is_reached;
    bool has_asked; /* for a lane, and got none */
};

/* What this rank receives on a lane. */
struct lane {
    struct ring_in in;
    struct lane_words *words;
    int source; /* -1: not open yet */
};

struct auto_state {
    struct rh_queue *queue; /* NULL: this rank only sends */
    struct lane lane[LANE_COUNT];
    uint32_t out;       /* lane of the last message, or FROM_QUEUE */
    uint32_t stay;      /* how many more may come from there in a row */
    struct way *way;    /* by rank */
    uint32_t *received; /* by rank: messages from the queue */
};

/* ---- Open and close ------------------------------------------------------------------------- */

static int open_lanes(struct pm_context *pm, struct auto_state *state)
{
    void *base;
    uint64_t length = LANES_AT + (uint64_t)LANE_COUNT * LANE_STRIDE;
    int result = pm_pass(rh_segment_alloc(pm->job, PM_SID_AUTO_LANES, length, &base));
    if (result < 0)
        return result;
    for (int i = 0; i < LANE_COUNT; i++) {
        struct lane *lane = &state->lane[i];
        lane->words = (struct lane_words *)base + i;
        lane->in = (struct ring_in){.base = (char *)base + LANES_AT + (uint64_t)i * LANE_STRIDE,
                                    .words = &lane->words->ring,
                                    .shape = shape};
        lane->source = -1;
    }
    pm->info.memory += length;
    return 0;
}

/* The queue last: senders take it for the sign that all is there. */
static int open_receiving(struct pm_context *pm, struct auto_state *state)
{
    struct rh_queue_shape queue_shape = {.slot_count = QUEUE_SLOTS, .slot_length = MESSAGE_MAX};
    int result = open_lanes(pm, state);
    if (result < 0)
        return result;
    result = pm_pass(rh_queue_create(pm->job, PM_SID_AUTO_QUEUE, queue_shape, &state->queue));
    if (result < 0)
        rh_segment_detach(pm->job, PM_SID_AUTO_LANES);
    else
        pm->info.memory += pm_queue_memory(queue_shape);
    return result;
}

static void free_state(struct auto_state *state, int rank_count)
{
    for (int rank = 0; state->way && rank < rank_count; rank++)
        free(state->way[rank].lane);
    free(state->way);
    free(state->received);
    free(state);
}

static int auto_open(struct pm_context *pm)
{
    int rank_count = rh_size(pm->job);
    struct auto_state *state = calloc(1, sizeof(*state));
    if (!state)
        return pm_fail(RH_ENOSPACE, "no memory for pm-auto");
    state->way = calloc((size_t)rank_count, sizeof(*state->way));
    state->received = calloc((size_t)rank_count, sizeof(*state->received));
    /* a lane's end at the sender is made when it is taken: counted as if all were */
    pm->info.memory_per_rank = sizeof(*state->way) + sizeof(*state->received) +
                               sizeof(struct ring_out);
    pm->info.memory = sizeof(*state) + (uint64_t)rank_count * pm->info.memory_per_rank;
    int result = 0;
    if (!state->way || !state->received)
        result = pm_fail(RH_ENOSPACE, "no memory for %d ranks", rank_count);
    else if (!(pm->flags & PM_SEND_ONLY))
        result = open_receiving(pm, state);
    if (result < 0) {
        free_state(state, rank_count);
        return result;
    }
    pm->state = state;
    return 0;
}

static int auto_close(struct pm_context *pm)
{
    struct auto_state *state = pm->state;
    int result = 0;
    if (state->queue) {
        result = pm_pass(rh_queue_destroy(state->queue));
        int detached = pm_pass(rh_segment_detach(pm->job, PM_SID_AUTO_LANES));
        if (result == 0)
            result = detached;
    }
    free_state(state, rh_size(pm->job));
    return result;
}

/* ---- Sending -------------------------------------------------------------------------------- */

static struct rh_remote lane_word(int rank, int lane, uint64_t offset)
{
    return rh_at(rank, PM_SID_AUTO_LANES, (uint64_t)lane * sizeof(struct lane_words) + offset);
}

/* Which lane of a rank is ours now, or LANE_COUNT if all are taken. */
static int claim_lane(struct pm_context *pm, int rank, int *lane)
{
    uint64_t self = (uint64_t)rh_rank(pm->job) + 1;
    for (*lane = 0; *lane < LANE_COUNT; (*lane)++) {
        uint64_t old;
        struct rh_remote owner = lane_word(rank, *lane, offsetof(struct lane_words, owner));
        int result = pm_pass(rh_compare_swap(pm->job, owner, 0, self, &old));
        if (result < 0)
            return result;
        if (old == 0 || old == self) /* ours since an attempt that failed half-way */
            return 0;
    }
    return 0;
}

/* Change over to a lane, if one is free. An error leaves everything as it was. */
static int take_lane_slow(struct pm_context *pm, struct way *way)
{
    int rank = pm->send_rank;
    int lane;
    int result = claim_lane(pm, rank, &lane);
    if (result < 0)
        return result;
    way->has_asked = true;
    if (lane == LANE_COUNT)
        return 0;
    struct ring_out *out = malloc(sizeof(*out));
    if (!out)
        return 0; /* the queue will do */
    *out = (struct ring_out){
        .ring = rh_at(rank, PM_SID_AUTO_LANES, LANES_AT + (uint64_t)lane * LANE_STRIDE),
        .words = lane_word(rank, lane, offsetof(struct lane_words, ring)),
        .shape = shape};
    uint64_t appended = (uint64_t)way->appended + 1;
    result = pm_pass(rh_push(pm->job, lane_word(rank, lane, offsetof(struct lane_words, appended)),
                             &appended, sizeof(appended)));
    if (result < 0) {
        way->has_asked = false;
        free(out);
        return result;
    }
    way->lane = out;
    return 0;
}

static int append(struct pm_context *pm, struct way *way)
{
    int result = 0;
    if (unlikely(!way->is_reached)) {
        result = pm_peer_reach(pm, pm->send_rank, PM_SID_AUTO_QUEUE);
        if (result < 0)
            return result;
        way->is_reached = true;
    }
    result = pm_pass(rh_append_try(pm->job, pm->send_rank, PM_SID_AUTO_QUEUE, pm_send_data(pm),
                                   pm->send_length));
    if (likely(result == 0))
        way->appended++;
    return result;
}

static int auto_send(struct pm_context *pm)
{
    struct auto_state *state = pm->state;
    struct way *way = &state->way[pm->send_rank];
    if (unlikely(way->appended == HOT_AFTER && !way->has_asked)) {
        int result = take_lane_slow(pm, way);
        if (result < 0)
            return result;
    }
    return way->lane ? ring_send(pm, way->lane) : append(pm, way);
}

static int auto_send_wait(struct pm_context *pm, int64_t timeout_ns)
{
    struct auto_state *state = pm->state;
    struct way *way = &state->way[pm->send_rank];
    if (way->lane)
        ring_send_announce(pm, way->lane);
    if (way->lane || timeout_ns != RH_TIMEOUT_DEFAULT || !way->is_reached)
        return pm_send_wait(pm, timeout_ns);
    int result = pm_pass(
        rh_append(pm->job, pm->send_rank, PM_SID_AUTO_QUEUE, pm_send_data(pm), pm->send_length));
    if (result == 0)
        way->appended++;
    return result;
}

/* ---- Receiving ------------------------------------------------------------------------------ */

/* Whether a lane's owner has begun, and what it sent before is received. */
static bool open_lane_slow(struct pm_context *pm, struct auto_state *state, struct lane *lane)
{
    /* acquire: the owner's word stands since before; pairs with the push in take_lane_slow() */
    uint64_t appended = __atomic_load_n(&lane->words->appended, __ATOMIC_ACQUIRE);
    if (appended == 0)
        return false;
    uint64_t owner = __atomic_load_n(&lane->words->owner, __ATOMIC_ACQUIRE);
    if (owner - 1 >= (uint64_t)rh_size(pm->job) || state->received[owner - 1] + 1 < appended)
        return false;
    lane->source = (int)(owner - 1);
    return true;
}

static inline int look_at_lane(struct pm_context *pm, struct auto_state *state, struct lane *lane,
                               struct pm_message *message)
{
    if (lane->source < 0 && !open_lane_slow(pm, state, lane))
        return RH_EAGAIN;
    return ring_look(&lane->in, lane->source, message);
}

static inline int look_at_queue(struct pm_context *pm, struct auto_state *state,
                                struct pm_message *message)
{
    struct rh_arrival arrival;
    int result = rh_queue_next(state->queue, &arrival, RH_TIMEOUT_NONE);
    if (result < 0)
        return result == RH_EDEAD ? RH_EAGAIN : pm_pass(result); /* the wait will say it */
    if (unlikely((unsigned)arrival.source >= (unsigned)rh_size(pm->job)))
        return pm_fail(RH_ECORRUPT, "a message from rank %d, which is outside the job",
                       arrival.source);
    state->received[arrival.source]++;
    message->data = arrival.data;
    message->length = arrival.length;
    message->source = arrival.source;
    return 0;
}

static inline int look_at(struct pm_context *pm, struct auto_state *state, uint32_t at,
                          struct pm_message *message)
{
    return at == FROM_QUEUE ? look_at_queue(pm, state, message)
                            : look_at_lane(pm, state, &state->lane[at], message);
}

/* Stays where a message was found, since more are likely there, but not for ever. */
static int auto_look(struct pm_context *pm, struct pm_message *message)
{
    struct auto_state *state = pm->state;
    if (unlikely(!state->queue))
        return RH_EAGAIN;
    uint32_t at = state->out;
    if (state->stay > 0 && look_at(pm, state, at, message) == 0) {
        state->stay--;
        return 0;
    }
    for (unsigned left = LANE_COUNT + 1; left > 0; left--) {
        at = at == FROM_QUEUE ? 0 : at + 1;
        int result = look_at(pm, state, at, message);
        if (result != RH_EAGAIN) {
            state->out = at;
            state->stay = STAY_MAX;
            return result;
        }
    }
    return RH_EAGAIN;
}

static void auto_release(struct pm_context *pm)
{
    struct auto_state *state = pm->state;
    if (state->out == FROM_QUEUE)
        rh_queue_release(state->queue);
    else
        ring_release(pm, &state->lane[state->out].in, state->lane[state->out].source);
}

const struct pm_ops pm_auto_ops = {
    .name = "pm-auto",
    .message_max = MESSAGE_MAX,
    .open = auto_open,
    .close = auto_close,
    .send = auto_send,
    .send_wait = auto_send_wait,
    .look = auto_look,
    .look_wait = pm_look_wait,
    .release = auto_release,
};
