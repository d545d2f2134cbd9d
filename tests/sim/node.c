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

int node_image(struct nodes *nodes, struct chip_header header, const uint64_t *payload)
{
    struct host *host = cluster_host(nodes->cluster, 0);
    struct chip *chip = cluster_chip(nodes->cluster, 0);
    uint64_t words[CHIP_WINDOW_WORDS];
    uint32_t count = CHIP_HEADER_WORDS + header.length / 8;
    header.pgid = NODE_PGID;
    header.target_node = header.target_pid = 1;
    header.flag = PROCESS_VIRTUAL + NODE_ANSWER;
    chip_header_pack(&header, words);
    memcpy(words + CHIP_HEADER_WORDS, payload, header.length);
    *node_word(nodes, 0, NODE_CONTFLAG) = *node_word(nodes, 0, NODE_ANSWER) = 0;
    chip_contflag_set(chip, 0, NODE_CONTFLAG);
    host_pio(host, count, false);
    for (uint32_t i = 0; i < count; i++)
        chip_window_write(chip, 0, i, words[i]);
    chip_window_kick(chip, 0, CHIP_BOTF);
    assert_int_equal(host_poll(host, NODE_CONTFLAG, CHIP_CONT_DONE, false, SIM_NEVER), 0);
    return host_poll(host, NODE_ANSWER, CHIP_ANSWER_DONE, false, sim_now(nodes->sim) + SIM_MS);
}

uint64_t node_ask(struct nodes *nodes, uint32_t node, const struct process_transfer *transfer,
                  enum chip_kick kick)
{
    process_ask(nodes->process[node], transfer, kick);
    return process_finish(nodes->process[node]) == 0 ? CHIP_CONT_DONE : CHIP_CONT_REFUSED;
}
