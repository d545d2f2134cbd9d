/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The task manager and those of the other hosts: what a member does here is told to them, and what
 * they tell goes into our roster, so that members see the whole job as if it were on one machine.
 * What concerns the launcher is left for it as events.
 */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/settings.h"
#include "job/job_layer.h"
#include "job/job_map.h"
#include "job/manager/state.h"
#include "job/mesh/mesh.h"
#include "nic/nic_layer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

_Static_assert(PROTOCOL_CARD_MAX <= MESH_DATA_MAX, "a card fits a frame");

/* ---- Events --------------------------------------------------------------------------------- */

static struct manager_event *add_event(struct manager *manager, enum manager_event_kind kind)
{
    struct manager_events *events = &manager->events;
    if (!array_grow(&events->event, &events->room, events->start + events->count + 1))
        return NULL;
    struct manager_event *event = &events->event[events->start + events->count++];
    ASSERT(events->start + events->count <= events->room);
    *event = (struct manager_event){.kind = kind, .node = -1, .rank = -1};
    return event;
}

bool manager_next_event(struct manager *manager, struct manager_event *event)
{
    struct manager_events *events = &manager->events;
    if (events->count == 0) {
        events->start = 0;
        return false;
    }
    *event = events->event[events->start++];
    events->count--;
    return true;
}

/* ---- What the others say -------------------------------------------------------------------- */

static void all_are_there(void *context)
{
    struct manager *manager = context;
    struct roster_node *nodes = roster_nodes(manager->memory.roster);
    for (int node = 0; node < manager->map->node_count; node++) {
        const char *address = mesh_address(manager->mesh, job_map_seat_of(manager->map, node));
        snprintf(nodes[node].address, sizeof(nodes[node].address), "%s", address);
    }
    add_event(manager, MANAGER_READY);
}

static void state_told(struct manager *manager, int rank, int state)
{
    struct roster *roster = manager->memory.roster;
    if (state != RH_PEER_JOINED && state != RH_PEER_LEFT)
        return;
    if (roster_state(roster, rank) < (enum rh_peer_state)state)
        atomic_store_explicit(&roster->peer[rank].state, (uint32_t)state, memory_order_release);
}

static void end_told(struct manager *manager, const struct mesh_frame *frame)
{
    struct rank_end end = {.status = frame->value[0], .signal = frame->value[1]};
    end.state = end.status || end.signal ? RH_PEER_DIED : RH_PEER_LEFT;
    manager_end_set(manager, frame->seat, end);
    struct manager_event *event = add_event(manager, MANAGER_RANK_ENDED);
    if (!event)
        return;
    event->rank = frame->seat;
    event->node = manager->map->node_of[frame->seat];
    event->status = end.status;
    event->signal = end.signal;
    event->pid = frame->value[2];
}

static void frame_arrived(void *context, int seat, const struct mesh_frame *frame)
{
    struct manager *manager = context;
    const struct job_map *map = manager->map;
    int rank = frame->seat;
    if (frame->kind == HOST_END) {
        struct manager_event *event = seat == 0 ? add_event(manager, MANAGER_END) : NULL;
        if (event)
            event->signal = frame->value[0];
        return;
    }
    if (frame->kind == HOST_QUERY) {
        manager_query_answer(manager, seat, frame->value[0]);
        return;
    }
    if (rank < 0 || rank >= manager->size || job_map_seat_of(map, map->node_of[rank]) != seat)
        return; /* nobody speaks for another's ranks */
    if (frame->kind == HOST_STATE)
        state_told(manager, rank, frame->value[0]);
    else if (frame->kind == HOST_ENDED)
        end_told(manager, frame);
    else if (frame->kind == HOST_CARD)
        manager_card_keep(&manager->members[rank], frame->data, frame->length);
    else if (frame->kind == HOST_WAITS)
        manager_query_told(manager, frame);
    else if (frame->kind == HOST_COUNTERS)
        manager_query_counted(manager, frame);
}

/* Ranks of which nobody will tell us any more. */
static void end_ranks_of(struct manager *manager, int node, int status)
{
    struct rank_end end = {.state = RH_PEER_DIED, .status = status};
    for (int rank = 0; rank < manager->size; rank++) {
        if (manager->map->node_of[rank] == node &&
            roster_state(manager->memory.roster, rank) < RH_PEER_LEFT)
            manager_end_set(manager, rank, end);
    }
}

static void host_left(void *context, int seat, int status)
{
    struct manager *manager = context;
    int node = job_map_node_of(manager->map, seat);
    end_ranks_of(manager, node, status ? status : ROSTER_END_UNKNOWN);
    struct manager_event *event = add_event(manager, MANAGER_HOST_DONE);
    if (event) {
        event->node = node;
        event->status = status;
    }
}

static void host_lost(void *context, int seat, const char *why)
{
    struct manager *manager = context;
    int node = job_map_node_of(manager->map, seat);
    end_ranks_of(manager, node, ROSTER_END_HOST);
    struct manager_event *event = add_event(manager, MANAGER_HOST_LOST);
    if (event) {
        event->node = node;
        snprintf(event->text, sizeof(event->text), "%s", why);
    }
}

static void we_are_cut(void *context, const char *why)
{
    struct manager *manager = context;
    for (int node = 0; node < manager->map->node_count; node++) {
        if (job_map_seat_of(manager->map, node) != manager->map->seat)
            end_ranks_of(manager, node, ROSTER_END_HOST);
    }
    struct manager_event *event = add_event(manager, MANAGER_CUT);
    if (event)
        snprintf(event->text, sizeof(event->text), "%s", why);
}

static void stranger_refused(void *context, uint32_t refused)
{
    struct manager *manager = context;
    manager_refused_count(manager);
}

static void coordinator_pauses(void *context, bool yes)
{
    add_event(context, yes ? MANAGER_PAUSE : MANAGER_RESUME);
}

static const char *host_name(void *context, int seat)
{
    const struct manager *manager = context;
    return job_map_host_name(manager->map, seat);
}

/* ---- What we say ---------------------------------------------------------------------------- */

void manager_state_tell(struct manager *manager, int rank)
{
    struct mesh_frame frame = {.kind = HOST_STATE, .seat = rank};
    if (!manager->mesh)
        return;
    frame.value[0] = (int32_t)roster_state(manager->memory.roster, rank);
    mesh_send_all(manager->mesh, &frame);
}

void manager_end_tell(struct manager *manager, int rank, int status, int signal)
{
    if (!manager->mesh)
        return;
    struct mesh_frame frame = {.kind = HOST_ENDED, .seat = rank, .value = {status, signal}};
    frame.value[2] = atomic_load_explicit(&manager->memory.roster->peer[rank].pid,
                                          memory_order_relaxed);
    mesh_send_all(manager->mesh, &frame);
}

void manager_card_tell(struct manager *manager, int rank)
{
    const struct member *member = &manager->members[rank];
    struct mesh_frame frame = {.kind = HOST_CARD, .seat = rank};
    if (!manager->mesh)
        return;
    frame.length = (uint32_t)member->card_length;
    memcpy(frame.data, member->card, member->card_length);
    mesh_send_all(manager->mesh, &frame);
}

int manager_card_keep(struct member *member, const uint8_t *card, size_t length)
{
    if (member->card)
        return error_fail(RH_EEXIST, "this member has given its card already");
    if (length == 0 || length > PROTOCOL_CARD_MAX)
        return error_fail(RH_EINVALID, "a card of %zu bytes", length);
    member->card = malloc(length);
    if (!member->card)
        return error_fail(RH_ENOSPACE, "the task manager has no memory for a card");
    memcpy(member->card, card, length);
    member->card_length = length;
    return 0;
}

void manager_others_end(struct manager *manager, int signal)
{
    struct mesh_frame frame = {.kind = HOST_END, .value = {signal}};
    if (manager->mesh)
        mesh_send_all(manager->mesh, &frame);
}

void manager_host_drop(struct manager *manager, int node, const char *why)
{
    mesh_drop(manager->mesh, job_map_seat_of(manager->map, node), why);
}

void manager_others_pause(struct manager *manager, bool yes)
{
    if (manager->mesh)
        mesh_pause(manager->mesh, yes);
}

void manager_leave(struct manager *manager, int status)
{
    if (manager->mesh)
        mesh_leave(manager->mesh, status);
}

int manager_present_count(const struct manager *manager)
{
    return manager->mesh ? mesh_present_count(manager->mesh) : 1;
}

const struct address_list *manager_addresses(const struct manager *manager)
{
    return mesh_own_addresses(manager->mesh);
}

/* ---- Life cycle ----------------------------------------------------------------------------- */

static void fill_roster(struct roster *roster, const struct job_map *map)
{
    roster->node_count = (uint32_t)map->node_count;
    roster->own_node = job_map_node_of(map, map->seat);
    for (int rank = 0; rank < map->size; rank++)
        roster->peer[rank].node = map->node_of[rank];
    for (int node = 0; node < map->node_count; node++)
        memcpy(roster_nodes(roster)[node].host, map->host[node], sizeof(map->host[0]));
}

int manager_hosts_open(struct manager *manager, const struct manager_options *options)
{
    const struct job_map *map = options->map;
    if (!map)
        return 0;
    fill_roster(manager->memory.roster, map);
    if (job_map_seat_count(map) == 1) {
        add_event(manager, MANAGER_READY);
        return 0;
    }
    struct mesh_options mesh_options = {
        .seat = map->seat,
        .seat_count = job_map_seat_count(map),
        .job_id = map->job_id,
        .secret = map->secret,
        .coordinator = options->coordinator,
        .interface = setting_text(options->settings, SETTING_INTERFACE),
        .ports = setting_text(options->settings, SETTING_PORTS),
        .silence_ns = (int64_t)setting_number(options->settings, SETTING_HOST_TIMEOUT),
        .start_ns = (int64_t)setting_number(options->settings, SETTING_TIMEOUT),
        .owner = {.context = manager,
                  .ready = all_are_there,
                  .frame = frame_arrived,
                  .left = host_left,
                  .lost = host_lost,
                  .cut = we_are_cut,
                  .refused = stranger_refused,
                  .paused = coordinator_pauses,
                  .host = host_name},
    };
    int result = mesh_create(&manager->mesh, &mesh_options);
    if (result < 0)
        return result;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = MANAGER_MESH};
    if (epoll_ctl(manager->poll_fd, EPOLL_CTL_ADD, mesh_poll_fd(manager->mesh), &event) < 0)
        return error_fail(RH_ENOSPACE, "cannot watch the other hosts: %s", strerror(errno));
    return manager_query_open(manager);
}

void manager_hosts_close(struct manager *manager)
{
    mesh_destroy(manager->mesh);
    manager->mesh = NULL;
    manager_query_close(manager);
    free(manager->events.event);
}
