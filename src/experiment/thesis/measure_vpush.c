/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stream of VPUSHes: what the receiver takes, and what its on-chip CPU spends.
 */
#include "experiment/thesis/measure.h"
#include "experiment/thesis/pair.h"

#define MESSAGES 200
#define WARM     20
#define SLOTS    64

static void send(struct pair *pair, int count)
{
    struct process_transfer transfer = {.peer = pair->process[1],
                                        .sid = PROCESS_RING_SID,
                                        .local = PAIR_SEND,
                                        .length = pair->size};
    for (int i = 0; i < count && pair->failure == 0; i++)
        pair->failure = process_push(pair->process[0], &transfer);
    if (pair->failure == 0)
        pair->failure = process_finish(pair->process[0]);
}

static void sender(void *argument)
{
    send(argument, MESSAGES);
}

static void sender_of_one(void *argument)
{
    send(argument, 1);
}

static void receiver(void *argument)
{
    struct pair *pair = argument;
    struct process *process = pair->process[1];
    const uint64_t *pointer = process_memory(process, PAIR_RECEIVE - 8, 8);
    for (uint64_t i = 0; i < MESSAGES && pair->failure == 0; i++) {
        uint64_t taken = i * CHIP_RING_SLOT;
        while (*pointer <= taken && pair->failure == 0)
            pair->failure = process_ring_wait(process, PAIR_RECEIVE, *pointer, PAIR_DEADLINE);
        if (i == WARM)
            pair->begin = sim_now(pair->sim);
        pair->end = sim_now(pair->sim);
        if (i % (SLOTS / 2) == 0)
            process_ring_release(process, taken + CHIP_RING_SLOT);
    }
}

int measure_vpush_stop(const struct measure_setup *setup, double *us)
{
    struct pair pair;
    int result = pair_open(&pair, setup, 1);
    pair.size = CHIP_RING_SLOT;
    if (result == 0) {
        process_ring_open(pair.process[1], PAIR_RECEIVE, SLOTS);
        result = pair_run(&pair, sender_of_one, NULL);
    }
    if (result == 0)
        *us = pair_us(chip_count(process_chip(pair.process[1]))->stopped);
    pair_close(&pair);
    return result;
}

static void sender_of_sizes(void *argument)
{
    static const uint32_t sizes[] = {2048, 512, 8};
    struct pair *pair = argument;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        pair->size = sizes[i];
        send(pair, 1);
        fiber_sleep(pair->sim, 20 * SIM_US);
    }
}

int measure_vpush_sizes(const struct measure_setup *setup)
{
    struct pair pair;
    int result = pair_open(&pair, setup, 1);
    if (result == 0) {
        process_ring_open(pair.process[1], PAIR_RECEIVE, SLOTS);
        result = pair_run(&pair, sender_of_sizes, NULL);
    }
    pair_close(&pair);
    return result;
}

int measure_vpush(const struct measure_setup *setup, uint32_t size, double *packet_us,
                  double *cpu_us)
{
    struct pair pair;
    int result = pair_open(&pair, setup, 1);
    pair.size = size;
    if (result == 0) {
        process_ring_open(pair.process[1], PAIR_RECEIVE, SLOTS);
        result = pair_run(&pair, sender, receiver);
    }
    if (result == 0) {
        const struct chip_count *count = chip_count(process_chip(pair.process[1]));
        *packet_us = pair_us(pair.end - pair.begin) / (MESSAGES - 1 - WARM);
        *cpu_us = pair_us(count->cpu) / (double)count->vpushes;
    }
    pair_close(&pair);
    return result;
}
