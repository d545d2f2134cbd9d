/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See pm_measure.h. The programs are ordinary users of PM; only their clock is virtual.
 */
#include "experiment/thesis/pm/pm_measure.h"

#include "experiment/failure.h"
#include "simulated/simulated.h"

#include <rhinet/pm.h>
#include <stdlib.h>
#include <string.h>

#define WARM_ROUNDS 300 /* every slot was used: TLBs are filled, pm-auto has taken its lanes */
#define WAIT_NS     RH_MILLISECONDS(1000)
#define BUFFER      (256u << 10)

/* One measurement: what its ranks share, as they live in one process. */
struct measurement {
    const struct pm_setup *setup;
    int (*program)(struct measurement *measurement, struct pm_context *pm, int side);
    struct rh_job *job[2];
    int64_t begin_ns, end_ns;
    struct failure failure;
    struct pm_memory memory;
    uint64_t is_open, is_over; /* what the sides tell each other outside of the network */
    char data[2][BUFFER];
};

uint32_t pm_message_max(const struct pm_setup *setup)
{
    return strcmp(setup->implementation, "pm-queue") == 0 ? 2040 : 8184;
}

static int send_all(struct measurement *measurement, struct pm_context *pm, int side)
{
    int rank = side == 0 ? 0 : measurement->setup->ranks - 1;
    uint32_t left = measurement->setup->size, most = pm_message_max(measurement->setup);
    int result = 0;
    do {
        void *buffer;
        uint32_t part = left < most ? left : most;
        result = pmGetSendBuffer(pm, rank, part, &buffer);
        if (result == 0)
            result = pmSendWait(pm, WAIT_NS);
        left -= part;
    } while (left > 0 && result == 0);
    return result;
}

static int receive_all(struct measurement *measurement, struct pm_context *pm)
{
    uint32_t left = measurement->setup->size;
    int result = 0;
    do {
        struct pm_message message;
        result = pmReceiveWait(pm, &message, WAIT_NS);
        if (result == 0) {
            left -= message.length < left ? (uint32_t)message.length : left;
            result = pmReleaseReceiveBuffer(pm);
        }
    } while (left > 0 && result == 0);
    return result;
}

static int trip_program(struct measurement *measurement, struct pm_context *pm, int side)
{
    struct rh_job *job = measurement->job[side];
    uint32_t rounds = WARM_ROUNDS + measurement->setup->rounds;
    int result = 0;
    for (uint32_t i = 0; i < rounds && result == 0; i++) {
        if (side == 0 && i == WARM_ROUNDS)
            measurement->begin_ns = rh_clock_ns(job);
        result = side == 0 ? send_all(measurement, pm, 1) : receive_all(measurement, pm);
        if (result == 0)
            result = side == 0 ? receive_all(measurement, pm) : send_all(measurement, pm, 0);
    }
    if (side == 0)
        measurement->end_ns = rh_clock_ns(job);
    return result;
}

static int stream_program(struct measurement *measurement, struct pm_context *pm, int side)
{
    struct rh_job *job = measurement->job[side];
    uint32_t rounds = WARM_ROUNDS + measurement->setup->rounds;
    int result = 0;
    for (uint32_t i = 0; i < rounds && result == 0; i++) {
        result = side == 0 ? send_all(measurement, pm, 1) : receive_all(measurement, pm);
        if (side == 1 && i + 1 == WARM_ROUNDS)
            measurement->begin_ns = rh_clock_ns(job);
    }
    if (side == 1)
        measurement->end_ns = rh_clock_ns(job);
    return result;
}

static bool is_set(void *context)
{
    return *(const uint64_t *)context != 0;
}

static int await(struct measurement *measurement, struct rh_job *job, uint64_t *word)
{
    struct rh_until until = {
        .is_met = is_set, .context = word, .from = RH_ANY_RANK, .timeout_ns = WAIT_NS};
    int result = rh_wait_until(job, &until);
    failure_note(&measurement->failure, result);
    return result;
}

/* Waits when two are under way, as pmWrite() has no more than a whole to wait for. */
static int write_program(struct measurement *measurement, struct pm_context *pm, int side)
{
    struct rh_job *job = measurement->job[side];
    const struct pm_setup *setup = measurement->setup;
    int result = 0;
    if (side == 1) {
        result = pmRegisterMemory(pm, measurement->data[1], BUFFER, &measurement->memory);
        measurement->is_open = 1;
        return result < 0 ? result : await(measurement, job, &measurement->is_over);
    }
    result = await(measurement, job, &measurement->is_open);
    for (uint32_t i = 0; i < setup->rounds + 2 && result == 0; i++) {
        struct pm_place place = {.memory = measurement->memory};
        if (i == 2)
            measurement->begin_ns = rh_clock_ns(job);
        for (int k = 0; k < 2 && result == 0; k++)
            result = pmWrite(pm, &place, measurement->data[0], setup->size / 2);
        if (result == 0)
            result = pmWaitDone(pm, WAIT_NS);
    }
    measurement->end_ns = rh_clock_ns(job);
    measurement->is_over = 1;
    return result;
}

/* The other one may still wait for the answer to its last message. */
void pm_linger(struct rh_job *job)
{
    uint64_t never = 0;
    struct rh_wait wait = {&never, RH_NOT_EQUAL, 0, RH_ANY_RANK, RH_MILLISECONDS(1)};
    (void)rh_wait_word(job, &wait);
}

void pm_options_of(const struct pm_setup *setup, struct pm_options *options)
{
    bool is_ring = strcmp(setup->implementation, "pm-ring") == 0;
    *options = (struct pm_options){.struct_size = sizeof(*options),
                                   .implementation = setup->implementation,
                                   .flags = is_ring ? PM_SPLIT_PUSHES : 0};
}

static int rank_main(struct rh_job *job, void *context)
{
    struct measurement *measurement = context;
    int last = rh_size(job) - 1, side = rh_rank(job) == 0 ? 0 : 1;
    struct pm_options options;
    struct pm_context *pm;
    if (rh_rank(job) != 0 && rh_rank(job) != last)
        return 0; /* its ring or place is there all the same */
    pm_options_of(measurement->setup, &options);
    measurement->job[side] = job;
    int result = pmOpenContext(&pm, job, &options);
    failure_note_pm(&measurement->failure, result);
    if (result < 0)
        return result;
    result = measurement->program(measurement, pm, side);
    failure_note_pm(&measurement->failure, result);
    pm_linger(job);
    int closed = pmCloseContext(pm);
    failure_note_pm(&measurement->failure, closed);
    return result < 0 ? result : closed;
}

static int measure(const struct pm_setup *setup,
                   int (*program)(struct measurement *, struct pm_context *, int), double *us)
{
    struct measurement *measurement = calloc(1, sizeof(*measurement));
    struct simulated_report report;
    struct simulated_options options = {.size = setup->ranks,
                                        .spec = {.seed = 1, .constants = setup->constants},
                                        .rank_main = rank_main,
                                        .context = measurement};
    if (!measurement)
        return error_no_memory("a measurement");
    measurement->setup = setup;
    measurement->program = program;
    int result = simulated_run(&options, &report);
    result = failure_result(&measurement->failure, result);
    *us = (double)(measurement->end_ns - measurement->begin_ns) / 1000 / setup->rounds;
    free(measurement);
    return result;
}

int pm_round_trip(const struct pm_setup *setup, double *us)
{
    return measure(setup, trip_program, us);
}

int pm_stream(const struct pm_setup *setup, double *mbps)
{
    double us;
    int result = measure(setup, stream_program, &us);
    *mbps = setup->size / us;
    return result;
}

int pm_write_stream(const struct pm_setup *setup, double *mbps)
{
    double us;
    int result = measure(setup, write_program, &us);
    *mbps = setup->size / us;
    return result;
}
