/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See node.h.
 */
#include "node.h"

#include "base/error.h"

#include <string.h>

static void node_prepare(struct nodes *nodes, uint32_t node)
{
    struct chip *chip = cluster_chip(nodes->cluster, node);
    uint16_t pid = (uint16_t)node;
    chip_window_set(chip, 0, NODE_PGID, pid);
    chip_contflag_set(chip, 0, NODE_CONTFLAG);
    for (uint64_t page = 0; page < NODE_MEMORY / 4096; page++) {
        struct chip_page pinned = {NODE_PGID, pid, NODE_VIRTUAL / 4096 + page, page};
        assert_int_equal(chip_page_pin(chip, &pinned), 0);
    }
    struct chip_segment segment = {NODE_PGID, pid, NODE_SID, NODE_VIRTUAL};
    assert_int_equal(chip_segment_add(chip, &segment), 0);
}

void nodes_open(struct nodes *nodes, struct cluster_spec spec, bool is_warm)
{
    memset(nodes, 0, sizeof(*nodes));
    nodes->sim = world_make(1);
    spec.memory = NODE_MEMORY;
    if (spec.node_count == 0)
        spec.node_count = 2;
    if (cluster_create(&nodes->cluster, nodes->sim, &spec) < 0)
        fail_msg("%s", rh_error_text());
    for (uint32_t i = 0; i < spec.node_count; i++) {
        node_prepare(nodes, i);
        if (is_warm)
            chip_tlb_warm(cluster_chip(nodes->cluster, i));
    }
}

void nodes_close(struct nodes *nodes)
{
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
        fail_msg("programs wait for ever");
    }
    if (network_check(cluster_network(nodes->cluster)) < 0)
        fail_msg("%s", rh_error_text());
}

uint64_t *node_word(struct nodes *nodes, uint32_t node, uint64_t physical)
{
    return host_memory(cluster_host(nodes->cluster, node), physical, 8);
}

void node_kick(struct nodes *nodes, const struct node_request *request)
{
    struct chip *chip = cluster_chip(nodes->cluster, request->node);
    uint64_t words[CHIP_HEADER_WORDS];
    struct chip_header header = {.type = CHIP_PACKET_PUSH,
                                 .wants_ack = request->wants_flag,
                                 .target_node = (uint16_t)request->target,
                                 .target_pid = (uint16_t)request->target,
                                 .length = request->length,
                                 .sid = request->sid ? request->sid : NODE_SID,
                                 .offset = request->offset,
                                 .local = NODE_VIRTUAL + request->local,
                                 .flag = request->wants_flag ? NODE_VIRTUAL + NODE_FLAG : 0};
    chip_header_pack(&header, words);
    uint32_t payload = request->kick == CHIP_BOTF ? (request->length + 7) / 8 : 0;
    *node_word(nodes, request->node, NODE_CONTFLAG) = 0;
    host_pio(cluster_host(nodes->cluster, request->node), CHIP_HEADER_WORDS + payload);
    for (uint32_t i = 0; i < CHIP_HEADER_WORDS; i++)
        chip_window_write(chip, 0, i, words[i]);
    for (uint32_t i = 0; i < payload; i++)
        chip_window_write(chip, 0, CHIP_HEADER_WORDS + i,
                          *node_word(nodes, request->node, request->local + 8 * i));
    chip_window_kick(chip, 0, request->kick);
}

uint64_t node_ask(struct nodes *nodes, const struct node_request *request)
{
    struct host *host = cluster_host(nodes->cluster, request->node);
    node_kick(nodes, request);
    assert_int_equal(host_poll(host, NODE_CONTFLAG, 0, true, sim_now(nodes->sim) + SIM_MS), 0);
    return *node_word(nodes, request->node, NODE_CONTFLAG);
}
