/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks of 8-port switches for any number of nodes, free of deadlock because no packet goes up
 * after it went down: one switch; the four fully connected ones of chapter 8; or a tree. Other
 * networks come from the routing module.
 */
#include "base/error.h"
#include "simulated/station.h"

#include <stdlib.h>

#define PORTS    8
#define FULL     4 /* switches, and hosts on each, of chapter 8's cluster */
#define CHILDREN (PORTS - 1)

/* What is being made; all of it ends up in the plan. */
struct making {
    uint32_t switches, hosts, links;
    struct network_link *link;
    uint8_t *port_to; /* [switch * hosts + host] */
};

static int making_begin(struct making *making, uint32_t switches, uint32_t hosts)
{
    size_t links = hosts + (size_t)switches * CHILDREN;
    making->switches = switches;
    making->hosts = hosts;
    making->link = calloc(links, sizeof(*making->link));
    making->port_to = calloc((size_t)switches * hosts, 1);
    if (making->link && making->port_to)
        return 0;
    free(making->link);
    free(making->port_to);
    return error_no_memory("a network of %u hosts", hosts);
}

static void join(struct making *making, struct network_end a, struct network_end b, uint32_t mbps)
{
    making->link[making->links++] = (struct network_link){.a = a, .b = b, .mbps = mbps};
}

/* Hosts are at the ports from `first` on of their switch. */
static void hosts_join(struct making *making, uint32_t host, uint32_t at, uint8_t first,
                       uint32_t mbps)
{
    struct network_end end = {at, first};
    join(making, end, (struct network_end){making->switches + host, 1}, mbps);
    making->port_to[(size_t)at * making->hosts + host] = first;
}

static int full_make(struct making *making, uint32_t hosts, uint32_t mbps)
{
    uint32_t switches = hosts <= CHILDREN ? 1 : FULL;
    int result = making_begin(making, switches, hosts);
    if (result < 0)
        return result;
    for (uint32_t a = 0; a < switches; a++) {
        for (uint32_t b = a + 1; b < switches; b++) /* port 1 + the other's number, less itself */
            join(making, (struct network_end){a, (uint8_t)b},
                 (struct network_end){b, (uint8_t)(a + 1)}, mbps);
    }
    for (uint32_t host = 0; host < hosts; host++) {
        uint32_t home = switches == 1 ? 0 : host / FULL;
        uint32_t place = switches == 1 ? host : host % FULL;
        hosts_join(making, host, home, (uint8_t)((switches == 1 ? 1 : FULL) + place), mbps);
        for (uint32_t at = 0; at < switches; at++) {
            if (at != home)
                making->port_to[(size_t)at * hosts + host] = (uint8_t)(home < at ? home + 1 : home);
        }
    }
    return 0;
}

/* The tree is complete, level by level: switch 0 is the root, the children of s are
 * s * CHILDREN + 1 and so on at ports 1 to 7, port 8 leads up. Hosts hang below the last level. */
static uint32_t tree_parent(uint32_t at)
{
    return (at - 1) / CHILDREN;
}

static int tree_make(struct making *making, uint32_t hosts, uint32_t mbps)
{
    uint32_t leaves = 1, first = 0; /* of the last level */
    while (leaves * CHILDREN < hosts) {
        first += leaves;
        leaves *= CHILDREN;
    }
    uint32_t switches = first + (hosts + CHILDREN - 1) / CHILDREN;
    int result = making_begin(making, switches, hosts);
    if (result < 0)
        return result;
    for (uint32_t at = 1; at < switches; at++)
        join(making, (struct network_end){at, PORTS},
             (struct network_end){tree_parent(at), (uint8_t)((at - 1) % CHILDREN + 1)}, mbps);
    for (uint32_t host = 0; host < hosts; host++) {
        uint32_t home = first + host / CHILDREN;
        for (uint32_t at = 0; at < switches; at++)
            making->port_to[(size_t)at * hosts + host] = PORTS;
        hosts_join(making, host, home, (uint8_t)(host % CHILDREN + 1), mbps);
        for (uint32_t at = home; at > 0; at = tree_parent(at))
            making->port_to[(size_t)tree_parent(at) * hosts + host] =
                (uint8_t)((at - 1) % CHILDREN + 1);
    }
    return 0;
}

int martini_plan_make(struct network_plan *plan, uint32_t host_count, uint32_t mbps)
{
    struct making making = {0};
    int result = host_count <= FULL * FULL ? full_make(&making, host_count, mbps)
                                           : tree_make(&making, host_count, mbps);
    if (result < 0)
        return result;
    *plan = (struct network_plan){.switch_count = making.switches,
                                  .host_count = host_count,
                                  .link_count = making.links,
                                  .links = making.link,
                                  .port_to = making.port_to};
    return 0;
}

void martini_plan_free(struct network_plan *plan)
{
    free((void *)(uintptr_t)plan->links);
    free((void *)(uintptr_t)plan->port_to);
    *plan = (struct network_plan){0};
}
