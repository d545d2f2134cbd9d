/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fat_tree.h. 8 pods of 4 edge and 4 middle switches, and 16 on top. Each switch has its lower
 * neighbours at ports 1 to 4 and its upper ones at 5 to 8, those on top a pod at each port. The way
 * up is chosen by the target's number, so that all packets to a host share one way; none goes up
 * after it went down, so they cannot wait for each other in a circle.
 */
#include "experiment/cache/fat_tree.h"

#include "base/error.h"

#include <stdlib.h>

#define HALF     4 /* of a switch's ports */
#define PODS     (2 * HALF)
#define EDGES    (PODS * HALF) /* and as many in the middle */
#define TOPS     (HALF * HALF)
#define SWITCHES (2 * EDGES + TOPS)
#define LINKS    (2 * EDGES * HALF + FAT_TREE_HOSTS)

static struct network_end end_of(uint32_t node, uint32_t port)
{
    return (struct network_end){node, (uint8_t)port};
}

static uint32_t links_fill(struct network_link *links, uint32_t host_count, uint32_t mbps)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < EDGES; at++) {
        uint32_t pod = at / HALF, place = at % HALF;
        for (uint32_t i = 0; i < HALF; i++) {
            uint32_t middle = EDGES + pod * HALF + i, top = 2 * EDGES + place * HALF + i;
            links[count++] = (struct network_link){
                .a = end_of(at, HALF + 1 + i), .b = end_of(middle, 1 + place), .mbps = mbps};
            links[count++] = (struct network_link){
                .a = end_of(EDGES + at, HALF + 1 + i), .b = end_of(top, 1 + pod), .mbps = mbps};
        }
    }
    for (uint32_t host = 0; host < host_count; host++)
        links[count++] = (struct network_link){.a = end_of(host / HALF, 1 + host % HALF),
                                               .b = end_of(SWITCHES + host, 1),
                                               .mbps = mbps};
    return count;
}

static uint32_t port_to(uint32_t at, uint32_t host)
{
    uint32_t edge = host / HALF, pod = edge / HALF;
    if (at < EDGES)
        return at == edge ? 1 + host % HALF : HALF + 1 + host % HALF;
    if (at < 2 * EDGES)
        return (at - EDGES) / HALF == pod ? 1 + edge % HALF : HALF + 1 + edge % HALF;
    return 1 + pod;
}

int fat_tree_make(struct network_plan *plan, uint32_t host_count, uint32_t mbps)
{
    if (host_count > FAT_TREE_HOSTS)
        return error_fail(RH_EINVALID, "%u hosts: the tree has room for %d", host_count,
                          FAT_TREE_HOSTS);
    struct network_link *links = calloc(LINKS, sizeof(*links));
    uint8_t *ports = calloc((size_t)SWITCHES * host_count, 1);
    if (!links || !ports) {
        free(links);
        free(ports);
        return error_no_memory("a tree of switches");
    }
    for (uint32_t at = 0; at < SWITCHES; at++) {
        for (uint32_t host = 0; host < host_count; host++)
            ports[at * host_count + host] = (uint8_t)port_to(at, host);
    }
    *plan = (struct network_plan){.switch_count = SWITCHES,
                                  .host_count = host_count,
                                  .link_count = links_fill(links, host_count, mbps),
                                  .links = links,
                                  .port_to = ports};
    return 0;
}

void fat_tree_free(struct network_plan *plan)
{
    free((void *)(uintptr_t)plan->links);
    free((void *)(uintptr_t)plan->port_to);
    *plan = (struct network_plan){0};
}
