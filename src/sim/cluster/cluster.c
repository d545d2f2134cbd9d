/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cluster.h. Packets of controllers travel through the network as numbers (cookies) of a table
 * here.
 */
#include "sim/cluster/cluster.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "sim/usage/histogram.h"

#include <errno.h>
#include <stdlib.h>

struct flight {
    struct chip_packet *packet; /* NULL: has arrived, or the slot is free */
    sim_time begin;             /* in the Send FIFO since */
    uint8_t origin;
    uint8_t ends; /* that have not passed: leaving the source, arriving */
    uint32_t next_free;
};

struct cluster {
    struct arena memory; /* of what there is for each node */
    struct sim *sim;
    uint32_t node_count;
    struct host **hosts;
    struct chip **chips;
    struct driver **drivers;
    struct network *network;
    struct processor_image *image;
    struct network_plan pair; /* two nodes back to back */
    struct network_link pair_link;
    struct sim_constants constants;
    struct platform_ranges ranges; /* nodes with other constants */
    struct flight *flights;
    uint32_t flight_count, flight_free;
    size_t flight_room;
    bool *is_dead; /* by node */
    bool *is_mute; /* by node: its program is dead */
    bool *is_cut;  /* [a * node_count + b], both ways: a packet between them was lost; or NULL */
    struct cluster_loss loss;
    uint64_t lost;
    struct cluster_usage *usage; /* by node */
    struct histogram latency;
};

#define NO_FLIGHT UINT32_MAX

static uint32_t flight_take(struct cluster *cluster)
{
    uint32_t index = cluster->flight_free;
    if (index != NO_FLIGHT) {
        cluster->flight_free = cluster->flights[index].next_free;
        return index;
    }
    if (!array_grow(&cluster->flights, &cluster->flight_room, (size_t)cluster->flight_count + 1))
        return NO_FLIGHT;
    return cluster->flight_count++;
}

static void flight_end(struct cluster *cluster, uint32_t index)
{
    struct flight *flight = &cluster->flights[index];
    if (--flight->ends > 0)
        return;
    flight->next_free = cluster->flight_free;
    cluster->flight_free = index;
}

static uint32_t packet_flits(const struct cluster *cluster, const struct chip_packet *packet)
{
    bool is_header_only = packet->header.type == CHIP_PACKET_PULL_REQUEST;
    return network_flits(cluster->network, is_header_only ? 0 : packet->header.length);
}

static void wire_send(void *context, struct chip *chip, struct chip_packet *packet)
{
    struct cluster *cluster = context;
    uint32_t target = packet->header.target_node, index = flight_take(cluster);
    int result = index == NO_FLIGHT ? -ENOMEM : 0;
    uint8_t origin = packet->origin;
    if (result == 0 && cluster->is_dead[chip_number(chip)])
        result = -ENETDOWN;
    if (result == 0) {
        cluster->flights[index] = (struct flight){
            .packet = packet, .begin = sim_now(cluster->sim), .origin = origin, .ends = 2};
        struct network_packet sent = {.source = chip_number(chip),
                                      .targets = &target,
                                      .target_count = 1,
                                      .flits = packet_flits(cluster, packet),
                                      .cookie = index};
        result = network_send(cluster->network, &sent);
    }
    if (result == -ENOMEM) {
        sim_stop(cluster->sim);
    } else if (result < 0) { /* dead, or nobody of that number: a process may write any target */
        cluster->flights[index] = (struct flight){.ends = 1};
        flight_end(cluster, index);
        chip_packet_free(chip, packet);
        chip_sent(chip, origin);
    }
}

static void wire_drain(void *context, struct chip *chip, uint32_t stay, sim_time end)
{
    struct cluster *cluster = context;
    struct cluster_usage *usage = &cluster->usage[chip_number(chip)];
    usage->receive_fifo += end; /* since it came: network_delivers() */
    usage->receiving--;
    network_drain(cluster->network, stay, end);
}

static bool wire_has(void *context, uint32_t node)
{
    const struct cluster *cluster = context;
    return node < cluster->node_count;
}

static bool is_answer(const struct chip_packet *packet)
{
    return packet->header.type == CHIP_PACKET_ACK || packet->header.type == CHIP_PACKET_PULL_REPLY;
}

static bool is_lost(struct cluster *cluster, uint32_t source, uint32_t target,
                    const struct chip_packet *packet)
{
    const struct cluster_loss *loss = &cluster->loss;
    uint32_t count = cluster->node_count;
    if (cluster->is_dead[source] || cluster->is_dead[target] ||
        (cluster->is_mute[source] && !is_answer(packet)))
        return true;
    if (!cluster->is_cut)
        return false;
    bool is_meant = (loss->source == CLUSTER_ANY || loss->source == source) &&
                    (loss->target == CLUSTER_ANY || loss->target == target);
    if (is_meant && sim_random_real(cluster->sim) < loss->probability)
        cluster->is_cut[source * count + target] = cluster->is_cut[target * count + source] = true;
    return cluster->is_cut[source * count + target];
}

static void network_delivers(void *context, const struct network_arrival *arrival)
{
    struct cluster *cluster = context;
    uint32_t index = (uint32_t)arrival->cookie;
    struct chip_packet *packet = cluster->flights[index].packet;
    cluster->flights[index].packet = NULL;
    flight_end(cluster, index);
    if (is_lost(cluster, arrival->source, arrival->target, packet)) {
        cluster->lost++;
        network_drain(cluster->network, arrival->stay, arrival->tail);
        chip_packet_free(cluster->chips[arrival->target], packet);
        return;
    }
    histogram_add(&cluster->latency, arrival->tail - arrival->sent);
    cluster->usage[arrival->target].receive_fifo -= sim_now(cluster->sim);
    cluster->usage[arrival->target].receiving++;
    chip_receive(cluster->chips[arrival->target], packet, arrival->stay, arrival->tail);
}

static void network_sent(void *context, uint32_t source, uint64_t cookie)
{
    struct cluster *cluster = context;
    uint8_t origin = cluster->flights[cookie].origin;
    cluster->usage[source].send_fifo += sim_now(cluster->sim) - cluster->flights[cookie].begin;
    flight_end(cluster, (uint32_t)cookie);
    chip_sent(cluster->chips[source], origin);
}

static int network_make(struct cluster *cluster, const struct cluster_spec *spec)
{
    struct network_options options = {.kind = spec->kind,
                                      .constants = &cluster->constants,
                                      .metres = spec->metres,
                                      .bit_error_rate = spec->bit_error_rate,
                                      .deliver = network_delivers,
                                      .sent = network_sent,
                                      .context = cluster,
                                      .hosts_drain = true};
    const struct network_plan *plan = spec->plan;
    if (!plan) {
        uint32_t mbps = spec->mbps ? spec->mbps : (uint32_t)cluster->constants.cluster_mbps;
        cluster->pair_link = (struct network_link){.a = {0, 1}, .b = {1, 1}, .mbps = mbps};
        cluster->pair = (struct network_plan){
            .host_count = 2, .link_count = 1, .links = &cluster->pair_link};
        plan = &cluster->pair;
    }
    if (spec->node_count > plan->host_count)
        return error_fail(-EINVAL, "%u nodes do not fit a network with %u hosts", spec->node_count,
                          plan->host_count);
    return network_create(&cluster->network, cluster->sim, plan, &options);
}

/* Once for all nodes: their instructions are the same. */
static int firmware_load(struct cluster *cluster)
{
    if (cluster->constants.firmware)
        return processor_image_open(&cluster->image, cluster->constants.firmware);
    return processor_image_parse(&cluster->image, chip_firmware, chip_firmware_length,
                                 "the program's own firmware");
}

static int node_make(struct cluster *cluster, const struct cluster_spec *spec, uint32_t number)
{
    const struct sim_constants *constants = cluster_constants(cluster, number);
    struct host_spec host = {
        .number = number, .memory = spec->memory, .constants = constants, .trace = spec->trace};
    int result = host_create(&cluster->hosts[number], cluster->sim, &host);
    if (result < 0)
        return result;
    struct chip_spec chip = {.number = number,
                             .host = cluster->hosts[number],
                             .wire = {cluster, wire_send, wire_drain, wire_has},
                             .constants = constants,
                             .image = cluster->image,
                             .trace = spec->trace};
    result = chip_create(&cluster->chips[number], cluster->sim, &chip);
    return result < 0 ? result : driver_create(&cluster->drivers[number], cluster->chips[number]);
}

static void ranges_take(struct cluster *cluster, const struct platform_ranges *ranges)
{
    if (!ranges)
        return;
    cluster->ranges = *ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        sim_constants_share_network(&cluster->ranges.range[i].constants, &cluster->constants);
}

int cluster_create(struct cluster **cluster, struct sim *sim, const struct cluster_spec *spec)
{
    struct cluster *made = arena_owner(sizeof(*made));
    int result = made ? 0 : -ENOMEM;
    if (made) {
        made->sim = sim;
        made->node_count = spec->node_count;
        made->flight_free = NO_FLIGHT;
        made->constants = spec->constants ? *spec->constants : sim_constants_default();
        ranges_take(made, spec->ranges);
        ARENA_TAKE(&made->memory, made->hosts, spec->node_count);
        ARENA_TAKE(&made->memory, made->chips, spec->node_count);
        ARENA_TAKE(&made->memory, made->drivers, spec->node_count);
        ARENA_TAKE(&made->memory, made->usage, spec->node_count);
        ARENA_TAKE(&made->memory, made->is_dead, spec->node_count);
        ARENA_TAKE(&made->memory, made->is_mute, spec->node_count);
        result = made->memory.is_short ? -ENOMEM : 0;
    }
    if (result < 0)
        error_fail(result, "no memory for %u simulated nodes", spec->node_count);
    if (result == 0)
        result = firmware_load(made);
    if (result == 0)
        result = network_make(made, spec);
    for (uint32_t i = 0; result == 0 && i < spec->node_count; i++)
        result = node_make(made, spec, i);
    if (result < 0) {
        cluster_destroy(made);
        return result;
    }
    *cluster = made;
    return 0;
}

void cluster_destroy(struct cluster *cluster)
{
    if (!cluster)
        return;
    for (uint32_t i = 0; i < cluster->flight_count; i++)
        free(cluster->flights[i].packet);
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster->drivers)
            driver_destroy(cluster->drivers[i]);
        if (cluster->chips)
            chip_destroy(cluster->chips[i]);
        if (cluster->hosts)
            host_destroy(cluster->hosts[i]);
    }
    network_destroy(cluster->network);
    processor_image_close(cluster->image);
    free(cluster->flights);
    arena_owner_free(cluster);
}

struct host *cluster_host(const struct cluster *cluster, uint32_t node)
{
    return cluster->hosts[node];
}

struct chip *cluster_chip(const struct cluster *cluster, uint32_t node)
{
    return cluster->chips[node];
}

struct driver *cluster_driver(const struct cluster *cluster, uint32_t node)
{
    return cluster->drivers[node];
}

const struct sim_constants *cluster_constants(const struct cluster *cluster, uint32_t node)
{
    const struct platform_range *range = platform_range_of(&cluster->ranges, node);
    return range ? &range->constants : &cluster->constants;
}

struct network *cluster_network(const struct cluster *cluster)
{
    return cluster->network;
}

uint32_t cluster_node_count(const struct cluster *cluster)
{
    return cluster->node_count;
}

const struct cluster_usage *cluster_usage(const struct cluster *cluster, uint32_t node)
{
    return &cluster->usage[node];
}

const struct histogram *cluster_latency(const struct cluster *cluster)
{
    return &cluster->latency;
}

void cluster_node_kill(struct cluster *cluster, uint32_t node)
{
    cluster->is_dead[node] = true;
}

void cluster_program_kill(struct cluster *cluster, uint32_t node)
{
    cluster->is_mute[node] = true;
}

int cluster_loss_set(struct cluster *cluster, const struct cluster_loss *loss)
{
    size_t pairs = (size_t)cluster->node_count * cluster->node_count;
    if (!cluster->is_cut && !ARENA_TAKE(&cluster->memory, cluster->is_cut, pairs))
        return error_fail(-ENOMEM, "no memory for %zu pairs of nodes", pairs);
    cluster->loss = *loss;
    return 0;
}

uint64_t cluster_lost(const struct cluster *cluster)
{
    return cluster->lost;
}
