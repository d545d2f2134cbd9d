/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What must hold at every moment between two events: nothing is lost uncounted.
 */
#include "base/error.h"
#include "sim/switch/network.h"

#include <errno.h>

static int violation(const struct network *network, uint32_t place, const char *what)
{
    const struct port *port = &network->ports[place / network->lane_count];
    char name[NETWORK_NAME_MAX];
    return error_fail(-EIO, "%s port %u lane %u: %s (seed %llu, time %lld ps)",
                      network_name(network, port->node, name), port->number,
                      place % network->lane_count, what, (unsigned long long)sim_seed(network->sim),
                      (long long)sim_now(network->sim));
}

/* The flits of the packets in a buffer are what the buffer says it holds. */
static int buffer_check(const struct network *network, uint32_t place)
{
    const struct lane *lane = &network->lanes[place];
    uint64_t flits = 0;
    for (uint32_t at = lane->first; at != NONE; at = stay_at(network, at)->next)
        flits += stay_at(network, at)->flits;
    if (flits != lane->held)
        return violation(network, place, "holds other flits than its packets have");
    if (!port_is_queue(network, place / network->lane_count) && flow_room(network, place) < 0)
        return violation(network, place, "holds more than fits");
    return 0;
}

/* Both ends of a lane agree: sent, arrived, freed and returned, in this order. */
static int lane_check(const struct network *network, uint32_t port, uint32_t k, bool is_empty)
{
    uint32_t place = port * network->lane_count + k;
    uint32_t behind = network->ports[port].peer * network->lane_count + k;
    const struct lane *out = &network->lanes[place], *in = &network->lanes[behind];
    if (in->arrived > out->sent || in->freed > in->arrived || out->returned > in->freed)
        return violation(network, place, "flits came from nowhere");
    if (in->arrived - in->freed + in->leaving.count != in->held)
        return violation(network, behind, "flits have vanished from the buffer");
    if (network->options.kind == NETWORK_RHINET3) {
        int64_t due = flow_capacity(network) - (int64_t)(out->sent - out->returned);
        if (out->credits + (int64_t)out->returning.count != due)
            return violation(network, place, "credits do not add up");
        if (out->credits + (int64_t)out->returning.count < 0)
            return violation(network, place, "credits are below zero");
    }
    if (is_empty && (out->sent != in->arrived || in->arrived != in->freed))
        return violation(network, place, "the network is empty, but flits are missing");
    if (is_empty && sim_pending(network->sim) == 0) {
        if (network->options.kind == NETWORK_RHINET3 && out->returned != in->freed)
            return violation(network, place, "credits have not come back");
        if (out->is_stopped || in->has_stopped)
            return violation(network, place, "is stopped for ever");
    }
    return 0;
}

int network_check(const struct network *network)
{
    struct network_count count;
    network_count(network, &count);
    if (network->failure < 0)
        return error_fail(network->failure, "the network ran out of memory");
    if (network->overflows > 0)
        return error_fail(-EIO, "%llu packets found no room in a buffer (seed %llu)",
                          (unsigned long long)network->overflows,
                          (unsigned long long)sim_seed(network->sim));
    if (count.packets_sent != count.packets_delivered + count.packets_lost + count.packets_inside)
        return error_fail(
            -EIO, "%llu packets sent, but %llu delivered, %llu lost, %llu inside (seed %llu)",
            (unsigned long long)count.packets_sent, (unsigned long long)count.packets_delivered,
            (unsigned long long)count.packets_lost, (unsigned long long)count.packets_inside,
            (unsigned long long)sim_seed(network->sim));
    int result = 0;
    for (uint32_t i = 0; i < network->link_count && result == 0; i++) {
        for (uint32_t k = 0; k < network->lane_count && result == 0; k++) {
            uint32_t port = network->link_ports[i];
            result = buffer_check(network, port * network->lane_count + k);
            if (result == 0)
                result = lane_check(network, port, k, count.packets_inside == 0);
        }
    }
    return result;
}
