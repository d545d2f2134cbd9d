/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests to the agent, through places in shared memory.
 *
 * A place is claimed with one compare-and-swap, filled, posted, and given back when the answer has
 * been read. Whoever gives up waiting leaves the place to the agent. Every change of stage is a
 * compare-and-swap that names the ticket, so that neither side can act on a place that has become
 * another's meanwhile.
 */
#include "base/clock.h"
#include "cache/client/state.h"
#include "cache/raw.h"

#include <string.h>

#define LOOK_NS    (50 * NS_PER_MS) /* between two looks whether the agent still lives */
#define SILENCE_NS (3 * NS_PER_S)   /* an agent whose beat does not change for that long is stuck */
#define SPIN_COUNT 200

/* Claim a free place; *ticket is its word with stage CACHE_FREE. NULL: all are in use. */
static struct cache_request *claim(struct cache_client *client, int pid, uint32_t *ticket,
                                   uint32_t *index)
{
    uint32_t count = client->shape.request_count;
    uint32_t start = cache_stripe() * 7 + (uint32_t)pid;
    for (uint32_t i = 0; i < count; i++) {
        *index = (start + i) % count;
        struct cache_request *request = &client->control->request[*index];
        uint32_t word = atomic_load_explicit(&request->stage, memory_order_relaxed);
        if (word % CACHE_STAGES != CACHE_FREE)
            continue;
        *ticket = word + CACHE_STAGES; /* a new one */
        if (cache_request_move(request, word, *ticket + CACHE_FILLING)) {
            atomic_store_explicit(&request->pid, client->is_foreign ? 0 : pid,
                                  memory_order_relaxed);
            return request;
        }
    }
    return NULL;
}

static void post(struct cache_client *client, struct cache_request *request, uint32_t ticket,
                 uint32_t index)
{
    struct cache_control *control = client->control;
    if (!cache_request_move(request, ticket + CACHE_FILLING, ticket + CACHE_POSTED))
        return;
    atomic_fetch_or(&control->posted[index / 64], 1ull << (index % 64));
    /* seq_cst: either we see the sleeper, or it sees the bell's new value; see agent/pool.c */
    atomic_fetch_add(&control->bell, 1);
    if (atomic_load(&control->sleepers) > 0)
        raw_futex_wake(&control->bell, 1);
}

static struct cache_request *request_send(struct cache_client *client,
                                          const struct cache_wish *wish, uint32_t *ticket)
{
    uint32_t index;
    struct cache_request *request = claim(client, (int)RAW(SYS_getpid), ticket, &index);
    if (!request)
        return NULL;
    request->kind = (uint32_t)wish->kind;
    request->result = -EINPROGRESS;
    memset(request->file_id, 0, sizeof(request->file_id));
    if (wish->file_id)
        memcpy(request->file_id, wish->file_id, sizeof(request->file_id));
    request->block = wish->block;
    request->count = wish->count;
    post(client, request, *ticket, index);
    return request;
}

static bool agent_lives(struct cache_client *client)
{
    int pid = atomic_load_explicit(&client->card->agent_pid, memory_order_relaxed);
    /* In another namespace the number is somebody else's, or nobody's: then its beat must do. */
    return cache_client_is_alive(client) && (client->is_foreign || RAW(SYS_kill, pid, 0) != -ESRCH);
}

/* The answer is not awaited any longer: the place goes to whoever has it not. */
static void abandon(struct cache_request *request, uint32_t ticket)
{
    if (!cache_request_move(request, ticket + CACHE_POSTED, ticket + CACHE_FREE) &&
        !cache_request_move(request, ticket + CACHE_TAKEN, ticket + CACHE_ABANDONED))
        cache_request_move(request, ticket + CACHE_DONE, ticket + CACHE_FREE);
}

/* How long to wait, and whether the agent is at work meanwhile. */
struct patience {
    int64_t deadline_ns;
    uint64_t beat;
    int64_t beat_ns;
};

/* 0: go on waiting. */
static int lose_patience(struct cache_client *client, struct patience *patience)
{
    struct cache_control *control = client->control;
    uint64_t beat = atomic_load_explicit(&client->card->beat, memory_order_relaxed);
    int64_t now = clock_now_ns();
    if (!agent_lives(client))
        return -ESHUTDOWN;
    if (beat != patience->beat) {
        patience->beat = beat;
        patience->beat_ns = now;
    }
    if (now - patience->beat_ns > SILENCE_NS) {
        /* Stopped, or stuck: until it beats again nobody asks. */
        atomic_store_explicit(&control->silent_beat, beat + 1, memory_order_relaxed);
        return -ETIMEDOUT;
    }
    return now > patience->deadline_ns ? -ETIMEDOUT : 0;
}

static bool is_silent(const struct cache_client *client)
{
    return atomic_load_explicit(&client->control->silent_beat, memory_order_relaxed) ==
           atomic_load_explicit(&client->card->beat, memory_order_relaxed) + 1;
}

static int await(struct cache_client *client, struct cache_request *request, uint32_t ticket)
{
    struct patience patience = {.deadline_ns = clock_deadline_ns(client->card->patience_ns),
                                .beat_ns = clock_now_ns()};
    for (unsigned spins = 0;; spins++) {
        uint32_t word = atomic_load_explicit(&request->stage, memory_order_acquire);
        if (word - word % CACHE_STAGES != ticket)
            return -ETIMEDOUT; /* we were stopped for so long that it was given to another */
        if (word % CACHE_STAGES == CACHE_DONE)
            break;
        if (spins < SPIN_COUNT) {
            cpu_relax();
            continue;
        }
        raw_futex_wait(&request->stage, word, LOOK_NS);
        int result = lose_patience(client, &patience);
        if (result < 0) {
            abandon(request, ticket);
            return result;
        }
    }
    int result = request->result;
    return cache_request_move(request, ticket + CACHE_DONE, ticket + CACHE_FREE) ? result
                                                                                 : -ETIMEDOUT;
}

int cache_ask(struct cache_client *client, const struct cache_wish *wish)
{
    uint32_t ticket;
    if (!cache_client_is_alive(client))
        return -ESHUTDOWN;
    if (is_silent(client))
        return -ETIMEDOUT;
    struct cache_request *request = request_send(client, wish, &ticket);
    return request ? await(client, request, ticket) : -EBUSY;
}

void cache_ask_ahead(struct cache_client *client, const struct cache_wish *wish)
{
    uint32_t ticket;
    if (cache_client_is_alive(client) && !is_silent(client))
        request_send(client, wish, &ticket);
}

static int introduce(struct cache_client *client, const struct cache_dialogue *dialogue)
{
    struct cache_control *control = client->control;
    uint64_t beat = atomic_load_explicit(&client->card->beat, memory_order_relaxed);
    if (is_silent(client))
        return -ETIMEDOUT;
    int socket = cache_dial(client->name);
    if (socket < 0)
        return socket;
    int result = cache_talk(socket, dialogue);
    raw_close(socket);
    if (result == -ETIMEDOUT) /* if it has not beaten since, nobody asks until it does */
        atomic_store_explicit(&control->silent_beat, beat + 1, memory_order_relaxed);
    return result;
}

int cache_introduce(struct cache_client *client, int fd)
{
    struct cache_dialogue dialogue = {.kind = CACHE_CALL_FILE, .send_fd = fd};
    return introduce(client, &dialogue);
}

int cache_introduce_named(struct cache_client *client, const struct cache_named *named)
{
    struct cache_dialogue dialogue = {.kind = CACHE_CALL_NAME, .send_fd = -1, .named = named};
    return introduce(client, &dialogue);
}
