/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See node.h.
 */
#include "node.h"

#include "base/error.h"

#include <string.h>

void nodes_open(struct nodes *nodes, struct cluster_spec spec, bool is_warm)
{
    nodes_open_seeded(nodes, spec, is_warm, 1);
}

void nodes_open_seeded(struct nodes *nodes, struct cluster_spec spec, bool is_warm, uint64_t seed)
{
    memset(nodes, 0, sizeof(*nodes));
    nodes->sim = world_make(seed);
    spec.memory = NODE_MEMORY;
    if (spec.node_count == 0)
        spec.node_count = 2;
    if (cluster_create(&nodes->cluster, nodes->sim, &spec) < 0)
        fail_msg("%s", rh_error_text());
    for (uint32_t i = 0; i < spec.node_count; i++) {
        struct process_spec process = {.cluster = nodes->cluster,
                                       .node = i,
                                       .pgid = NODE_PGID,
                                       .pid = (uint16_t)i,
                                       .is_cold = !is_warm};
        if (process_create(&nodes->process[i], &process) < 0)
            fail_msg("%s", rh_error_text());
    }
}

void nodes_close(struct nodes *nodes)
{
    for (int i = 0; i < NODES_MAX; i++)
        process_destroy(nodes->process[i]);
    cluster_destroy(nodes->cluster);
    sim_destroy(nodes->sim);
}

void nodes_start(struct nodes *nodes, const char *name, void (*body)(void *))
{
    struct fiber_spec spec = {.name = name, .body = body, .argument = nodes};
    assert_int_equal(fiber_create(nodes->sim, &spec, NULL), 0);
}

void nodes_run(struct nodes *nodes)
{
    assert_int_equal(sim_run(nodes->sim, SIM_NEVER, 0), SIM_IDLE);
    if (fiber_count(nodes->sim) > 0) {
        fiber_list_print(nodes->sim, stderr);
        fail_msg("seed %llu: programs wait for ever", (unsigned long long)sim_seed(nodes->sim));
    }
    if (network_check(cluster_network(nodes->cluster)) < 0)
        fail_msg("%s", rh_error_text());
}

uint64_t *node_word(struct nodes *nodes, uint32_t node, uint64_t offset)
{
    return process_memory(nodes->process[node], offset, sizeof(uint64_t));
}

uint64_t node_ask(struct nodes *nodes, uint32_t node, const struct process_transfer *transfer,
                  enum chip_kick kick)
{
    process_ask(nodes->process[node], transfer, kick);
    return process_finish(nodes->process[node]) == 0 ? CHIP_CONT_DONE : CHIP_CONT_REFUSED;
}
