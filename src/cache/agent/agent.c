/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See agent.h: the agent's life.
 */
#include "cache/agent/agent.h"

#include "base/clock.h"
#include "cache/raw.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SERVE_MS  50
#define REAP_NS   NS_PER_S
#define MOUNTS_NS (5 * NS_PER_S)
#define RENEWS    4 /* in the length of a lease */

static void set_state(struct agent *agent, enum cache_agent_state state)
{
    atomic_store_explicit(&agent->control->agent_state, state, memory_order_relaxed);
    atomic_store_explicit(&agent->card->agent_state, state, memory_order_release);
    raw_futex_wake(&agent->card->agent_state, INT32_MAX);
}

/* The memory that clients only read is given to them so. */
static int for_reading(int fd)
{
    char link[48];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    int opened = open(link, O_RDONLY | O_CLOEXEC);
    return opened >= 0 ? opened : dup(fd); /* without /proc they are trusted */
}

static void *keep_claims(void *argument)
{
    struct agent *agent = argument;
    struct timespec pause = {.tv_nsec = SERVE_MS * NS_PER_MS};
    int64_t next_ns = 0;
    while (!atomic_load_explicit(&agent->is_ending, memory_order_acquire)) {
        if (clock_now_ns() >= next_ns) {
            directory_leases_renew(&agent->node.directory);
            next_ns = clock_deadline_ns(agent->node.directory.lease_ns / RENEWS);
        }
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

int agent_start(struct agent *agent, struct rh_job *job, const struct agent_options *options)
{
    agent->control = options->control;
    agent->control_fd = options->control_fd;
    agent->card = options->card;
    agent->card_fd = options->card_fd;
    agent->listen_fd = -1;
    agent->is_service = options->is_service;
    agent->idle_ns = options->idle_ns;
    agent->active_ns = clock_now_ns();
    agent->settle_ns = options->card->settle_ns;
    pthread_mutex_init(&agent->ending_lock, NULL);
    agent->mounts = options->mounts;
    struct node_options node = options->node;
    node.mounts = &agent->mounts;
    int result = node_open(&agent->node, job, options->control, &node);
    if (result < 0)
        return result;
    agent->arena_fd = for_reading(agent->node.arena_fd);
    agent->watch_fd = for_reading(agent->node.watch_fd);
    mounts_refresh(&agent->mounts, agent->card);
    agent_declared_look(agent);
    result = agent_socket_open(agent, options->socket_name);
    if (result < 0)
        return result;
    result = agent_pool_start(agent, options->thread_count);
    if (result == 0)
        result = -pthread_create(&agent->keeper, NULL, keep_claims, agent);
    if (result < 0)
        return result;
    atomic_store_explicit(&agent->control->agent_pid, getpid(), memory_order_relaxed);
    atomic_store_explicit(&agent->card->agent_pid, getpid(), memory_order_relaxed);
    set_state(agent, CACHE_AGENT_READY);
    return 0;
}

void agent_serve(struct agent *agent, int timeout_ms)
{
    atomic_fetch_add_explicit(&agent->card->beat, 1, memory_order_relaxed);
    agent_socket_serve(agent, timeout_ms);
    atomic_store_explicit(&agent->control->nodes_alive,
                          directory_alive_count(&agent->node.directory), memory_order_relaxed);
    atomic_store_explicit(&agent->control->singlet_permille,
                          atomic_load_explicit(&agent->node.policy.ratio, memory_order_relaxed) /
                              1000,
                          memory_order_relaxed);
}

void agent_end(struct agent *agent)
{
    set_state(agent, CACHE_AGENT_GONE); /* before the memory goes */
    atomic_store_explicit(&agent->is_ending, true, memory_order_release);
    agent_pool_stop(agent);
    pthread_join(agent->keeper, NULL);
    agent_socket_close(agent);
    agent_users_forget(agent);
    close(agent->arena_fd);
    close(agent->watch_fd);
    node_close(&agent->node);
    mounts_close(&agent->mounts);
    pthread_mutex_destroy(&agent->ending_lock);
}

/* Serve until our program has ended, and then until all others' have: they may want our blocks. A
 * service has no program: see lifetime.c. */
static void serve_all(struct agent *agent)
{
    int64_t reap_ns = 0, mounts_ns = clock_deadline_ns(MOUNTS_NS);
    for (;;) {
        agent_serve(agent, SERVE_MS);
        if (clock_now_ns() >= reap_ns) {
            agent_pool_reap(agent);
            reap_ns = clock_deadline_ns(REAP_NS);
        }
        if (clock_now_ns() >= mounts_ns) {
            mounts_refresh(&agent->mounts, agent->card);
            mounts_ns = clock_deadline_ns(MOUNTS_NS);
        }
        if (agent_is_over(agent))
            return;
    }
}

int agent_run(const struct agent_options *options)
{
    static struct agent agent; /* too large for a stack; the process has one */
    struct rh_job *job;
    int result = rh_join(&job, NULL);
    if (result == 0)
        result = agent_start(&agent, job, options);
    if (result < 0) {
        fprintf(stderr, "rhinet cache: %s; going on without the cache\n", rh_error_text());
        return result;
    }
    serve_all(&agent);
    agent_end(&agent);
    rh_leave(job);
    return 0;
}
