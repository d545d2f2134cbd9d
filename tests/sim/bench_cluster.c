/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many simulated controllers at once: on a fat tree every node pushes 8 bytes to every other.
 * Prints times and memory; asserts nothing about time, but that every word has arrived.
 * Usage: sim-bench-cluster [PORTS-OF-A-SWITCH], 16 unless given: 1024 nodes.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/sim_plan.h"
#include "route/generate.h"
#include "route/routing.h"
#include "sim/process/process.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct bench {
    struct fabric *fabric;
    struct net *net;
    struct traffic *traffic;
    struct routing *routing;
    struct sim_plan plan;
    struct sim *sim;
    struct cluster *cluster;
    uint32_t count;
    struct node {
        struct bench *bench;
        struct process *process;
        uint32_t number;
    } * nodes;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void push_to_all(void *argument)
{
    struct node *node = argument;
    const struct bench *bench = node->bench;
    uint64_t *word = process_memory(node->process, PROCESS_DATA, 8);
    *word = node->number + 1;
    for (uint32_t i = 1; i < bench->count; i++) {
        const struct node *peer = &bench->nodes[(node->number + i) % bench->count];
        struct process_transfer transfer = {.peer = peer->process,
                                            .local = PROCESS_DATA,
                                            .remote = PROCESS_DATA + 8 * (node->number + 1ULL),
                                            .length = 8};
        process_push(node->process, &transfer);
    }
    process_finish(node->process);
}

static int network_open(struct bench *bench, uint32_t ports)
{
    const struct algorithm *algorithm = algorithm_find("fat-tree");
    struct generate_options options = {.ports = ports, .levels = 3};
    int result = generate_fabric(&bench->fabric, "fat-tree", &options);
    if (result == 0)
        result = net_create(&bench->net, bench->fabric);
    if (result == 0)
        result = traffic_uniform(&bench->traffic, bench->net);
    if (result == 0)
        result = routing_create(&bench->routing, bench->traffic, algorithm, NULL);
    if (result == 0)
        result = sim_plan_by_table(&bench->plan, bench->routing->lft, SIM_PLAN_ONE);
    return result;
}

static int nodes_open(struct bench *bench)
{
    bench->count = bench->plan.plan.host_count;
    bench->nodes = calloc(bench->count, sizeof(*bench->nodes));
    struct cluster_spec spec = {.node_count = bench->count,
                                .memory = 4096 * (2 + bench->count * 8ULL / 4096 + 1),
                                .plan = &bench->plan.plan};
    int result = bench->nodes ? sim_create(&bench->sim, 1) : -1;
    if (result == 0)
        result = cluster_create(&bench->cluster, bench->sim, &spec);
    for (uint32_t i = 0; result == 0 && i < bench->count; i++) {
        struct process_spec process = {
            .cluster = bench->cluster, .node = i, .pgid = 1, .pid = (uint16_t)i};
        bench->nodes[i] = (struct node){.bench = bench, .number = i};
        result = process_create(&bench->nodes[i].process, &process);
        struct fiber_spec fiber = {.name = "node",
                                   .body = push_to_all,
                                   .argument = &bench->nodes[i],
                                   .stack_size = 64 * 1024};
        if (result == 0)
            result = fiber_create(bench->sim, &fiber, NULL);
    }
    return result;
}

static uint64_t words_missing(const struct bench *bench)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < bench->count; i++) {
        const uint64_t *words = process_memory(bench->nodes[i].process, PROCESS_DATA,
                                               8 * (bench->count + 1ULL));
        for (uint32_t k = 0; k < bench->count; k++)
            missing += k != i && words[k + 1] != k + 1;
    }
    return missing;
}

static int measure(struct bench *bench)
{
    double before = cpu_seconds();
    int result = sim_run(bench->sim, SIM_NEVER, 0);
    double seconds = cpu_seconds() - before;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t missing = words_missing(bench);
    printf("%u nodes, all to all, 8 B: %.1f us of virtual time, %.2f s, %.0f messages/s, "
           "%.0f events/s, %ld MB at most\n",
           bench->count, (double)sim_now(bench->sim) / (double)SIM_US, seconds,
           (double)bench->count * (bench->count - 1) / seconds,
           (double)sim_event_count(bench->sim) / seconds, usage.ru_maxrss / 1024);
    if (result != SIM_IDLE || missing > 0 || network_check(cluster_network(bench->cluster)) < 0) {
        fprintf(stderr, "%llu words are missing\n", (unsigned long long)missing);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    uint64_t ports = 16;
    if (argc > 1 && (!text_to_u64(argv[1], &ports) || ports < 4 || ports > 32))
        return 2;
    int status = 1;
    if (network_open(&bench, (uint32_t)ports) == 0 && nodes_open(&bench) == 0)
        status = measure(&bench);
    else
        fprintf(stderr, "%s\n", rh_error_text());
    for (uint32_t i = 0; bench.nodes && i < bench.count; i++)
        process_destroy(bench.nodes[i].process);
    cluster_destroy(bench.cluster);
    sim_destroy(bench.sim);
    sim_plan_free(&bench.plan);
    routing_destroy(bench.routing);
    traffic_destroy(bench.traffic);
    net_destroy(bench.net);
    fabric_destroy(bench.fabric);
    free(bench.nodes);
    return status;
}
