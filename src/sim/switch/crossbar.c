/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A packet's way through a node: it arrives, waits in its buffer, asks for its outputs, crosses, is
 * delivered. The first packet of each buffer asks; an output serves the oldest request that it can.
 */
#include "sim/switch/network.h"

#include "base/assert.h"

static uint32_t port_of_place(const struct network *network, uint32_t place)
{
    return place / network->lane_count;
}

static void request_begin(struct network *network, uint32_t index)
{
    struct request request = *request_at(network, index);
    struct stay *stay = stay_at(network, request.stay);
    struct port *input = &network->ports[port_of_place(network, stay->place)];
    input->reading = request.stay;
    input->reading_since = sim_now(network->sim);
    input->reading_count++;
    stay->waiting--;
}

/* The time at which the last flit has left the output. */
static sim_time crossing_end(const struct port *output, const struct stay *stay, uint32_t flits,
                             sim_time begin)
{
    sim_time at_full_speed = begin + flits * output->flit_time;
    sim_time after_tail = stay->tail_ready + output->flit_time;
    return at_full_speed > after_tail ? at_full_speed : after_tail;
}

/* Puts the packet into the buffer at the other end, where it will arrive. */
static void packet_forward(struct network *network, struct port *output,
                           const struct request *request, struct damage damage, sim_time end)
{
    uint32_t made = pool_take(network, &network->stays);
    if (made == NONE)
        return;
    struct stay *there = stay_at(network, made);
    bool is_host = node_is_host(network, network->ports[output->peer].node);
    sim_time routing = is_host ? 0 : network->constants.switch_ps;
    sim_time head = sim_now(network->sim) + output->flit_time + damage.head_late;
    there->packet = request->packet;
    there->flits = packet_at(network, request->packet)->flits;
    there->place = output->peer * network->lane_count + request->lane;
    there->tail_ready = end + output->delay + routing;
    network_post(network, head + output->delay + routing, EVENT_ARRIVE, made);
}

static void crossing_begin(struct network *network, uint32_t port, uint32_t index)
{
    struct port *output = &network->ports[port];
    struct request request = *request_at(network, index);
    sim_time now = sim_now(network->sim);
    request_begin(network, index);
    struct packet *packet = packet_at(network, request.packet);
    struct stay *stay = stay_at(network, request.stay);
    struct damage damage = errors_strike(network, output, packet->flits);
    sim_time end = crossing_end(output, stay, packet->flits, now) + damage.tail_late;
    packet->is_damaged |= damage.is_lost;
    if (!node_is_host(network, output->node))
        packet->step++;
    output->sending = index;
    output->packets++;
    output->flits += packet->flits;
    output->sequence_sent += packet->flits;
    output->busy += end - now;
    stay->end = end > stay->end ? end : stay->end;
    flow_sent(network, port * network->lane_count + request.lane, packet->flits);
    struct ramp leaving = {now, stay->end - now, packet->flits};
    bool is_last = stay->waiting == 0;
    uint32_t place = stay->place;
    packet_forward(network, output, &request, damage, end);
    network_post(network, end, EVENT_DONE, port);
    if (is_last) /* the buffer empties as the last copy leaves */
        flow_leaves(network, place, &leaving);
}

static bool input_is_free(const struct network *network, uint32_t stay)
{
    const struct port *input =
        &network->ports[port_of_place(network, stay_at(network, stay)->place)];
    return input->reading == NONE ||
           (input->reading == stay && input->reading_since == sim_now(network->sim));
}

static void request_unlink(struct network *network, struct port *output, uint32_t index,
                           uint32_t before)
{
    uint32_t next = request_at(network, index)->next;
    *(before == NONE ? &output->first : &request_at(network, before)->next) = next;
    if (next == NONE)
        output->last = before;
}

static void crossbar_arbitrate(struct network *network, uint32_t port)
{
    struct port *output = &network->ports[port];
    sim_time earliest = SIM_NEVER, when;
    uint32_t before = NONE;
    if (output->sending != NONE)
        return;
    for (uint32_t at = output->first; at != NONE; at = request_at(network, at)->next) {
        const struct request *request = request_at(network, at);
        uint32_t place = port * network->lane_count + request->lane;
        if (input_is_free(network, request->stay)) {
            if (flow_may_send(network, place, packet_at(network, request->packet)->flits, &when)) {
                request_unlink(network, output, at, before);
                crossing_begin(network, port, at);
                return;
            }
            earliest = when < earliest ? when : earliest;
        }
        before = at;
    }
    if (earliest == SIM_NEVER || earliest == output->retry_at)
        return;
    output->retry_at = earliest;
    network_post(network, earliest, EVENT_RETRY, port);
}

void crossbar_request(struct network *network, uint32_t stay, uint32_t packet, struct way way)
{
    uint32_t made = pool_take(network, &network->requests);
    if (made == NONE)
        return;
    struct port *output = &network->ports[way.port];
    *request_at(network, made) = (struct request){stay, packet, way.lane, NONE};
    *(output->last == NONE ? &output->first : &request_at(network, output->last)->next) = made;
    output->last = made;
    stay_at(network, stay)->copies++;
    stay_at(network, stay)->waiting++;
}

/* The first packet of a host's buffer leaves it, as the host has said before. */
static void drain_begin(struct network *network, uint32_t index)
{
    const struct stay *stay = stay_at(network, index);
    sim_time now = sim_now(network->sim), end = stay->end > now ? stay->end : now;
    flow_leaves(network, stay->place, &(struct ramp){now, end - now, stay->flits});
    network_post(network, end, EVENT_DRAIN, index);
}

void network_drain(struct network *network, uint32_t index, sim_time end)
{
    struct stay *stay = stay_at(network, index);
    stay->end = end > 0 ? end : 1; /* 0: not said yet */
    if (network->lanes[stay->place].first == index)
        drain_begin(network, index);
}

static void buffer_pop(struct network *network, uint32_t stay);

/* The first packet of a buffer asks for where it goes. */
static void stay_ask(struct network *network, uint32_t index)
{
    struct stay *stay = stay_at(network, index);
    const struct packet *packet = packet_at(network, stay->packet);
    uint32_t node = network->ports[port_of_place(network, stay->place)].node;
    if (packet->target_count > 1) {
        stay->output = NONE;
        multicast_request(network, index);
        for (uint32_t p = network->port_first[node]; p < network->port_first[node + 1]; p++)
            crossbar_arbitrate(network, p);
    } else {
        struct way way = way_find(network, stay->place, packet, packet->target);
        stay->output = way.port;
        if (way.port != NONE) {
            crossbar_request(network, index, stay->packet, way);
            crossbar_arbitrate(network, way.port);
            return;
        }
        network->lost++;
        packet_give(network, stay->packet);
    }
    stay = stay_at(network, index);
    if (stay->copies > 0)
        return;
    /* nowhere to go: dropped, and counted */
    flow_leaves(network, stay->place, &(struct ramp){sim_now(network->sim), 0, stay->flits});
    buffer_pop(network, index);
}

static void buffer_pop(struct network *network, uint32_t index)
{
    uint32_t place = stay_at(network, index)->place;
    struct lane *lane = &network->lanes[place];
    ASSERT(lane->first == index);
    lane->first = stay_at(network, index)->next;
    if (lane->first == NONE)
        lane->last = NONE;
    flow_left(network, place);
    pool_give(&network->stays, index);
    uint32_t node = network->ports[port_of_place(network, place)].node;
    bool asks = !node_is_host(network, node) ||
                port_is_queue(network, port_of_place(network, place));
    if (lane->first != NONE && asks)
        stay_ask(network, lane->first);
    else if (lane->first != NONE && stay_at(network, lane->first)->end > 0)
        drain_begin(network, lane->first);
}

static void buffer_append(struct network *network, uint32_t index)
{
    struct stay *stay = stay_at(network, index);
    struct lane *lane = &network->lanes[stay->place];
    stay->next = NONE;
    *(lane->last == NONE ? &lane->first : &stay_at(network, lane->last)->next) = index;
    lane->last = index;
    flow_arrived(network, stay->place, stay->flits);
}

void crossbar_enqueue(struct network *network, uint32_t index)
{
    uint32_t place = stay_at(network, index)->place;
    buffer_append(network, index);
    if (network->lanes[place].first == index)
        stay_ask(network, index);
}

/* A packet at its host: it is told at once, and its buffer empties as the packet comes in. */
static void packet_deliver(struct network *network, uint32_t index)
{
    struct stay stay = *stay_at(network, index);
    struct packet packet = *packet_at(network, stay.packet);
    sim_time now = sim_now(network->sim);
    struct port *input = &network->ports[port_of_place(network, stay.place)];
    bool is_kept = network->options.hosts_drain && !packet.is_damaged;
    network->ports[input->peer].sequence_taken += packet.flits;
    buffer_append(network, index);
    packet_give(network, stay.packet);
    *(packet.is_damaged ? &network->lost : &network->delivered) += 1;
    struct network_arrival arrival = {
        .packet = packet.number,
        .source = packet.source,
        .target = input->node - network->plan.switch_count,
        .flits = packet.flits,
        .lane = stay.place % network->lane_count,
        .cookie = packet.cookie,
        .sent = packet.sent,
        .tail = stay.tail_ready,
        .stay = index,
    };
    if (!is_kept) {
        flow_leaves(network, stay.place, &(struct ramp){now, stay.tail_ready - now, packet.flits});
        buffer_pop(network, index);
    }
    if (network->options.deliver && !packet.is_damaged)
        network->options.deliver(network->options.context, &arrival);
}

static void stay_arrive(struct network *network, uint32_t index)
{
    const struct stay *stay = stay_at(network, index);
    uint32_t port = port_of_place(network, stay->place);
    if (node_is_host(network, network->ports[port].node)) {
        packet_deliver(network, index);
        return;
    }
    network->ports[network->ports[port].peer].sequence_taken += stay->flits;
    crossbar_enqueue(network, index);
}

/* Other lanes of an input that has become free may go on. */
static void input_freed(struct network *network, uint32_t port)
{
    const struct port *input = &network->ports[port];
    for (uint32_t k = 0; k < network->lane_count && input->reading == NONE; k++) {
        uint32_t first = lane_at(network, port, k)->first;
        if (first == NONE || stay_at(network, first)->waiting == 0)
            continue;
        uint32_t output = stay_at(network, first)->output;
        if (output != NONE) {
            crossbar_arbitrate(network, output);
            continue;
        }
        for (uint32_t p = network->port_first[input->node];
             p < network->port_first[input->node + 1]; p++)
            crossbar_arbitrate(network, p);
    }
}

static void crossing_done(struct network *network, uint32_t port)
{
    struct port *output = &network->ports[port];
    struct request request = *request_at(network, output->sending);
    struct stay *stay = stay_at(network, request.stay);
    uint32_t input = port_of_place(network, stay->place);
    pool_give(&network->requests, output->sending);
    output->sending = NONE;
    if (--network->ports[input].reading_count == 0)
        network->ports[input].reading = NONE;
    bool is_host = node_is_host(network, output->node);
    uint64_t cookie = stay->cookie;
    if (--stay->copies == 0)
        buffer_pop(network, request.stay);
    crossbar_arbitrate(network, port);
    input_freed(network, input);
    if (is_host && network->options.sent)
        network->options.sent(network->options.context, output->node - network->plan.switch_count,
                              cookie);
}

void crossbar_expect(void *context, uint32_t kind, uint64_t argument)
{
    const struct network *network = context;
    if (kind == EVENT_ARRIVE || kind == EVENT_DRAIN) {
        __builtin_prefetch(stay_at(network, (uint32_t)argument));
    } else if (kind == EVENT_DONE || kind == EVENT_RETRY) {
        __builtin_prefetch(&network->ports[argument]);
        __builtin_prefetch((const char *)&network->ports[argument] + 64);
    } else if (kind != EVENT_CREDIT) {
        __builtin_prefetch(&network->lanes[argument]);
    }
}

void crossbar_event(void *context, uint32_t kind, uint64_t argument)
{
    struct network *network = context;
    uint32_t number = (uint32_t)argument, port = NONE;
    switch ((enum network_event)kind) {
    case EVENT_ARRIVE:
        stay_arrive(network, number);
        break;
    case EVENT_DONE:
        crossing_done(network, number);
        break;
    case EVENT_RETRY:
        network->ports[number].retry_at = 0;
        port = number;
        break;
    case EVENT_CREDIT:
        port = flow_credit(network, number);
        break;
    case EVENT_STOP:
    case EVENT_GO:
        port = flow_signal(network, number, kind == EVENT_STOP);
        break;
    case EVENT_ROOM:
        flow_look(network, number);
        break;
    case EVENT_DRAIN:
        buffer_pop(network, number);
        break;
    case EVENT_COUNT:
        break;
    }
    if (port != NONE)
        crossbar_arbitrate(network, port);
    if (network->failure < 0)
        sim_stop(network->sim);
}
