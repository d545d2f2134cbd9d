/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The deadlock detector: buffers whose first packet waits for room in another buffer form a graph;
 * a circle in it never moves again. A packet that moves, or a signal that is under way, breaks it.
 */
#include "sim/switch/network.h"

#include <inttypes.h>
#include <stdlib.h>

/* The request that the first packet of a buffer waits with, if nothing but room in the next buffer
 * can help it; NONE otherwise. *output is what it waits for. */
static uint32_t blocked_request(const struct network *network, uint32_t place, uint32_t *output)
{
    uint32_t first = network->lanes[place].first;
    if (first == NONE || stay_at(network, first)->waiting == 0)
        return NONE;
    uint32_t node = network->ports[place / network->lane_count].node;
    uint32_t only = stay_at(network, first)->output;
    uint32_t from = only != NONE ? only : network->port_first[node];
    uint32_t end = only != NONE ? only + 1 : network->port_first[node + 1];
    for (uint32_t p = from; p < end; p++) {
        for (uint32_t at = network->ports[p].first; at != NONE;
             at = request_at(network, at)->next) {
            const struct request *request = request_at(network, at);
            uint32_t flits = stay_at(network, request->stay)->flits;
            if (request->stay == first &&
                flow_is_blocked(network, p * network->lane_count + request->lane, flits)) {
                *output = p;
                return at;
            }
        }
    }
    return NONE;
}

/* The buffer that a buffer waits for, or NONE. */
static uint32_t place_next(const struct network *network, uint32_t place)
{
    uint32_t output, request = blocked_request(network, place, &output);
    if (request == NONE)
        return NONE;
    return network->ports[output].peer * network->lane_count + request_at(network, request)->lane;
}

static void buffer_describe(const struct network *network, uint32_t place, FILE *out)
{
    uint32_t output, request = blocked_request(network, place, &output);
    const struct packet *packet = packet_at(network, request_at(network, request)->packet);
    const struct port *here = &network->ports[place / network->lane_count];
    const struct port *there = &network->ports[network->ports[output].peer];
    uint32_t switches = network->plan.switch_count;
    char a[NETWORK_NAME_MAX], b[NETWORK_NAME_MAX];
    fprintf(out, "  packet %" PRIu64 " (%s to %s, %u flits)", packet->number,
            network_name(network, switches + packet->source, a),
            network_name(network, switches + packet->target, b), packet->flits);
    fprintf(out, " is first in %s port %u lane %u (%u of %lld flits used)\n",
            network_name(network, here->node, a), here->number, place % network->lane_count,
            network->lanes[place].held, (long long)flow_capacity(network));
    fprintf(out, "    and waits for room in %s port %u lane %u\n",
            network_name(network, there->node, b), there->number,
            request_at(network, request)->lane);
}

static void circle_describe(const struct network *network, const uint32_t *next, uint32_t place,
                            FILE *out)
{
    uint32_t length = 1;
    for (uint32_t at = next[place]; at != place; at = next[at])
        length++;
    fprintf(out, "deadlock: %u buffers wait for each other in a circle\n", length);
    for (uint32_t i = 0; i < length; i++, place = next[place])
        buffer_describe(network, place, out);
}

uint32_t network_deadlock(const struct network *network, FILE *out)
{
    uint32_t places = network->port_count * network->lane_count, circles = 0;
    uint32_t *next = malloc((places + 1) * sizeof(*next));
    uint32_t *seen = calloc(places + 1, sizeof(*seen)); /* by the walk with this number */
    for (uint32_t i = 0; next && seen && i < places; i++)
        next[i] = place_next(network, i);
    for (uint32_t i = 0; next && seen && i < places; i++) {
        uint32_t at = i;
        while (at != NONE && seen[at] == 0) {
            seen[at] = i + 1;
            at = next[at];
        }
        if (at == NONE || seen[at] != i + 1)
            continue;
        if (circles++ == 0 && out)
            circle_describe(network, next, at, out);
    }
    free(next);
    free(seen);
    return circles;
}
