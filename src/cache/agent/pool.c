/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent's threads: each takes a request if there is one, else a block to be read ahead, else
 * sleeps on the bell. A few threads are kept for requests, for which somebody waits.
 */
#include "base/clock.h"
#include "cache/agent/agent.h"
#include "cache/raw.h"

#include <signal.h>

#define SLEEP_NS         (100 * NS_PER_MS)
#define KEPT_FOR_WAITERS 2
#define FOREIGN_NS       (30 * NS_PER_S)

/* ---- Requests ------------------------------------------------------------------------------- */

/* What a client has written, copied out before it is looked at. */
struct wish {
    uint32_t kind;
    uint64_t file_id[2];
    uint64_t block;
    uint32_t count;
    int pid;
};

static struct wish copy_wish(const struct cache_request *request)
{
    return (struct wish){.kind = request->kind,
                         .file_id = {request->file_id[0], request->file_id[1]},
                         .block = request->block,
                         .count = request->count,
                         .pid = atomic_load_explicit(&request->pid, memory_order_relaxed)};
}

static void queue_ahead(struct agent *agent, const struct wish *wish)
{
    uint32_t count = wish->count < AGENT_AHEAD_MAX ? wish->count : AGENT_AHEAD_MAX;
    pthread_mutex_lock(&agent->ahead_lock);
    for (uint32_t i = 0; i < count && agent->ahead_count < AGENT_AHEAD_MAX; i++) {
        uint32_t place = (agent->ahead_first + agent->ahead_count++) % AGENT_AHEAD_MAX;
        agent->ahead[place] = (struct agent_ahead){.file_id = {wish->file_id[0], wish->file_id[1]},
                                                   .block = wish->block + i};
    }
    pthread_mutex_unlock(&agent->ahead_lock);
    atomic_fetch_add(&agent->control->bell, 1);
    raw_futex_wake(&agent->control->bell, INT32_MAX);
}

static int fetch_block(struct agent *agent, const uint64_t file_id[2], uint64_t block,
                       const struct node_arrival *arrival)
{
    struct loader_file *file = loader_hold(&agent->node.loader, file_id);
    if (!file)
        return -ENOENT;
    int result = file->is_folder && block > 0 ? agent_listing_prepare(agent, file) : 0;
    if (result == 0)
        result = node_bring(&agent->node, file, block, arrival);
    loader_release(&agent->node.loader, file);
    return result == -ENOENT ? -EIO : result; /* that one means: introduce the file */
}

static int begin(struct agent *agent, const struct wish *wish)
{
    return node_watch_tell(&agent->node, (uint32_t)wish->block,
                           CACHE_WATCH_CHANGE + CACHE_WATCH_WRITER);
}

static int answer_writer(struct agent *agent, const struct wish *wish)
{
    uint32_t watch = (uint32_t)wish->block;
    if (wish->block >= agent->node.store.shape.watch_count)
        return -EINVAL;
    if (wish->kind == CACHE_WRITE_BEGIN)
        return begin(agent, wish);
    if (wish->kind == CACHE_WRITE_LAST)
        return wish->pid > 0 ? agent_ending_add(agent, watch, wish->pid) : -EINVAL;
    int result = wish->kind == CACHE_CHANGED ? begin(agent, wish) : 0;
    return result < 0 ? result : agent_ending_add(agent, watch, 0);
}

static int answer(struct agent *agent, const struct wish *wish, const struct node_arrival *arrival)
{
    switch (wish->kind) {
    case CACHE_FETCH:
        return fetch_block(agent, wish->file_id, wish->block, arrival);
    case CACHE_WRITE_BEGIN:
    case CACHE_WRITE_END:
    case CACHE_WRITE_LAST:
    case CACHE_CHANGED:
        return answer_writer(agent, wish);
    default:
        return -EINVAL;
    }
}

/* A request that is ours until it is replied to. */
struct taken {
    struct cache_request *request;
    uint32_t ticket;
    bool is_replied;
};

static void reply(struct taken *taken, int result)
{
    if (taken->is_replied)
        return; /* the place may be another's by now */
    taken->is_replied = true;
    taken->request->result = result;
    if (cache_request_move(taken->request, taken->ticket + CACHE_TAKEN, taken->ticket + CACHE_DONE))
        raw_futex_wake(&taken->request->stage, INT32_MAX);
    else
        atomic_store(&taken->request->stage, taken->ticket + CACHE_FREE); /* given up */
}

static void reply_arrived(void *context)
{
    reply(context, 0);
}

static void serve(struct agent *agent, struct cache_request *request)
{
    uint32_t word = atomic_load(&request->stage);
    struct taken taken = {.request = request, .ticket = word - word % CACHE_STAGES};
    struct node_arrival arrival = {.arrived = reply_arrived, .context = &taken};
    if (word % CACHE_STAGES != CACHE_POSTED ||
        !cache_request_move(request, word, taken.ticket + CACHE_TAKEN))
        return; /* given up meanwhile */
    struct wish wish = copy_wish(request);
    if (wish.kind == CACHE_AHEAD) { /* nobody waits */
        atomic_store(&request->stage, taken.ticket + CACHE_FREE);
        queue_ahead(agent, &wish);
        return;
    }
    reply(&taken, answer(agent, &wish, &arrival));
}

/* Take one posted request and serve it. */
static bool serve_request(struct agent *agent)
{
    struct cache_control *control = agent->control;
    for (uint32_t i = 0; i < agent->node.store.shape.request_count / 64; i++) {
        uint64_t word;
        while ((word = atomic_load_explicit(&control->posted[i], memory_order_relaxed)) != 0) {
            uint64_t bit = word & -word;
            if (!(atomic_fetch_and(&control->posted[i], ~bit) & bit))
                continue; /* another thread has it */
            serve(agent, &control->request[i * 64 + (uint32_t)__builtin_ctzll(bit)]);
            return true;
        }
    }
    return false;
}

static bool is_posted(const struct agent *agent)
{
    for (uint32_t i = 0; i < agent->node.store.shape.request_count / 64; i++) {
        if (atomic_load(&agent->control->posted[i]) != 0)
            return true;
    }
    return false;
}

/* A client whose number means nothing here is known to be gone by its silence only. If it comes
 * back after all, it finds another ticket. */
static bool is_stale(struct agent *agent, uint32_t index, uint32_t word)
{
    struct agent_place *place = &agent->foreign[index % AGENT_REQUESTS_MAX];
    if (place->word != word) {
        *place = (struct agent_place){.word = word, .since_ns = clock_now_ns()};
        return false;
    }
    return clock_now_ns() - place->since_ns > agent->card->patience_ns + FOREIGN_NS;
}

void agent_pool_reap(struct agent *agent)
{
    for (uint32_t i = 0; i < agent->node.store.shape.request_count; i++) {
        struct cache_request *request = &agent->control->request[i];
        uint32_t word = atomic_load(&request->stage);
        uint32_t stage = word % CACHE_STAGES;
        if (stage != CACHE_FILLING && stage != CACHE_DONE)
            continue;
        int pid = atomic_load_explicit(&request->pid, memory_order_relaxed);
        bool is_gone = pid > 0 ? kill(pid, 0) < 0 && errno == ESRCH : is_stale(agent, i, word);
        if (is_gone)
            cache_request_move(request, word, word - stage + CACHE_FREE);
    }
}

/* ---- Read-ahead ----------------------------------------------------------------------------- */

static bool take_ahead(struct agent *agent, struct agent_ahead *wanted)
{
    pthread_mutex_lock(&agent->ahead_lock);
    bool is_there = agent->ahead_count > 0;
    if (is_there) {
        *wanted = agent->ahead[agent->ahead_first];
        agent->ahead_first = (agent->ahead_first + 1) % AGENT_AHEAD_MAX;
        agent->ahead_count--;
    }
    pthread_mutex_unlock(&agent->ahead_lock);
    return is_there;
}

static bool read_ahead(struct agent *agent)
{
    struct agent_ahead wanted;
    int most = agent->thread_count - KEPT_FOR_WAITERS;
    bool is_done = false;
    if (atomic_fetch_add(&agent->ahead_busy, 1) < (most > 0 ? most : 1) &&
        take_ahead(agent, &wanted)) {
        cache_count(agent->control, 0, CACHE_READ_AHEADS, 1);
        fetch_block(agent, wanted.file_id, wanted.block, NULL);
        is_done = true;
    }
    atomic_fetch_sub(&agent->ahead_busy, 1);
    return is_done;
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void rest(struct agent *agent, uint32_t bell)
{
    struct cache_control *control = agent->control;
    atomic_fetch_add(&control->sleepers, 1);
    /* seq_cst, with post() in client/ask.c: a request that we do not see here rings the bell. */
    if (!is_posted(agent))
        raw_futex_wait(&control->bell, bell, SLEEP_NS);
    atomic_fetch_sub(&control->sleepers, 1);
}

static void *work(void *argument)
{
    struct agent *agent = argument;
    while (!atomic_load_explicit(&agent->is_ending, memory_order_acquire)) {
        uint32_t bell = atomic_load(&agent->control->bell);
        agent_endings_tell(agent);
        if (!serve_request(agent) && !read_ahead(agent))
            rest(agent, bell);
    }
    return NULL;
}

int agent_pool_start(struct agent *agent, int thread_count)
{
    pthread_mutex_init(&agent->ahead_lock, NULL);
    agent->thread_count = thread_count;
    for (int i = 0; i < thread_count; i++) {
        int error = pthread_create(&agent->threads[i], NULL, work, agent);
        if (error) {
            agent->thread_count = i;
            return i > 0 ? 0 : -error;
        }
    }
    return 0;
}

void agent_pool_stop(struct agent *agent)
{
    raw_futex_wake(&agent->control->bell, INT32_MAX);
    for (int i = 0; i < agent->thread_count; i++)
        pthread_join(agent->threads[i], NULL);
    pthread_mutex_destroy(&agent->ahead_lock);
}
