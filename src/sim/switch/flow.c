/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flow control: may a packet cross a link, and what tells the sender. A lane is looked at from both
 * ends: the sender's (stop or go, credits) and the receiver's (what its buffer holds).
 *
 * Flits leave a buffer evenly while its first packet goes on, so room and credits grow by ramps;
 * the moment at which they suffice is computed, not waited for flit by flit.
 */
#include "base/assert.h"
#include "base/error.h"
#include "sim/switch/network.h"

#include <errno.h>

static sim_time ramp_time(const struct ramp *ramp, uint32_t flit)
{
    return ramp->begin + ramp->span * flit / ramp->count;
}

static uint32_t ramp_passed(const struct ramp *ramp, sim_time now)
{
    if (ramp->count == 0 || now < ramp->begin)
        return 0;
    sim_time since = now - ramp->begin;
    if (since >= ramp->span)
        return ramp->count;
    /* the largest flit with span * flit / count <= since, divisions rounding down */
    return (uint32_t)(((since + 1) * ramp->count - 1) / ramp->span);
}

int64_t flow_capacity(const struct network *network)
{
    return network->options.kind == NETWORK_RHINET2 ? network->constants.stop_go_flits
                                                    : network->constants.credit_flits;
}

int64_t flow_room(const struct network *network, uint32_t place)
{
    const struct lane *lane = &network->lanes[place];
    return flow_capacity(network) - lane->held + ramp_passed(&lane->leaving, sim_now(network->sim));
}

static int64_t stop_room(const struct network *network)
{
    return network->packet_flits_max + network->constants.slack_flits;
}

static int64_t go_room(const struct network *network)
{
    return stop_room(network) + network->constants.go_flits;
}

/* The lane at the other end of its link. */
static uint32_t place_behind(const struct network *network, uint32_t place)
{
    uint32_t port = place / network->lane_count;
    return network->ports[port].peer * network->lane_count + place % network->lane_count;
}

bool flow_may_send(const struct network *network, uint32_t place, uint32_t flits, sim_time *when)
{
    const struct lane *lane = &network->lanes[place];
    *when = SIM_NEVER;
    if (network->options.kind == NETWORK_RHINET2)
        return !lane->is_stopped;
    sim_time now = sim_now(network->sim);
    int64_t need = flits - lane->credits;
    if (need <= (int64_t)ramp_passed(&lane->returning, now))
        return true;
    if (need <= (int64_t)lane->returning.count)
        *when = ramp_time(&lane->returning, (uint32_t)need);
    return false;
}

bool flow_is_blocked(const struct network *network, uint32_t place, uint32_t flits)
{
    const struct lane *lane = &network->lanes[place];
    const struct lane *behind = &network->lanes[place_behind(network, place)];
    sim_time when;
    if (flow_may_send(network, place, flits, &when) || when != SIM_NEVER)
        return false;
    if (network->options.kind == NETWORK_RHINET2)
        return behind->has_stopped; /* else go is on its way */
    return behind->freed == lane->returned;
}

void flow_sent(struct network *network, uint32_t place, uint32_t flits)
{
    struct lane *lane = &network->lanes[place];
    lane->sent += flits;
    if (network->options.kind == NETWORK_RHINET3)
        lane->credits -= flits;
}

void flow_arrived(struct network *network, uint32_t place, uint32_t flits)
{
    struct lane *lane = &network->lanes[place];
    uint32_t port = place / network->lane_count;
    lane->held += flits;
    if (port_is_queue(network, port))
        return;
    lane->arrived += flits;
    int64_t room = flow_room(network, place);
    if (room < 0)
        network->overflows++;
    if (network->options.kind == NETWORK_RHINET2 && !lane->has_stopped &&
        room < stop_room(network)) {
        lane->has_stopped = true;
        network->stops++;
        network_post(network, sim_now(network->sim) + network->ports[port].delay, EVENT_STOP,
                     place_behind(network, place));
    }
}

/* Looks again when there will be room enough for go, if the packet that leaves makes it. */
static void room_await(struct network *network, uint32_t place)
{
    const struct lane *lane = &network->lanes[place];
    int64_t need = go_room(network) - flow_capacity(network) + lane->held;
    if (need < 1)
        need = 1;
    if (need > (int64_t)lane->leaving.count)
        return;
    sim_time when = ramp_time(&lane->leaving, (uint32_t)need), now = sim_now(network->sim);
    network_post(network, when > now ? when : now, EVENT_ROOM, place);
}

void flow_leaves(struct network *network, uint32_t place, const struct ramp *ramp)
{
    struct lane *lane = &network->lanes[place];
    const struct port *port = &network->ports[place / network->lane_count];
    lane->leaving = *ramp;
    if (port->number == 0)
        return;
    lane->freed += ramp->count;
    if (network->options.kind == NETWORK_RHINET2) {
        if (lane->has_stopped)
            room_await(network, place);
        return;
    }
    uint32_t notice = pool_take(network, &network->notices);
    if (notice == NONE)
        return;
    struct notice *made = notice_at(network, notice);
    made->place = place_behind(network, place);
    made->ramp = *ramp;
    made->ramp.begin += port->delay;
    network_post(network, made->ramp.begin, EVENT_CREDIT, notice);
}

void flow_left(struct network *network, uint32_t place)
{
    struct lane *lane = &network->lanes[place];
    ASSERT(lane->held >= lane->leaving.count);
    lane->held -= lane->leaving.count;
    lane->leaving.count = 0;
}

uint32_t flow_credit(struct network *network, uint32_t notice)
{
    const struct notice *got = notice_at(network, notice);
    struct lane *lane = &network->lanes[got->place];
    uint32_t port = got->place / network->lane_count;
    lane->credits += lane->returning.count; /* that ramp has passed: a buffer frees in order */
    lane->returning = got->ramp;
    lane->returned += got->ramp.count;
    pool_give(&network->notices, notice);
    return port;
}

uint32_t flow_signal(struct network *network, uint32_t place, bool is_stop)
{
    network->lanes[place].is_stopped = is_stop;
    return is_stop ? NONE : place / network->lane_count;
}

void flow_look(struct network *network, uint32_t place)
{
    struct lane *lane = &network->lanes[place];
    if (!lane->has_stopped)
        return;
    if (flow_room(network, place) < go_room(network)) {
        if (lane->leaving.count > 0)
            room_await(network, place);
        return;
    }
    lane->has_stopped = false;
    uint32_t port = place / network->lane_count;
    network_post(network, sim_now(network->sim) + network->ports[port].delay, EVENT_GO,
                 place_behind(network, place));
}

int flow_link_check(const struct network *network, const struct port *port)
{
    const struct sim_constants *constants = &network->constants;
    if (flow_capacity(network) < network->packet_flits_max)
        return error_fail(
            -EINVAL,
            "buffers of %lld flits do not hold a packet of %u; raise stop_go_flits or "
            "credit_flits",
            (long long)flow_capacity(network), network->packet_flits_max);
    sim_time round_trip = 2 * port->delay + constants->switch_ps;
    int64_t under_way = round_trip / port->flit_time + 2;
    bool is_stop_go = network->options.kind == NETWORK_RHINET2;
    int64_t limit = is_stop_go ? constants->slack_flits : constants->sequence_flits;
    if (under_way > limit)
        return error_fail(
            -EINVAL,
            "a link of %lld m has %lld flits under way, but %s is %lld: shorten it, or "
            "raise that",
            (long long)(port->delay / constants->fibre_ps_per_metre), (long long)under_way,
            is_stop_go ? "slack_flits" : "sequence_flits", (long long)limit);
    if (is_stop_go && go_room(network) > flow_capacity(network))
        return error_fail(
            -EINVAL,
            "a buffer of %lld flits never says go: that takes room for a packet (%u), "
            "slack_flits and go_flits",
            (long long)flow_capacity(network), network->packet_flits_max);
    return 0;
}
