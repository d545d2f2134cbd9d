/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bench.h.
 */
#include "experiment/simulator/worlds.h"

#include "base/clock.h"
#include "base/error.h"
#include "route/route.h"
#include "sim/workload/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 50000

static double resident_bytes(void)
{
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

struct pair {
    struct sim *sim;
    struct cluster *cluster;
    struct process *process[2];
};

static void play(struct pair *pair, int node)
{
    struct process_transfer transfer = {.peer = pair->process[!node],
                                        .local = PROCESS_DATA,
                                        .remote = PROCESS_DATA + 64,
                                        .length = 8};
    uint64_t *word = process_memory(pair->process[node], PROCESS_DATA, 8);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        if (node == 1)
            process_poll(pair->process[1], PROCESS_DATA + 64, i, SIM_NEVER);
        *word = i;
        process_push(pair->process[node], &transfer);
        if (node == 0)
            process_poll(pair->process[0], PROCESS_DATA + 64, i, SIM_NEVER);
    }
}

static void first(void *pair)
{
    play(pair, 0);
}

static void second(void *pair)
{
    play(pair, 1);
}

int bench_ping_pong(struct bench_result *result)
{
    struct pair pair = {0};
    struct cluster_spec spec = {.node_count = 2, .memory = 1 << 20};
    int status = sim_create(&pair.sim, 1);
    if (status == 0)
        status = cluster_create(&pair.cluster, pair.sim, &spec);
    for (uint32_t i = 0; status == 0 && i < 2; i++)
        status = process_create(&pair.process[i], &(struct process_spec){.cluster = pair.cluster,
                                                                         .node = i,
                                                                         .pgid = 1,
                                                                         .pid = (uint16_t)i});
    if (status == 0)
        status = fiber_create(pair.sim, &(struct fiber_spec){"first", first, &pair, 0}, NULL);
    if (status == 0)
        status = fiber_create(pair.sim, &(struct fiber_spec){"second", second, &pair, 0}, NULL);
    double before = clock_cpu_seconds();
    if (status == 0)
        status = sim_run(pair.sim, SIM_NEVER, 0);
    result->seconds = clock_cpu_seconds() - before;
    result->messages = 2 * ROUNDS / result->seconds;
    result->events = pair.sim ? (double)sim_event_count(pair.sim) / result->seconds : 0;
    process_destroy(pair.process[0]);
    process_destroy(pair.process[1]);
    cluster_destroy(pair.cluster);
    sim_destroy(pair.sim);
    return status;
}

struct bench_tree {
    struct fabric *fabric;
    struct net *net;
    struct traffic *traffic;
    struct routing *routing;
    struct sim_plan plan;
};

int bench_tree_open(struct bench_tree **tree, uint32_t ports)
{
    const struct algorithm *algorithm = algorithm_find("fat-tree");
    struct generate_options options = {.ports = ports, .levels = 3};
    struct bench_tree *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for a network");
    int result = generate_fabric(&made->fabric, "fat-tree", &options);
    if (result == 0)
        result = net_create(&made->net, made->fabric);
    if (result == 0)
        result = traffic_uniform(&made->traffic, made->net);
    if (result == 0)
        result = routing_create(&made->routing, made->traffic, algorithm, NULL);
    if (result == 0)
        result = sim_plan_by_table(&made->plan, made->routing->lft, ALGORITHM_ONE_LANE);
    if (result < 0)
        bench_tree_close(made);
    else
        *tree = made;
    return result;
}

void bench_tree_close(struct bench_tree *tree)
{
    if (!tree)
        return;
    sim_plan_free(&tree->plan);
    routing_destroy(tree->routing);
    traffic_destroy(tree->traffic);
    net_destroy(tree->net);
    fabric_destroy(tree->fabric);
    free(tree);
}

uint32_t bench_tree_hosts(const struct bench_tree *tree)
{
    return tree->plan.plan.host_count;
}

struct node {
    const struct crowd *crowd;
    struct process *process;
    uint32_t number;
};

struct crowd {
    struct sim *sim;
    struct cluster *cluster;
    uint32_t count;
    struct node *nodes;
};

static void push_to_all(void *argument)
{
    struct node *node = argument;
    const struct crowd *crowd = node->crowd;
    uint64_t *word = process_memory(node->process, PROCESS_DATA, 8);
    *word = node->number + 1;
    for (uint32_t i = 1; i < crowd->count; i++) {
        const struct node *peer = &crowd->nodes[(node->number + i) % crowd->count];
        struct process_transfer transfer = {.peer = peer->process,
                                            .local = PROCESS_DATA,
                                            .remote = PROCESS_DATA + 8 * (node->number + 1ULL),
                                            .length = 8};
        process_push(node->process, &transfer);
    }
    process_finish(node->process);
}

static int crowd_open(struct crowd *crowd, const struct bench_tree *tree)
{
    crowd->count = bench_tree_hosts(tree);
    crowd->nodes = calloc(crowd->count, sizeof(*crowd->nodes));
    if (!crowd->nodes)
        return error_fail(-ENOMEM, "no memory for %u nodes", crowd->count);
    struct cluster_spec spec = {.node_count = crowd->count,
                                .memory = 4096 * (2 + crowd->count * 8ULL / 4096 + 1),
                                .plan = &tree->plan.plan};
    int result = sim_create(&crowd->sim, 1);
    if (result == 0)
        result = cluster_create(&crowd->cluster, crowd->sim, &spec);
    for (uint32_t i = 0; result == 0 && i < crowd->count; i++) {
        struct process_spec process = {
            .cluster = crowd->cluster, .node = i, .pgid = 1, .pid = (uint16_t)i};
        struct fiber_spec fiber = {.name = "node",
                                   .body = push_to_all,
                                   .argument = &crowd->nodes[i],
                                   .stack_size = 64 * 1024};
        crowd->nodes[i] = (struct node){.crowd = crowd, .number = i};
        result = process_create(&crowd->nodes[i].process, &process);
        if (result == 0)
            result = fiber_create(crowd->sim, &fiber, NULL);
    }
    return result;
}

/* Everybody must have everybody's word. */
static int crowd_check(const struct crowd *crowd)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < crowd->count; i++) {
        const uint64_t *words = process_memory(crowd->nodes[i].process, PROCESS_DATA,
                                               8 * (crowd->count + 1ULL));
        for (uint32_t k = 0; k < crowd->count; k++)
            missing += k != i && words[k + 1] != k + 1;
    }
    if (missing > 0)
        return error_fail(-EIO, "%llu words of an all-to-all are missing",
                          (unsigned long long)missing);
    return network_check(cluster_network(crowd->cluster));
}

int bench_controllers(const struct bench_tree *tree, struct bench_result *result)
{
    struct crowd crowd = {0};
    double memory = resident_bytes();
    int status = crowd_open(&crowd, tree);
    result->idle_bytes = (resident_bytes() - memory) / crowd.count;
    double before = clock_cpu_seconds();
    if (status == 0)
        status = sim_run(crowd.sim, SIM_NEVER, 0);
    result->seconds = clock_cpu_seconds() - before;
    if (status >= 0)
        status = crowd_check(&crowd);
    result->messages = (double)crowd.count * (crowd.count - 1) / result->seconds;
    result->events = crowd.sim ? (double)sim_event_count(crowd.sim) / result->seconds : 0;
    for (uint32_t i = 0; crowd.nodes && i < crowd.count; i++)
        process_destroy(crowd.nodes[i].process);
    cluster_destroy(crowd.cluster);
    sim_destroy(crowd.sim);
    free(crowd.nodes);
    return status;
}

int bench_network(const struct bench_tree *tree, struct bench_result *result)
{
    struct workload_spec spec = {.pattern = WORKLOAD_ALL_TO_ALL, .bytes = 8, .load = 1};
    struct workload_report *report = calloc(1, sizeof(*report));
    struct workload *workload = NULL;
    struct network *network = NULL;
    struct sim *sim = NULL;
    int status = report ? workload_create(&workload, &spec)
                        : error_fail(-ENOMEM, "no memory for a report");
    if (status == 0)
        status = sim_create(&sim, 1);
    struct network_options options = {.deliver = workload_deliver, .context = workload};
    if (status == 0)
        status = network_create(&network, sim, &tree->plan.plan, &options);
    double before = clock_cpu_seconds();
    if (status == 0)
        status = workload_run(workload, sim, network, bench_tree_hosts(tree), report);
    result->seconds = clock_cpu_seconds() - before;
    if (status == 0) {
        result->flit_hops = (double)report->count.flit_hops / result->seconds;
        result->events = (double)report->events / result->seconds;
    }
    network_destroy(network);
    workload_destroy(workload);
    sim_destroy(sim);
    free(report);
    return status;
}
