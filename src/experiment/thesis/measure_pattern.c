/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figure 7.7: streams among three nodes, with exceptions on one of them. Node 0 receives, nodes 1
 * and 2 send; what the others do besides depends on the pattern.
 */
#include "experiment/thesis/measure.h"

#include "base/error.h"

#include <errno.h>

#define NODES    3
#define MEMORY   (1u << 20)
#define SEND     PROCESS_DATA
#define RECEIVE  (PROCESS_DATA + (512u << 10))
#define UNKNOWN  77 /* a segment that nobody has */
#define WARM     (200 * SIM_US)
#define END      (2200 * SIM_US)
#define DEADLINE (END + 5 * SIM_MS)

struct trio {
    enum measure_pattern pattern;
    uint32_t size;
    struct network_link links[NODES];
    struct network_plan plan;
    struct sim *sim;
    struct cluster *cluster;
    struct process *process[NODES];
    uint64_t arrived; /* bytes whose PUSH was taken, in the time that counts */
    int failure;
};

struct player {
    struct trio *trio;
    uint32_t number;
};

/* PUSH after PUSH, to the targets in turn. */
static void stream(struct player *player, const uint32_t *targets, uint32_t target_count)
{
    struct trio *trio = player->trio;
    struct process *process = trio->process[player->number];
    for (uint32_t i = 0; sim_now(trio->sim) < END && trio->failure == 0; i++) {
        struct process_transfer transfer = {.peer = trio->process[targets[i % target_count]],
                                            .local = SEND,
                                            .remote = RECEIVE,
                                            .length = trio->size};
        sim_time begin = sim_now(trio->sim);
        trio->failure = process_push(process, &transfer);
        /* the part of it that lies in the time that counts, by when the window was free again */
        int result = process_finish(process);
        sim_time end = sim_now(trio->sim);
        trio->failure = trio->failure ? trio->failure : result;
        sim_time from = begin > WARM ? begin : WARM, to = end < END ? end : END;
        if (to > from)
            trio->arrived += (uint64_t)((double)trio->size * (double)(to - from) /
                                        (double)(end - begin));
    }
}

/* Requests that must fail: the data is in no pinned page. In a loop there is one of them. */
static void refused_stream(struct player *player)
{
    struct trio *trio = player->trio;
    struct process *process = trio->process[player->number];
    struct process_transfer transfer = {
        .peer = trio->process[1], .local = MEMORY, .remote = RECEIVE, .length = trio->size};
    bool loops = trio->pattern == PATTERN_INITIATOR_LOOPS;
    while (sim_now(trio->sim) < END) {
        process_push(process, &transfer);
        if (loops)
            return;
        process_finish(process);
    }
}

/* Packets that RFend of node 1 stops at, and its firmware drops. */
static void unknown_stream(struct player *player)
{
    struct trio *trio = player->trio;
    struct process *process = trio->process[player->number];
    struct process_transfer transfer = {.peer = trio->process[1],
                                        .sid = UNKNOWN,
                                        .local = SEND,
                                        .remote = RECEIVE,
                                        .length = trio->size};
    while (sim_now(trio->sim) < END)
        process_push(process, &transfer);
}

static void play(void *argument)
{
    struct player *player = argument;
    enum measure_pattern pattern = player->trio->pattern;
    static const uint32_t both[] = {0, 2};
    if (player->number == 1)
        stream(player, both, pattern == PATTERN_1_TO_2 ? 2 : 1);
    else if (player->number == 2 && pattern == PATTERN_RFEND_STOPS)
        unknown_stream(player);
    else if (player->number == 2 && pattern >= PATTERN_2_TO_1)
        stream(player, both, 1);
    else if (player->number == 0 && pattern >= PATTERN_REQUESTS_END)
        refused_stream(player);
}

static int trio_open(struct trio *trio, const struct sim_constants *constants)
{
    static const uint8_t ports[NODES] = {1, 2, 3};
    for (uint32_t i = 0; i < NODES; i++)
        trio->links[i] = (struct network_link){
            .a = {1 + i, 1}, .b = {0, ports[i]}, .mbps = (uint32_t)constants->cluster_mbps};
    trio->plan = (struct network_plan){.switch_count = 1,
                                       .host_count = NODES,
                                       .link_count = NODES,
                                       .links = trio->links,
                                       .port_to = ports};
    struct cluster_spec spec = {
        .node_count = NODES, .memory = MEMORY, .plan = &trio->plan, .constants = constants};
    int result = sim_create(&trio->sim, 1);
    if (result == 0)
        result = cluster_create(&trio->cluster, trio->sim, &spec);
    for (uint32_t i = 0; result == 0 && i < NODES; i++)
        result = process_create(&trio->process[i], &(struct process_spec){.cluster = trio->cluster,
                                                                          .node = i,
                                                                          .pgid = 1,
                                                                          .pid = (uint16_t)i});
    return result;
}

static int trio_run(struct trio *trio)
{
    struct player players[NODES];
    int result = 0;
    for (uint32_t i = 0; i < NODES && result == 0; i++) {
        players[i] = (struct player){trio, i};
        result = fiber_create(
            trio->sim, &(struct fiber_spec){.name = "node", .body = play, .argument = &players[i]},
            NULL);
    }
    if (result == 0)
        result = sim_run(trio->sim, DEADLINE, 0);
    if (result < 0)
        return result;
    if (fiber_count(trio->sim) > 0 || trio->failure < 0)
        return error_fail(-EIO, "a simulated stream did not come to its end");
    return network_check(cluster_network(trio->cluster));
}

int measure_pattern(const struct sim_constants *constants, enum measure_pattern pattern,
                    uint32_t size, double *mbps)
{
    struct sim_constants c = *constants;
    struct trio trio = {.pattern = pattern, .size = size};
    /* the firmware of this experiment knows beforehand what it will do: nothing is looked up */
    c.cpu_sdram_cycles = 0;
    c.miss_loops = pattern == PATTERN_INITIATOR_LOOPS;
    int result = trio_open(&trio, &c);
    if (result == 0)
        result = trio_run(&trio);
    if (result == 0)
        *mbps = (double)trio.arrived / ((double)(END - WARM) / (double)SIM_US);
    for (uint32_t i = 0; i < NODES; i++)
        process_destroy(trio.process[i]);
    cluster_destroy(trio.cluster);
    sim_destroy(trio.sim);
    return result;
}
