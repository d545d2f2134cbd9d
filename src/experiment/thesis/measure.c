/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See measure.h. Programs are fibers; what they do is what the thesis's benchmarks did.
 */
#include "experiment/thesis/measure.h"

#include "experiment/thesis/pair.h"

#include <errno.h>
#include <string.h>

#define ROUNDS      20
#define STREAM_WARM (200 * SIM_US)
#define STREAM_TIME (2 * SIM_MS)

static void last_word_set(struct pair *pair, int node, uint64_t value)
{
    memcpy(process_memory(pair->process[node], PAIR_SEND + pair->size - 8, 8), &value,
           sizeof(value));
}

/* Sends `size` bytes whose last word is `value`. */
static void message_write(struct pair *pair, int node, uint64_t value)
{
    struct process *process = pair->process[node];
    struct process_transfer transfer = {.peer = pair->process[!node],
                                        .local = PAIR_SEND,
                                        .remote = PAIR_RECEIVE,
                                        .length = pair->size};
    int result = 0;
    last_word_set(pair, node, value);
    process_written(process, PAIR_SEND, pair->size); /* as a program that makes its message */
    if (pair->setup->misses)
        process_page_forget(process, PAIR_SEND);
    if (pair->way == WAY_PUSH)
        result = process_push(process, &transfer);
    else if (pair->way == WAY_BOTF)
        result = process_botf_push(process, &transfer);
    else
        process_store(process, &(struct chip_store){.page = PAIR_PAGE,
                                                    .offset = (uint32_t)(PAIR_RECEIVE % 4096),
                                                    .length = sizeof(value),
                                                    .value = value});
    if (result < 0)
        pair->failure = result;
}

static void message_await(struct pair *pair, int node, uint64_t value)
{
    int result = process_poll(pair->process[node], PAIR_RECEIVE + pair->size - 8, value,
                              PAIR_DEADLINE);
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
                                        .local = PAIR_RECEIVE,
                                        .remote = PAIR_SEND,
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
        *latency = pair_us(pair.end - pair.begin) / (is_read ? 1 : 2 * ROUNDS);
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
            moments[i] = pair_us(is_read ? of_read[i] : of_write[i]);
    }
    pair_close(&pair);
    return result;
}

static void stream(struct pair *pair, int node)
{
    struct process *process = pair->process[node];
    const struct process *peer = pair->process[pair->stream.is_to_self ? node : !node];
    struct process_transfer transfer = {
        .peer = peer, .local = PAIR_SEND, .remote = PAIR_RECEIVE, .length = pair->size};
    while (sim_now(pair->sim) < STREAM_WARM + STREAM_TIME && pair->failure == 0) {
        sim_time before = sim_now(pair->sim);
        int result = pair->stream.is_botf ? process_botf_push(process, &transfer)
                                          : process_push(process, &transfer);
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
    uint32_t what_if = (uint32_t)setup->constants->windows;
    int result = pair_open(&pair, setup, what_if ? what_if : wish->windows);
    pair.size = wish->size;
    pair.stream = *wish;
    if (result == 0)
        result = pair_run(&pair, stream_first, wish->is_two_way ? stream_second : NULL);
    /* the last one that was counted began at `end`: it is beyond it */
    if (result == 0) {
        uint64_t bytes = pair.sent[0] + pair.sent[1] - pair.size * (wish->is_two_way ? 2u : 1u);
        *mbps = (double)bytes / pair_us(pair.end - pair.begin);
    }
    pair_close(&pair);
    return result;
}
