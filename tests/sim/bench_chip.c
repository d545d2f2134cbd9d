/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast two simulated nodes play ping-pong, and what an idle node costs in memory. Not a test:
 * prints, and asserts nothing about time.
 */
#include "sim/process/process.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 100000
#define NODES  256

struct pair {
    struct sim *sim;
    struct cluster *cluster;
    struct process *process[2];
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

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

static int ping_pong(void)
{
    struct pair pair = {0};
    if (sim_create(&pair.sim, 1) < 0 ||
        cluster_create(&pair.cluster, pair.sim,
                       &(struct cluster_spec){.node_count = 2, .memory = 1 << 20}) < 0)
        return 1;
    for (uint32_t i = 0; i < 2; i++) {
        struct process_spec spec = {
            .cluster = pair.cluster, .node = i, .pgid = 1, .pid = (uint16_t)i};
        if (process_create(&pair.process[i], &spec) < 0)
            return 1;
    }
    fiber_create(pair.sim, &(struct fiber_spec){"first", first, &pair, 0}, NULL);
    fiber_create(pair.sim, &(struct fiber_spec){"second", second, &pair, 0}, NULL);
    double before = cpu_seconds();
    sim_run(pair.sim, SIM_NEVER, 0);
    double seconds = cpu_seconds() - before;
    printf("ping-pong of 8-byte PUSHes: %.0f messages/s, %.0f events/s (%.1f events a message)\n",
           2 * ROUNDS / seconds, (double)sim_event_count(pair.sim) / seconds,
           (double)sim_event_count(pair.sim) / (2.0 * ROUNDS));
    process_destroy(pair.process[0]);
    process_destroy(pair.process[1]);
    cluster_destroy(pair.cluster);
    sim_destroy(pair.sim);
    return 0;
}

static long resident(void)
{
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* A network of one big switch, nodes on it, a fiber on each. */
static void nothing(void *argument)
{
    (void)argument;
}

static int idle_nodes(void)
{
    static struct network_link links[NODES];
    static uint8_t ports[NODES];
    struct network_plan plan = {.switch_count = 1,
                                .host_count = NODES - 2,
                                .link_count = NODES - 2,
                                .links = links,
                                .port_to = ports};
    for (uint32_t i = 0; i < NODES - 2; i++) {
        links[i] = (struct network_link){.a = {1 + i, 1}, .b = {0, (uint8_t)(i + 1)}};
        ports[i] = (uint8_t)(i + 1);
    }
    struct sim *sim;
    struct cluster *cluster;
    long before = resident();
    if (sim_create(&sim, 1) < 0 ||
        cluster_create(
            &cluster, sim,
            &(struct cluster_spec){.node_count = NODES - 2, .memory = 1 << 20, .plan = &plan}) < 0)
        return 1;
    for (uint32_t i = 0; i < NODES - 2; i++)
        fiber_create(sim, &(struct fiber_spec){"idle", nothing, NULL, 0}, NULL);
    printf("an idle node with a fiber: %.1f KB\n",
           (double)(resident() - before) / (NODES - 2) / 1024);
    sim_run(sim, SIM_NEVER, 0);
    cluster_destroy(cluster);
    sim_destroy(sim);
    return 0;
}

int main(void)
{
    return ping_pong() || idle_nodes();
}
