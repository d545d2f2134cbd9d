/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who waits for whom on the other hosts, and what they have counted, for `rhinet doctor` and `top`:
 * they can read the board of their own host only. Asked by a byte in a pipe, the task manager asks
 * the others, each of which tells what its ranks have on their boards; that goes into their places
 * on the board here. Answers are numbered by the round that they belong to, so that a late one is
 * not taken for news. A rank's counters go first: its waits come with the time that makes all of it
 * news, and what goes over a link arrives in order.
 */
#include "base/clock.h"
#include "base/error.h"
#include "job/job_map.h"
#include "job/manager/state.h"
#include "watch/diagnosis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define COUNTERS_A_FRAME (MESH_DATA_MAX / sizeof(uint64_t))

/* A rank's part of the board, by its host's clock. */
struct host_waits {
    int64_t now_ns;
    struct board_wait wait[BOARD_WAITS];
    struct board_group group[BOARD_GROUPS];
};
_Static_assert(sizeof(struct host_waits) <= MESH_DATA_MAX, "fits a frame");

int manager_query_open(struct manager *manager)
{
    struct manager_query *query = &manager->query;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = MANAGER_QUERY};
    query->offset_ns = calloc((size_t)manager->map->node_count, sizeof(query->offset_ns[0]));
    if (!query->offset_ns || pipe2(query->fd, O_CLOEXEC | O_NONBLOCK) < 0 ||
        epoll_ctl(manager->poll_fd, EPOLL_CTL_ADD, query->fd[0], &event) < 0)
        return error_fail(RH_ENOSPACE, "no descriptor left to be asked by: %s", strerror(errno));
    /* Our own end stays open: without any writer the pipe would wake us for ever. */
    atomic_store(&manager->memory.roster->query_fd, query->fd[1]);
    return 0;
}

void manager_query_close(struct manager *manager)
{
    struct manager_query *query = &manager->query;
    for (int i = 0; i < 2; i++) {
        if (query->fd[i] > 0)
            close(query->fd[i]);
    }
    free(query->offset_ns);
    *query = (struct manager_query){.fd = {-1, -1}};
}

void manager_query_serve(struct manager *manager)
{
    char bytes[64];
    struct mesh_frame frame = {.kind = HOST_QUERY};
    if (read(manager->query.fd[0], bytes, sizeof(bytes)) <= 0)
        return;
    uint32_t round = atomic_fetch_add(&manager->memory.roster->query_round, 1) + 1;
    frame.value[0] = (int32_t)round;
    mesh_send_all(manager->mesh, &frame);
}

/* A wait that changes while it is read is none to speak of. */
static void copy_wait(struct board_wait *copy, const struct board_wait *wait)
{
    uint32_t turn = atomic_load_explicit(&wait->turn, memory_order_acquire);
    copy->call = atomic_load_explicit(&wait->call, memory_order_acquire);
    copy->peer = atomic_load_explicit(&wait->peer, memory_order_acquire);
    copy->number = atomic_load_explicit(&wait->number, memory_order_acquire);
    copy->length = atomic_load_explicit(&wait->length, memory_order_acquire);
    copy->moved = atomic_load_explicit(&wait->moved, memory_order_acquire);
    copy->since_ns = atomic_load_explicit(&wait->since_ns, memory_order_acquire);
    copy->looks = atomic_load_explicit(&wait->looks, memory_order_acquire);
    copy->thread = atomic_load_explicit(&wait->thread, memory_order_acquire);
    copy->turn = turn;
    if (turn % 2 != 0 || atomic_load_explicit(&wait->turn, memory_order_acquire) != turn)
        *copy = (struct board_wait){.turn = turn & ~1u};
}

static void tell_counters(struct manager *manager, int seat, int32_t round, int rank)
{
    const struct counters *counters = &manager->memory.board[rank].counters;
    for (unsigned first = 0; first < COUNTERS_MAX; first += COUNTERS_A_FRAME) {
        uint64_t values[COUNTERS_A_FRAME];
        unsigned count = 0;
        for (; count < COUNTERS_A_FRAME && first + count < COUNTERS_MAX; count++)
            values[count] = counter_read(counters, first + count);
        struct mesh_frame frame = {.kind = HOST_COUNTERS,
                                   .seat = rank,
                                   .value = {round, (int32_t)first},
                                   .length = count * (uint32_t)sizeof(values[0])};
        memcpy(frame.data, values, frame.length);
        mesh_send(manager->mesh, seat, &frame);
    }
}

static void tell_waits(struct manager *manager, int seat, int32_t round, int rank)
{
    struct board_rank *board = &manager->memory.board[rank];
    int pid = atomic_load_explicit(&manager->memory.roster->peer[rank].pid, memory_order_relaxed);
    struct process_look process = process_look(pid);
    struct host_waits waits = {.now_ns = clock_now_ns()};
    for (int i = 0; i < BOARD_WAITS; i++)
        copy_wait(&waits.wait[i], &board->wait[i]);
    for (int i = 0; i < BOARD_GROUPS; i++) {
        waits.group[i].key = atomic_load_explicit(&board->group[i].key, memory_order_acquire);
        waits.group[i].size = atomic_load_explicit(&board->group[i].size, memory_order_acquire);
        waits.group[i].entered = atomic_load_explicit(&board->group[i].entered,
                                                      memory_order_acquire);
    }
    struct mesh_frame frame = {.kind = HOST_WAITS,
                               .seat = rank,
                               .value = {round, process.state, (int32_t)process.thread_count},
                               .length = sizeof(waits)};
    memcpy(frame.data, &waits, sizeof(waits));
    mesh_send(manager->mesh, seat, &frame);
}

void manager_query_answer(struct manager *manager, int seat, int32_t round)
{
    for (int rank = 0; rank < manager->size; rank++) {
        if (!job_map_is_here(manager->map, rank) ||
            roster_state(manager->memory.roster, rank) != RH_PEER_JOINED)
            continue;
        tell_counters(manager, seat, round, rank);
        tell_waits(manager, seat, round, rank);
    }
}

static void put_wait(struct board_wait *wait, const struct board_wait *told, int64_t offset_ns)
{
    atomic_store(&wait->turn, told->turn | 1); /* odd: it changes */
    atomic_store(&wait->call, told->call);
    atomic_store(&wait->peer, told->peer);
    atomic_store(&wait->number, told->number);
    atomic_store(&wait->length, told->length);
    atomic_store(&wait->moved, told->moved);
    atomic_store(&wait->since_ns, told->since_ns + offset_ns);
    atomic_store(&wait->looks, told->looks);
    atomic_store(&wait->thread, told->thread);
    atomic_store(&wait->turn, told->turn & ~1u);
}

/* The clocks' difference is taken once, so that a wait begins at the same time in every round. */
static int64_t offset_of(struct manager *manager, int rank, int64_t their_now_ns)
{
    int64_t *offset_ns = &manager->query.offset_ns[manager->map->node_of[rank]];
    if (*offset_ns == 0)
        *offset_ns = clock_now_ns() - their_now_ns;
    return *offset_ns;
}

static bool is_of_this_round(const struct manager *manager, const struct mesh_frame *frame)
{
    return (uint32_t)frame->value[0] == atomic_load(&manager->memory.roster->query_round);
}

void manager_query_counted(struct manager *manager, const struct mesh_frame *frame)
{
    struct counters *counters = &manager->memory.board[frame->seat].counters;
    uint32_t first = (uint32_t)frame->value[1], count = frame->length / (uint32_t)sizeof(uint64_t);
    if (first > COUNTERS_MAX || count > COUNTERS_MAX - first || !is_of_this_round(manager, frame))
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, frame->data + i * sizeof(value), sizeof(value));
        atomic_store_explicit(&counters->value[first + i], value, memory_order_relaxed);
    }
}

void manager_query_told(struct manager *manager, const struct mesh_frame *frame)
{
    struct host_waits waits;
    struct board_rank *board = &manager->memory.board[frame->seat];
    if (frame->length != sizeof(waits) || !is_of_this_round(manager, frame))
        return;
    memcpy(&waits, frame->data, sizeof(waits));
    int64_t offset_ns = offset_of(manager, frame->seat, waits.now_ns);
    for (int i = 0; i < BOARD_WAITS; i++)
        put_wait(&board->wait[i], &waits.wait[i], offset_ns);
    for (int i = 0; i < BOARD_GROUPS; i++) {
        atomic_store(&board->group[i].size, waits.group[i].size);
        atomic_store(&board->group[i].entered, waits.group[i].entered);
        atomic_store(&board->group[i].key, waits.group[i].key);
    }
    atomic_store(&board->told.process_state, (uint32_t)frame->value[1]);
    atomic_store(&board->told.thread_count, (uint32_t)frame->value[2]);
    atomic_store(&board->told.at_ns, clock_now_ns());
}
