/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See measure.h. Programs are fibers; what they do is what the thesis's benchmarks did.
 */
#include "sim/thesis/measure.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

#define MEMORY      (4u << 20)
#define SEND        PROCESS_DATA                /* where data is sent from */
#define RECEIVE     (PROCESS_DATA + (2u << 20)) /* and where it goes */
#define ROUNDS      20
#define STREAM_WARM (200 * SIM_US)
#define STREAM_TIME (2 * SIM_MS)
#define DEADLINE    (100 * SIM_MS)
#define PAGE_AOTF   5

struct pair {
    const struct measure_setup *setup;
    struct sim *sim;
    struct network_link links[2];
    struct network_plan plan;
    struct cluster *cluster;
    struct process *process[2];
    enum measure_way way;
    struct measure_stream stream;
    uint32_t size;
    uint64_t sent[2]; /* bytes in the time that counts */
    sim_time begin, end;
    int failure;
};

/* One switch, two hosts. */
static const struct network_link switch_links[] = {{.a = {1, 1}, .b = {0, 1}},
                                                   {.a = {2, 1}, .b = {0, 2}}};
static const uint8_t switch_ports[] = {1, 2};

static int pair_open(struct pair *pair, const struct measure_setup *setup, uint32_t windows)
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
                                .memory = MEMORY,
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
        process_page_open(pair->process[i], PAGE_AOTF, pair->process[!i], RECEIVE);
    return result;
}

static void pair_close(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        process_destroy(pair->process[i]);
    cluster_destroy(pair->cluster);
    sim_destroy(pair->sim);
}

static int pair_run(struct pair *pair, void (*first)(void *), void (*second)(void *))
{
    struct fiber_spec specs[] = {{.name = "node 0", .body = first, .argument = pair},
                                 {.name = "node 1", .body = second, .argument = pair}};
    int result = fiber_create(pair->sim, &specs[0], NULL);
    if (result == 0 && second)
        result = fiber_create(pair->sim, &specs[1], NULL);
    if (result == 0)
        result = sim_run(pair->sim, DEADLINE, 0);
    if (result < 0)
        return result;
    if (fiber_count(pair->sim) > 0 || pair->failure < 0)
        return error_set(-EIO, ERROR_NO_RANK, "a simulated program did not come to its end");
    return network_check(cluster_network(pair->cluster));
}

static void last_word_set(struct pair *pair, int node, uint64_t value)
{
    memcpy(process_memory(pair->process[node], SEND + pair->size - 8, 8), &value, sizeof(value));
}

/* Sends `size` bytes whose last word is `value`. */
static void message_write(struct pair *pair, int node, uint64_t value)
{
    struct process *process = pair->process[node];
    struct process_transfer transfer = {
        .peer = pair->process[!node], .local = SEND, .remote = RECEIVE, .length = pair->size};
    int result = 0;
    last_word_set(pair, node, value);
    if (pair->setup->misses)
        process_page_forget(process, SEND);
    if (pair->way == WAY_PUSH)
        result = process_push(process, &transfer);
    else if (pair->way == WAY_BOTF)
        result = process_botf_push(process, &transfer);
    else
        process_store(process, PAGE_AOTF, (uint32_t)(RECEIVE % 4096), value);
    if (result < 0)
        pair->failure = result;
}

static void message_await(struct pair *pair, int node, uint64_t value)
{
    int result = process_poll(pair->process[node], RECEIVE + pair->size - 8, value, DEADLINE);
    if (result < 0)
        pair->failure = result;
}

static void ping(void *argument)
{
    struct pair *pair = argument;
    pair->begin = sim_now(pair->sim);
    for (uint64_t i = 1; i <= ROUNDS && pair->failure == 0; i++) {
        message_write(pair, 0, i);
        message_await(pair, 0, i);
    }
    pair->end = sim_now(pair->sim);
}

static void pong(void *argument)
{
    struct pair *pair = argument;
    for (uint64_t i = 1; i <= ROUNDS && pair->failure == 0; i++) {
        message_await(pair, 1, i);
        message_write(pair, 1, i);
    }
}

static void read_issue(struct pair *pair)
{
    struct process_transfer transfer = {.peer = pair->process[1],
                                        .local = RECEIVE,
                                        .remote = SEND,
                                        .length = pair->size,
                                        .wants_flag = true};
    int result = pair->way == WAY_PULL ? process_pull(pair->process[0], &transfer)
                                       : process_botf_pull(pair->process[0], &transfer);
    if (result < 0)
        pair->failure = result;
}

static void reader(void *argument)
{
    struct pair *pair = argument;
    pair->begin = sim_now(pair->sim);
    last_word_set(pair, 1, 77);
    read_issue(pair);
    message_await(pair, 0, 77);
    pair->end = sim_now(pair->sim);
}

static double us(sim_time time)
{
    return (double)time / (double)SIM_US;
}

int measure_latency(const struct measure_setup *setup, enum measure_way way, uint32_t size,
                    double *latency)
{
    struct pair pair;
    int result = pair_open(&pair, setup, 1);
    pair.way = way;
    pair.size = size;
    bool is_read = way == WAY_PULL || way == WAY_BOTF_PULL;
    if (result == 0)
        result = is_read ? pair_run(&pair, reader, NULL) : pair_run(&pair, ping, pong);
    if (result == 0)
        *latency = us(pair.end - pair.begin) / (is_read ? 1 : 2 * ROUNDS);
    pair_close(&pair);
    return result;
}

static void one_write(void *argument)
{
    message_write(argument, 0, 99);
}

static void one_await(void *argument)
{
    struct pair *pair = argument;
    message_await(pair, 1, 99);
    pair->end = sim_now(pair->sim);
}

int measure_moments(const struct measure_setup *setup, enum measure_way way,
                    double moments[MEASURE_MOMENTS])
{
    struct pair pair;
    int result = pair_open(&pair, setup, 1);
    bool is_read = way == WAY_PULL || way == WAY_BOTF_PULL;
    pair.way = way;
    pair.size = 8;
    if (result == 0)
        result = is_read ? pair_run(&pair, reader, NULL) : pair_run(&pair, one_write, one_await);
    if (result == 0) {
        const struct chip *here = process_chip(pair.process[0]);
        const struct chip *there = process_chip(pair.process[1]);
        const sim_time of_write[] = {chip_moment(here, CHIP_ACCEPTED),
                                     chip_moment(here, CHIP_TX_START),
                                     chip_moment(there, CHIP_ARRIVED),
                                     chip_moment(there, CHIP_RFEND_BEGIN),
                                     chip_moment(there, CHIP_PCI_START),
                                     pair.end,
                                     0,
                                     0};
        const sim_time of_read[] = {
            chip_moment(here, CHIP_ACCEPTED),  chip_moment(here, CHIP_TX_START),
            chip_moment(there, CHIP_ARRIVED),  chip_moment(there, CHIP_PCI_READ),
            chip_moment(there, CHIP_TX_START), chip_moment(here, CHIP_ARRIVED),
            chip_moment(here, CHIP_PCI_START), pair.end};
        for (int i = 0; i < MEASURE_MOMENTS; i++)
            moments[i] = us(is_read ? of_read[i] : of_write[i]);
    }
    pair_close(&pair);
    return result;
}

static void stream(struct pair *pair, int node)
{
    struct process *process = pair->process[node];
    struct process_transfer transfer = {
        .peer = pair->process[!node], .local = SEND, .remote = RECEIVE, .length = pair->size};
    while (sim_now(pair->sim) < STREAM_WARM + STREAM_TIME && pair->failure == 0) {
        sim_time before = sim_now(pair->sim);
        int result = process_push(process, &transfer);
        if (result < 0)
            pair->failure = result;
        /* it returns when the window was free again: what was sent before counts */
        if (before >= STREAM_WARM)
            pair->sent[node] += pair->size;
        if (node == 0 && pair->begin == 0 && before >= STREAM_WARM)
            pair->begin = before;
        pair->end = before;
    }
    if (process_finish(process) < 0)
        pair->failure = -EACCES;
}

static void stream_first(void *argument)
{
    stream(argument, 0);
}

static void stream_second(void *argument)
{
    stream(argument, 1);
}

int measure_throughput(const struct measure_setup *setup, const struct measure_stream *wish,
                       double *mbps)
{
    struct pair pair;
    int result = pair_open(&pair, setup, wish->windows);
    pair.size = wish->size;
    if (result == 0)
        result = pair_run(&pair, stream_first, wish->is_two_way ? stream_second : NULL);
    /* the last one that was counted began at `end`: it is beyond it */
    if (result == 0) {
        uint64_t bytes = pair.sent[0] + pair.sent[1] - pair.size * (wish->is_two_way ? 2u : 1u);
        *mbps = (double)bytes / us(pair.end - pair.begin);
    }
    pair_close(&pair);
    return result;
}
