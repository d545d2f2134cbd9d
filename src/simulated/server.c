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
#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "sim/usage/usage.h"
#include "simulated/station.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define GRACE_NS   (2 * NS_PER_MS) /* for another call of a rank of which a thread waits */
#define EVENT_TURN 200000          /* events after which the outside is looked at again */

struct server_rank;

struct channel {
    struct server_rank *rank;
    int fd;              /* -1: closed, or not open yet */
    bool is_busy;        /* with a call ... */
    bool is_new;         /* ... that its fiber has not been told of */
    int64_t answered_ns; /* wall clock */
    struct martini_call call;
    struct sim_condition wanted;
    struct channel *next;
};

struct server_rank {
    struct server *server;
    struct station *station;
    int control; /* -1: gone */
    int pid;
    struct host_reach reach;
    struct channel *channels;
};

struct server {
    const struct martini_serve_options *options;
    struct martini_world *world;
    struct server_rank *ranks;
    uint32_t size, live_count;
    struct pollfd *polled;
    size_t polled_room;
};

/* ---- The memory of ranks --------------------------------------------------------------------- */

static int reach_read(void *context, uint64_t address, void *target, size_t length)
{
    const struct server_rank *rank = context;
    struct iovec local = {target, length}, remote = {(void *)(uintptr_t)address, length};
    return process_vm_readv(rank->pid, &local, 1, &remote, 1, 0) == (ssize_t)length ? 0 : -EFAULT;
}

static int reach_write(void *context, uint64_t address, const void *source, size_t length)
{
    const struct server_rank *rank = context;
    struct iovec local = {(void *)(uintptr_t)source, length};
    struct iovec remote = {(void *)(uintptr_t)address, length};
    return process_vm_writev(rank->pid, &local, 1, &remote, 1, 0) == (ssize_t)length ? 0 : -EFAULT;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* What stations take for granted. */
static int call_check(const struct server *server, const struct martini_call *call)
{
    bool is_any = call->operation == MARTINI_FLUSH && call->rank == RH_ANY_RANK;
    if (!is_any && (call->rank < 0 || (uint32_t)call->rank >= server->size))
        return error_fail(RH_EINVALID, "there is no rank %d", call->rank);
    if (call->timeout_ns < 0)
        return error_fail(RH_EINVALID, "a wait of %lld ns", (long long)call->timeout_ns);
    return 0;
}

static void call_serve(struct channel *channel)
{
    struct server *server = channel->rank->server;
    struct martini_call *call = &channel->call;
    uint64_t cost = call->computed_ns * server->options->compute_per_mille / 1000;
    station_sleep(channel->rank->station, (sim_time)cost * SIM_NS);
    call->text[0] = '\0';
    call->result = call_check(server, call);
    if (call->result == 0)
        station_serve(channel->rank->station, call);
    if (call->result < 0) {
        call->error_rank = rh_error_rank();
        snprintf(call->text, sizeof(call->text), "%s", rh_error_text());
    }
}

static void channel_body(void *argument)
{
    struct channel *channel = argument;
    struct sim *sim = channel->rank->server->world->sim;
    for (;;) {
        while (!channel->is_busy || channel->is_new)
            fiber_wait(sim, &channel->wanted, SIM_NEVER);
        ASSERT(channel->rank->station);
        call_serve(channel);
        channel->is_busy = false;
        channel->answered_ns = clock_now_ns();
        if (channel->fd >= 0)
            (void)!send(channel->fd, &channel->call, sizeof(channel->call), MSG_NOSIGNAL);
        sim_stop(sim); /* nothing else happens before the rank has gone on */
    }
}

/* Calls that have come while the world stood still, by rank: the order in which they came is the
 * machine's, and must not matter. */
static void calls_begin(struct server *server)
{
    for (uint32_t i = 0; i < server->size; i++) {
        for (struct channel *at = server->ranks[i].channels; at; at = at->next) {
            if (!at->is_new)
                continue;
            at->is_new = false;
            sim_condition_signal(server->world->sim, &at->wanted);
        }
    }
}

/* ---- Channels and ranks come and go ---------------------------------------------------------- */

/* Its fiber stays where it is, and is forgotten with the world. */
static void channel_close(struct channel *channel)
{
    descriptor_close(&channel->fd);
    channel->is_busy = channel->is_new = false;
}

static void rank_gone(struct server_rank *rank)
{
    struct server *server = rank->server;
    if (rank->control < 0)
        return;
    close(rank->control);
    rank->control = -1;
    ASSERT(server->live_count > 0);
    server->live_count--;
    martini_kill(server->world, rank->station->rank, false); /* does nothing if it has left */
    for (struct channel *at = rank->channels; at; at = at->next)
        channel_close(at);
}

static struct channel *channel_make(struct server_rank *rank)
{
    struct channel *channel = calloc(1, sizeof(*channel));
    char name[32];
    snprintf(name, sizeof(name), "rank-%d", rank->station->rank);
    struct fiber_spec spec = {.name = name, .body = channel_body, .argument = channel};
    if (!channel || fiber_create(rank->server->world->sim, &spec, NULL) < 0) {
        free(channel);
        return NULL;
    }
    *channel = (struct channel){
        .rank = rank, .fd = -1, .wanted = {.name = "a call"}, .next = rank->channels};
    rank->channels = channel;
    return channel;
}

/* The first thread's was made before, so that fibers are numbered by rank. */
static void channel_open(struct server_rank *rank, int fd)
{
    struct ucred whose = {0};
    socklen_t length = sizeof(whose);
    bool is_first = rank->pid == 0;
    struct channel *channel = is_first ? rank->channels : channel_make(rank);
    if (!channel || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &whose, &length) < 0) {
        close(fd);
        return;
    }
    rank->pid = whose.pid;
    rank->station->reach = &rank->reach;
    channel->fd = fd;
    channel->answered_ns = clock_now_ns();
}

static void control_read(struct server_rank *rank)
{
    char letter;
    struct descriptor_message message = {.data = &letter, .length = sizeof(letter)};
    int result = descriptor_receive(rank->control, &message, MSG_DONTWAIT);
    if (result < 0 && result != -EAGAIN)
        rank_gone(rank);
    for (int i = 0; result >= 0 && i < message.fd_count; i++)
        channel_open(rank, message.fd[i]);
}

static void channel_read(struct channel *channel)
{
    ssize_t length = recv(channel->fd, &channel->call, sizeof(channel->call), MSG_DONTWAIT);
    if (length == (ssize_t)sizeof(channel->call)) {
        channel->is_busy = channel->is_new = true;
    } else if (length >= 0 || errno != EAGAIN) {
        channel_close(channel);
    }
}

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
            channel_read(channel);
    }
    if (control->revents)
        control_read(rank);
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
        if (result < 0 || patience(server) != 0)
            continue;
        calls_begin(server);
        int end = sim_run(server->world->sim, SIM_NEVER, EVENT_TURN);
        if (end == SIM_IDLE && server->live_count > 0 && patience(server) == 0)
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

static void ranks_close(struct server *server)
{
    for (uint32_t i = 0; server->ranks && i < server->size; i++) {
        struct server_rank *rank = &server->ranks[i];
        while (rank->channels) {
            struct channel *gone = rank->channels;
            rank->channels = gone->next;
            descriptor_close(&gone->fd);
            free(gone);
        }
        descriptor_close(&rank->control);
    }
    free(server->ranks);
    free(server->polled);
}

static int ranks_open(struct server *server)
{
    server->ranks = calloc(server->size, sizeof(*server->ranks));
    if (!server->ranks)
        return error_fail(RH_ENOSPACE, "no memory to serve %u ranks", server->size);
    for (uint32_t i = 0; i < server->size; i++) {
        struct server_rank *rank = &server->ranks[i];
        *rank = (struct server_rank){.server = server,
                                     .station = station_of(server->world, (int)i),
                                     .control = server->options->fds[i],
                                     .reach = {rank, reach_read, reach_write}};
        if (!channel_make(rank))
            return error_set(RH_ENOSPACE, (int)i, "no memory to serve rank %u", i);
    }
    server->live_count = server->size;
    return 0;
}

int martini_serve(const struct martini_serve_options *options)
{
    struct server server = {.options = options, .size = options->spec.size};
    int result = martini_world_create(&server.world, &options->spec);
    if (result == 0)
        result = ranks_open(&server);
    if (result == 0)
        result = serve(&server);
    if (result < 0)
        fprintf(stderr, "rhinet: simulation: %s: %s\n", rh_error_name(result), rh_error_text());
    if (result == 0) {
        report(&server);
        usage_report(&server);
    }
    ranks_close(&server);
    if (server.world)
        martini_world_destroy(server.world);
    return result;
}
