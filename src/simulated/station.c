/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls: which one is carried out by whom, what it costs the rank, and waiting.
 */
#include "simulated/station.h"
#include "base/assert.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

void station_read(struct station *station, uint64_t address, void *target, size_t length)
{
    const struct host_reach *reach = station->reach;
    if (length == 0)
        return;
    if (!reach)
        memcpy(target, (const void *)(uintptr_t)address, length);
    else if (reach->read(reach->context, address, target, length) < 0)
        memset(target, 0, length);
}

void station_write(struct station *station, uint64_t address, const void *source, size_t length)
{
    const struct host_reach *reach = station->reach;
    if (length == 0)
        return;
    if (!reach)
        memcpy((void *)(uintptr_t)address, source, length);
    else
        (void)reach->write(reach->context, address, source, length);
}

int station_peer_check(struct station *station, int rank)
{
    if (!station_is_gone(station_of(station->world, rank)))
        return 0;
    return error_set(RH_EDEAD, rank, "rank %d is gone", rank); /* the NIC says it better */
}

/* The time of one look at all these places. */
static sim_time scan_cost(struct station *station, const struct martini_call *call)
{
    const struct station_segment *segment = station->segments;
    struct host *host = process_host(station->process);
    sim_time cost = 0;
    while (segment && (!segment->is_open || call->address < segment->address ||
                       call->address - segment->address >= segment->length))
        segment = segment->next;
    for (uint64_t i = 0; segment && i < call->value; i++) {
        uint64_t at = call->address - segment->address + i * call->length;
        if (at >= segment->length)
            break;
        cost += host_read_cost(host, segment->memory.physical + at) +
                station_constants(station)->look_ps;
    }
    return cost;
}

#define LINE 32

sim_time station_memory_cost(struct station *station, const struct martini_call *call)
{
    struct host *host = process_host(station->process);
    sim_time line_cost = (sim_time)station_constants(station)->memory_ps, cost = 0;
    bool is_zeroed = call->operation == MARTINI_SEGMENT_ADD && call->kind != NIC_SEGMENT_ATTACHED;
    for (uint64_t at = 0; at < call->copied; at += LINE)
        cost += line_cost + host_read_cost(host, STATION_COPY_AT + at);
    return cost + (is_zeroed ? (sim_time)(call->length / LINE) * line_cost : 0);
}

/* Until something changes. A transfer that has ended is a change. Whoever reads many places in turn
 * is, when one of them changes, anywhere on his round. */
static int pause(struct station *station, const struct martini_call *call)
{
    sim_time deadline = station_deadline(station, call->timeout_ns);
    sim_time look = transfers_deadline(station);
    int result = station_wait(station, look < deadline ? look : deadline);
    sim_time scan = result == 0 && call->value > 0 ? scan_cost(station, call) : 0;
    if (scan > 0)
        station_sleep(station, (sim_time)sim_random_below(station->world->sim, (uint64_t)scan + 1));
    transfers_look(station);
    return result == -ETIMEDOUT && station_now(station) >= deadline ? RH_ETIMEOUT : 0;
}

static int look(struct station *station, const struct martini_call *call)
{
    struct martini_call pausing = {.timeout_ns = call->timeout_ns};
    return pause(station, &pausing);
}

static int park(struct station *station)
{
    sim_time look = transfers_deadline(station);
    (void)station_wait(station, look);
    transfers_look(station);
    return 0;
}

static int leave(struct station *station)
{
    struct martini_world *world = station->world;
    for (struct station_segment *at = station->segments; at; at = at->next) {
        struct martini_call call = {.sid = at->sid};
        if (at->is_open)
            segment_remove(station, &call);
    }
    station->has_left = true;
    world->gone_count++;
    if (world->spec.ended)
        world->spec.ended(world->spec.context, station->rank, false);
    world_ring(world);
    return 0;
}

/* What the library does for a request, before the chip hears of it. */
static void charge(struct station *station, const struct martini_call *call)
{
    switch ((enum martini_operation)call->operation) {
    case MARTINI_PUSH:
    case MARTINI_PULL:
    case MARTINI_ATOMIC:
    case MARTINI_APPEND:
        station_sleep(station, station_constants(station)->library_ps);
        break;
    default:
        break;
    }
}

static int carry_out(struct station *station, struct martini_call *call)
{
    switch ((enum martini_operation)call->operation) {
    case MARTINI_NOW:
        return 0;
    case MARTINI_PAUSE:
        return pause(station, call);
    case MARTINI_LOOK:
        return look(station, call);
    case MARTINI_SLEEP:
        station_sleep(station, station_deadline(station, call->timeout_ns) - station_now(station));
        return 0;
    case MARTINI_PARK:
        return park(station);
    case MARTINI_SEGMENT_ADD:
        return segment_add(station, call);
    case MARTINI_SEGMENT_REMOVE:
        return segment_remove(station, call);
    case MARTINI_VIEW:
        return segment_view(station, call);
    case MARTINI_PUSH:
        return call->is_inline ? small_inline(station, call) : transfer_push(station, call);
    case MARTINI_PULL:
        return transfer_pull(station, call);
    case MARTINI_STORE:
        return small_store(station, call);
    case MARTINI_ATOMIC:
        return small_atomic(station, call);
    case MARTINI_APPEND:
        return queue_append(station, call);
    case MARTINI_RELEASE:
        return queue_release(station, call);
    case MARTINI_FLUSH:
        return small_flush(station, call);
    case MARTINI_WAKE:
        return small_wake(station, call);
    case MARTINI_LEAVE:
        return leave(station);
    case MARTINI_OPERATIONS:
        break;
    }
    return error_fail(RH_EINVALID, "there is no operation %u", call->operation);
}

void station_serve(struct station *station, struct martini_call *call)
{
    ASSERT(call->timeout_ns >= 0);
    station_sleep(station, 0);
    if (call->operation != MARTINI_NOW)
        transfers_look(station);
    sim_time begin = station_now(station);
    charge(station, call);
    call->result = carry_out(station, call);
    station_sleep(station, 0);
    if (call->operation < MARTINI_OPERATIONS)
        histogram_add(&station->world->latency[call->operation], station_now(station) - begin);
    call->now_ns = station_now(station) / SIM_NS;
    call->gone = station->world->gone_count;
}
