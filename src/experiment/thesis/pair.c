/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See pair.h.
 */
#include "experiment/thesis/pair.h"

#include "base/error.h"

#include <errno.h>

/* One switch, two hosts. */
static const struct network_link switch_links[] = {{.a = {1, 1}, .b = {0, 1}},
                                                   {.a = {2, 1}, .b = {0, 2}}};
static const uint8_t switch_ports[] = {1, 2};

int pair_open(struct pair *pair, const struct measure_setup *setup, uint32_t windows)
{
    *pair = (struct pair){.setup = setup};
    for (uint32_t i = 0; i < 2; i++) {
        pair->links[i] = switch_links[i];
        pair->links[i].mbps = (uint32_t)setup->constants->cluster_mbps;
    }
    pair->plan = (struct network_plan){.switch_count = 1,
                                       .host_count = 2,
                                       .link_count = 2,
                                       .links = pair->links,
                                       .port_to = switch_ports};
    int result = sim_create(&pair->sim, 1);
    if (result < 0)
        return result;
    struct cluster_spec spec = {.node_count = 2,
                                .memory = PAIR_MEMORY,
                                .plan = setup->has_switch ? &pair->plan : NULL,
                                .constants = setup->constants,
                                .trace = setup->trace};
    result = cluster_create(&pair->cluster, pair->sim, &spec);
    for (uint32_t i = 0; result == 0 && i < 2; i++) {
        struct process_spec process = {.cluster = pair->cluster,
                                       .node = i,
                                       .pgid = 1,
                                       .pid = (uint16_t)i,
                                       .window_count = windows};
        result = process_create(&pair->process[i], &process);
    }
    for (uint32_t i = 0; result == 0 && i < 2; i++)
        process_page_open(pair->process[i], PAIR_PAGE, pair->process[!i], PAIR_RECEIVE);
    return result;
}

void pair_close(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        process_destroy(pair->process[i]);
    cluster_destroy(pair->cluster);
    sim_destroy(pair->sim);
}

int pair_run(struct pair *pair, void (*first)(void *), void (*second)(void *))
{
    struct fiber_spec specs[] = {{.name = "node 0", .body = first, .argument = pair},
                                 {.name = "node 1", .body = second, .argument = pair}};
    int result = fiber_create(pair->sim, &specs[0], NULL);
    if (result == 0 && second)
        result = fiber_create(pair->sim, &specs[1], NULL);
    if (result == 0)
        result = sim_run(pair->sim, PAIR_DEADLINE, 0);
    if (result < 0)
        return result;
    if (fiber_count(pair->sim) > 0 || pair->failure < 0)
        return error_fail(-EIO, "a simulated program did not come to its end");
    return network_check(cluster_network(pair->cluster));
}
