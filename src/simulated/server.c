/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulation's server: a world whose ranks are other processes. Each thread of a rank that uses
 * its NIC has a channel here, and a fiber that acts for it: takes a call from the socket, carries
 * it out in virtual time, answers.
 *
 * Virtual time passes only while every rank that lives waits for an answer. So between an answer
 * and the rank's next call nothing happens here, ranks never run at the same time as the world that
 * reads and writes their memory, and a job of single-threaded ranks is the same each time it runs.
 * A rank of which one thread waits and another computes counts as waiting, after a moment.
 */
#include "simulated/server.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "sim/usage/usage.h"

#include <errno.h>

#include <stdio.h>
#include <string.h>

#define GRACE_NS   (2 * NS_PER_MS) /* for another call of a rank of which a thread waits */
#define EVENT_TURN 200000          /* events after which the outside is looked at again */

/* ---- The loop -------------------------------------------------------------------------------- */

/* How long to wait for this rank's next call, in ms: 0: not at all, -1: until it comes. */
static int rank_patience(const struct server_rank *rank, int64_t now_ns)
{
    bool has_waiter = false;
    int64_t answered_ns = 0;
    if (rank->control < 0)
        return 0;
    for (const struct channel *at = rank->channels; at; at = at->next) {
        has_waiter = has_waiter || (at->fd >= 0 && at->is_busy);
        if (at->fd >= 0 && !at->is_busy && at->answered_ns > answered_ns)
            answered_ns = at->answered_ns;
    }
    if (!has_waiter)
        return -1;
    return now_ns - answered_ns < GRACE_NS ? 1 : 0;
}

static int patience(const struct server *server)
{
    int64_t now_ns = clock_now_ns();
    int most = 0;
    for (uint32_t i = 0; i < server->size; i++) {
        int one = rank_patience(&server->ranks[i], now_ns);
        if (one < 0)
            return -1;
        most = one > most ? one : most;
    }
    return most;
}

static bool polled_add(struct server *server, size_t *count, int fd)
{
    if (!array_grow(&server->polled, &server->polled_room, *count + 1))
        return false;
    server->polled[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
    return true;
}

static void rank_serve(struct server *server, struct server_rank *rank, size_t *at)
{
    const struct pollfd *control = &server->polled[(*at)++];
    struct channel *next;
    for (struct channel *channel = rank->channels; channel; channel = next) {
        next = channel->next; /* of those that were polled */
        if (channel->fd >= 0 && !channel->is_busy && server->polled[(*at)++].revents)
            server_channel_read(channel);
    }
    if (control->revents)
        server_control_read(rank);
}

/* Calls, new threads, ends: what has come, or comes within the timeout. */
static int outside_look(struct server *server, int timeout_ms)
{
    size_t count = 0, at = 0;
    bool is_complete = true;
    for (uint32_t i = 0; i < server->size; i++) {
        struct server_rank *rank = &server->ranks[i];
        if (rank->control < 0)
            continue;
        is_complete = is_complete && polled_add(server, &count, rank->control);
        for (struct channel *channel = rank->channels; channel; channel = channel->next) {
            if (channel->fd >= 0 && !channel->is_busy)
                is_complete = is_complete && polled_add(server, &count, channel->fd);
        }
    }
    if (!is_complete)
        return error_fail(RH_ENOSPACE, "no memory to serve %u ranks", server->size);
    if (poll(server->polled, count, timeout_ms) <= 0)
        return 0;
    for (uint32_t i = 0; i < server->size; i++) {
        if (server->ranks[i].control >= 0)
            rank_serve(server, &server->ranks[i], &at);
    }
    return 0;
}

static int serve(struct server *server)
{
    int result = 0;
    while (server->live_count > 0 && result == 0) {
        int wait_ms = patience(server);
        result = outside_look(server, wait_ms);
        if (result < 0 || patience(server) != 0 ||
            (server->is_outside && !server_outside_is_over(server)))
            continue;
        server_calls_begin(server);
        int end = sim_run(server->world->sim, SIM_NEVER, EVENT_TURN);
        bool is_stuck = end == SIM_IDLE && server->live_count > 0 && patience(server) == 0;
        if (is_stuck && server_outside_go(server))
            server->is_outside = true;
        else if (is_stuck)
            result = outside_look(server, -1); /* only the outside can change anything */
        else if (end < 0)
            result = error_fail(RH_ENOSPACE, "the simulation is out of memory");
    }
    return result;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void report(const struct server *server)
{
    const char *path = server->options->report;
    struct sim *sim = server->world->sim;
    FILE *out = !path ? NULL : strcmp(path, "-") == 0 ? stderr : fopen(path, "w");
    struct chip_count sum = {0};
    if (!out)
        return;
    for (uint32_t i = 0; i < server->size; i++) {
        const struct chip_count *one = chip_count(cluster_chip(server->world->cluster, i));
        sum.pushes += one->pushes, sum.pulls += one->pulls, sum.botfs += one->botfs;
        sum.aotfs += one->aotfs, sum.acks += one->acks, sum.vpushes += one->vpushes;
        sum.received += one->received, sum.discarded += one->discarded, sum.cpu += one->cpu;
    }
    fprintf(out,
            "simulated: %u nodes, %.6f ms of virtual time, %llu events, hash %016llx\n"
            "simulated: packets: %llu PUSH, %llu PULL, %llu BOTF, %llu AOTF, %llu acks; %llu "
            "VPUSHes; %llu received, %llu discarded; on-chip CPUs worked %.6f ms\n",
            server->size, (double)sim_now(sim) / (double)SIM_MS,
            (unsigned long long)sim_event_count(sim), (unsigned long long)sim_hash(sim),
            (unsigned long long)sum.pushes, (unsigned long long)sum.pulls,
            (unsigned long long)sum.botfs, (unsigned long long)sum.aotfs,
            (unsigned long long)sum.acks, (unsigned long long)sum.vpushes,
            (unsigned long long)sum.received, (unsigned long long)sum.discarded,
            (double)sum.cpu / (double)SIM_MS);
    if (out != stderr)
        fclose(out);
}

/* Where the time went. */
static void usage_report(const struct server *server)
{
    static const char *const names[] = {
        [MARTINI_PUSH] = "push",     [MARTINI_PULL] = "pull",     [MARTINI_STORE] = "store",
        [MARTINI_ATOMIC] = "atomic", [MARTINI_APPEND] = "append", [MARTINI_FLUSH] = "flush",
        [MARTINI_PAUSE] = "wait",    [MARTINI_OPERATIONS] = NULL};
    const struct martini_world *world = server->world;
    const char *path = server->options->usage;
    struct usage_call calls[MARTINI_OPERATIONS];
    struct usage_view view = {
        .cluster = world->cluster, .span = sim_now(world->sim), .calls = calls};
    for (int i = 0; i < MARTINI_OPERATIONS; i++) {
        if (names[i])
            calls[view.call_count++] = (struct usage_call){names[i], &world->latency[i]};
    }
    if (path && strcmp(path, "-") == 0) {
        usage_print(&view, stderr);
        return;
    }
    FILE *out = path ? fopen(path, "w") : NULL;
    if (out)
        usage_json(&view, out);
    if (path && (!out || ferror(out) || fclose(out) != 0))
        fprintf(stderr, "rhinet: simulation: cannot write %s: %s\n", path, strerror(errno));
}

int martini_serve(const struct martini_serve_options *options)
{
    struct server server = {.options = options, .size = options->spec.size};
    int result = martini_world_create(&server.world, &options->spec);
    if (result == 0)
        result = compute_open(&server.compute, &options->compute, server.size);
    if (result == 0)
        result = server_ranks_open(&server);
    if (result == 0)
        result = serve(&server);
    int closed = compute_close(server.compute);
    result = result < 0 ? result : closed;
    if (result < 0)
        fprintf(stderr, "rhinet: simulation: %s: %s\n", rh_error_name(result), rh_error_text());
    if (result == 0) {
        report(&server);
        usage_report(&server);
    }
    server_ranks_close(&server);
    if (server.world)
        martini_world_destroy(server.world);
    return result;
}
