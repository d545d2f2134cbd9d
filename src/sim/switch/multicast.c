/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A packet with several targets: at every node a copy of it asks for each output behind which some
 * of them lie.
 */
#include "sim/switch/network.h"

#include <errno.h>
#include <stdlib.h>

/* A copy for those targets of a multicast that lie behind one output; they leave the original. */
static void copy_request(struct network *network, uint32_t stay, struct way way)
{
    uint32_t original = stay_at(network, stay)->packet, place = stay_at(network, stay)->place;
    uint32_t made = pool_take(network, &network->packets), kept = 0;
    if (made == NONE)
        return;
    struct packet *from = packet_at(network, original), *copy = packet_at(network, made);
    *copy = *from;
    copy->target_count = 0;
    copy->targets = malloc(from->target_count * sizeof(*copy->targets));
    if (!copy->targets) {
        network->failure = -ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < from->target_count; i++) {
        struct way other = way_find(network, place, from, from->targets[i]);
        if (other.port == way.port && other.lane == way.lane)
            copy->targets[copy->target_count++] = from->targets[i];
        else
            from->targets[kept++] = from->targets[i];
    }
    from->target_count = kept;
    copy->target = copy->targets[0];
    crossbar_request(network, stay, made, way);
}

void multicast_request(struct network *network, uint32_t stay)
{
    uint32_t original = stay_at(network, stay)->packet;
    while (packet_at(network, original)->target_count > 0 && network->failure == 0) {
        struct packet *packet = packet_at(network, original);
        uint32_t last = packet->targets[packet->target_count - 1];
        struct way way = way_find(network, stay_at(network, stay)->place, packet, last);
        if (way.port != NONE) {
            copy_request(network, stay, way);
            continue;
        }
        network->lost++;
        packet->target_count--;
    }
    packet_give(network, original);
}
