/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as the server has them: their memory, channels, and the calls that come by these.
 */
#include "simulated/server.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

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

#define COMPUTING_NS 2000 /* more than MPI itself does between two looks */
#define LOOK_MAX_NS  1000000
#define VAIN_MAX     10 /* then looks are a tenth of a millisecond apart, as one takes 100 ns */

/* A program that does nothing but look, as MPI does, may as well look less often: what comes ends
 * the pause. Who computes meanwhile has something else to do. */
static void look_prepare(struct channel *channel, uint64_t computed_ns)
{
    struct martini_call *call = &channel->call;
    if (computed_ns > COMPUTING_NS)
        channel->vain = 0;
    if (call->timeout_ns <= LOOK_MAX_NS)
        call->timeout_ns <<= channel->vain;
}

static void look_over(struct channel *channel)
{
    const struct martini_call *call = &channel->call;
    bool is_in_vain = call->operation == MARTINI_LOOK && call->result == RH_ETIMEOUT;
    if (!is_in_vain)
        channel->vain = 0;
    else if (channel->vain < VAIN_MAX)
        channel->vain++;
}

static void call_serve(struct channel *channel)
{
    struct server *server = channel->rank->server;
    struct martini_call *call = &channel->call;
    struct station *station = channel->rank->station;
    uint64_t cost = compute_cost_ns(server->compute, station->rank,
                                    (struct computed){call->computed_ns, call->computed_calls});
    station_sleep(station, (sim_time)cost * SIM_NS);
    if (server->options->compute.kind != COMPUTE_NONE)
        station_sleep(station, station_memory_cost(station, call));
    if (call->operation == MARTINI_LOOK && call->is_patient)
        look_prepare(channel, cost);
    call->text[0] = '\0';
    call->result = call_check(server, call);
    if (call->result == 0)
        station_serve(station, call);
    look_over(channel);
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
        if (channel->has_next) { /* it was released from the park that this was */
            channel->call = channel->next_call;
            channel->has_next = false;
            call_serve(channel);
        }
        channel->is_busy = false;
        channel->answered_ns = clock_now_ns();
        if (channel->fd >= 0)
            (void)!send(channel->fd, &channel->call, sizeof(channel->call), MSG_NOSIGNAL);
        sim_stop(sim); /* nothing else happens before the rank has gone on */
    }
}

/* Calls that have come while the world stood still, by rank: the order in which they came is the
 * machine's, and must not matter. */
void server_calls_begin(struct server *server)
{
    for (uint32_t i = 0; i < server->size; i++) {
        for (struct channel *at = server->ranks[i].channels; at; at = at->next) {
            if (!at->is_new)
                continue;
            at->is_new = false;
            if (at->has_next)
                host_memory_changed(process_host(at->rank->station->process));
            else
                sim_condition_signal(server->world->sim, &at->wanted);
            at->is_released = false;
        }
    }
}

/* ---- Channels and ranks come and go ---------------------------------------------------------- */

/* Its fiber stays where it is, and is forgotten with the world. */
static void channel_close(struct channel *channel)
{
    descriptor_close(&channel->fd);
    channel->is_busy = channel->is_new = channel->is_released = channel->has_next = false;
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

/* Which of a rank's threads calls first is the machine's doing, and so is what they compute. */
static bool is_refused(const struct server_rank *rank)
{
    enum compute_kind kind = rank->server->options->compute.kind;
    if (kind != COMPUTE_RECORD && kind != COMPUTE_REPLAY)
        return false;
    fprintf(stderr,
            "rhinet: simulation: rank %d has a second thread, whose computing can neither be "
            "recorded nor replayed; use --compute measured\n",
            rank->station->rank);
    return true;
}

/* The first thread's was made before, so that fibers are numbered by rank. */
static void channel_open(struct server_rank *rank, int fd)
{
    struct ucred whose = {0};
    socklen_t length = sizeof(whose);
    bool is_first = rank->pid == 0;
    struct channel *channel = is_first           ? rank->channels
                              : is_refused(rank) ? NULL
                                                 : channel_make(rank);
    if (!channel || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &whose, &length) < 0) {
        close(fd);
        return;
    }
    rank->pid = whose.pid;
    rank->station->reach = &rank->reach;
    channel->fd = fd;
    channel->answered_ns = clock_now_ns();
}

void server_control_read(struct server_rank *rank)
{
    char letter;
    struct descriptor_message message = {.data = &letter, .length = sizeof(letter)};
    int result = descriptor_receive(rank->control, &message, MSG_DONTWAIT);
    if (result < 0 && result != -EAGAIN)
        rank_gone(rank);
    for (int i = 0; result >= 0 && i < message.fd_count; i++)
        channel_open(rank, message.fd[i]);
}

void server_channel_read(struct channel *channel)
{
    struct martini_call call;
    ssize_t length = recv(channel->fd, &call, sizeof(call), MSG_DONTWAIT);
    if (length == (ssize_t)sizeof(call)) {
        bool is_parked = channel->is_released && call.operation == MARTINI_PARK;
        channel->is_busy = true;
        channel->is_new = !is_parked;
        channel->has_next = channel->is_released && !is_parked;
        *(channel->has_next ? &channel->next_call : &channel->call) = call;
    } else if (length >= 0 || errno != EAGAIN) {
        channel_close(channel);
    }
}

/* ---- All of them ---------------------------------------------------------------------------- */

void server_ranks_close(struct server *server)
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

int server_ranks_open(struct server *server)
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
